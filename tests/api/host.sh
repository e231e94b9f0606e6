# Sourced by tests/api/run, as the first process of namespaces of its own: a host with two simulated GPUs, a libvirt daemon that sees them,
# and virt-vgpud, all with the paths and settings they have by default.
# shellcheck shell=bash
# What QEMU would do with a VFIO device is left out by a wrapper. All else is real: libvirt's own checks of the mdev, its call of the hook, the
# claim, the accesses to the driver's files, QEMU as a process, and the way back.

work=/run/test
# start_host BUILD: everything, below /run/test, which is in memory. It ends with the namespaces.
start_host() {
	build=$1
	mount -t tmpfs tmpfs /run
	mkdir -p "$work"/{host,sys,dev,bin}
	private_copy /etc
	private_copy /var
	rm -rf /etc/libvirt/hooks /etc/libvirt/qemu /var/lib/libvirt/qemu /var/cache/libvirt /etc/virt-vgpu /var/lib/virt-vgpu
	mkdir -p /etc/libvirt/hooks/qemu.d /var/lib/libvirt/qemu
	"$build"/tests/simulator/vgpu-simulator --config "$here"/host.conf "$work"/host >"$work"/ready &
	within 20 grep -q ready "$work"/ready || { echo "the simulator did not start"; return 1; }
	simulated_sys
	simulated_dev
	wrapped_qemu
	ln -s "$(realpath "$build")"/hooks/virt-vgpu-hook /etc/libvirt/hooks/qemu.d/virt-vgpu
	start_libvirtd || { echo "the libvirt daemon did not start"; return 1; }
	start_daemon || { echo "virt-vgpud did not start"; cat "$work"/daemon.log; return 1; }
}

within() { # within SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

# private_copy FOLDER: changes below it are ours alone.
private_copy() {
	mkdir -p "$work/overlay$1"/{upper,work}
	mount -t overlay overlay -o "lowerdir=$1,upperdir=$work/overlay$1/upper,workdir=$work/overlay$1/work" "$1"
}

# bind_all FROM TO [NAME...]: every entry of FROM appears in TO, but those named.
bind_all() {
	local entry name
	mkdir -p "$2"
	for entry in "$1"/*; do
		name=${entry##*/}
		[[ " ${*:3} " != *" $name "* ]] || continue
		if [[ -L $entry ]]; then
			cp -a "$entry" "$2/$name"
		else
			if [[ -d $entry ]]; then mkdir "$2/$name"; else touch "$2/$name"; fi
			mount --rbind "$entry" "$2/$name"
		fi
	done
}

# libvirt looks at /sys: it becomes the machine's one with the simulator's PCI devices, mdevs and IOMMU groups instead of its own.
simulated_sys() {
	local part
	mount --rbind /sys "$work"/sys
	mount -t tmpfs tmpfs /sys
	bind_all "$work"/sys /sys bus class devices kernel module
	bind_all "$work"/sys/bus /sys/bus pci mdev
	bind_all "$work"/sys/class /sys/class mdev_bus iommu
	bind_all "$work"/sys/devices /sys/devices
	bind_all "$work"/sys/kernel /sys/kernel iommu_groups
	for part in bus class devices kernel module; do
		bind_all "$work/host/sys/$part" "/sys/$part"
	done
}

# The same for /dev, without KVM: so that the domains are the same on every machine.
simulated_dev() {
	mount --rbind /dev "$work"/dev
	mount -t tmpfs -o mode=755 tmpfs /dev
	bind_all "$work"/dev /dev vfio kvm pts ptmx
	mkdir /dev/pts && mount -t devpts -o newinstance,ptmxmode=666 devpts /dev/pts && ln -s pts/ptmx /dev/ptmx
	bind_all "$work"/host/dev /dev
}

# libvirt takes the first QEMU in its PATH.
wrapped_qemu() {
	cat >"$work"/bin/qemu-system-x86_64 <<-'SH'
	#!/bin/bash
	# A simulated device cannot be given to a guest.
	arguments=()
	while (($#)); do
	    if [[ $1 == -device && ${2:-} == *vfio-pci* ]]; then shift 2; else arguments+=("$1"); shift; fi
	done
	exec /usr/bin/qemu-system-x86_64 "${arguments[@]}"
	SH
	chmod +x "$work"/bin/qemu-system-x86_64
	cat >/etc/libvirt/qemu.conf <<-'CONF'
	security_driver = "none"
	dynamic_ownership = 0
	stdio_handler = "file"
	cgroup_controllers = [ ]
	namespaces = [ ]
	user = "root"
	group = "root"
	CONF
}

stop_libvirtd() { # stop_libvirtd SIGNAL
	kill "-$1" "$(</run/libvirtd.pid)"
	if [[ $1 == KILL ]]; then within 20 bash -c '! [ -e "/proc/$(</run/libvirtd.pid)" ]'; fi
}

start_libvirtd() {
	LD_PRELOAD=$build/tests/api/liblocked_memory.so PATH=$work/bin:$PATH libvirtd -d -p /run/libvirtd.pid || return 1
	within 60 virsh -c qemu:///system uri
}

start_daemon() {
	"$build"/agent/daemon/virt-vgpud >"$work"/daemon.log 2>&1 &
	daemon=$!
	within 30 curl -sf --unix-socket /run/virt-vgpu/api.sock http://localhost/readyz
}
