#!/bin/bash
# Whose orders an agent takes. Without a key it takes start, stop and mode of its own host only, a snapshot and a mark
# of everybody. With a key it takes those of whoever has it. It also does as --orders says.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
need openssl python3

net_host board 2
net_host desk 3
(umask 077 && openssl rand -hex 32 >"$T/key")

# board TAG OPTION...: an agent with a program that runs, and a collector at the desk and two on the board, by its own address and by 127.0.0.1
board() {
	local tag=$1 keys=() name at
	shift
	[[ " $* " != *" --key "* ]] || keys=(--key "$T/key")
	serve_on board "$@" -- "$BUILD/tests/e2e-rolling" 300 2000 "$T/end.$tag"
	for name in desk own lo; do
		case $name in desk) at=desk ;; *) at=board ;; esac
		local address=10.77.0.2
		[ $name != lo ] || address=127.0.0.1
		nsenter --net="/proc/${net_pid[$at]}/ns/net" -- "$COLLECTOR" gather --data "$T/$tag.$name" --no-discovery --listen off \
			"${keys[@]}" "$address:8100" >"$T/$tag.$name.log" 2>&1 &
		gatherer[$name]=$!
	done
	for name in desk own lo; do wait_for 20 "the stream at $name" grep -q began "$T/$tag.$name.log"; done
	for name in desk own lo; do wait_for 20 "the recording at $name" eval '"$COLLECTOR" list --data "$T/'"$tag.$name"'" | grep -q rolling'; done
}

over() { # TAG
	local name
	touch "$T/end.$1"
	wait "${agent_pid[board]}" || true
	for name in desk own lo; do stop_gather $name; done
	"$COLLECTOR" ledger --data "$T/$1.desk" last >/dev/null || fail "$1: the account does not balance"
}

# ctl TAG WHERE STATUS TEXT ORDER...
ctl() {
	local tag=$1 where=$2 expected=$3 text=$4 status=0
	shift 4
	"$COLLECTOR" ctl --data "$T/$tag.$where" last "$@" >"$T/said" 2>&1 || status=$?
	assert_eq "$tag, $where: $* ($(cat "$T/said"))" "$expected" "$status"
	assert_contains "$tag, $where: $*" "$T/said" "$text"
}

# marks TAG STATE COUNT: so often
marks() {
	"$COLLECTOR" ledger --data "$T/$1.desk" --json last >"$T/ledger.json" || true
	assert_eq "$1: marks '$2'" "$3" "$(python3 -c '
import json, sys
print(sum(s["state"] == sys.argv[1] for s in json.load(open(sys.argv[2]))["states"]))' "$2" "$T/ledger.json")"
}

board plain
for order in stop start "mode sample"; do
	# shellcheck disable=SC2086
	ctl plain desk 1 "from its own host only" $order
done
ctl plain desk 0 "" mark "from the desk"
ctl plain desk 0 "" snapshot
for where in own lo; do
	ctl plain $where 0 "" stop
	ctl plain $where 0 "" start
	ctl plain $where 0 "" mark "from the board"
done
"$COLLECTOR" ctl --data "$T/plain.desk" --json last stop >"$T/said.json" || true
grep -q not-allowed "$T/said.json" || fail "a program is not told why: $(cat "$T/said.json")"
over plain
marks plain stopped 2
marks plain text 3
marks plain snapshot 1

board keyed --key "$T/key"
ctl keyed desk 0 "" stop
ctl keyed desk 0 "" start
over keyed
marks keyed stopped 1

board keyed-local --key "$T/key" --orders local
ctl keyed-local desk 1 "from its own host only" stop
over keyed-local

board open --orders yes
ctl open desk 0 "" stop
ctl open desk 0 "" start
over open

board closed --orders no
for where in desk own; do
	ctl closed $where 1 "--orders no" stop
	ctl closed $where 1 "--orders no" mark "x"
done
over closed

"$AGENT" serve --check-config --config "" >"$T/config"
grep -q "^orders *= local" "$T/config" || fail "$(grep orders "$T/config")"
"$AGENT" serve --check-config --config "" --key "$T/key" >"$T/config"
grep -q "^orders *= yes" "$T/config" || fail "$(grep orders "$T/config")"
assert_status 2 "$AGENT" serve --check-config --config "" --orders sometimes 2>"$T/config"
assert_contains "a wrong word" "$T/config" "no|local|yes"
