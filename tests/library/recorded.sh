#!/bin/bash
# Programs for a board whose libc is musl, under qemu-user, recorded by that board's agent, which runs so, too: of each, every allocation
# with its exact call chain is known in advance (tests/targets/chains), and on record as often as it happened; and it does what it
# does alone.
#
#   recorded.sh ARCH LIBRARY TARGETS QEMU -L SYSROOT     LIBRARY, TARGETS: of the build for the board
#
# The agent is that of the build folders' ARCH-static or ARCH (HEAPCAST_BOARDS, as for tests/machines), what it has written is read by this
# machine's collector (HEAPCAST_HOST_BUILD). Where these are missing the test is skipped.
# Left out is what can't be had: coroutines (musl has no makecontext), exec (qemu-user starts no other program), vfork (it makes it a
# fork), and thread-local data of a plugin in the static block (musl refuses to load it).
root=$(cd "$(dirname "$0")/../.." && pwd)
export HEAPCAST_BUILD=${HEAPCAST_HOST_BUILD:-$root/build/dev}
boards=${HEAPCAST_BOARDS:-$root/build} sysroots=${HEAPCAST_SYSROOTS:-$root/build/sysroots}
. "$root/tests/e2e/lib.sh"
arch=$1 library=$2 chains=$3/chains
shift 3
emulator=("$@")
need python3 "$1"
ulimit -c 0

[ -x "$COLLECTOR" ] || skip "no collector for this machine in $BUILD (cmake --workflow --preset dev)"
if [ -x "$boards/$arch-static/bin/agent" ]; then
	agent=("$1" "$boards/$arch-static/bin/agent")
elif [ -x "$boards/$arch/bin/agent" ]; then
	agent=("$1" -L "$sysroots/$arch" "$boards/$arch/bin/agent")
else
	skip "no agent is built for $arch (cmake --workflow --preset $arch-static)"
fi

# musl's _start jumps to _start_c, of the program, which on AArch64 jumps into libc in turn.
start="_start_c;*"
[ "$arch" != arm64 ] || start="*"

"${agent[@]}" serve --socket "$T/socket" --output "$T/recording" --policy block --block-max 60s --memory-limit 32M \
	>"$T/agent.err" 2>&1 &
wait_for 30 "the agent" test -S "$T/socket"

ended() { # how many recordings are whole
	grep -c " ended: " "$T/agent.err" || true
}

# A program waits for an answer for a second, then goes on unrecorded: where the machine is that busy it is run again.
recorded() { # STATUS PROGRAM [ARG...]
	local expected=$1 status tries end before
	shift
	for tries in 1 2 3 4 5 6; do
		rm -f "$T/recording" "$T"/recorded.*
		before=$(ended) status=0
		{ timeout 120 "${emulator[@]}" -E LD_PRELOAD="$library" -E HEAPCAST_SOCKET="$T/socket" "$@" \
			>"$T/recorded.out" 2>"$T/recorded.err" || status=$?; } 2>/dev/null
		assert_eq "exit status of ${1##*/}" "$expected" "$status"
		end=$((SECONDS + 10))
		until [ "$(ended)" -gt "$before" ] || { [ $SECONDS -ge $end ] && [ ! -e "$T/recording" ]; }; do
			sleep 0.05
		done
		[ ! -s "$T/recording" ] || return 0
		echo "${1##*/} was not recorded at try $tries" >&3
	done
	fail "${1##*/} was never recorded: $(tail -n 5 "$T/agent.err")"
}

same() { # STATUS PROGRAM [ARG...]
	local expected=$1 status=0 what=${2##*/}
	shift
	{ "${emulator[@]}" "$@" >"$T/alone.out" 2>"$T/alone.err" || status=$?; } 2>/dev/null
	assert_eq "exit status of $what alone" "$expected" "$status"
	recorded "$expected" "$@"
	cmp "$T/alone.out" "$T/recorded.out" || fail "$what: other output"
	cmp "$T/alone.err" "$T/recorded.err" || fail "$what: other errors"
	"$COLLECTOR" ledger --json "$T/recording" >"$T/ledger.json" || fail "$what: the ledger does not balance"
	assert_contains "$what: the ledger" "$T/ledger.json" '"lost":0,' '"stacks_cut":0,' '"orphan_frees":0,'
	"$COLLECTOR" export --format json --with-stacks "$T/recording" >"$T/export.json"
	python3 "$TEST_SOURCE/chains.py" --start "$start" "$T/alone.out" "$T/export.json" "$(realpath "$1")" "${@:2}" >&3 ||
		fail "$what: the recording is not what has happened"
}

same 18 "$chains/blocks"
same 8 "$chains/callers"
(cd "$chains" && same 8 ./callers)
for frames in plain none small record untold signed arm; do
	[ ! -x "$chains/frames_$frames" ] || same 17 "$chains/frames_$frames"
done
same 11 "$chains/threads"
same 10 "$chains/fork"
same 0 "$chains/dlopen" "$chains/alpha.so" "$chains/beta.so"
same 13 "$chains/longjmp"
same 14 "$chains/signals"
same 14 "$chains/signals" alt
same 5 "$chains/end" none
same 7 "$chains/end" _exit
same 6 "$chains/end" thread
same 137 "$chains/end" kill
