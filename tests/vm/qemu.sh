# Sourced by machine: the emulated hardware. A snapshot fits only the hardware it was made on, so this file is one
# of the image's inputs. Uses tree, image, run, share, gpus, total_vfs.
# shellcheck shell=bash disable=SC2154

# The guest's own QEMU runs the guest as well, by its own loader: the snapshot needs one exact version.
qemu() {
	local lib=$tree/usr/lib/x86_64-linux-gnu
	QEMU_MODULE_DIR=$lib/qemu exec "$tree"/usr/lib64/ld-linux-x86-64.so.2 --library-path "$lib" \
		"$tree"/usr/bin/qemu-system-x86_64 -L "$tree"/usr/share/qemu -L "$tree"/usr/share/seabios \
		-L "$tree"/usr/lib/ipxe/qemu "$@"
}

# launch DISK on|off [QEMU OPTION...]: starts QEMU in the background; on: what is written to DISK is dropped at the end.
# nohz=off highres=off: the guest's timers tick periodically. A lost one-shot timer once stopped a CPU for good.
# no_timer_check: on a busy host the kernel's own check of the timer fails now and then, and that is a panic.
launch() {
	local i ports=() disk=$1 discard=$2
	shift 2
	for ((i = 0; i < 4; i++)); do
		ports+=(-device "pcie-root-port,id=rp$i,bus=node$((i / 2)),addr=$((i % 2)),chassis=$((i + 1)),slot=$((i + 1))"
			-device "nvme-subsys,id=sub$i")
	done
	mkfifo "$run"/{qmp,ctl,tty}.{in,out}
	qemu -nodefaults -display none -no-reboot -machine q35 -cpu max -accel tcg,thread=multi,tb-size=512 \
		-smp 2 -m 3G -device intel-iommu,intremap=on \
		-object memory-backend-ram,id=m0,size=1536M -numa node,nodeid=0,cpus=0,memdev=m0 \
		-object memory-backend-ram,id=m1,size=1536M -numa node,nodeid=1,cpus=1,memdev=m1 \
		-device pxb-pcie,id=node0,bus=pcie.0,addr=6,bus_nr=64,numa_node=0 \
		-device pxb-pcie,id=node1,bus=pcie.0,addr=7,bus_nr=128,numa_node=1 \
		-kernel "$image"/vmlinuz -initrd "$image"/initrd \
		-append "console=ttyS0 intel_iommu=on mitigations=off nokaslr quiet panic=-1 nohz=off highres=off no_timer_check" \
		-serial file:"$run"/console -serial pipe:"$run"/ctl -serial pipe:"$run"/tty \
		-chardev pipe,id=qmp,path="$run"/qmp -mon chardev=qmp,mode=control \
		-drive file="$disk",format=raw,if=none,id=root,snapshot="$discard" \
		-device virtio-blk-pci,drive=root,bus=pcie.0,addr=4 \
		-fsdev local,id=share,path="$share",security_model=none \
		-device virtio-9p-pci,fsdev=share,mount_tag=share,bus=pcie.0,addr=5 \
		"${ports[@]}" "$@" </dev/null >"$run"/qemu.log 2>&1 &
	echo $! >"$run"/pid
}

# plug N: hot-plugs GPU N, an emulated NVMe controller with SR-IOV; each VF takes two queues and two interrupts of it.
# QEMU makes all possible VFs at once, in a time that grows with the square of their number.
plug() {
	local n=$((2 * total_vfs))
	qmp "$(printf '{"execute":"device_add","arguments":{"driver":"nvme","id":"gpu%d","bus":"rp%d","serial":"gpu%d","subsys":"sub%d",' \
		"$1" "$1" "$1" "$1"
	printf '"sriov_max_vfs":%d,"sriov_vq_flexible":%d,"sriov_vi_flexible":%d,"max_ioqpairs":%d,"msix_qsize":%d}}' \
		"$total_vfs" $n $n $((n + 2)) $((n + 3)))" >/dev/null
}

# The guest's memory in the snapshot: zero pages then cost nothing when it is read back (QEMU >= 9).
mapped_ram='{"execute":"migrate-set-capabilities","arguments":{"capabilities":[{"capability":"mapped-ram","state":true}]}}'
