#!/bin/bash
# machines: amd64-6.1 amd64-5.10
# A program of known allocations is attached to on other kernels: those without cookies, links for many uprobes, sessions.
. "$(dirname "$0")/lib.sh"
ROUNDS=200

cat >script <<END
./attached go 2 $ROUNDS &
target=\$!
./agent attach -p \$target --mode full --output out/recording >out/attach.out 2>out/attach.err &
agent=\$!
for i in \$(seq 250); do # the verifier takes its time under an emulator
	grep -q 'attached to' out/attach.err && break
	kill -0 \$agent 2>/dev/null || { cat out/attach.err; exit 1; }
	sleep 1
done
touch go
wait \$target
[ \$? = 7 ] || exit 2
wait \$agent
END
in_machine 0 script "$(built bin/agent)" "$(built targets/attached)"
"$COLLECTOR" ledger --json "$T/out/recording" >ledger.json || fail "the account does not balance"
value() { node -p "JSON.parse(require('fs').readFileSync('ledger.json'))['$1']"; }
assert_eq "events" $((3 * ROUNDS * 21)) "$(value produced)"
assert_eq "lost" 0 "$(value lost)"
"$COLLECTOR" top --by backtrace --symbols "$BUILD/targets" "$T/out/recording" >top.txt
assert_contains "stacks" top.txt "by work" "by start_thread"
