# Something dies at a bad moment: QEMU, libvirt's daemon, the hook.
# shellcheck shell=bash disable=SC2034,SC2154,SC2317

case_sigkill_of_qemu_leaves_a_clean_vf() {
	vgpu_domain vm "$vf" 4Q
	fault "$vf" init_ms 1
	virsh start vm
	kill -9 "$(qemu_pid vm)"
	within 60 is_off vm
	within 60 is_free "$vf"
	same "$(cat "$debug/$vf/sick")" 0 sick
	virsh start vm
	serves "$vf" vm 4Q
	virsh destroy vm
}

case_sigkill_of_qemu_removes_its_mdev() {
	local uuid
	uuid=$(new_uuid)
	vgpu_domain vm "$uuid" 4Q
	virsh start vm
	kill -9 "$(qemu_pid vm)"
	within 60 is_off vm
	within 60 is_free "$uuid"
}

# The real driver then leaves the VF broken for its next guest, with no trace on the host; only the stand-in can tell.
case_sigkill_of_qemu_while_the_vgpu_initialises() {
	fault "$vf" init_ms 30000
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	kill -9 "$(qemu_pid vm)"
	within 60 is_off vm
	within 60 is_free "$vf"
	same "$(cat "$debug/$vf/sick")" 1 sick
	note "the VF is clean and unclaimed, but sick: the next guest on real hardware would fail"
	fault "$vf" sick 0
}

case_a_start_that_fails_after_prepare_leaves_nothing() {
	extra="<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='/nowhere/disk.img'/>
		<target dev='vda' bus='virtio'/></disk>"
	vgpu_domain vm "$vf" 4Q
	record_claims_at prepare
	refused virsh start vm
	says /nowhere/disk.img
	same "$(<"$tmp/recorded")" "pci-$vf.json" "claims at the end of prepare"
	is_free "$vf"
}

case_a_qemu_that_cannot_open_the_vf_leaves_nothing() {
	fault "$vf" fail_open 16
	vgpu_domain vm "$vf" 4Q
	refused virsh start vm
	is_free "$vf"
	fault "$vf" fail_open 0
	virsh start vm
	serves "$vf" vm 4Q
	virsh destroy vm
}

case_libvirt_is_killed_between_prepare_and_start() {
	local first uuid
	uuid=$(new_uuid)
	vgpu_domain vm "$vf" 4Q "$uuid" 4Q
	vgpu_domain rival "$vf" 4Q
	kill_daemon_at prepare
	refused virsh start vm
	claimed_on_disk "$vf" configured vm
	claimed_on_disk "$uuid" configured vm
	first=$(claim "$vf" .incarnation)
	start_daemon
	is_off vm
	refused_by_hook rival
	says "$vf" vm
	virsh start vm
	serves "$vf" vm 4Q
	serves "$uuid" vm 4Q
	[[ $(claim "$vf" .incarnation) != "$first" ]] || fail "the incarnation is still $first"
	virsh destroy vm
	is_free "$vf"
	is_free "$uuid"
}

case_a_claim_whose_start_was_lost_is_released_by_force() {
	vgpu_domain vm "$vf" 4Q
	kill_daemon_at prepare
	refused virsh start vm
	start_daemon
	refused virt-vgpu release "$vf"
	says vm force
	claimed_as "$vf" configured vm
	virt-vgpu release "$vf" --force
	is_free "$vf"
}

# The daemon dies with QEMU's command line ready (start), and with QEMU running but the start not finished (started).
case_libvirt_is_killed_later_in_a_start() {
	local op
	vgpu_domain vm "$vf" 4Q
	for op in start started; do
		kill_daemon_at $op
		refused virsh start vm
		start_daemon
		note "killed at $op: then the domain is $(virsh domstate vm | head -n 1), QEMU: $(qemu_of vm | wc -l)"
		if running vm; then
			serves "$vf" vm 4Q
			virsh destroy vm
		elif [[ -n $(qemu_of vm) ]]; then
			claimed_as "$vf" configured vm
			fail "QEMU runs, but libvirt has forgotten it"
		fi
		virsh start vm
		serves "$vf" vm 4Q
		virsh destroy vm
		is_free "$vf"
	done
}

case_libvirt_is_killed_while_a_domain_runs() {
	local pid uuid before
	uuid=$(new_uuid)
	vgpu_domain vm "$vf" 4Q "$uuid" 4Q
	virsh start vm
	pid=$(qemu_pid vm)
	before=$(cat "$claims"/*)
	stop_daemon KILL
	start_daemon
	same "$(qemu_pid vm)" "$pid" "QEMU"
	serves "$vf" vm 4Q
	serves "$uuid" vm 4Q
	same "$(cat "$claims"/*)" "$before" "the claims"
	virsh destroy vm
	is_free "$vf"
	is_free "$uuid"
}

case_libvirt_restarts_in_order_while_a_domain_runs() {
	local pid
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	pid=$(qemu_pid vm)
	stop_daemon
	start_daemon
	same "$(qemu_pid vm)" "$pid" "QEMU"
	serves "$vf" vm 4Q
	virsh destroy vm
	is_free "$vf"
}

case_qemu_dies_while_libvirt_is_down() {
	local pid
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	pid=$(qemu_pid vm)
	stop_daemon KILL
	kill -9 "$pid"
	within 60 gone "$pid"
	claimed_on_disk "$vf" configured vm
	start_daemon
	within 60 is_off vm
	within 60 is_free "$vf"
}

# The hook lives on when the daemon is killed; it must neither lose the claim nor harm the next start.
case_libvirt_is_killed_while_the_hook_writes_to_the_driver() {
	local hook start
	fault "$vf" wedge 1
	vgpu_domain vm "$vf" 4Q
	virsh start vm & start=$!
	hook=$(within 60 blocked_in_driver)
	stop_daemon KILL
	wait $start || true
	start_daemon
	is_off vm
	kill -0 "$hook"
	virsh start vm & start=$!
	sleep 1	# the second prepare waits for the device's lock
	fault "$vf" wedge 0
	wait $start
	serves "$vf" vm 4Q
	within 60 gone "$hook"
	serves "$vf" vm 4Q
	virsh destroy vm
	is_free "$vf"
}

case_the_hook_is_killed_in_a_blocked_driver_write() {
	local start rc=0
	fault "$vf" wedge 1
	vgpu_domain vm "$vf" 4Q
	vgpu_domain rival "$vf" 4Q
	virsh start vm & start=$!
	kill -9 "$(within 60 blocked_in_driver)"
	wait $start || rc=$?
	((rc != 0)) || fail "the start succeeded"
	[[ -e $(claim_file "$vf") ]] || has_type "$vf" 0
	note "left by the killed prepare and its release: $(claim "$vf" .state 2>/dev/null || echo no claim)"
	fault "$vf" wedge 0
	virsh start vm
	serves "$vf" vm 4Q
	virsh destroy vm
	is_free "$vf"
	virsh start rival
	virsh destroy rival
}
