#!/bin/bash
# The flight recorder. While nothing happens, less than 1 KB/s is sent, and no events. A signal to the agent and a
# collector's order have the live heap and the window sent while the program goes on; so does its end. What the program
# counted is there.
# ctest: TIMEOUT 300 COST 60
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-flight.sh"
need python3 pgrep
QUIET=11 # seconds

stored() {
	adds_up --data "$T/data" --json last | python3 -c 'import json, sys; print(json.load(sys.stdin)["stored"])'
}

deliveries() {
	adds_up --data "$T/data" --json last | python3 -c 'import json, sys; print(sum(s["state"] == "delivery" for s in json.load(sys.stdin)["states"]))'
}

has_deliveries() {
	[ "$(deliveries)" = "$1" ]
}

start_collector
"$AGENT" run --policy block --announce --interface lo --flight 3s --flight-after 1s --flight-pressure off -- "$LEAKER" "$T/truth" 10 1000 200 2>"$T/run.err" &
agent=$!
wait_for 10 "the recording" recording_bytes
program=$(pgrep -P "$agent" -x e2e-leaker)
memory_watch "$agent" "$T/most" &
sleep 3
before=$(recording_bytes)
sleep $QUIET
rate=$((($(recording_bytes) - before) / QUIET))
[ "$(stored)" -lt 5 ] || fail "$(stored) events were sent while nothing happened" # its file is a mapping
[ "$rate" -lt 1000 ] || fail "$rate bytes a second while nothing happens"

kill -USR1 "$agent"
wait_for 20 "the delivery" has_deliveries 1
[ "$(stored)" -gt 3000 ] || fail "$(stored) events came"
ask report last >"$T/report.txt"
assert_contains "the report" "$T/report.txt" "Last sent at" "(signal)"
sleep 3
ask ctl last snapshot >"$T/ctl.txt" || fail "the order was refused: $(cat "$T/ctl.txt")"
wait_for 20 "the delivery on order" has_deliveries 2
ask report last >"$T/report.txt"
assert_contains "the report" "$T/report.txt" "Last sent at" "(order)"
sleep 5
kill -TERM "$program"
wait "$agent" || fail "agent run ended with $?"
wait_collector
flight_truth last "$T/truth" 3 >"$T/figures"
assert_eq "deliveries" 3 "$(deliveries)"
most=$(cat "$T/most")
[ "$most" -gt 500 ] || fail "the agent's memory could not be read"
[ "$most" -le 8192 ] || fail "the agent had $most KiB"
echo "$rate bytes/s while nothing happened, the agent had at most $most KiB of 8192; $(cat "$T/figures")" >&3

# Into a file; sampled; too little memory for all: the window shortens, the account balances, totals are exact.
"$AGENT" run --quiet --flight 10s --flight-memory 160K --memory-limit 3M --output "$T/few" -- "$LEAKER" "$T/truth" 30 100 1500 3
adds_up --json "$T/few" >"$T/few.ledger" || fail "little memory: the ledger does not balance"
"$LEAKER" "$T/truth" >"$T/truth.txt"
"$COLLECTOR" report --json "$T/few" | python3 -c '
import json, sys
r = json.load(sys.stdin)
lots = [l.split() for l in open(sys.argv[1]) if l.startswith("lot")]
births = sum(int(l[2]) for l in lots)
assert births <= r["allocated"]["blocks"] <= births + 4, (births, r["allocated"])
assert r["culled"]["blocks"] > births / 2, r["culled"]
value = [s["value"] for s in json.load(open(sys.argv[2]))["states"] if s["state"] == "delivery"][0]
assert 1e7 < value < 2.5e9, value' "$T/truth.txt" "$T/few.ledger" || fail "little memory"
"$AGENT" run --quiet --flight 1s --mode sample=4K --output "$T/sampled" -- "$LEAKER" "$T/truth" 20 3000 1000 4
adds_up --json "$T/sampled" >"$T/sampled.ledger" || fail "sampled: the ledger does not balance"
"$LEAKER" "$T/truth" >"$T/truth.txt"
"$COLLECTOR" report --json "$T/sampled" | python3 -c '
import json, sys
r = json.load(sys.stdin)
leaked = int(open(sys.argv[1]).readline().split()[2])
assert r["culled"]["blocks"] and r["allocated"]["samples"] > 300, r["allocated"]
assert abs(r["leaked"]["bytes"] - leaked) < 4 * r["leaked"]["bytes_error"] + 10000, (r["leaked"], leaked)' "$T/truth.txt" || fail "sampled"

# More than a size is resident; it has grown too fast. Each is told once.
causes() {
	adds_up --json "$1" | python3 -c 'import json, sys; print(*[s["text"] for s in json.load(sys.stdin)["states"]])'
}
"$AGENT" run --quiet --flight 1s --flight-after 0 --flight-rss 16M --flight-pressure off --output "$T/rss" -- "$LEAKER" "$T/truth" 40 65536 10 3
assert_eq "triggers by size" "rss end" "$(causes "$T/rss")"
"$AGENT" run --quiet --flight 1s --flight-after 0 --flight-growth 10M/2s --flight-pressure off --output "$T/growth" -- "$LEAKER" "$T/truth" 40 65536 10 3
assert_eq "triggers by growth" "growth end" "$(causes "$T/growth")"

# What does not make sense is said.
assert_status 2 "$AGENT" run --flight 10s --short-lived 1s -- true 2>"$T/err"
assert_contains "with culling" "$T/err" "--flight and --short-lived"
assert_status 2 "$AGENT" run --flight 2h -- true 2>"$T/err"
assert_contains "too long" "$T/err" "an hour"
assert_status 2 "$AGENT" run --flight 10s --flight-growth 10M -- true 2>"$T/err"
assert_contains "growth" "$T/err" "SIZE/TIME"
assert_status 2 "$AGENT" run --flight 10s --flight-pressure 200% -- true 2>"$T/err"
assert_contains "pressure" "$T/err" "1% to 100%"
assert_status 2 "$AGENT" run --flight 10s --memory-limit 2M -- true 2>"$T/err"
assert_contains "little" "$T/err" "--flight"
