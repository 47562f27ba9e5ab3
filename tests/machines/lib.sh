# What every test in an emulated machine begins with:   . "$(dirname "$0")/lib.sh"
#
# It is called with the name of the machine (`table`; CMakeLists.txt says how a test names its machines), or with those of all its
# machines, has all that tests/e2e/lib.sh gives, and:
#
#   machine, arch       arch: as Debian calls its processor
#   on_machine NAME     it is this one from now on (at the beginning the first). Without a build for the processor the test is skipped
#   built FILE          the path of a file of the build for that processor
#   sysroot             the folder of its libraries; empty: they are this system's
#   program NAME        the path of a real program for it (deploy/packages, list sysroot, for boards)
#   in_machine STATUS SCRIPT [FILE...]   boots it and runs the script there with the FILEs, as tests/machines/run says: STATUS must be
#                       its exit status. What it writes is in $T/said, what it leaves in out/ in $T/out. Without an emulator or
#                       a kernel the test is skipped. After $machine_seconds (300) it has failed.
machines=("${@:?which machine?}")
MACHINES_SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
boards=${HEAPCAST_BOARDS:-$MACHINES_SOURCE/../../build} # the presets' folders
machine_folders=("HEAPCAST_MACHINES=${HEAPCAST_MACHINES:-}" "HEAPCAST_SYSROOTS=${HEAPCAST_SYSROOTS:-}")

# While the network is there.
[ -n "${HEAPCAST_TEST_INSIDE:-}" ] || "$MACHINES_SOURCE/kernel" "${machines[@]}" >/dev/null 2>&1 || true
. "$MACHINES_SOURCE/../e2e/lib.sh"

on_machine() {
	machine=$1
	arch=$(awk -v name="$machine" '$1 == name { print $2 }' "$MACHINES_SOURCE/table")
	[ -n "$arch" ] || fail "there is no machine $machine in tests/machines/table"
	if [ "$arch" != amd64 ]; then
		[ -x "$boards/$arch/bin/agent" ] || skip "nothing is built for $arch (cmake --workflow --preset $arch)"
	elif [ "$(dpkg --print-architecture 2>/dev/null)" != amd64 ]; then
		skip "this system's programs are not for amd64"
	fi
}
on_machine "${machines[0]}"

built() {
	if [ "$arch" = amd64 ]; then echo "$BUILD/$1"; else echo "$boards/$arch/$1"; fi
}

sysroot() {
	local folders=${machine_folders[1]#*=}
	[ "$arch" = amd64 ] || echo "${folders:-$ROOT/build/sysroots}/$arch"
}

program() {
	if [ "$arch" = amd64 ]; then
		command -v "$1" || skip "$1 is not installed"
	else
		echo "$(sysroot)/programs/$1"
	fi
}

in_machine() {
	local expected=$1 status=0
	shift
	env TMPDIR="$T" "${machine_folders[@]}" "$MACHINES_SOURCE/run" --seconds "${machine_seconds:-300}" --out "$T/out" "$machine" "$@" \
		>"$T/said" 2>"$T/machine.err" || status=$?
	[ "$status" != 77 ] || skip "$(tail -n 1 "$T/machine.err")"
	[ "$status" = "$expected" ] || cat "$T/said" >&3
	assert_eq "exit status in the machine" "$expected" "$status"
}
