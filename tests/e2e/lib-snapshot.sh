# What the tests of snapshots share:   . "$(dirname "$0")/lib.sh"; . "$TEST_SOURCE/lib-snapshot.sh"
#
#   board N                  an `agent serve` at port 8100 + N that loses nothing on a busy machine, on a host of its own name ("boardN")
#                            where that can be; its pid is ${served[N]}
#   fleet NAME N BLOCKS [PROGRAM]   e2e-fleet (or PROGRAM) recorded by board N; its pid is ${program[NAME]}, what it says in NAME.said
#   fleet_says WORD NAME...  until all of them have said it
#   gather_boards N...       `collector gather` of these into $T/data, in $gather
#   snapshot ARG...          `collector snapshot` of $T/data
#   truth WORD NAME...       "BLOCKS BYTES" that these hold in all, by their own word
#   has FILE EXPRESSION      Python's word on a JSON file, which it knows as `a`
declare -A served program
FLEET=$BUILD/tests/e2e-fleet

board_serves() {
	kill -0 "${served[$1]}" 2>/dev/null || fail "agent serve ended: $(cat "$T/board$1.err")"
	grep -q "programs ask at" "$T/board$1.err"
}
board() {
	local n=$1 own=()
	! unshare --uts true 2>/dev/null || own=(unshare --uts bash -c 'echo "$0" >/proc/sys/kernel/hostname; exec "$@"' "board$n")
	"${own[@]}" "$AGENT" serve --config "" --socket "$T/socket$n" --listen "127.0.0.1:$((8100 + n))" --policy block 2>"$T/board$n.err" &
	served[$n]=$!
}
fleet() {
	HEAPCAST_SOCKET=$T/socket$2 LD_PRELOAD=$PRELOAD "${4:-$FLEET}" "$3" "$T/files" >"$T/$1.said" &
	program[$1]=$!
}
fleet_says() {
	local word=$1 name
	shift
	for name; do wait_for 30 "$name to be $word" grep -q "^$word " "$T/$name.said"; done
}
gather_boards() {
	local places=() n
	for n; do places+=("127.0.0.1:$((8100 + n))"); done
	"$COLLECTOR" gather --data "$T/data" --no-discovery --listen off "${places[@]}" >"$T/gather.out" 2>"$T/gather.err" &
	gather=$!
}
snapshot() { "$COLLECTOR" snapshot --data "$T/data" "$@"; }
truth() {
	local word=$1 name
	shift
	for name; do grep "^$word " "$T/$name.said"; done | awk '{ n += $2; b += $3 } END { print n, b }'
}
has() {
	python3 -c 'import json, sys
a = json.load(open(sys.argv[1]))
assert eval(sys.argv[2]), (sys.argv[2], json.dumps(a)[:3000])' "$1" "$2" || fail "$1 is not as it should be: $2"
}
# What the functions hold and planted have in a stream, at a moment or at its end: "BLOCKS BYTES". Asked by other means than snapshots are.
held() { # STREAM OPTION...
	"$COLLECTOR" top --data "$T/data" --value in-use --by function --count 1000 --json "$@" >"$T/top.json" 2>"$T/top.err"
	python3 -c 'import json, sys
g = [g for g in json.load(open(sys.argv[1]))["groups"] if g["function"] in ("hold", "planted")]
print(sum(g["value"]["blocks"] for g in g), sum(g["value"]["bytes"] for g in g))' "$T/top.json"
}
mkdir -p "$T/files"
