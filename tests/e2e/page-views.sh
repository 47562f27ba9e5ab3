#!/bin/bash
# ctest: LABELS full TIMEOUT 2400 COST 600
# The page: every view of every kind of recording (whole, empty, sampled, imported, large, live), in both themes and three widths.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
need gcc curl
cd "$T"
"$AGENT" run --quiet --figures-interval 50ms --output whole.heapcast -- sqlite3 :memory: <"$ROOT/deploy/workload.sql" >said
echo 'int main(void) { return 0; }' | gcc -x c -o nothing -
"$AGENT" run --quiet --output empty.heapcast -- ./nothing >said
"$AGENT" run --quiet --mode sample=64K --output sampled.heapcast -- sqlite3 :memory: <"$ROOT/deploy/workload.sql" >said
"$AGENT" run --quiet --output large.heapcast -- "$BUILD/tests/e2e-bushy" 500000 2 13 >said
"$COLLECTOR" export --format heaptrack whole.heapcast >imported.heaptrack
"$COLLECTOR" import --output imported.heapcast imported.heaptrack >said

named=()
for name in whole empty sampled imported large; do
	"$COLLECTOR" import --data "$T/data" $name.heapcast >said
	named+=("$name=$(sed -n '1s/ .*//p' said)")
done

"$COLLECTOR" gather --interface lo --data "$T/data" --http 127.0.0.1:18085 >gather.out 2>gather.err &
page=http://127.0.0.1:18085
wait_for 10 "the page" curl -s -o first "$page/"
PYTHONMALLOC=malloc "$AGENT" run --quiet --announce --interface lo -- /usr/bin/python3 -c '
import os, time
kept = []
while not os.path.exists("stop"):
    kept.append([bytearray(2000) for _ in range(100)])
    if len(kept) > 50: kept.pop(0)
    time.sleep(0.05)' >agent.out 2>agent.err &
agent=$!

live() {
	curl -s "$page/list" | python3 -c 'import json, sys; print("".join(s["id"] for s in json.load(sys.stdin) if s["state"] == "live"))' >live
	grep -q . live
}
wait_for 20 "a live recording" live
play views "live=$(cat live)" "${named[@]}"
touch stop
wait "$agent"
