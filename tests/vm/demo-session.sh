#!/bin/bash
# A short narrated session inside the test machine, after suite/install: the main job of virt-vgpu, on a real libvirt.
# Usage: demo-session.sh [--colour]. Exit status 1 if something did not go as told.
set -u
bold='' blue='' plain=''
[[ ${1:-} != --colour ]] || bold=$'\e[1m' blue=$'\e[36m' plain=$'\e[0m'
export LC_ALL=C PATH=/usr/sbin:/usr/bin
dir=$(mktemp -d)
trap leave EXIT
leave() {
	local name
	for name in alice bob carol; do
		virsh destroy $name
		virsh undefine $name
	done >/dev/null 2>&1
	rm -rf "$dir"
}

say() { printf '\n%s# %s%s\n' "$bold" "$1" "$plain"; }
# show COMMAND: prints it as if it had been typed, and runs it.
show() {
	printf '%stestvm:~#%s %s\n' "$blue" "$plain" "$1"
	eval "$1" 2>&1 | sed '/^$/d'
	return "${PIPESTATUS[0]}"
}
expect() { # expect TEXT COMMAND...: a session that does not go as told is no demonstration
	local text=$1
	shift
	"$@" && return
	printf '\nThis should not have happened: %s.\n' "$text" >&2
	exit 1
}
domain() {
	cat >"$dir/$1.xml" <<-XML
	<domain type='qemu'>
	  <name>$1</name>
	  <memory unit='MiB'>64</memory>
	  <os><type arch='x86_64' machine='q35'>hvm</type></os>
	  <features><acpi/></features>
	  <devices>
	    <emulator>/usr/bin/qemu-system-x86_64</emulator>
	    <controller type='usb' model='none'/>
	    <memballoon model='none'/>
	  </devices>
	</domain>
	XML
	virsh define "$dir/$1.xml" >/dev/null
}
wiped() { [[ $(cat "$type") == 0 && -z $(ls /var/lib/virt-vgpu/claims) ]]; }
soon() {
	local i
	for ((i = 0; i < 200; i++)); do "$@" && return; sleep 0.1; done
	return 1
}

domain alice
domain carol
say "A libvirt host with three vGPU cards; the first two give out VFs (vendor VFIO), the third mediated devices."
show 'virt-vgpu gpus'

say "A domain that exists asks for a vGPU once. This writes a request and a free device into its XML, nothing else."
show 'virt-vgpu assign alice --profile L40S-4Q'
vf=$(virsh dumpxml --inactive alice | sed -n "s/.*<address domain='0x\(....\)' bus='0x\(..\)' slot='0x\(..\)' function='0x\(.\)'.*/\1:\2:\3.\4/p" | head -n 1)
type=/sys/bus/pci/devices/$vf/nvidia/current_vgpu_type
show "cat $type"

say "Plain virsh starts it: the hook claims the VF, writes its type, and only then QEMU opens it."
show 'virsh start alice'
expect "alice does not run" test "$(virsh domstate alice | head -n 1)" = running
show "cat $type"
show 'virt-vgpu claims'

say "A clone names the same VF. Starting it must fail, with a sentence that says who holds what, and alice must not notice."
virsh dumpxml --inactive alice | sed "s|<name>.*|<name>bob</name>|; s|<uuid>.*|<uuid>$(cat /proc/sys/kernel/random/uuid)</uuid>|" >"$dir/bob.xml"
virsh define "$dir/bob.xml" >/dev/null
show 'virsh start bob'
expect "bob was started on alice's VF" test "$(virsh domstate bob | head -n 1)" = "shut off"
show 'virsh list --all'

say "Now alice's QEMU dies the hard way."
show "kill -9 \$(cat /run/libvirt/qemu/alice.pid)"
expect "the VF was not wiped" soon wiped
say "The VF is wiped and free."
show "cat $type"
show 'virt-vgpu claims'

say "So bob can have it."
show 'virsh start bob'
expect "bob does not run" test "$(virsh domstate bob | head -n 1)" = running
show 'virt-vgpu claims'
show 'virsh destroy bob'

say "The third card is of the older kind. The same commands; the mediated device lives as long as the domain runs."
show "virt-vgpu assign carol --profile L40S-8Q --gpu 0000:81:00.0"
show 'virsh start carol'
expect "carol does not run" test "$(virsh domstate carol | head -n 1)" = running
show 'ls /sys/bus/mdev/devices'
show 'virsh destroy carol'
expect "the mediated device is still there" test -z "$(ls /sys/bus/mdev/devices)"
show 'ls /sys/bus/mdev/devices'
show 'virt-vgpu claims'
echo
