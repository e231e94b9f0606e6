# Devices and domains that are not ours, and devices that nobody has cleaned.
# shellcheck shell=bash disable=SC2034,SC2154,SC2317

case_a_foreign_domain_keeps_its_vf_untouched() {
	set_type "$vf" 4Q
	plain_domain foreign "$(hostdev "$vf")"
	virsh start foreign
	has_type "$vf" 4Q
	same "$(open_count "$vf")" 1 "open handles of $vf"
	vgpu_domain ours "$vf" 4Q
	refused_by_hook ours
	says "$vf"
	virt-vgpu assign ours --profile L40S-4Q
	virsh start ours
	! unclaimed "$sibling" || note "assign chose $(jq -r 'select(.domain.name == "ours").device_path' "$claims"/*)"
	virsh destroy ours
	running foreign
	virsh destroy foreign
	has_type "$vf" 4Q
	unclaimed "$vf"
	set_type "$vf" 0
}

case_assign_passes_over_vfs_in_use() {
	local i
	plain_domain foreign "$(hostdev "$vf")"
	set_type "$vf" 4Q
	virsh start foreign
	for i in 1 2 3 4 5 6 7; do
		plain_domain "vm$i"
		virt-vgpu assign "vm$i" --profile L40S-4Q --gpu 0000:41:00.0
		virsh dumpxml --inactive "vm$i" | grep -A3 '<hostdev' | grep -o "slot='0x0[01]' function='0x[0-7]'" | tee -a "$tmp/chosen"
	done
	same "$(sort -u "$tmp/chosen" | wc -l)" 7 "different VFs"
	not grep "slot='0x00' function='0x4'" "$tmp/chosen"
	virsh destroy foreign
	set_type "$vf" 0
}

case_a_dirty_vf_is_cleaned_and_used() {
	set_type "$vf" 8Q
	echo frame_rate_limiter=0 >"$pci/$vf/nvidia/vgpu_params"
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	serves "$vf" vm 4Q
	same "$(cat "$pci/$vf/nvidia/vgpu_params")" '' "params"
	virsh destroy vm
	is_free "$vf"
}

case_a_dirty_vf_of_the_wanted_type_is_cleaned_too() {
	set_type "$vf" 4Q
	echo frame_rate_limiter=0 >"$pci/$vf/nvidia/vgpu_params"
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	serves "$vf" vm 4Q
	same "$(cat "$pci/$vf/nvidia/vgpu_params")" '' "params that only a reset clears"
	virsh destroy vm
	is_free "$vf"
}

# The wanted profile fits nowhere but for what a dirty device takes up.
case_a_dirty_sibling_makes_room() {
	set_type "$sibling" 48Q
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	serves "$vf" vm 4Q
	has_type "$sibling" 0
	virsh destroy vm
	is_free "$vf"
}

case_a_domain_that_ran_before_the_hook_was_installed_is_adopted() {
	local pid
	vgpu_domain early "$vf" 4Q
	plain_domain foreign "$(hostdev "$sibling")"
	set_type "$vf" 4Q
	set_type "$sibling" 4Q
	rm "$hooks/virt-vgpu"
	virsh start early
	virsh start foreign
	unclaimed "$vf"
	ln -s /usr/sbin/virt-vgpu-hook "$hooks/virt-vgpu"
	pid=$(qemu_pid early)
	stop_daemon
	start_daemon
	running early
	running foreign
	same "$(qemu_pid early)" "$pid" "QEMU of early"
	claimed_as "$vf" configured early
	same "$(claim "$sibling" .managed)" false "managed, in the claim of the foreign domain's $sibling"
	virsh destroy early
	virsh destroy foreign
	is_free "$vf"
	unclaimed "$sibling"
	has_type "$sibling" 4Q
	set_type "$sibling" 0
}
