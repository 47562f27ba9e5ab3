#!/bin/bash
# --follow with more children than there is memory for: the program's standard error stays its own; the summary says it once,
# and --quiet not at all. What those did is counted, by name, in the ledger of the process that they descend from.
. "$(dirname "$0")/lib.sh"
cat >"$T/script" <<-'SCRIPT'
	#!/bin/bash
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		sleep 1.5 &
	done
	wait
	echo "its own word" >&2
SCRIPT
chmod +x "$T/script"

"$AGENT" run --follow --quiet --memory-limit 2M --output "$T/%p" -- "$T/script" 2>"$T/quiet.err"
assert_eq "standard error with --quiet" "its own word" "$(cat "$T/quiet.err")"
mkdir "$T/said"
"$AGENT" run --follow --memory-limit 2M --output "$T/said/%p" -- "$T/script" 2>"$T/said.err"
assert_eq "lines about it" 1 "$(grep -c "there was no memory for them" "$T/said.err")"
assert_eq "lines at a level below" 0 "$(grep -c "there is no memory for it" "$T/said.err" || true)"
events=0 children=0
for file in "$T"/said/*; do
	"$COLLECTOR" ledger --json "$file" >"$T/ledger.json" || [ $? = 1 ] || fail "no ledger of $file"
	read -r more count <<<"$(python3 -c '
import json, sys
l = json.load(open(sys.argv[1]))
told = l["unrecorded_children"]
assert l["unrecorded"] == len(told) and all(u["name"] in ("sleep", "script", "bash") for u in told), told
assert sum(u["events"] for u in told) == l["unrecorded_events"] and all(u["counted"] for u in told), told
assert all(u["allocations"] > 20 and u["bytes"] > 1000 for u in told if u["name"] == "sleep"), told
print(l["unrecorded_events"], len(told))' "$T/ledger.json")"
	events=$((events + more)) children=$((children + count))
done
recorded=$(find "$T/said" -type f | wc -l)
echo "$recorded processes recorded, $children counted: $events events"
[ "$children" -gt 3 ] || fail "only $children were counted"
assert_eq "processes, recorded and counted" 13 $((recorded + children))
assert_status 1 "$COLLECTOR" ledger "$T/said/$(ls "$T/said" | sort -n | head -n 1)" >"$T/ledger.txt"
assert_contains "the ledger" "$T/ledger.txt" "children not recorded" "NOT RECORDED" sleep "Incomplete: $children children were not recorded"
"$AGENT" run --help >"$T/help.txt"
assert_contains "the help" "$T/help.txt" "record children, too" "200 KiB"

# Threads without a place in the ring are a matter of the memory limit as well, and said so.
"$AGENT" run --output "$T/crowd" -- "$BUILD/tests/e2e-crowd" 1000 2>"$T/crowd.err"
assert_contains "the summary" "$T/crowd.err" "events of threads without a place in the ring: raise --memory-limit"
adds_up "$T/crowd" >"$T/ledger.txt" || fail "the crowd does not add up"

# More collectors than links are turned away without a word on the program's standard error.
"$AGENT" run --listen 127.0.0.1:8177 --linger 100ms --quiet --output "$T/away" -- sleep 1 2>"$T/away.err" &
agent=$!
wait_for 5 "the agent to listen" grep -q ":1FF1 " /proc/net/tcp
for _ in 1 2 3 4 5 6; do
	(exec 3<>/dev/tcp/127.0.0.1/8177 && sleep 0.5) 2>/dev/null &
done
wait "$agent"
assert_eq "standard error" "" "$(cat "$T/away.err")"
