# Tests of `agent attach` begin with this:   . "$(dirname "$0")/lib-attach.sh"
#
#   attach OPTION...      in the background; returns when it is attached. Its pid: $agent_pid
#   attached_ended        waits for it: exit status 0
#   ledger_value FILE NAME    a number of the ledger, which adds up
#   sql FILE SELECT       its rows, without names
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "eBPF needs root"
"$AGENT" attach --check >check.out 2>check.err || skip "$(tail -n 1 check.out)"

attach_says_so() {
	kill -0 "$agent_pid" 2>/dev/null || fail "agent attach ended: $(cat attach.err)"
	grep -q "attached to" attach.err
}

attach() {
	: >attach.err # what the last one said is not this one's
	"$AGENT" attach "$@" 2>attach.err &
	agent_pid=$!
	wait_for 60 "agent attach" attach_says_so
}

attached_ended() {
	local status=0
	wait "$agent_pid" || status=$?
	assert_eq "exit status of agent attach ($(cat attach.err))" 0 "$status"
}

ledger_value() {
	adds_up --json "$1" >ledger.json || fail "the ledger of $1 does not balance: $(cat ledger.json)"
	tr ',{' '\n\n' <ledger.json | sed -n "s/^\"$2\"://p" | sed -n 1p # those of the threads come behind
}

sql() {
	"$COLLECTOR" sql --csv "$@" | sed '/^# /d' | tail -n +2 | tr -d '\r'
}
