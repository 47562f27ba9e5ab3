# An agent that is killed, stopped, started again, beside a program that goes on. After lib.sh:   .
# "$TEST_SOURCE/lib-takeup.sh"
#
#   can_take_up                  succeeds where rings can be taken up; need_takeup skips where not
#   start_daemon [OPTION...]     `agent serve` with its log in $T/serve.err; its pid is $daemon
#   start_daemon_as PREFIX... -- OPTION...   the same by way of another program (setpriv)
#   kill_daemon                  SIGKILL; the daemon is gone when this returns
#   start_steady THREADS         target steady, recorded, with the counting library behind; its pid is $steady
#   end_steady                   ends it in order: exit status, output; sets $longest_us
#   ledger_value NAME            a value of the last stream, from $T/ledger.json (ask_ledger makes it, and it must balance)
#   check_steady                 produced = what the counting library has counted, to the event
STALL_US=2000000 # DESIGN.md: a second, and 100 ms; and what a busy machine does besides

. "$TEST_SOURCE/lib-real.sh"
daemon_says=0

# The root of a user namespace cannot.
can_take_up() {
	head -c 1 "/proc/$$/map_files/$(ls /proc/$$/map_files | head -n 1)" >/dev/null 2>&1
}

need_takeup() {
	can_take_up || skip "no right to open /proc/PID/map_files here: rings can't be taken up"
}

# start_daemon_as PREFIX... -- OPTION...
start_daemon_as() {
	local prefix=()
	while [ "$1" != -- ]; do
		prefix+=("$1")
		shift
	done
	shift
	"${prefix[@]}" "$AGENT" serve --socket "$T/socket" --interface lo "$@" 2>>"$T/serve.err" 4>&- &
	daemon=$!
	daemon_says=$((daemon_says + 1))
	wait_for 10 "the daemon" daemon_ready
}

start_daemon() {
	start_daemon_as env -- "$@"
}

daemon_ready() {
	kill -0 "$daemon" 2>/dev/null || fail "agent serve ended: $(cat "$T/serve.err")"
	[ "$(grep -c "programs ask" "$T/serve.err")" -ge "$daemon_says" ]
}

kill_daemon() {
	kill -KILL "$daemon"
	wait "$daemon" 2>/dev/null || true
}

start_steady() {
	HEAPCAST_SOCKET=$T/socket LD_PRELOAD="$PRELOAD:$COUNTING" COUNTING_OUTPUT=$T/counts \
		"$TARGETS/steady" "$@" >"$T/steady.out" 2>"$T/steady.err" &
	steady=$!
	wait_for 10 "the program" grep -q started "$T/steady.out"
}

end_steady() {
	local status=0
	kill -TERM "$steady"
	wait "$steady" || status=$?
	assert_eq "exit status of the program" 7 "$status"
	assert_eq "lines of its output" 3 "$(wc -l <"$T/steady.out")"
	longest_us=$(value_of longest_us <"$T/steady.err")
	[ "$longest_us" -lt "$STALL_US" ] || fail "the program stood still for $longest_us us"
}

# So many times.
taken_up() {
	[ "$(grep -c "another agent had begun" "$T/serve.err")" -ge "$1" ]
}

ask_ledger() {
	adds_up --data "$T/data" "$@" --json >"$T/ledger.json" || {
		adds_up --data "$T/data" "$@" >&3 || true
		fail "the ledger does not balance"
	}
}

ledger_value() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$T/ledger.json" "$1"
}

# Gaps of a reason, and the events in them.
gaps_of() {
	python3 -c '
import json, sys
gaps = [g for g in json.load(open(sys.argv[1]))["gaps"] if g["reason"] == sys.argv[2]]
print(len(gaps), sum(g["events"] for g in gaps))' "$T/ledger.json" "$1"
}

# Every call of the allocator, as the library behind the recorder has counted it, was produced; and all is accounted for.
check_steady() {
	local calls
	counted "$TARGETS/steady" >"$T/counted.txt"
	calls=$(awk '/^(calls|failed)\.|^frees / { sum += $2 } END { print sum }' "$T/counted.txt")
	assert_eq "produced" "$calls" "$(ledger_value produced)"
	assert_eq "stored and lost" "$calls" "$(($(ledger_value stored) + $(ledger_value lost)))"
	python3 - "$T/ledger.json" <<-'PYTHON' || fail "gaps and threads do not agree with the account"
		import json, sys
		ledger = json.load(open(sys.argv[1]))
		threads = ledger["threads"]
		assert ledger["pending"] == 0, "pending"
		assert sum(g["events"] for g in ledger["gaps"]) == ledger["lost"], "gaps"
		assert sum(t["produced"] for t in threads) == ledger["produced"], "threads"
		wrong = [t for t in threads if t["produced"] != t["stored"] + t["lost"]]
		assert not wrong, wrong
	PYTHON
}
