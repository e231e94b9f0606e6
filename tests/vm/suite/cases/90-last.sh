# What must hold over all that ran before.
# shellcheck shell=bash disable=SC2034,SC2154,SC2317

case_nothing_was_ever_written_to_a_device_in_use() {
	local file
	for file in "$debug"/*/writes_while_open; do
		same "$(cat "$file")" 0 "$file"
	done
}

# Debian's kernel has AppArmor built in, but nothing turns it on here: confinement of the hook is not tested.
case_apparmor_is_off_and_noted() {
	[[ ! -d /sys/kernel/security/apparmor ]] || fail "AppArmor is on: say so in tests/vm/README.md, and test it"
	note "AppArmor is off in the guest: that the hook runs inside libvirtd's profile is not tested here"
}
