#!/bin/bash
# Nothing is lost in silence, also when sampled. The account balances with a full set of sampled blocks, with thinning
# under an agent that stands still, and after SIGKILL; each of these shows.
. "$(dirname "$0")/lib.sh"
need pgrep
target=$BUILD/targets/sampled

check() {
	adds_up "$1" >"$T/ledger.txt" || { cat "$T/ledger.txt" >&3; fail "the ledger does not balance"; }
}

# The number in a line of the ledger; 0 if there is none.
ledger_of() {
	awk -v text="$1" 'index($0, text) == 1 { gsub(",", "", $NF); value = $NF } END { print value + 0 }' "$T/ledger.txt"
}

positive() {
	[ "$(ledger_of "$1")" -gt 0 ] || { cat "$T/ledger.txt" >&3; fail "none is shown of: $1"; }
}

# A small ring has a small set.
"$AGENT" run --quiet --memory-limit 2M --mode sample=1K --output "$T/full.heapcast" -- "$target" >"$T/said.txt"
check "$T/full.heapcast"
positive "  not sampled"
assert_eq "samples without room" 0 "$(ledger_of "samples without room")"
# It was full: the interval doubled, and it was halved. Of what is counted each end is known.
halved=$("$COLLECTOR" sql "$T/full.heapcast" "select count(*) from marks where kind = 'THINNED'" | tail -n 1)
[ "$halved" -gt 0 ] || fail "the set of sampled blocks was never full"
assert_eq "ends inferred" 0 "$(ledger_of "ends inferred")"
"$COLLECTOR" report "$T/full.heapcast" >"$T/report.txt"
assert_contains "the report" "$T/report.txt" "Sampled every 1.00 KiB" samples

# What libc does by calling itself is one event, sampled or not: reallocarray calls realloc.
for mode in full sample=100M; do
	"$AGENT" run --quiet --mode $mode --output "$T/$mode.heapcast" -- "$BUILD/targets/family" >"$T/said.txt"
	check "$T/$mode.heapcast"
	ledger_of "produced by the program" >>"$T/produced.txt"
done
[ "$(sort -u "$T/produced.txt" | wc -l)" = 1 ] || fail "the same events are counted differently: $(xargs <"$T/produced.txt")"

# The program is killed in the midst of it.
"$AGENT" run --quiet --mode sample=64K --output "$T/killed.heapcast" -- "$target" 0 >"$T/said.txt" 2>"$T/run.err" &
agent_pid=$!
wait_for 10 "the program" pgrep -P $agent_pid -x sampled
sleep 0.3
kill -KILL "$(pgrep -P $agent_pid -x sampled)"
wait $agent_pid || assert_eq "exit status (128 + SIGKILL)" 137 $?
check "$T/killed.heapcast"
positive "  not sampled"
"$COLLECTOR" report "$T/killed.heapcast" >"$T/report.txt"
assert_contains "the report" "$T/report.txt" "killed by signal 9" "Sampled every 64.0 KiB" " +- "

# The agent stands still for a moment: full mode thins, and the data say so.
"$AGENT" run --quiet --policy thin --output "$T/thin.heapcast" -- "$target" 0 >"$T/said.txt" 2>"$T/run.err" &
agent_pid=$!
wait_for 10 "the program" pgrep -P $agent_pid -x sampled
target_pid=$(pgrep -P $agent_pid -x sampled)
for _ in 1 2 3; do
	sleep 0.05
	kill -STOP $agent_pid
	sleep 0.1
	kill -CONT $agent_pid
done
sleep 0.2
kill -KILL "$target_pid"
wait $agent_pid || assert_eq "exit status (128 + SIGKILL)" 137 $?
check "$T/thin.heapcast"
positive "  not sampled"
"$COLLECTOR" report "$T/thin.heapcast" >"$T/report.txt"
assert_contains "the report" "$T/report.txt" "Sampled for a part of the time" " +- "
