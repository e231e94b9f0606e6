# Sourced by suite/run in the guest: what the cases are written in. Every helper prints its evidence when it fails.
# Helpers do not rely on `set -e`, as it has no effect in a condition, and `within` is one.
# shellcheck shell=bash
pci=/sys/bus/pci/devices
mdevs=/sys/bus/mdev/devices
debug=/sys/kernel/debug/fake_nvidia_vgpu
claims=/var/lib/virt-vgpu/claims
config=/etc/virt-vgpu/virt-vgpu.toml
hooks=/etc/libvirt/hooks/qemu.d
log=/run/syslog
# VFs of two GPUs with the vendor-vfio framework, two of the first one; the VFs of the last GPU are mdev parents.
vf=0000:41:00.4 sibling=0000:41:00.5 elsewhere=0000:42:00.1
mdev_gpu=0000:81:00.0
# What libvirt calls the daemon that runs QEMU's domains: libvirtd or virtqemud.
daemon=libvirtd

# Types of the emulated L40S.
declare -A type_id=([2Q]=1148 [4Q]=1150 [8Q]=1152 [48Q]=1156)

note() { echo "$*" >>"$tmp/notes"; }
fail() { echo "$*"; return 1; }
within() { # within SECONDS COMMAND...: the command succeeds before the time is out; prints what it said last
	local end=$((SECONDS + $1)) said=$tmp/within.$BASHPID
	shift
	until "$@" >"$said" 2>&1; do
		((SECONDS < end)) || { cat "$said"; echo "not within the time: $*"; return 1; }
		sleep 0.1
	done
	cat "$said"
}
not() { ! "$@"; }
same() { [[ $1 == "$2" ]] || { echo "${3:-value}: '$1' instead of '$2'"; return 1; }; }

# refused COMMAND...: it must fail; what it said is then in $tmp/said, and `says TEXT...` wants each TEXT in there.
refused() {
	! "$@" >"$tmp/said" 2>&1 || fail "was not refused: $* $(<"$tmp/said")" || return
	cat "$tmp/said"
}
says() {
	local text
	for text; do grep -qiF -- "$text" "$tmp/said" || fail "nothing was said of '$text'" || return; done
}
# refused_by_hook DOMAIN: our hook refuses its start.
refused_by_hook() { refused virsh start "$1" && says 'virt-vgpu: '; }
new_uuid() { cat /proc/sys/kernel/random/uuid; }

