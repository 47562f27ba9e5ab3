# What is held back when the agent is killed. After lib.sh:   . "$TEST_SOURCE/lib-takeup-held.sh"
#
#   takeup_held OPTION...    agents with these options are killed while a program runs: what they held, and sums that were not sent, is
#                            lost, to the event, and the account of the next agent balances
. "$TEST_SOURCE/lib-takeup.sh"

takeup_held() {
	local i calls
	need_takeup
	start_collector
	start_daemon --announce --policy block "$@"
	start_steady 3
	wait_for 10 "the stream" grep -q "sends stream" "$T/serve.err"
	sleep 1.5
	for i in 1 2; do
		kill_daemon
		start_daemon --announce --policy block "$@"
		wait_for 10 "the next agent" taken_up $i
		sleep 1.5
	done
	end_steady
	wait_for 20 "its end" grep -q "pid $steady, ended" "$T/serve.err"
	wait_collector
	ask_ledger last
	counted "$TARGETS/steady" >"$T/counted.txt"
	calls=$(awk '/^(calls|failed)\.|^frees / { sum += $2 } END { print sum }' "$T/counted.txt")
	assert_eq produced "$calls" "$(ledger_value produced)"
	assert_eq "stored, culled and lost" "$calls" "$(($(ledger_value stored) + $(ledger_value culled) + $(ledger_value lost)))"
	assert_eq "gaps" "$(ledger_value lost)" "$(gaps_of "agent was gone" | awk '{ print $2 }')"
	[ "$(ledger_value culled)" -gt 1000 ] || fail "$(ledger_value culled) events were culled"
	[ "$(ledger_value lost)" -gt 0 ] || fail "nothing was lost with two agents"
	echo "produced $calls: stored $(ledger_value stored), culled $(ledger_value culled), lost $(ledger_value lost)" >&3
	kill -TERM "$daemon"
	wait "$daemon" || fail "agent serve ended with $?"
}
