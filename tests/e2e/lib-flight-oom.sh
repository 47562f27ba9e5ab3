# A program with a planted leak, recorded by a flight recorder in a cgroup of its own, until the cgroup's limit of 64
# MiB kills it. After lib.sh, lib-flight.sh and lib-cgroup.sh:
#
#   flight_oom_open                       the two cgroups
#   flight_oom WINDOW LEAKS PAIRS QUIET   once: LEAKS blocks of 16 KiB and PAIRS of malloc and free each quarter of a second. Checks
#                                         that the live heap and the last WINDOW seconds before the kill are there, what was sent in
#                                         the first QUIET seconds, and the agent's memory
LIMIT=$((64 << 20))

flight_oom_open() {
	cgroup_open
	cgroup_make agent
	cgroup_make target $LIMIT
}

flight_oom() {
	local window=$1 leaks=$2 pairs=$3 quiet=$4 status=0 before rate most kills
	local in_cgroup='echo $$ >"$0/cgroup.procs"; exec "$@"'
	rm -rf "$T/data" "$T/truth"
	kills=$(cgroup_kills target)
	start_collector
	sh -c "$in_cgroup" "$CGROUP/agent" "$AGENT" run --policy block --quiet --log info --announce --interface lo --flight "${window}s" --flight-pressure 80% -- \
		sh -c "$in_cgroup" "$CGROUP/target" "$LEAKER" "$T/truth" "$leaks" 16384 "$pairs" 2>"$T/run.err" &
	agent=$!
	wait_for 10 "the recording" recording_bytes
	memory_watch "$agent" "$T/most" &
	sleep 2
	before=$(recording_bytes)
	sleep $((quiet - 2))
	rate=$((($(recording_bytes) - before) / (quiet - 2)))
	wait "$agent" || status=$?
	assert_eq "exit status of agent run (128 + SIGKILL)" 137 "$status"
	wait_collector
	[ "$(cgroup_kills target)" -gt "$kills" ] || fail "the OOM killer did not come"
	flight_truth last "$T/truth" "$window" >"$T/figures"
	assert_contains "the end" "$T/ledger.json" '"kind":"oom_killed"'
	assert_contains "the reason of the first delivery" "$T/run.err" "sending what the flight recorder holds (limit"
	[ "$rate" -lt 1000 ] || fail "$rate bytes a second while nothing happens"
	most=$(cat "$T/most")
	[ "$most" -gt 500 ] || fail "the agent's memory could not be read"
	[ "$most" -le 8192 ] || fail "the agent had $most KiB"
	echo "$rate bytes/s in the first $quiet s; the agent had at most $most KiB of 8192; $(cat "$T/figures")" >&3
}
