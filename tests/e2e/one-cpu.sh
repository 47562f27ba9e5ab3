#!/bin/bash
# Program and agent on one processor. Neither starves the other, and neither sleeps while the other has nothing to do.
# Nothing is lost. The agent of a program that does nothing costs next to nothing.
#
# The machine may have other work, so wall time says little. What is compared instead: how long the processor was idle
# meanwhile, and how long the program slept (for room in the ring) beside what the agent ran or waited to run.
. "$(dirname "$0")/lib.sh"
need taskset
need pgrep
[ -r /proc/self/schedstat ] || skip "the kernel keeps no /proc/PID/schedstat"
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
ticks=$(getconf CLK_TCK)

# Of all threads of a process: ms run, and ms that they waited to run.
spent() {
	cat /proc/"$1"/task/*/schedstat 2>/dev/null | awk '{ run += $1; wait += $2 } END { printf "%d %d\n", run / 1e6, wait / 1e6 }'
}

# Not what waits for a disk: the agent writes.
idle_ms() {
	awk -v cpu="cpu$cpu" -v ticks="$ticks" '$1 == cpu { printf "%d", $5 * 1000 / ticks }' /proc/stat
}

now_ms() {
	echo $((${EPOCHREALTIME/./} / 1000))
}

taskset -c "$cpu" "$AGENT" run --memory-limit 2M --output "$T/pairs" -- "$BUILD/tests/e2e-pairs" 6000000 >"$T/pairs.out" 2>"$T/pairs.err" &
agent=$!
wait_for 10 "the program to start" pgrep -P "$agent" -f e2e-pairs
program=$(pgrep -P "$agent" -f e2e-pairs)
begin=$(now_ms) idle0=$(idle_ms)
read -r p_run0 p_wait0 < <(spent "$program")
while [ -e "/proc/$program/task" ] && [ -e "/proc/$agent/task" ]; do
	read -r run wait < <(spent "$program")
	read -r run_agent wait_agent < <(spent "$agent")
	# Either may have ended by now.
	[ "$run" -gt 0 ] && [ "$run_agent" -gt 0 ] || break
	p_run=$run p_wait=$wait a_run=$run_agent a_wait=$wait_agent end=$(now_ms) idle=$(($(idle_ms) - idle0))
	sleep 0.02
done
status=0
wait "$agent" || status=$?
assert_eq "the program's exit status" 5 "$status"
slept=$((end - begin - (p_run - p_run0) - (p_wait - p_wait0)))
echo "program ran $p_run ms, waited to run $p_wait ms, slept $slept ms; agent ran $a_run ms, waited $a_wait ms; idle $idle ms"
[ "$p_run" -gt 100 ] || fail "the program ran for only $p_run ms: that says nothing"
[ "$slept" -le $((300 + (a_run + a_wait) * 5 / 4)) ] ||
	fail "the program slept for $slept ms, while the agent ran for $a_run ms and waited to run for $a_wait ms"
[ "$idle" -le $((200 + (p_run + a_run) / 8)) ] ||
	fail "the processor was idle for $idle ms, while program and agent needed it for $((p_run + a_run)) ms"
assert_status 0 "$COLLECTOR" ledger "$T/pairs" >"$T/ledger.txt"
assert_eq "lost events" 0 "$(awk '$1 == "lost" { print $2 }' "$T/ledger.txt")"

# 0.5 % of 2 s are 10 ms. What others do on the machine, and on its host, makes each of its few steps dearer, as no cache keeps what they need:
# the best of some tries counts, and more is only told of. With 33 to 57 ms, which this agent and an earlier one took by turns on such a machine, a
# limit of 10 said nothing of the agent. One that spins takes 2,000.
"$AGENT" run --quiet --output "$T/idle" -- sleep 60 &
agent=$!
wait_for 10 "the program to start" pgrep -P "$agent" sleep
sleep 1
least=1000000
for try in 1 2 3 4 5 6; do
	read -r before _ < <(spent "$agent")
	sleep 2
	read -r after _ < <(spent "$agent")
	[ "$((after - before))" -ge "$least" ] || least=$((after - before))
	[ "$least" -ge 10 ] || break
done
echo "idle: the agent ran for $least ms in 2 s (try $try)"
[ "$least" -lt 100 ] || fail "with an idle program the agent ran for $least ms in 2 s"
kill "$(pgrep -P "$agent" sleep)"
wait "$agent" || true
