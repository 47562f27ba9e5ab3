#!/bin/bash
# A snapshot while one board's cable is out. That board is named missing, and the others are in the snapshot. It is
# named again when its link has been given up, with the time when it was heard of last. When the cable is back, so is
# the board.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
need python3
snapshot() { "$COLLECTOR" snapshot --data "$T/far" "$@"; }
has() {
	python3 -c 'import json, sys
a = json.load(open(sys.argv[1]))
assert eval(sys.argv[2]), json.dumps(a)[:2000]' "$1" "$2" || fail "$1 is not as it should be: $2"
}
net_host near 2
net_host away 3
net_host far 4
mkdir "$T/files"
for board in near away; do serve_on $board -- "$BUILD/tests/e2e-fleet" 2000 "$T/files" 60000; done
gather_on far 10.77.0.2 10.77.0.3
for board in near away; do wait_for 30 "the program on $board" grep -q ready "$T/$board.out"; done
wait_for 30 "two streams" eval '[ "$(grep -c began "$T/far.log")" = 2 ]'
lost=$(pgrep -P "${agent_pid[away]}" -f e2e-fleet)

assert_status 0 snapshot take whole --json >"$T/whole.json"
has "$T/whole.json" 'len(a["processes"]) == 2'
net_cut away
since=$SECONDS
assert_status 1 snapshot take cut --timeout 2s --json >"$T/cut.json"
[ $((SECONDS - since)) -lt 20 ] || fail "it took $((SECONDS - since)) s"
has "$T/cut.json" "len(a['processes']) == 1 and [p['pid'] for p in a['missing']] == [$lost]"
has "$T/cut.json" '"not answered" in a["missing"][0]["why"] and a["missing"][0]["last_wall_ns"] > 1e18'
wait_for 60 "the link to be given up" grep -q "left; it goes on" "$T/far.log"
assert_status 1 snapshot take gone >"$T/gone.txt"
tr -s '\n ' ' ' <"$T/gone.txt" >"$T/gone.line" # its lines are broken at 80 columns
assert_contains "what take says" "$T/gone.line" "Missing: e2e-fleet (pid $lost)" "not connected" "last heard of at 20"
net_join away
wait_for 60 "the board to be back" eval 'grep -q "\"done\":2" <("$COLLECTOR" ctl --data "$T/far" --all mark back --json)'
assert_status 0 snapshot take again --json >"$T/again.json"
has "$T/again.json" 'len(a["processes"]) == 2 and a["missing"] == []'

# A marker's answer overtakes what was recorded before it: by a slow cable the snapshot waits for that.
net_rate near 256kbit
touch "$T/files/grow"
for board in near away; do wait_for 30 "the growth on $board" grep -q grown "$T/$board.out"; done
assert_status 0 snapshot take slow --timeout 60s --json >"$T/slow.json"
"$COLLECTOR" top --data "$T/far" --value in-use --by function --count 1000 --json snapshot:slow >"$T/top.json"
truth=$(awk '$1 == "grown" { n += $2; b += $3 } END { print n, b }' "$T/near.out" "$T/away.out")
python3 - "$T/top.json" "$truth" <<'PYTHON'
import json, sys
held = [g["value"] for g in json.load(open(sys.argv[1]))["groups"] if g["function"] in ("hold", "planted")]
assert f'{sum(g["blocks"] for g in held)} {sum(g["bytes"] for g in held)}' == sys.argv[2], (held, sys.argv[2])
PYTHON
touch "$T/files/end"
wait_agent near
wait_agent away
stop_gather far
