#!/bin/bash
# What the agent says to a newcomer: help that fits 80 columns, and a sentence for what can go wrong before the program starts.
. "$(dirname "$0")/lib.sh"
need python3
plain=$BUILD/tests/e2e-plain

for command in "" run serve; do
	"$AGENT" $command --help >"$T/help.txt"
	[ "$(wc -l <"$T/help.txt")" -ge 8 ] || fail "agent $command --help says too little"
	if grep -nE '^.{81}' "$T/help.txt" >&3; then fail "agent $command --help is wider than 80 columns"; fi
done

# says STATUS TEXT ARG...: `agent ARG...` ends so, and says so.
says() {
	local expected=$1 text=$2 status=0
	shift 2
	"$AGENT" "$@" >"$T/says.out" 2>"$T/says.err" </dev/null || status=$?
	assert_contains "agent $*" "$T/says.err" "$text"
	assert_eq "exit status of agent $*" "$expected" "$status"
}

says 2 "agent run -- CMD" run
says 2 "did you mean --announce?" run --anounce -- "$plain"
says 2 "agent serve" run --socket x -- "$plain"
says 2 "--policy takes block|thin|count" run --policy hard -- "$plain"
says 2 "no interface 'nope0'" run --announce --interface nope0 -- "$plain"
says 2 "--memory-limit" run --memory-limit 1M -- "$plain"
says 2 "did you mean \`agent run -- sleep\`" serve sleep
says 127 "no program './none'" run -- ./none
says 126 "not executable" run -- "$T/says.err"

python3 -c '
import socket, time
s = socket.socket()
s.bind(("127.0.0.1", 18177))
s.listen()
print("there", flush=True)
time.sleep(30)' >"$T/taken.out" &
wait_for 5 "a taken port" grep -q there "$T/taken.out"
says 3 "port 18177 is in use" run --listen 127.0.0.1:18177 -- "$plain"

says 3 "can't write a recording to $T/none/x.heapcast: No such file or directory" run --output "$T/none/x.heapcast" -- "$plain"

# From here on the program runs, and its own status is ours.
says 5 "no collector at 127.0.0.1:43513" run --collector 127.0.0.1 --linger 100ms -- "$plain"
assert_contains "the summary" "$T/says.err" "no collector came; what was left is in heapcast_e2e-plain_"
"$COLLECTOR" ledger "$T"/heapcast_e2e-plain_*.heapcast >"$T/ledger.txt"
