#!/bin/bash
# Three collectors and agents that have them all: each agent keeps to one. One collector is killed: its agents move, each
# goes on where it was, and the account of the new collector says who has the beginning. Both parts together are the
# whole recording: no event is lost, none is counted as lost, and `import` makes one stream of them.
# ctest: TIMEOUT 240
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"


collect() { # NAME
	gather "$1" --no-discovery --listen "127.0.0.1:${port[$1]}"
	wait_for 20 "$1 to listen" grep -q "listening on" "$T/$1.log"
}
# The collector at which the agent is, by what it has said last.
home_of() {
	local at
	at=$(sed -nE 's/.*connected to the collector at 127.0.0.1:(820[123])$/\1/p' "$T/agent$1.err" | tail -n 1)
	[ -n "$at" ] && echo "${name_at[$at]}"
}
begin_agent() { # NUMBER
	"$AGENT" serve --socket "$T/agent$1.socket" --memory-limit 4M --policy block --log info \
		--collector 127.0.0.1:8201,127.0.0.1:8202 --collector 127.0.0.1:8203 --spool "$T/spool$1" 2>>"$T/agent$1.err" &
	agent_pid[agent$1]=$!
	wait_for 10 "agent $1" grep -q "programs ask" "$T/agent$1.err"
	wait_for 20 "agent $1 to have a collector" home_of "$1"
}
# The program says its stream's id by its pid: the list of the collector has both.
run_program() { # NUMBER
	HEAPCAST_SOCKET="$T/agent$1.socket" LD_PRELOAD="$PRELOAD" "$BUILD/tests/e2e-paced" "$EVENTS" 40000 "$T/end" >"$T/program$1.out" &
	program[$1]=$!
}
stream_of() { # COLLECTOR NUMBER
	"$COLLECTOR" list --data "$T/$1" --json | python3 -c '
import json, sys
print(*[s["id"] for s in json.load(sys.stdin)["streams"] if s["pid"] == int(sys.argv[1])])' "${program[$2]}"
}
has_some() { # COLLECTOR NUMBER BYTES
	local id
	id=$(stream_of "$1" "$2")
	[ -n "$id" ] && [ "$(stat -c %s "$(recording_of "$1" "$id")")" -gt "$3" ]
}
moved() { # NUMBER COLLECTOR: it is not there any more
	[ "$(home_of "$1")" != "$2" ]
}
number_in() { # COLLECTOR STREAM EXPRESSION: of the ledger l
	adds_up --data "$T/$1" --json "$2" | python3 -c "
import json, sys
l = json.load(sys.stdin)
print($3)"
}

need python3
EVENTS=1600000
AGENTS=4
declare -A program home port=([one]=8201 [two]=8202 [three]=8203) name_at=([8201]=one [8202]=two [8203]=three)
for name in one two three; do collect $name; done
for ((i = 1; i <= AGENTS; i++)); do
	begin_agent "$i"
	home[$i]=$(home_of "$i")
	run_program "$i"
done
victim=$(printf '%s\n' "${home[@]}" | sort | uniq -c | sort -rn | sed -nE '1s/ *[0-9]+ //p')
echo "agents: ${home[*]}; killed: $victim"
for ((i = 1; i <= AGENTS; i++)); do
	[ "${home[$i]}" != "$victim" ] || wait_for 60 "$victim to have a part of program $i" has_some "$victim" "$i" 200000
done
kill_gather "$victim"
for ((i = 1; i <= AGENTS; i++)); do
	[ "${home[$i]}" != "$victim" ] || wait_for 60 "agent $i to move" moved "$i" "$victim"
done
for ((i = 1; i <= AGENTS; i++)); do wait_for 90 "program $i to be done" grep -q "done" "$T/program$i.out"; done
touch "$T/end"
for ((i = 1; i <= AGENTS; i++)); do wait "${program[$i]}"; done
ended() { grep -q "pid ${program[$1]}, ended:.*taken by" "$T/agent$1.err"; }
for ((i = 1; i <= AGENTS; i++)); do wait_for 60 "the recording of program $i to be delivered" ended "$i"; done

