#!/bin/bash
# A snapshot of 50 live agents, each with a program of its own that goes on allocating. All are stopped at their
# markers, and the merged heap is the sum of the parts. The collector that merges takes no more memory for 50 than for
# one.
# ctest: LABELS full TIMEOUT 900 COST 300
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-snapshot.sh"
need python3
COUNT=50
places=()
for ((n = 0; n < COUNT; n++)); do
	places+=("127.0.0.1:$((8100 + n))")
	"$AGENT" run --policy block --listen "127.0.0.1:$((8100 + n))" --quiet -- "$FLEET" $((2000 + 100 * n)) "$T/files" >"$T/p$n.said" 2>"$T/p$n.err" &
done
"$COLLECTOR" gather --data "$T/data" --no-discovery --listen off "${places[@]}" >"$T/gather.out" 2>"$T/gather.err" &
gather=$!
all=()
for ((n = 0; n < COUNT; n++)); do all+=("p$n"); done
fleet_says ready "${all[@]}"
wait_for 60 "$COUNT streams" eval '[ "$(grep -c began "$T/gather.out")" = '$COUNT' ]'

# The same again and again: streams grow meanwhile.
peak() { # FILE CMD...: its exit status, largest resident memory in KiB and processor time in ms; what it says goes to the file
	local out=$1
	shift
	python3 - "$out" "$@" <<'PYTHON'
import resource, subprocess, sys
with open(sys.argv[1], "w") as out:
    status = subprocess.run(sys.argv[2:], stdout=out).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, used.ru_maxrss, int(1000 * (used.ru_utime + used.ru_stime)))
PYTHON
}
one=$("$COLLECTOR" list --data "$T/data" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["streams"][0]["id"])')
read -r status alone cpu < <(peak "$T/one.json" "$COLLECTOR" snapshot --data "$T/data" take one "$one" --json)
assert_eq "exit status of a snapshot of one" 0 "$status"
for round in 1 2 3; do
	since=$(date +%s%N)
	read -r status most cpu < <(peak "$T/all$round.json" "$COLLECTOR" snapshot --data "$T/data" take "all$round" --timeout 60s --json)
	took=$((($(date +%s%N) - since) / 1000000))
	assert_eq "exit status of a snapshot of all" 0 "$status"
	assert_eq "what all hold, by their own word and in the snapshot," "$(truth ready "${all[@]}")" "$(held "snapshot:all$round")"
	python3 - "$T/all$round.json" $took "$most" "$alone" "$COUNT" "$cpu" <<'PYTHON'
import json, sys
a, (took, most, alone, count, cpu) = json.load(open(sys.argv[1])), map(int, sys.argv[2:])
parts = a["processes"]
assert len(parts) == count and not a["missing"]
assert a["in_use"] == {k: sum(p["in_use"][k] for p in parts) for k in ("bytes", "blocks")}
print(f"{count} agents: all markers within {a['took_ns'] / 1e6:.0f} ms, {a['clock_spread_ns'] / 1e6:.1f} ms apart; stored after {took} ms ({cpu} ms of processor time); "
      f"{a['in_use']['blocks']} blocks; resident at most {most} KiB, of one alone {alone} KiB")
assert most < alone + 40960, (most, alone)
PYTHON
done
touch "$T/files/grow"
fleet_says grown "${all[@]}"
"$COLLECTOR" snapshot --data "$T/data" take grown --timeout 60s --json >"$T/grown.json"
assert_eq "what all hold, by their own word and in the snapshot," "$(truth grown "${all[@]}")" "$(held snapshot:grown)"
"$COLLECTOR" diff --data "$T/data" --by function --json --base snapshot:all3 snapshot:grown >"$T/diff.json"
has "$T/diff.json" "a['groups'][0]['function'] == 'planted' and a['groups'][0]['blocks'] == 3000 * $COUNT"
touch "$T/files/end"
wait_for 120 "all to end" eval '[ "$(grep -c " ended " "$T/gather.out")" = '$COUNT' ]'
kill -TERM "$gather"
wait "$gather"
