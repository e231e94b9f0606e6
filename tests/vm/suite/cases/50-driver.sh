# A driver that is slow, refuses, lies or hangs.
# shellcheck shell=bash disable=SC2034,SC2154,SC2317

case_a_blocked_write_on_one_vf_delays_no_other() {
	local start
	hook_deadline 120s	# the other domain's whole life fits in
	fault "$vf" wedge 1
	vgpu_domain slow "$vf" 4Q
	vgpu_domain quick "$sibling" 4Q
	virsh start slow & start=$!
	within 60 blocked_in_driver
	virsh start quick
	serves "$sibling" quick 4Q
	blocked_in_driver
	virsh destroy quick
	is_free "$sibling"
	fault "$vf" wedge 0
	wait $start
	serves "$vf" slow 4Q
	virsh destroy slow
}

# Not even SIGKILL ends such a write. The start must fail at the hook's deadline, and the VF must stay claimed.
case_an_uninterruptible_write_holds_up_libvirt_no_longer_than_the_deadline() {
	local t0=$SECONDS
	hook_deadline 4s
	fault "$vf" wedge 2
	vgpu_domain vm "$vf" 4Q
	refused timeout 120 virsh start vm
	says 'virt-vgpu: ' "$vf"
	note "virsh start came back after $((SECONDS - t0)) s, with a deadline of 4 s and a release budget of 2 s"
	blocked_in_driver
	[[ -e $(claim_file "$vf") ]] || fail "the claim is gone while a write is under way"
	fault "$vf" wedge 0
	within 60 not blocked_in_driver
	virsh start vm
	serves "$vf" vm 4Q
	virsh destroy vm
	is_free "$vf"
}

# Right after QEMU's end the driver may refuse the reset for a while.
case_a_reset_refused_after_the_stop_is_finished_by_the_next_prepare() {
	fault "$vf" settle_ms 600000
	vgpu_domain vm "$vf" 4Q
	vgpu_domain next "$vf" 8Q
	virsh start vm
	virsh destroy vm
	claimed_as "$vf" draining vm
	has_type "$vf" 4Q
	same "$(virt-vgpu claims --json | jq -r '.[].state')" draining "virt-vgpu claims"
	refused_by_hook next
	says "$vf"
	claimed_as "$vf" draining vm
	fault "$vf" settle_ms 0
	virsh start next
	serves "$vf" next 8Q
	virsh destroy next
	is_free "$vf"
}

case_a_short_settling_time_is_waited_for() {
	fault "$vf" settle_ms 700
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	virsh destroy vm
	is_free "$vf"
}

case_a_draining_vf_is_released_by_hand() {
	fault "$vf" refuse_reset 5
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	virsh destroy vm
	claimed_as "$vf" draining vm
	refused virt-vgpu release "$vf"
	says "$vf"
	claimed_as "$vf" draining vm
	fault "$vf" refuse_reset 0
	virt-vgpu release "$vf"
	is_free "$vf"
}

case_a_reset_without_effect_keeps_the_claim() {
	fault "$vf" ignore_resets 1000000
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	virsh destroy vm
	claimed_as "$vf" draining vm
	has_type "$vf" 4Q
	fault "$vf" ignore_resets 0
	virsh start vm
	serves "$vf" vm 4Q
	virsh destroy vm
	is_free "$vf"
}

case_a_refused_type_leaves_no_claim() {
	fault "$vf" refuse_set 5
	vgpu_domain vm "$vf" 4Q
	refused_by_hook vm
	says "$vf" 4Q
	is_free "$vf"
}

case_a_refused_mdev_leaves_no_claim() {
	local uuid parent
	uuid=$(new_uuid)
	for parent in "$pci"/0000:81:*/mdev_supported_types; do
		parent=${parent%/*}
		fault "${parent##*/}" refuse_set 5
	done
	vgpu_domain vm "$uuid" 4Q
	refused_by_hook vm
	says 4Q
	is_free "$uuid"
}
