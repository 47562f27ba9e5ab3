# What every end-to-end test begins with:   . "$(dirname "$0")/lib.sh"
#
# The test then runs in a network namespace of its own, and in a temporary folder $T that goes when it ends. Where the machine
# allows it, it also has a process namespace, which takes every child with it. Where namespaces can't be had it runs on the real
# loopback, one test at a time. A failing command ends the test; what went wrong is printed. With HEAPCAST_TEST_BUSY=1 two programs
# that would take all processors run beside it.
#
#   AGENT COLLECTOR PRELOAD     the programs under test, TARGETS the folder of the target programs
#   skip REASON                 can't run here: exit 77, and ctest shows it as skipped
#   fail TEXT...                ends the test
#   assert_eq WHAT EXPECTED ACTUAL, assert_contains WHAT FILE TEXT..., assert_status EXPECTED CMD...
#   wait_for SECONDS WHAT CMD...   until CMD succeeds, as long as it takes at most; a busy machine has four times as long
#   start_collector [ARG...]    `collector gather --once` in the background, listening when this returns
#   wait_collector              until it has ended; its exit status must be 0
#   record CMD...               `agent run --announce` of CMD on the loopback interface
#   ask COMMAND...              a question to the collector about $T/data
#   token_in FILE               the token in the address that `collector serve` or `gather --http` has printed there
#   adds_up [ARG...]            `collector ledger`, where something may be missing on purpose: fails unless the account adds up
set -Eeuo pipefail
export LC_ALL=C TZ=UTC PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec 3>&1 # what a test says, also from within a redirected function

: "${HEAPCAST_BUILD:?run the tests with tests/run, or ctest in a build folder}"
TEST_SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$TEST_SOURCE/../.." && pwd)
BUILD=$HEAPCAST_BUILD
AGENT=$BUILD/bin/agent
COLLECTOR=$BUILD/bin/collector
PRELOAD=$BUILD/lib/libheapcast.so
TARGETS=$BUILD/targets
COUNTING=$BUILD/tests/libcounting.so
DISCOVERY_PORT_HEX=A9F9 # 43513, as /proc/net/udp writes it

# Goes on in namespaces, the strongest kind that can be had here.
enter_namespaces() {
	local kind
	for kind in "--net --pid --fork --kill-child --mount-proc" "--net" \
		"--map-root-user --net --pid --fork --kill-child --mount-proc" "--map-root-user --net"; do
		# shellcheck disable=SC2086
		if unshare $kind true 2>/dev/null; then
			HEAPCAST_TEST_INSIDE=namespace exec unshare $kind -- bash "$0" "$@"
		fi
	done
	exec 9>"$BUILD/loopback.lock"
	flock 9
	export HEAPCAST_TEST_INSIDE=loopback
}

[ -n "${HEAPCAST_TEST_INSIDE:-}" ] || enter_namespaces "$@"
[ "$HEAPCAST_TEST_INSIDE" != namespace ] || ip link set lo up

inside=$HEAPCAST_TEST_INSIDE # namespace or loopback
busy=${HEAPCAST_TEST_BUSY:-}
# What a user may have set must not change a test.
unset LD_PRELOAD
for name in "${!HEAPCAST_@}" "${!MEMORY_PROFILER_@}"; do unset "$name"; done
export HEAPCAST_CONFIG= # nor what the daemon of this host is told
export HEAPCAST_KEYS= HEAPCAST_PAIRS= # nor with whom it is paired

T=$(mktemp -d "${TMPDIR:-/tmp}/heapcast-test.XXXXXX")
export HEAPCAST_TEST_MARK="$T" # children carry it, and are found by it
collector_pid=

