# The command line, on a host where things run.
# shellcheck shell=bash disable=SC2034,SC2154,SC2317

case_lists_show_what_is_there() {
	local uuid
	uuid=$(new_uuid)
	vgpu_domain vm "$vf" 4Q "$uuid" 8Q
	virsh start vm
	virt-vgpu gpus --json | tee "$tmp/gpus"
	same "$(jq -r '[.[] | "\(.gpu) \(.framework) \(.vfs) \(.allocated)"] | sort | join(", ")' "$tmp/gpus")" \
		"0000:41:00.0 vendor-vfio 8 1, 0000:42:00.0 vendor-vfio 8 0, 0000:81:00.0 mdev 8 1" gpus
	virt-vgpu devices --json >"$tmp/devices"
	jq -c '.[] | select(.allocated)' "$tmp/devices"
	same "$(jq length "$tmp/devices")" 24 "number of devices"
	same "$(jq -r --arg d "$vf" '.[] | select(.device == $d) | [.gpu, .framework, .type_id, .profile, .allocated,
		.dirty, .managed, .in_use, .claim.domain.name] | map(tostring) | join(",")' "$tmp/devices")" \
		"0000:41:00.0,vendor-vfio,1150,NVIDIA L40S-4Q,true,false,true,true,vm" "device $vf"
	same "$(jq '[.[] | select(.allocated)] | length' "$tmp/devices")" 2 "allocated devices"
	same "$(jq '[.[] | select(.dirty)] | length' "$tmp/devices")" 0 "dirty devices"
	virt-vgpu claims --json >"$tmp/listed"
	same "$(jq -S 'map(del(.key)) | sort_by(.device)' "$tmp/listed")" "$(jq -sS 'sort_by(.device)' "$claims"/*)" claims
	virt-vgpu profiles --json >"$tmp/profiles"
	jq -c '.[] | select(.profile == "NVIDIA L40S-4Q")' "$tmp/profiles"
	same "$(jq -r '.[] | select(.profile == "NVIDIA L40S-4Q") | "\(.type_id) \(.framebuffer_mib)"' "$tmp/profiles" | sort -u)" \
		"1150 4096" "profile 4Q"
	virt-vgpu devices
	virt-vgpu claims
	virsh destroy vm
}

case_doctor_finds_a_healthy_host() {
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	virt-vgpu doctor
	virsh destroy vm
}

case_doctor_names_what_is_wrong() {
	rm "$hooks/virt-vgpu"
	refused virt-vgpu doctor
	says hook
	ln -s /usr/sbin/virt-vgpu-hook "$hooks/virt-vgpu"
	vgpu_domain vm "$sibling" 4Q
	kill_daemon_at prepare
	refused virsh start vm
	start_daemon
	set_type "$vf" 8Q || set_type "$vf" 4Q
	virt-vgpu doctor >"$tmp/said" 2>&1
	cat "$tmp/said"
	says "$vf" "$sibling"
	set_type "$vf" 0
	virt-vgpu release --force "$sibling"
	is_free "$sibling"
}

case_assign_and_unassign() {
	local device
	plain_domain vm
	virt-vgpu assign vm --profile l40s-4q
	keeps_to_libvirts_schema vm
	virsh start vm
	device=$(basename "$(jq -r .device_path "$claims"/*)")
	serves "$device" vm 4Q
	virsh destroy vm
	is_free "$device"
	virt-vgpu unassign vm
	not grep -c 'vgpu' <(virsh dumpxml vm)
	virsh start vm
	[[ -z $(ls -A "$claims") ]] || fail "claims: $(ls "$claims")"
	virsh destroy vm
}

case_assign_on_the_mdev_gpu() {
	local uuid
	plain_domain vm
	virt-vgpu assign vm --profile 'NVIDIA L40S-4Q' --gpu "$mdev_gpu"
	keeps_to_libvirts_schema vm
	virsh start vm
	uuid=$(jq -r .mdev_uuid "$claims"/*)
	serves "$uuid" vm 4Q
	virsh destroy vm
	is_free "$uuid"
}
