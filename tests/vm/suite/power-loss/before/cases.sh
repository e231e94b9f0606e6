# Leaves running domains for the power to be cut under them.
# shellcheck shell=bash disable=SC2034,SC2154,SC2317

case_domains_run_when_the_power_goes() {
	vgpu_domain one "$vf" 4Q
	vgpu_domain two "$sibling" 4Q
	vgpu_domain three 33333333-3333-4333-8333-333333333333 4Q
	virsh start one
	virsh start two
	virsh start three
	serves "$vf" one 4Q
	# The definitions, not the claims: a claim must be on the disk when prepare returns.
	sync -f /etc/libvirt/qemu/one.xml
}
