# After the power was cut under three running domains.
# shellcheck shell=bash disable=SC2034,SC2154,SC2317

case_the_claims_are_still_there() {
	claimed_as "$vf" configured one
	claimed_as "$sibling" configured two
	claimed_as 33333333-3333-4333-8333-333333333333 configured three
	[[ $(claim "$vf" .boot_id) != "$(cat /proc/sys/kernel/random/boot_id)" ]] || fail "same boot id"
	virt-vgpu claims
	virt-vgpu doctor
}

case_the_same_domain_starts_again() {
	virsh start one
	serves "$vf" one 4Q
	virsh destroy one
	is_free "$vf"
}

case_another_domain_may_have_the_device() {
	vgpu_domain next "$sibling" 4Q
	virsh start next
	serves "$sibling" next 4Q
	virsh destroy next
	is_free "$sibling"
}

case_a_claim_of_another_boot_is_released_by_hand() {
	virt-vgpu release 33333333-3333-4333-8333-333333333333
	is_free 33333333-3333-4333-8333-333333333333
}

case_nothing_is_left_of_the_boot_before() {
	nothing_left
}
