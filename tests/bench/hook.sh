#!/bin/bash
# A hand-written hook of the usual kind, for comparison: the same writes, no claim protocol. hook.sh prepare|release SYSFS DEV STATE VF GROUP TYPE
set -eu
op=$1 sysfs=$2 dev=$3 state=$4 vf=$5 group=$6 type=$7
xml=$(cat)
name=$(sed -n 's/.*<name>\(.*\)<\/name>.*/\1/p' <<<"$xml" | head -1)
nvidia=$sysfs/bus/pci/devices/$vf/nvidia
claim=$state/claims/pci-$vf.json
if [[ $op == prepare ]]; then
	[[ $(cat "$nvidia/current_vgpu_type") == 0 ]]
	id=$(grep -m1 "4Q" "$nvidia/creatable_vgpu_types" | cut -d: -f1 | tr -d ' ')
	echo "{\"domain\": \"$name\", \"type_id\": $id}" >"$claim"
	sync "$claim"
	printf %s "$type" >"$nvidia/current_vgpu_type"
	[[ $(cat "$nvidia/current_vgpu_type") == "$type" ]]
else
	printf 0 >"$nvidia/current_vgpu_type"
	[[ $(cat "$nvidia/current_vgpu_type") == 0 ]]
	rm -f "$claim"
fi
