# Sourced by machine and build-image, with vm_dir set to tests/vm: where images are kept and which one fits this tree.
# shellcheck shell=bash
cache=${VGPU_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/virt-vgpu/vm}

# fingerprint FILE...: 12 hex digits over names and contents, relative to tests/vm.
fingerprint() { (cd "$vm_dir" && sha256sum -- "$@" | sha256sum | cut -c1-12); }

# The unpacked packages; its QEMU runs the guest.
tree_dir() { echo "$cache/tree-$(fingerprint guest-packages)"; }

# vmlinuz, initrd, root.ext4 and the snapshot (warm.ext4, warm.state).
image_dir() {
	local inputs
	inputs=$(cd "$vm_dir" && find module guest -name '*.[ch]' -o -name Makefile -o -path 'guest/*' -type f | sort)
	# shellcheck disable=SC2086
	echo "$cache/image-$(fingerprint build-image qemu.sh guest-packages $inputs)"
}

# pin DIR: DIR stays until this process and its children have ended (prune leaves it alone); false if it is not there.
pin() {
	local fd
	exec {fd}<"$1/in-use" || return
	flock -s "$fd"
	[[ $1/in-use -ef /proc/self/fd/$fd ]]
}

# prune KEEP DIR...: removes each DIR that is not KEEP and that nobody has pinned.
prune() {
	local keep=$1 dir fd
	shift
	for dir; do
		[[ $dir != "$keep" && -e $dir/in-use ]] || continue
		exec {fd}<"$dir/in-use"
		if flock -n -x "$fd"; then
			rm -f "$dir/in-use"
			rm -rf "$dir"
		fi
		exec {fd}<&-
	done
}
