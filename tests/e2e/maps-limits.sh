#!/bin/bash
# Maps where there are more than the agent's table holds, at the interval that was asked for, and of a program that is killed
# in the middle.
. "$(dirname "$0")/lib.sh"
need python3 pgrep

maps=$BUILD/tests/e2e-maps
field() { python3 -c "import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2], {}, d))" "$@"; }
# Kilobytes of memory that the agent has of its own.
own_memory() { awk '/^Rss(Anon|Shmem):/ {sum += $2} END {print sum}' "/proc/$1/status"; }

# 20,000 regions in the room of 2 and 8 MiB: within the limit, the rest cut and counted, the sum of all of it right. A reading
# that began before the program had made them all, and took long, is not repeated in time: then it is tried again.
hold() {
	local limit=$1 agent most=0 now
	"$AGENT" run --quiet --memory-limit ${limit}M --gather-maps=100ms --log debug --output "$T/many" -- "$maps" many 20000 4000 2>"$T/many.log" &
	agent=$!
	while kill -0 "$agent" 2>/dev/null; do
		now=$(own_memory "$agent" 2>/dev/null || echo 0)
		[ "${now:-0}" -le "$most" ] || most=$now
		sleep 0.1
	done
	wait "$agent"
	"$COLLECTOR" maps --json "$T/many" >"$T/many.json"
	adds_up "$T/many" >"$T/ledger.txt"
	echo "limit $limit MiB: agent has $most KiB, $(field "$T/many.json" '(regions, cut, len(maps), took_us)') regions, cut, told, us"
	[ "$most" -gt 500 ] && [ "$most" -le $((limit * 1024)) ] || fail "the agent has $most KiB with a limit of $limit MiB"
}

for limit in 2 8; do
	for try in 1 2 3; do
		hold $limit
		[ "$(field "$T/many.json" 'regions >= 20000')" != True ] || break
	done
	assert_eq "counted" True "$(field "$T/many.json" '20000 <= regions < 20100 and cut > 10000 and len(maps) > 400 and regions == len(maps) + cut + postponed')"
	assert_eq "resident pages of what was cut are in the sum" True "$(field "$T/many.json" "total['rss'] > 10000 * 4096")"
done
"$COLLECTOR" maps "$T/many" >"$T/many.txt"
assert_contains "the table" "$T/many.txt" "had no place in the agent's table"

# A reading that takes long is not repeated at once: at most 1 % of the time, from 10 ms on.
python3 - "$T/many.log" <<-'PYTHON' || fail "readings follow each other too soon"
	import re, sys, datetime
	rows = [(datetime.datetime.fromisoformat(l.split()[0].rstrip("Z")).timestamp(), float(re.search(r"in ([\d.]+) ms", l)[1]))
	        for l in open(sys.argv[1]) if "maps of pid" in l]
	slow = [(b[0] - a[0]) * 1000 >= 99 * a[1] - b[1] for a, b in zip(rows, rows[1:]) if a[1] > 11]
	print(len(rows), "readings,", [r[1] for r in rows][:5], "ms")
	sys.exit(not rows or not all(slow) or len(rows) > 12)
PYTHON

# The interval: the program changes all the time, so each reading has news.
"$AGENT" run --quiet --maps-interval 200ms --gather-maps --figures-interval 0 --output "$T/busy" -- "$maps" busy 3000
steps=$("$COLLECTOR" maps --json "$T/busy" | python3 -c 'import json,sys; print(json.load(sys.stdin)["steps"])')
[ "$steps" -ge 6 ] && [ "$steps" -le 17 ] || fail "$steps steps in 3 s at 200 ms"
assert_eq "figures" null "$("$COLLECTOR" report --json "$T/busy" | python3 -c 'import json,sys; print(json.dumps(json.load(sys.stdin)["figures"]))')"
# A program that does nothing has no news, and makes no batches.
"$AGENT" run --quiet --maps-interval 50ms --gather-maps --figures-interval 50ms --output "$T/quiet" -- "$maps" quiet 2000
steps=$("$COLLECTOR" maps --json "$T/quiet" | python3 -c 'import json,sys; print(json.load(sys.stdin)["steps"])')
[ "$steps" -le 6 ] || fail "$steps steps without news"
# Off unless asked for.
"$AGENT" run --quiet --output "$T/without" -- "$maps" quiet 300
"$COLLECTOR" maps "$T/without" >"$T/without.txt"
assert_contains "without" "$T/without.txt" "No maps had been gathered"

# Killed while its maps are being read, again and again: what is stored makes sense, and nothing is lost.
told=0
for i in 1 2 3 4 5 6 7 8; do
	"$AGENT" run --quiet --gather-maps=10ms --figures-interval 10ms --output "$T/killed" -- "$maps" many 15000 20000 2>"$T/killed.err" &
	agent=$!
	target() { pgrep -P "$agent" -x e2e-maps; }
	wait_for 10 "the program" target
	sleep 0.$((i * 7 + 20))
	kill -KILL "$(target)"
	status=0
	wait "$agent" || status=$?
	assert_eq "exit status" 137 "$status"
	adds_up "$T/killed" >"$T/ledger.txt"
	"$COLLECTOR" maps --json "$T/killed" >"$T/killed.json"
	[ ! -s "$T/killed.err" ] || fail "said: $(cat "$T/killed.err")"
	assert_eq "regions of the killed in order, without overlap" True "$(field "$T/killed.json" \
		'all(a["address"] + a["size"] <= b["address"] for a, b in zip(maps, maps[1:]))')"
	told=$((told + $(field "$T/killed.json" 'len(maps) > 25 and 1 or 0')))
done
[ "$told" -gt 4 ] || fail "only $told of 8 killed programs have maps"