# ---- devices: a VF is named by its address, an mdev by its UUID ----
is_vf() { [[ $1 == *:*:*.* ]]; }
type_of() { cat "$pci/$1/nvidia/current_vgpu_type"; }
has_type() { same "$(type_of "$1")" "${type_id[$2]:-$2}" "type of $1"; }
set_type() { echo "${type_id[$2]:-$2}" >"$pci/$1/nvidia/current_vgpu_type"; }
open_count() { cat "$debug/$1/open_count"; }
fault() { # fault VF SWITCH VALUE: scrub sets it back
	echo "$3" >"$debug/$1/$2"
	echo "$debug/$1/$2" >>"$tmp/faults"
}
# Some process sits in a write that the driver blocks (wedge, delay_ms); prints its pid.
blocked_in_driver() {
	local wchan where
	for wchan in /proc/[0-9]*/wchan; do
		where=$({ cat "$wchan"; } 2>/dev/null) || continue
		[[ $where != fnv_stall ]] || { wchan=${wchan#/proc/}; echo "${wchan%/wchan}"; return 0; }
	done
	return 1
}

# ---- claims ----
claim_file() { if is_vf "$1"; then echo "$claims/pci-$1.json"; else echo "$claims/mdev-$1.json"; fi; }
claim() { jq -r "$2" "$(claim_file "$1")"; } # claim DEVICE JQ_PATH
claimed_as() { # claimed_as DEVICE STATE DOMAIN
	claimed_on_disk "$@" &&
		same "$(claim "$1" .domain.uuid)" "$(virsh domuuid "$3" | head -n 1)" "holder of $1"
}
# The same while no daemon can be asked for the domain.
claimed_on_disk() {
	[[ -e $(claim_file "$1") ]] || fail "$1 has no claim" || return
	same "$(claim "$1" .state)" "$2" "state of $1" && same "$(claim "$1" .domain.name)" "$3" "holder of $1"
}
unclaimed() { [[ ! -e $(claim_file "$1") ]] || fail "$1 is claimed: $(tr -d '\n' <"$(claim_file "$1")")"; }
# The domain runs on the device as it should: typed, claimed, VMM recorded, held open.
serves() { # serves DEVICE DOMAIN PROFILE
	running "$2" && claimed_as "$1" configured "$2" &&
		same "$(claim "$1" .type_id)" "${type_id[$3]}" "type in the claim of $1" &&
		same "$(claim "$1" .vmm.pid)" "$(qemu_pid "$2")" "pid in the claim of $1" || return
	if is_vf "$1"; then
		has_type "$1" "$3" && same "$(open_count "$1")" 1 "open handles of $1"
	else
		same "$(basename "$(readlink "$mdevs/$1/mdev_type")")" "nvidia-${type_id[$3]}" "type of $1"
	fi
}
is_free() { # is_free DEVICE: no claim, no type, not there
	unclaimed "$1" || return
	if is_vf "$1"; then has_type "$1" 0; else [[ ! -e $mdevs/$1 ]] || fail "mdev $1 is still there"; fi
}

# ---- domains ----
# hostdev DEVICE [ALIAS]; $managed is what libvirt may do to a VF's driver.
managed=no
hostdev() {
	local a=$1
	if is_vf "$a"; then
		echo "<hostdev mode='subsystem' type='pci' managed='$managed'><driver name='vfio'/>"
		echo "<source><address domain='0x${a%%:*}' bus='0x${a:5:2}' slot='0x${a:8:2}' function='0x${a:11}'/></source>"
	else
		echo "<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='$a'/></source>"
	fi
	echo "${2:+<alias name='$2'/>}</hostdev>"
}
define_xml() { # define_xml NAME UUID METADATA DEVICES
	cat >"$tmp/$1.xml" <<-XML
	<domain type='qemu'>
	  <name>$1</name>
	  <uuid>$2</uuid>
	  <metadata>$3</metadata>
	  <memory unit='MiB'>64</memory>
	  <os><type arch='x86_64' machine='q35'>hvm</type></os>
	  <features><acpi/></features>
	  <devices>
	    <emulator>/usr/bin/qemu-system-x86_64</emulator>
	    <controller type='usb' model='none'/>
	    <memballoon model='none'/>
	    $4
	  </devices>
	</domain>
	XML
	virsh define "$tmp/$1.xml"
}
# vgpu_domain NAME DEVICE PROFILE [DEVICE PROFILE]...: defines a domain that asks for these vGPUs. $extra: more devices.
extra=
vgpu_domain() {
	local name=$1 uuid requests='' devices=$extra i=0
	uuid=$(new_uuid)
	shift
	while (($#)); do
		requests+="<vgpu:device name='vgpu$i' profile='NVIDIA L40S-$2'/>"
		devices+=$(hostdev "$1" "ua-vgpu$i")
		shift 2
		((++i))
	done
	define_xml "$name" "$uuid" \
		"<vgpu:devices xmlns:vgpu='urn:virt-vgpu:domain:1' domain='$uuid'>$requests</vgpu:devices>" "$devices"
}
plain_domain() { define_xml "$1" "$(new_uuid)" '' "${2:-}"; } # plain_domain NAME [DEVICES]
clone_of() { # clone_of DOMAIN NAME: what dumpxml, an editor and define make of it
	virsh dumpxml --inactive "$1" | sed "s|<name>.*|<name>$2</name>|; s|<uuid>.*|<uuid>$(new_uuid)</uuid>|" >"$tmp/$2.xml"
	virsh define "$tmp/$2.xml"
}
# What libvirt itself would complain about, had the definition been written by hand.
keeps_to_libvirts_schema() {
	virsh dumpxml --inactive "$1" >"$tmp/$1.defined" && virsh define --validate "$tmp/$1.defined"
}
running() { same "$(virsh domstate "$1" | head -n 1)" running "state of $1"; }
is_off() { same "$(virsh domstate "$1" | head -n 1)" "shut off" "state of $1"; }
qemu_pid() { cat "/run/libvirt/qemu/$1.pid"; }
qemu_of() { pgrep -f -- "-name guest=$1," || true; }

# ---- the libvirt daemon ----
daemon_pid() { cat "/run/$daemon.pid"; }
gone() { ! kill -0 "$1" 2>/dev/null; }
# An orderly stop gives its workers 30 s. The pid file goes before the process does.
stop_daemon() { # stop_daemon [SIGNAL]
	local pid
	pid=$(daemon_pid)
	kill "-${1:-TERM}" "$pid"
	within 60 gone "$pid"
}
# Back when the daemon has finished with the domains it found running: until then a destroy can race with reconnect.
start_daemon() {
	local name
	$daemon -d
	within 60 virsh uri
	virsh list --name | while read -r name; do
		[[ -z $name ]] || virsh qemu-monitor-command "$name" '{"execute":"query-status"}' || true
	done
}
# kill_daemon_at OPERATION: a second hook, which runs after ours, will SIGKILL the daemon in that operation, once.
kill_daemon_at() {
	cat >"$hooks/zz-kill-libvirt" <<-HOOK
	#!/bin/sh
	[ "\$2" = $1 ] || exit 0
	rm "\$0"
	kill -9 \$PPID
	HOOK
	chmod +x "$hooks/zz-kill-libvirt"
}
# record_claims_at OPERATION: a second hook, which runs after ours, notes the claims there are then in $tmp/recorded.
record_claims_at() {
	printf '#!/bin/sh\n[ "$2" = %s ] && ls %s >%s\nexit 0\n' "$1" "$claims" "$tmp/recorded" >"$hooks/zz-record"
	chmod +x "$hooks/zz-record"
}
hook_deadline() { printf '[hook]\ndeadline = "%s"\n' "$1" >"$config"; }