# Who moved is in two folders. The account of the second says where the beginning is; nothing is lost.
least=$((EVENTS / 4 * 2 * 2 - EVENTS / 4 * 2 / 100))
for ((i = 1; i <= AGENTS; i++)); do
	now=$(home_of "$i")
	id=$(stream_of "$now" "$i")
	[ -n "$id" ] || fail "$now has no stream of program $i"
	adds_up --data "$T/$now" "$id" >"$T/ledger.txt" 2>&1 || { cat "$T/ledger.txt" >&3; fail "program $i: the ledger does not balance"; }
	assert_eq "program $i: lost" "0" "$(number_in "$now" "$id" 'l["missing"]["lost_events"] + l["lost"] + l["missed"]')"
	delivered=$(number_in "$now" "$id" 'l["delivered"]')
	[ "$delivered" -ge "$least" ] || fail "program $i: $delivered events, of at least $least"
	if [ "${home[$i]}" != "$victim" ]; then
		assert_eq "program $i: its collector" "${home[$i]}" "$now"
		assert_eq "program $i: stored" "$delivered" "$(number_in "$now" "$id" 'l["stored"] if l["complete"] else "incomplete"')"
		continue
	fi
	assert_eq "program $i: parts" 1 "$(number_in "$now" "$id" 'len(l["parts"])')"
	assert_eq "program $i: both parts" "$delivered" "$(number_in "$now" "$id" 'l["stored"] + l["parts"][0]["events"]')"
	assert_eq "program $i: elsewhere" "$(number_in "$now" "$id" 'l["before_join"]')" "$(number_in "$now" "$id" 'l["elsewhere"]')"
	assert_eq "program $i: id of the other" "$(od -An -tx1 "$T/$victim/collector-id" | tr -d ' \n')" \
		"$(number_in "$now" "$id" 'l["parts"][0]["collector"]')"
	"$COLLECTOR" list --data "$T/$now" >"$T/list.txt"
	assert_contains "the list" "$T/list.txt" "ended*" "             began on $(uname -n) (127.0.0.1"
	[ "$(wc -L <"$T/list.txt")" -le 80 ] || fail "lines of more than 80 columns: $(cat "$T/list.txt")"
	COLUMNS=150 "$COLLECTOR" list --data "$T/$now" >"$T/list.txt" # in a wide terminal behind the state
	assert_contains "the list" "$T/list.txt" "ended*, began on $(uname -n) (127.0.0.1"
	assert_contains "the agent" "$T/agent$i.err" "taken by $(uname -n) (127.0.0.1" ", then $(uname -n) (127.0.0.1"
	# The first part has at least what was acknowledged. Both make one stream, which is whole.
	[ "$(number_in "$victim" "$id" 'l["stored"]')" -ge "$(number_in "$now" "$id" 'l["parts"][0]["events"]')" ] ||
		fail "program $i: $victim does not have what it has acknowledged"
	"$COLLECTOR" import --data "$T/both" "$(recording_of "$now" "$id")" "$(recording_of "$victim" "$id")" >"$T/import.out" 2>&1 ||
		{ cat "$T/import.out" >&3; fail "program $i: the parts can't be put together"; }
	"$COLLECTOR" ledger --data "$T/both" "$id" >"$T/ledger.txt" || { cat "$T/ledger.txt" >&3; fail "program $i: both parts are not the whole"; }
	assert_eq "program $i: stored in both parts" "$delivered" "$(number_in both "$id" 'l["stored"]')"
	assert_eq "program $i: began on, in both parts" "" \
		"$("$COLLECTOR" list --data "$T/both" --json | python3 -c 'import json, sys; print(*[s.get("began_on", "") for s in json.load(sys.stdin)["streams"]])' | tr -d ' ')"
done
for ((i = 1; i <= AGENTS; i++)); do
	kill -TERM "${agent_pid[agent$i]}"
	wait_agent "agent$i"
done
for name in one two three; do [ "$name" = "$victim" ] || stop_gather $name; done
