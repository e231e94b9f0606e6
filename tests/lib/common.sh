# Shared by tests/run, tests/demo and tests/bench/run: packages, progress, builds.
# shellcheck shell=bash

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# What the project is built and tested with, by Debian's names; Ubuntu 24.04 has the same.
build_packages=(g++ cmake ninja-build pkg-config libxml2-dev libicu-dev liblzma-dev zlib1g-dev libfmt-dev
	nlohmann-json3-dev libtomlplusplus-dev libcli11-dev libexpected-dev libboost-dev libvirt-dev prometheus-cpp-dev libsystemd-dev libgtest-dev libgmock-dev
	libfuse3-dev fuse3)
test_packages=(libxml2-utils strace spin gcc mandoc procps libvirt-daemon-system libvirt-clients qemu-system-x86)

# progress TEXT: what is being done, and since when.
progress() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }

die() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

as_root() {
	if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# install_packages PACKAGE...: installs those that are missing; quiet when none is.
install_packages() {
	local missing=() package
	for package in "$@"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
	done
	((${#missing[@]})) || return 0
	command -v apt-get >/dev/null || die "these packages are missing and there is no apt-get: ${missing[*]}"
	((EUID == 0)) || command -v sudo >/dev/null || die "root or sudo is needed to install: ${missing[*]}"
	progress "install ${#missing[@]} packages: ${missing[*]}"
	logged packages as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 update
	# The libvirt daemon that comes along must not be started by its package: the tests start their own.
	logged packages as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
		apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "${missing[@]}"
}

# still_at LOG: says twice a minute how far a long step is; ends with its shell.
still_at() {
	local at
	while sleep 30 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
		at=$(grep -aoE '^\[[0-9]+/[0-9]+\]' "$1" | tail -n 1) || true
		progress "  ... ${at:-still at it}"
	done
}

# logged NAME COMMAND...: its output goes to a file that is shown only when it fails.
logged() {
	local name=$1 log ticker status=0
	shift
	log=$(mktemp "${TMPDIR:-/tmp}/virt-vgpu-$name.XXXXXX")
	still_at "$log" &
	ticker=$!
	"$@" >"$log" 2>&1 || status=$?
	kill "$ticker" 2>/dev/null || true
	wait "$ticker" 2>/dev/null || true
	if ((status != 0)); then
		tail -n 60 "$log" >&2
		die "$name failed; its whole output: $log"
	fi
	rm -f "$log"
}

# build PRESET [TARGET...]: configures and builds below build/PRESET, showing how far it is.
build() {
	local preset=$1
	shift
	progress "configure ($preset)"
	logged configure cmake -S "$top" --preset "$preset"
	progress "build ($preset)"
	logged build cmake --build "$top/build/$preset" ${1:+--target "$@"}
}
