# Sourced by suite/run in the guest: no case may depend on what another one left.
# shellcheck shell=bash disable=SC2154

# Fails if a case left anything: domains, claims, types, mdevs, processes, its own hooks.
nothing_left() {
	local vf type file
	for file in "$claims"/*; do [[ ! -e $file ]] || fail "left behind: claim ${file##*/}: $(tr -d '\n' <"$file")"; done
	for vf in "$debug"/*; do
		vf=${vf##*/}
		[[ -d $pci/$vf/nvidia ]] || continue
		read -r type <"$pci/$vf/nvidia/current_vgpu_type"
		[[ $type == 0 ]] || fail "left behind: type $type on $vf"
	done
	for file in "$mdevs"/*; do [[ ! -e $file ]] || fail "left behind: mdev ${file##*/}"; done
	not pgrep -a 'qemu-system|virt-vgpu' || fail "left behind: a process"
	[[ -z $(virsh list --name) ]] || fail "left behind: a running domain"
}

# A VF that was taken from its driver refuses every type from then on; only new VFs help.
renew_vfs() { # renew_vfs PF
	local count
	read -r count <"$1/sriov_numvfs"
	echo 0 >"$1/sriov_numvfs"
	echo "$count" >"$1/sriov_numvfs"
	udevadm settle
}

# Takes the guest back to a clean state by force; quick if it is clean. Faults go first: they could block the rest.
scrub() {
	local vf type file name
	if [[ -s $tmp/faults ]]; then
		while read -r file; do
			case $file in
			*/init_ms) echo 3000 >"$file" ;;
			*) echo 0 >"$file" ;;
			esac
		done <"$tmp/faults"
		: >"$tmp/faults"
	fi
	find "$hooks" -mindepth 1 ! -name virt-vgpu -delete
	ln -sfn /usr/sbin/virt-vgpu-hook "$hooks/virt-vgpu"
	rm -f "$config"
	pkill -9 virtqemud
	kill -0 "$(cat /run/libvirtd.pid 2>/dev/null)" 2>/dev/null || { libvirtd -d; within 60 virsh uri; }
	while read -r name; do
		[[ -n $name ]] || continue
		virsh destroy "$name"
		virsh managedsave-remove "$name"
		virsh undefine "$name"
	done < <(virsh list --all --name)
	pkill -9 qemu-system
	within 60 not pgrep qemu-system
	within 60 not pgrep virt-vgpu
	for vf in "$pci"/*/physfn; do [[ ${vf%/*}/driver -ef /sys/bus/pci/drivers/nvidia ]] || renew_vfs "$vf"; done
	for vf in "$debug"/*; do
		vf=${vf##*/}
		[[ -d $pci/$vf/nvidia ]] || continue
		read -r type <"$pci/$vf/nvidia/current_vgpu_type"
		[[ $type == 0 ]] || within 60 set_type "$vf" 0
	done
	for file in "$mdevs"/*; do [[ ! -e $file ]] || echo 1 >"$file/remove"; done
	rm -f "$claims"/*
}
