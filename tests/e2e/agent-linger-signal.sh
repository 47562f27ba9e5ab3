#!/bin/bash
# The program has ended and no collector comes: a signal to `agent run` ends the waiting, what was recorded goes to a file.
# A spool that is full by then does not keep the agent either.
. "$(dirname "$0")/lib.sh"
plain=$BUILD/tests/e2e-plain

for signal in TERM INT; do
	mkdir "$T/$signal"
	cd "$T/$signal"
	# What a shell starts behind "&" ignores SIGINT, and so would the agent.
	env --default-signal=INT "$AGENT" run --announce --interface lo --linger 60s --log info -- "$plain" \
		>"$T/$signal.out" 2>"$T/$signal.err" &
	agent=$!
	wait_for 10 "the program's end" grep -q done "$T/$signal.out"
	sleep 0.3
	since=$SECONDS
	kill -"$signal" "$agent"
	status=0
	wait "$agent" || status=$?
	assert_eq "exit status after SIG$signal" 5 "$status"
	[ $((SECONDS - since)) -le 3 ] || fail "the agent stayed for $((SECONDS - since)) s after SIG$signal"
	assert_contains "the agent" "$T/$signal.err" "delivering what there is" "what was left is in"
	"$COLLECTOR" ledger ./*.heapcast >"$T/ledger.txt"
	cd "$T"
done

# More than the spool holds, and nobody comes: the waiting ends all the same, and what is left has a file.
"$AGENT" run --collector 127.0.0.1 --linger 300ms --policy block --block-max 200ms --memory-limit 2M -- "$BUILD/tests/e2e-pairs" 1000000 \
	>/dev/null 2>"$T/spool.err" || assert_eq "exit status" 5 $?
assert_contains "the summary" "$T/spool.err" "what was left is in heapcast_e2e-pairs_"
adds_up "$T"/heapcast_e2e-pairs_*.heapcast >"$T/ledger.txt"
