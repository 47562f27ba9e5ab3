#!/bin/bash
# The agent gets no processor when programs ask it. One that `agent run` has started waits for it, for longer than others do, and is
# recorded from its first call on. One that asks a daemon goes on after a second, unrecorded; the daemon notices, says so and
# keeps no place for it.
. "$(dirname "$0")/lib-serve.sh"
need python3
PACED=$BUILD/tests/e2e-paced
: >"$T/end"

# The shell is not recorded, and stops the agent before the program that it becomes asks.
cat >"$T/stop-agent" <<'END'
kill -STOP $PPID
(sleep 3; kill -CONT $PPID) &
unset HEAPCAST_OFF
exec "$@"
END
HEAPCAST_OFF=1 "$AGENT" run --quiet --output "$T/run.heapcast" -- bash "$T/stop-agent" "$PACED" 40000 0 "$T/end" >"$T/run.out" 2>"$T/run.err"
assert_contains "the program" "$T/run.out" "done"
"$COLLECTOR" ledger --json "$T/run.heapcast" >"$T/ledger.json" || fail "the ledger does not balance"
python3 - "$T/ledger.json" <<'PYTHON' || fail "not all of it was recorded"
import json, sys
ledger = json.load(open(sys.argv[1]))
print("recorded though the agent slept for 3 s:", ledger["stored"], "events")
assert ledger["stored"] == ledger["produced"] > 39000, ledger
PYTHON

serve d --config "" --socket "$T/socket" --memory-limit 4M --output "$T/%e_%p.heapcast"
kill -STOP "${served[d]}"
HEAPCAST_SOCKET=$T/socket LD_PRELOAD=$PRELOAD timeout 20 "$PACED" 4000 0 "$T/end" >"$T/late.out" &
late=$!
wait_for 10 "the program to go on" grep -q "done" "$T/late.out"
HEAPCAST_SOCKET=$T/socket LD_PRELOAD=$PRELOAD "$BUILD/tests/e2e-rolling" 100 3000 "$T/enough" >"$T/rolling.out" &
rolling=$!
sleep 2
kill -CONT "${served[d]}"
wait_for 10 "the daemon to notice" grep -q "pid $rolling .*has not waited for this agent" "$T/d.err"
wait "$late"
HEAPCAST_SOCKET=$T/socket LD_PRELOAD=$PRELOAD "$PACED" 4000 0 "$T/end" >"$T/later.out"
wait_for 10 "the one that went on without to be recorded" eval '[ "$(grep -c "recording pid $rolling " "$T/d.err")" -gt 0 ]'
touch "$T/enough"
wait "$rolling"
stop_serve d
[ "$("$COLLECTOR" ledger --json "$T"/e2e-paced_*.heapcast | python3 -c 'import json, sys; print(json.load(sys.stdin)["produced"] > 3900)')" = True ] ||
	fail "the one that came later was not recorded"
