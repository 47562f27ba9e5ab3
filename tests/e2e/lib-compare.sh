# The same work recorded by preloading and by probes in the kernel. Tests of that begin with this:   . "$(dirname "$0")/lib-compare.sh"
#
# The work is done by a program that waits for it and allocates nothing meanwhile. Both recordings begin when it waits: the
# preloaded one begins in mode off and is ordered to record, so neither knows what came before.
#
#   begin_work, waits_for_work   functions of the test: lets the program begin; whether it waits
#   both STATUS CMD...       records CMD preloaded.heapcast and attached.heapcast, nothing lost; it ends with STATUS
#   once_attached FILE STATUS OPTION... -- CMD...     records CMD, attached to
#   compare full|sampled ARG...   tests/e2e/compare.py; what it says goes to the test's output
. "$(dirname "$0")/lib-attach.sh"
need python3
export COLLECTOR

work_ended() { # STATUS PID
	local status=0
	wait "$2" || status=$?
	assert_eq "exit status of the program" "$1" "$status"
}

nothing_lost() {
	assert_eq "lost events of $1" 0 "$(ledger_value "$1" lost)"
	[ "$(ledger_value "$1" produced)" -gt 1000 ] || fail "that was no work"
}

# Standard input of the program: nothing comes before the work begins. (Others have this end of the pipe, too.)
begin_work() {
	echo >&7
	exec 7>&-
}

# It sleeps in the read of that.
waits_for_work() {
	[ "$(cut -d' ' -f1 "/proc/$work_pid/syscall")" = 0 ] && [ "$(readlink "/proc/$work_pid/fd/0")" = "$T/work" ]
}

start_work() {
	rm -f work
	mkfifo work
	"$@" <work &
	work_pid=$!
	exec 7>work
}

once_attached() {
	local file=$1 expected=$2 options=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	start_work "$@"
	wait_for 30 "the program to wait for its work" waits_for_work
	attach -p "$work_pid" --memory-limit 128M --output "$file" "${options[@]}"
	begin_work
	work_ended "$expected" "$work_pid"
	attached_ended
	nothing_lost "$file"
}

both() {
	local expected=$1 agent
	shift
	start_work "$AGENT" run --quiet --mode off --memory-limit 64M --control control.sock --output preloaded.heapcast -- "$@"
	agent=$work_pid
	wait_for 30 "the program to be started" pgrep -P "$agent"
	work_pid=$(pgrep -P "$agent")
	wait_for 30 "the program to wait for its work" waits_for_work
	"$AGENT" ctl --socket "$T/control.sock" mode full >ctl.out || fail "agent ctl: $(cat ctl.out)"
	begin_work
	work_ended "$expected" "$agent"
	nothing_lost preloaded.heapcast
	once_attached attached.heapcast "$expected" -- "$@"
}

compare() {
	python3 "$TEST_SOURCE/compare.py" "$@" >&3 || fail "the recordings differ"
}
