# A domain's life without accidents.
# shellcheck shell=bash disable=SC2034,SC2154,SC2317

case_a_vf_domain_starts_and_stops() {
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	serves "$vf" vm 4Q
	same "$(claim "$vf" '[.framework, .gpu, .device, .profile] | join(" ")')" \
		"vendor-vfio 0000:41:00.0 vgpu0 NVIDIA L40S-4Q" "the claim"
	virsh reset vm
	serves "$vf" vm 4Q
	virsh destroy vm
	is_free "$vf"
}

case_an_mdev_domain_starts_and_stops() {
	local uuid
	uuid=$(new_uuid)
	vgpu_domain vm "$uuid" 4Q
	virsh start vm
	serves "$uuid" vm 4Q
	same "$(claim "$uuid" '[.framework, .gpu, .mdev_uuid] | join(" ")')" "mdev $mdev_gpu $uuid" "the claim"
	virsh destroy vm
	is_free "$uuid"
}

case_one_domain_has_devices_of_both_frameworks() {
	local uuid
	uuid=$(new_uuid)
	vgpu_domain vm "$vf" 4Q "$uuid" 8Q "$sibling" 4Q
	virsh start vm
	serves "$vf" vm 4Q
	serves "$sibling" vm 4Q
	serves "$uuid" vm 8Q
	virsh destroy vm
	is_free "$vf"
	is_free "$sibling"
	is_free "$uuid"
}

case_each_start_is_a_new_incarnation() {
	local first
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	first=$(claim "$vf" .incarnation)
	virsh destroy vm
	virsh start vm
	[[ $(claim "$vf" .incarnation) != "$first" ]] || fail "twice $first"
	virsh destroy vm
}

case_a_transient_domain_starts_and_stops() {
	vgpu_domain vm "$vf" 4Q
	virsh undefine vm
	virsh create "$tmp/vm.xml"
	serves "$vf" vm 4Q
	virsh destroy vm
	is_free "$vf"
}

case_a_guest_ends_by_itself() {
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	virsh qemu-monitor-command vm '{"execute":"quit"}' || true
	within 60 is_off vm
	is_free "$vf"
	virsh start vm
	kill "$(qemu_pid vm)"
	within 60 is_off vm
	is_free "$vf"
}

case_destroy_graceful() {
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	virsh destroy --graceful vm
	is_free "$vf"
}

case_undefined_while_it_runs() {
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	virsh undefine vm
	serves "$vf" vm 4Q
	virsh destroy vm
	is_free "$vf"
}

# VFIO devices without migration support cannot be saved: QEMU refuses, and the running domain must keep its device.
case_managed_save_and_restore() {
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	if virsh managedsave vm >"$tmp/said" 2>&1; then
		is_free "$vf"
		virsh start vm
		note "libvirt saved and restored the domain"
	else
		note "libvirt refused to save: $(tr -s '\n' ' ' <"$tmp/said")"
	fi
	serves "$vf" vm 4Q
	virsh destroy vm
	is_free "$vf"
}

case_a_domain_without_a_vgpu_is_left_alone() {
	plain_domain plain
	virsh start plain
	virsh managedsave plain
	virsh start plain
	running plain
	[[ -z $(ls -A "$claims" 2>/dev/null) ]] || fail "there are claims: $(ls "$claims")"
	virsh destroy plain
}

case_two_domains_start_at_once() {
	local pids=() i
	vgpu_domain one "$vf" 4Q
	vgpu_domain two "$sibling" 4Q
	virsh start one & pids+=($!)
	virsh start two & pids+=($!)
	for i in "${pids[@]}"; do wait "$i"; done
	serves "$vf" one 4Q
	serves "$sibling" two 4Q
	virsh destroy one & pids=($!)
	virsh destroy two & pids+=($!)
	for i in "${pids[@]}"; do wait "$i"; done
	is_free "$vf"
	is_free "$sibling"
}

case_virtqemud_works_like_libvirtd() {
	stop_daemon
	daemon=virtqemud
	# Debian builds no modular daemons: this is the same program under the other's name and pid file.
	cp /usr/sbin/libvirtd "$tmp/virtqemud"
	virtqemud() { "$tmp/virtqemud" --pid-file /run/virtqemud.pid "$@"; }
	start_daemon
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	serves "$vf" vm 4Q
	vgpu_domain second "$vf" 4Q
	refused_by_hook second
	stop_daemon KILL
	start_daemon
	serves "$vf" vm 4Q
	kill -9 "$(qemu_pid vm)"
	within 60 is_free "$vf"
	stop_daemon
	daemon=libvirtd
	start_daemon
}
