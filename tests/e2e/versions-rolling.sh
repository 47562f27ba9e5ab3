#!/bin/bash
# ctest: LABELS full TIMEOUT 2400 COST 600
# A rolling upgrade: agents and collectors of 0.1 (the tree before collectors came in groups) and of this tree work together.
# The old ones are built from the git history, once, below the build folder. Old agent and new collector, new agent and old
# collector: recorded, gathered, listed, given orders, a snapshot taken; to the byte where both can. A stream moves from an
# old collector to a new one and back. The agent itself is replaced while it records.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
need git cmake ninja python3
OLD=c77dd171ffb965f4ecc31f974b3e22c8e97a990a # 0.1
OLD_BUILD=$BUILD/versions/$OLD

# ---- the old ones ----
git -C "$ROOT" rev-parse --verify --quiet "$OLD^{commit}" >/dev/null 2>&1 ||
	skip "the git history here does not have $OLD, which is 0.1"
if [ ! -e "$OLD_BUILD/built" ]; then
	rm -rf "$OLD_BUILD"
	mkdir -p "$OLD_BUILD/source"
	git -C "$ROOT" archive "$OLD" | tar -x -C "$OLD_BUILD/source"
	cmake -S "$OLD_BUILD/source" -B "$OLD_BUILD/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DHEAPCAST_PAGE=OFF \
		-DHEAPCAST_TESTS=OFF >"$T/said" 2>&1 || fail "configuring $OLD: $(tail "$T/said")"
	nice ninja -C "$OLD_BUILD/build" agent collector heapcast_preload >"$T/said" 2>&1 || fail "building $OLD: $(tail "$T/said")"
	touch "$OLD_BUILD/built"
fi
declare -A agent_of=([old]=$OLD_BUILD/build/bin/agent [new]=$AGENT) collector_of=([old]=$OLD_BUILD/build/bin/collector [new]=$COLLECTOR)
declare -A preload_of=([old]=$OLD_BUILD/build/lib/libheapcast.so [new]=$PRELOAD) program
[ -x "${agent_of[old]}" ] && [ -x "${collector_of[old]}" ] && [ -e "${preload_of[old]}" ] || fail "$OLD was built without a program"
! cmp -s "${collector_of[old]}" "${collector_of[new]}" || fail "both versions are one"

# VERSION NAME ARG...
serve() {
	local version=$1 name=$2
	shift 2
	"${agent_of[$version]}" serve --socket "$T/$name.socket" --policy block --log info "$@" 2>>"$T/$name.err" &
	agent_pid[$name]=$!
	wait_for 10 "agent $name" grep -q "programs ask" "$T/$name.err"
}
gather_by() {
	local version=$1 name=$2
	shift 2
	"${collector_of[$version]}" gather --data "$T/$name" --no-discovery "$@" >>"$T/$name.log" 2>>"$T/$name.err" &
	gatherer[$name]=$!
}
# VERSION NAME EVENTS PAUSE: a program of the agent NAME, with the library of this version
run_program() {
	HEAPCAST_SOCKET="$T/$2.socket" LD_PRELOAD="${preload_of[$1]}" "$BUILD/tests/e2e-paced" "$3" "$4" "$T/end-$2" >"$T/$2.out" &
	program[$2]=$!
}
end_agent() {
	kill -TERM "${agent_pid[$1]}"
	wait_agent "$1"
}
ask_by() { # VERSION NAME COMMAND ARG...: of the folder NAME
	local version=$1 name=$2 command=$3
	shift 3
	"${collector_of[$version]}" "$command" --data "$T/$name" "$@"
}
number_of() { # VERSION NAME STREAM EXPRESSION of the ledger l
	# It notes that the other version's rows are derived anew.
	{ ask_by "$1" "$2" ledger --json "$3" 2>>"$T/notes.txt" || [ $? = 1 ]; } | python3 -c "
import json, sys
l = json.load(sys.stdin)
print($4)"
}
whole_by() { # VERSION NAME STREAM: nothing is missing, and that many events are stored
	ask_by "$1" "$2" ledger "$3" >"$T/ledger.txt" || { cat "$T/ledger.txt" >&3; fail "the $1 collector's account of $2"; }
	number_of "$1" "$2" "$3" 'l["stored"]'
}
began() { grep -q began "$T/$1.log"; }
has_state() { # VERSION NAME STREAM STATE
	number_of "$1" "$2" "$3" "sum(s['state'] == '$4' for s in l['states'])" | grep -qv '^0$'
}
has_grown() { # NAME BYTES
	[ "$(stat -c %s "$T/$1"/streams/*/recording.heapcast)" -gt "$2" ]
}
EVENTS=400000
least=$((EVENTS / 4 * 2 * 2 - EVENTS / 4 * 2 / 100))

