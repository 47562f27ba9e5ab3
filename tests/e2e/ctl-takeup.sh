#!/bin/bash
# A program that was told to stop stays stopped when its agent is killed and another takes it up. Told to start again,
# it goes on in the mode that it had, not in that of the new agent. Its frees are recorded all the while.
# ctest: LABELS e2e TIMEOUT 120
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup.sh"
need python3
need_takeup

actl() { "$AGENT" ctl --socket "$T/socket" "$@"; }
of_program() { actl status --json | python3 -c 'import json, sys; p, = json.load(sys.stdin)["programs"]; print(*[p[k] for k in sys.argv[1:]])' "$@"; }

start_collector
start_daemon --announce --policy block
HEAPCAST_SOCKET=$T/socket LD_PRELOAD=$PRELOAD "$BUILD/tests/e2e-rolling" 100 3000 "$T/end" >"$T/said" &
program=$!
wait_for 20 "the program" eval '[ "$(of_program pid 2>/dev/null)" = "$program" ]'
actl mode sample=2K >"$T/out"
assert_eq "mode" "sample 2048" "$(of_program mode sample_interval)"
sleep 0.5
actl stop >"$T/out"
assert_eq "mode" "off" "$(of_program mode)"
kill_daemon
start_daemon --announce --policy block
wait_for 20 "the ring to be taken up" taken_up 1
assert_eq "mode under the next agent" "off" "$(of_program mode)"
before=$(of_program events)
wait_for 20 "frees of what is on record" eval '[ "$(of_program events)" -gt "$before" ]'
sleep 0.5
actl start >"$T/out"
assert_eq "mode after the start" "sample 2048" "$(of_program mode sample_interval)"
sleep 0.5
touch "$T/end"
wait "$program"
wait_for 20 "its end" grep -q "pid $program, ended" "$T/serve.err"
wait_collector
ask_ledger last
python3 - "$T/ledger.json" <<'PYTHON' || fail "the marks"
import json, sys
states = [(s["state"], s["value"]) for s in json.load(open(sys.argv[1]))["states"]]
print(*states)
orders = [s for s in states if s[0] in ("mode", "stopped", "started")]
assert orders == [("mode", 2048), ("stopped", 0), ("started", 2048)], orders
PYTHON
kill -TERM "$daemon"
wait "$daemon" || fail "agent serve ended with $?"
