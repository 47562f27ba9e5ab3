#!/bin/bash
# ctest: LABELS full TIMEOUT 300
# Three collectors at one agent that has little memory. One reads all the time, one is stopped for two seconds, one
# comes when half is gone. The first has everything. The stopped one and the late one have a gap with exact counts, and
# what they need to go on. Neither the program nor the first has waited for them.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
events=8000000

gather quick --no-discovery --listen off 127.0.0.1:8101
gather slow --no-discovery --listen off 127.0.0.1:8101
start_agent one 8101 --memory-limit 4M --policy block -- "$BUILD/tests/e2e-paced" "$events" 3000 "$T/end"
wait_for 10 "the slow collector to have something" grep -q "began" "$T/slow.log"
wait_for 10 "the quick collector to have something" grep -q "began" "$T/quick.log"
sleep 0.5
kill -STOP "${gatherer[slow]}"
before=$(date +%s%N)
# The quick one's acknowledgements let more go by than the agent can keep.
stored_more() {
	[ "$(stat -c %s "$T"/quick/streams/*/recording.heapcast)" -gt $((size + 3500000)) ] || [ -s "$T/one.out" ]
}
size=$(stat -c %s "$T"/quick/streams/*/recording.heapcast)
wait_for 40 "the program to go on without the slow collector" stored_more
stalled=$(((($(date +%s%N) - before)) / 1000000))
[ ! -s "$T/one.out" ] || skip "the program was done before the collector was behind: this machine is too busy"
kill -CONT "${gatherer[slow]}"
gather late --no-discovery --listen off 127.0.0.1:8101
wait_for 10 "the late collector to have something" grep -q "began" "$T/late.log"
wait_for 60 "the program to be done" grep -q "done" "$T/one.out"
touch "$T/end"
for name in quick slow late; do wait_idle "$name" 1; done
wait_agent one
for name in quick slow late; do stop_gather "$name"; done
stream=$(streams quick)
for name in quick slow late; do balances "$name"; done

produced=$(ledger_number quick "$stream" produced)
assert_eq "lost by the agent" 0 "$(ledger_number quick "$stream" lost)"
assert_eq "stored by the quick one" "$produced" "$(ledger_number quick "$stream" stored)"
adds_up --json --data "$T/quick" "$stream" >"$T/quick.json"
for name in slow late; do
	adds_up --json --data "$T/$name" "$stream" >"$T/$name.json"
	python3 - "$T/quick.json" "$T/$name.json" "$name" <<-'END' || fail "the account of the $name collector is wrong"
		import json, sys
		whole, part = (json.load(open(f)) for f in sys.argv[1:3])
		wanted = {"slow": "spool full", "late": "joined late"}[sys.argv[3]]
		gaps = part["gaps"]
		assert any(g["reason"] == wanted for g in gaps), gaps
		# On a busy machine the slow one may have joined late as well: that is told once, with all that went before.
		assert sum(g["reason"] == "joined late" for g in gaps) <= 1, gaps
		missing = lambda key: sum(g[key] for g in gaps)
		print(sys.argv[3], "has", len(gaps), "gaps of", missing("events"), "events of", whole["produced"])
		if part["stored"] + missing("events") != whole["stored"]: print(json.dumps([whole, part], indent=1))
		assert missing("events") > 1000
		assert part["stored"] + missing("events") == whole["stored"], "events"
		of = lambda l: l["stored_allocations"] + l["stored_reallocations"]
		assert of(part) + missing("allocations") == of(whole), "allocations"
		assert part["stored_frees"] + missing("frees") == whole["stored_frees"], "frees"
		assert missing("bytes") > 0
		assert part.get("bad_references", 0) == 0, "events without a definition"
	END
done
echo "while one collector stood still for $stalled ms, the other got 3.5 MB"