# ---- each with each: an agent and both collectors at it, which store the same bytes ----
port=8101
for version in old new; do
	name=agent-$version
	serve $version "$name" --listen "127.0.0.1:$port"
	for by in old new; do gather_by $by "$version-$by" --listen off "127.0.0.1:$port"; done
	for by in old new; do wait_for 20 "the $by collector" grep -q ^connected "$T/$version-$by.log"; done
	run_program $version "$name" $EVENTS 20000
	for by in old new; do wait_for 20 "the $by collector to have the stream" began "$version-$by"; done
	id=$(streams "$version-old")
	for by in old new; do
		folder=$version-$by
		ask_by $by "$folder" list >"$T/list.txt"
		assert_contains "the list of the $by collector" "$T/list.txt" e2e-paced live
		ask_by $by "$folder" ctl "${id:0:12}" mark "by $by" >"$T/said" 2>&1 || { cat "$T/said" >&3; fail "a mark by the $by collector at the $version agent"; }
		wait_for 20 "its mark" has_state $by "$folder" "$id" text
		ask_by $by "$folder" ctl "${id:0:12}" mode sample=64K >"$T/said" 2>&1 || { cat "$T/said" >&3; fail "a mode by the $by collector"; }
		ask_by $by "$folder" ctl "${id:0:12}" mode full >"$T/said" 2>&1 || { cat "$T/said" >&3; fail "a mode by the $by collector"; }
		ask_by $by "$folder" snapshot take "by-$by" --json >"$T/snapshot.json" || { cat "$T/snapshot.json" >&3; fail "a snapshot by the $by collector at the $version agent"; }
		python3 -c 'import json, sys
a = json.load(open(sys.argv[1]))
assert len(a["processes"]) == 1 and a["missing"] == [], a' "$T/snapshot.json"
	done
	wait_for 60 "the program to be done" grep -q "done" "$T/$name.out"
	touch "$T/end-$name"
	for by in old new; do wait_idle "$version-$by" 1; done
	end_agent "$name"
	for by in old new; do stop_gather "$version-$by"; done
	cmp "$(recording_of "$version-old" "$id")" "$(recording_of "$version-new" "$id")" >&3 ||
		fail "both collectors have stored different things of the $version agent"
	# Both understand it, in both folders, and say the same of it.
	for by in old new; do
		stored=$(number_of $by "$version-old" "$id" 'l["stored"] + l["not_sampled"] if not l["lost"] + l["missed"] else "lost"')
		[ "$stored" -ge "$least" ] || fail "the $by collector has $stored events of the $version agent"
		ask_by $by "$version-old" top --json "$id" >"$T/top-$by.json" 2>>"$T/notes.txt"
	done
	python3 - "$T" <<'END'
import json, sys
old, new = (json.load(open(f"{sys.argv[1]}/top-{by}.json")) for by in ("old", "new"))
assert old["total"] == new["total"], (old["total"], new["total"])
END
	for by in old new; do
		rm -rf "$T/copy"
		cp -r "$T/$version-$by" "$T/copy"
		other=$([ $by = old ] && echo new || echo old)
		ask_by $other copy list >"$T/list.txt" 2>"$T/list.err" || { cat "$T/list.err" >&3; fail "the $other collector can't list the folder of the $by one"; }
		assert_contains "the list by the $other collector" "$T/list.txt" e2e-paced ended
	done
	echo "$version agent: both collectors have the same $(stat -c %s "$(recording_of "$version-old" "$id")") bytes"
	port=$((port + 1))
done