# Ends what this test has started, whoever its parent is by now.
kill_children() {
	local dir pid
	for dir in /proc/[0-9]*; do
		pid=${dir#/proc/}
		[ "$pid" != "$$" ] && [ "$pid" != "$BASHPID" ] || continue
		if grep -qsz "^HEAPCAST_TEST_MARK=$T\$" "$dir/environ" 2>/dev/null; then
			kill -KILL "$pid" 2>/dev/null || true
		fi
	done
}

at_end() {
	local status=${1:-$?} # of the test, where more was to be done before
	trap - EXIT
	# A child that gets a signal before it has forgotten its parent's traps comes here, too.
	[ "$BASHPID" = "$$" ] || exit "$status"
	exec >&3 2>&3
	if [ "$status" != 0 ] && [ "$status" != 77 ]; then
		echo "--- failed with $status; the folder held:"
		(cd "$T" && ls -la)
		for f in "$T"/*.err; do
			[ -s "$f" ] && { echo "--- $(basename "$f"):"; tail -n 20 "$f"; }
		done
	fi
	kill_children
	jobs -p | xargs -r kill -KILL 2>/dev/null || true # those that a test has started without its environment
	wait
	times >"$T/cpu"
	awk -F'[ ms]' '{ sum += 60 * ($1 + $4) + $2 + $5 } END { printf "CPU time of the test: %.1f s\n", sum }' "$T/cpu"
	cd /
	rm -rf "$T"
	exit "$status"
}
trap at_end EXIT
trap 'exit 143' TERM INT HUP
trap 'echo "line $LINENO of $(basename "$0"): \"$BASH_COMMAND\" failed" >&3' ERR
cd "$T"

# Not children of the test: its `wait` is for its own.
for _ in ${busy:+1 2}; do
	(nice bash -c 'while :; do :; done' >/dev/null 2>&1 3>&- &)
done

skip() {
	echo "SKIPPED: $*" >&3
	exit 77
}

fail() {
	echo "FAILED: $*" >&3
	exit 1
}

need() {
	local name
	for name; do
		command -v "$name" >/dev/null || skip "$name is not installed"
	done
}

assert_eq() {
	[ "$2" = "$3" ] || fail "$1: expected \"$2\", got \"$3\""
}

assert_contains() {
	local what=$1 file=$2 text
	shift 2
	for text; do
		grep -qF -e "$text" "$file" || { head -n 60 "$file" >&3; fail "$what does not show \"$text\""; }
	done
}

assert_status() {
	local expected=$1 status=0
	shift
	"$@" || status=$?
	assert_eq "exit status of $*" "$expected" "$status"
}

adds_up() {
	local status=0 said
	said=$("$COLLECTOR" ledger "$@") || status=$?
	printf '%s\n' "$said"
	[ "$status" = 0 ] || { [ "$status" = 1 ] && grep -qE 'The account adds up|"adds_up":true' <<<"$said"; }
}

token_in() {
	sed -nE 's/.*#token=([A-Z2-7]+)$/\1/p' "$1"
}

wait_for() {
	local seconds=$((4 * $1)) what=$2 end
	shift 2
	end=$((SECONDS + seconds))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || fail "waited $seconds s for $what"
		sleep 0.05
	done
}

collector_listens() {
	kill -0 "$collector_pid" 2>/dev/null || fail "collector gather ended: $(cat "$T/collector.err")"
	grep -q ":$DISCOVERY_PORT_HEX " /proc/net/udp
}

start_collector() {
	"$COLLECTOR" gather --data "$T/data" --interface lo --once "$@" >"$T/collector.out" 2>"$T/collector.err" &
	collector_pid=$!
	wait_for 10 "the collector to listen" collector_listens
}

wait_collector() {
	local status=0
	(
		sleep 240
		kill -TERM "$collector_pid"
	) 2>/dev/null &
	local watchdog=$!
	wait "$collector_pid" || status=$?
	kill "$watchdog" 2>/dev/null || true
	wait "$watchdog" 2>/dev/null || true
	assert_eq "exit status of collector gather" 0 "$status"
}

record() {
	"$AGENT" run --policy block --announce --interface lo --quiet -- "$@"
}

ask() {
	local command=$1
	shift
	"$COLLECTOR" "$command" --data "$T/data" "$@"
}