# ---- the collector is replaced while it gathers; the stream goes on ----
for from in old new; do
	to=$([ $from = old ] && echo new || echo old)
	serve $from "same-$from" --listen 127.0.0.1:8110
	gather_by $from "turn-$from" --listen off 127.0.0.1:8110
	wait_for 20 "the $from collector" grep -q ^connected "$T/turn-$from.log"
	run_program $from "same-$from" $EVENTS 30000
	wait_for 20 "the stream" began "turn-$from"
	wait_for 20 "a part of it" has_grown "turn-$from" 100000
	stop_gather "turn-$from"
	gather_by $to "turn-$from" --listen off 127.0.0.1:8110
	wait_for 60 "the program to be done" grep -q "done" "$T/same-$from.out"
	touch "$T/end-same-$from"
	wait_idle "turn-$from" 1
	end_agent "same-$from"
	stop_gather "turn-$from"
	stored=$(whole_by $to "turn-$from" "$(streams "turn-$from")")
	[ "$stored" -ge "$least" ] || fail "$stored events, of at least $least"
	echo "the $to collector goes on in the folder of the $from one: $stored events"
done

# ---- the agent is replaced while it records: the other version takes the ring up ----
for from in old new; do
	to=$([ $from = old ] && echo new || echo old)
	name=taken-$from
	gather_by new "$name" --listen 127.0.0.1:8120
	wait_for 20 "the collector to listen" grep -q "listening on" "$T/$name.log"
	serve $from "$name" --collector 127.0.0.1:8120
	run_program $from "$name" $EVENTS 30000
	wait_for 20 "the stream" began "$name"
	wait_for 20 "a part of it" has_grown "$name" 100000
	kill -KILL "${agent_pid[$name]}"
	wait "${agent_pid[$name]}" 2>/dev/null || true
	rm "$T/$name.err"
	serve $to "$name" --collector 127.0.0.1:8120
	wait_for 60 "the program to be done" grep -q "done" "$T/$name.out"
	touch "$T/end-$name"
	wait_idle "$name" 1
	end_agent "$name"
	stop_gather "$name"
	balances "$name"
	echo "the $to agent has taken up the ring of the $from one; lost: $(number_of new "$name" "$(streams "$name")" 'l["lost"]')"
done

# ---- a stream moves from one version to the other: the account of an old one adds up, too ----
for from in old new; do
	to=$([ $from = old ] && echo new || echo old)
	name=moves-$from
	declare -A listens=([$from]=8130 [$to]=8131)
	gather_by $from "$name" --listen 127.0.0.1:8130
	wait_for 20 "the $from collector to listen" grep -q "listening on" "$T/$name.log"
	serve new "$name" --collector 127.0.0.1:8130,127.0.0.1:8131
	wait_for 20 "the agent to be connected" grep -q "connected to the collector at 127.0.0.1:8130" "$T/$name.err"
	run_program new "$name" $((2 * EVENTS)) 40000
	wait_for 20 "the stream" began "$name"
	wait_for 20 "a part of it" has_grown "$name" 150000
	gather_by $to "$name-2" --listen 127.0.0.1:8131
	kill_gather "$name"
	wait_for 60 "the agent to move" grep -q "connected to the collector at 127.0.0.1:8131" "$T/$name.err"
	wait_for 90 "the program to be done" grep -q "done" "$T/$name.out"
	touch "$T/end-$name"
	wait_idle "$name-2" 1
	end_agent "$name"
	stop_gather "$name-2"
	id=$(streams "$name-2")
	for by in old new; do
		assert_eq "the account by the $by collector" "True 0" \
			"$(number_of $by "$name-2" "$id" 'l["adds_up"], l["lost"] + l["missed"]' | tr -d '(),')"
	done
	delivered=$(number_of new "$name-2" "$id" 'l["delivered"]')
	assert_eq "both parts" "$delivered" "$(number_of new "$name-2" "$id" 'l["stored"] + l["elsewhere"]')"
	for by in old new; do
		ask_by $by "$name-both-$by" import "$(recording_of "$name-2" "$id")" "$(recording_of "$name" "$id")" >"$T/said" 2>&1 ||
			{ cat "$T/said" >&3; fail "the $by collector can't put the parts together"; }
		assert_eq "events in both, by the $by collector" "$delivered" "$(whole_by $by "$name-both-$by" "$id")"
	done
	echo "a stream moved from the $from collector to the $to one: $delivered events"
done
