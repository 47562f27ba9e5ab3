#!/bin/bash
# ctest: TIMEOUT 240
# One pairing for a group of collectors: the key that one of them got is copied to the others, as a file. An agent that is
# paired once talks TLS to each of them and moves when one dies; a collector without the key gets nothing. A board that is
# paired with each of them finds the right key for each. A key that is revoked everywhere is of no use any more.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
. "$TEST_SOURCE/lib-pairing.sh"
need python3
lo=(--interface lo)
declare -A port=([one]=8201 [two]=8202 [three]=8203 [stranger]=8204)

# NAME: a collector with the keys in $T/pairs-NAME
collect() {
	HEAPCAST_PAIRS=$T/pairs-$1 gather "$1" --no-discovery --listen "127.0.0.1:${port[$1]}" --paired-only
	wait_for 20 "$1 to listen" grep -q "listening on" "$T/$1.log"
}
serve() { # NAME ARG...: an agent with the keys in $T/keys-NAME
	local name=$1
	shift
	HEAPCAST_KEYS=$T/keys-$name "$AGENT" serve --socket "$T/$name.socket" --policy block --log info "$@" 2>"$T/$name.err" &
	agent_pid[$name]=$!
	wait_for 10 "agent $name" grep -q "programs ask" "$T/$name.err"
}
at() { # NAME: the collector at which it is
	sed -nE 's/.*connected to the collector at 127.0.0.1:(820[1-4])$/\1/p' "$T/$1.err" | tail -n 1
}
name_of() {
	local name
	for name in one two three stranger; do [ "${port[$name]}" != "$1" ] || echo $name; done
}
is_elsewhere() { [ -n "$(at "$1")" ] && [ "$(at "$1")" != "$2" ]; }

# 1. Paired with one; the others have a copy of its keys.
HEAPCAST_PAIRS=$T/pairs-one pair_begin once "${lo[@]}" --name board
HEAPCAST_KEYS=$T/keys-board join once 0 "${code[once]}" "${lo[@]}"
HEAPCAST_PAIRS=$T/pairs-one pair_end once 0
for name in two three; do
	mkdir -m 700 "$T/pairs-$name"
	cp -p "$T"/pairs-one/*.key "$T/pairs-$name"
done
# The stranger has a key, too, of another board.
HEAPCAST_PAIRS=$T/pairs-stranger pair_begin other "${lo[@]}" --name other
HEAPCAST_KEYS=$T/keys-other join other 0 "${code[other]}" "${lo[@]}"
HEAPCAST_PAIRS=$T/pairs-stranger pair_end other 0

for name in one two three stranger; do collect $name; done
serve board --spool "$T/spool" --collector 127.0.0.1:8201,127.0.0.1:8202,127.0.0.1:8203,127.0.0.1:8204
wait_for 30 "the board to have a collector" at board
wait_for 30 "a collector with its key" grep -q "link to .*: it is" "$T/board.err"
first=$(name_of "$(at board)")
[ "$first" != stranger ] || fail "the board talks to a collector without its key"
env -u HEAPCAST_KEYS HEAPCAST_SOCKET="$T/board.socket" LD_PRELOAD="$PRELOAD" "$BUILD/tests/e2e-paced" 800000 40000 "$T/end" >"$T/program.out" &
program=$!
has_part() { [ "$(stat -c %s "$T/$first"/streams/*/recording.heapcast)" -gt 200000 ]; }
wait_for 60 "$first to have a part" has_part
kill_gather "$first"
wait_for 90 "the board to move" is_elsewhere board "${port[$first]}"
second=$(name_of "$(at board)")
wait_for 90 "the program to be done" grep -q "done" "$T/program.out"
touch "$T/end"
wait "$program"
wait_idle "$second" 1
[ "$second" != stranger ] || fail "the board has moved to a collector without its key"
balances "$second"
id=$(streams "$second")
assert_eq "lost" "0" "$(ledger_number "$second" "$id" lost)"
assert_eq "elsewhere" "$(ledger_number "$second" "$id" before_join)" "$(ledger_number "$second" "$id" elsewhere)"
assert_eq "streams of the stranger" "" "$(streams stranger)"
HEAPCAST_PAIRS=$T/pairs-$second "$COLLECTOR" pairs | grep "^board " | grep -qv " never " || fail "$second has not seen the board's key"
kill -TERM "${agent_pid[board]}"
wait_agent board
echo "one pairing: the board was at $first, then at $second, by TLS"

# 2. A board with a key of its own for each of them: at each address each key is tried.
for name in one two three; do
	HEAPCAST_PAIRS=$T/pairs-$name pair_begin "own-$name" "${lo[@]}" --name own
	HEAPCAST_KEYS=$T/keys-own join "own-$name" 0 "${code[own-$name]}" "${lo[@]}"
	HEAPCAST_PAIRS=$T/pairs-$name pair_end "own-$name" 0
done
collect "$first"
wait_for 20 "all to know its keys" eval '[ "$(ls "$T"/pairs-{one,two,three}/own.key | wc -l)" = 3 ]'
serve own --collector "127.0.0.1:8201, 127.0.0.1:8202, 127.0.0.1:8203"
seen=
has_another() {
	local now
	now=$(at own)
	[ -n "$now" ] && [[ $seen != *$now* ]] && grep -q "link to 127.0.0.1:$now: it is" "$T/own.err"
}
for _ in 1 2 3; do
	wait_for 60 "the board to have another collector" has_another
	now=$(at own)
	seen+=" $now"
	kill_gather "$(name_of "$now")"
done
echo "three pairings: the board was at each of the three"

# 3. Revoked where it is: no connection any more.
kill -TERM "${agent_pid[own]}"
wait_agent own
HEAPCAST_PAIRS=$T/pairs-two "$COLLECTOR" pairs revoke board >"$T/revoked"
assert_contains "collector pairs" "$T/revoked" "revoked board"
collect two
rm "$T/board.err" # of the agent before, until the next one has opened its own
serve board --collector 127.0.0.1:8202
wait_for 20 "the board to be refused" grep -q "can't use the collector at" "$T/board.err"
[ -z "$(at board)" ] || fail "a revoked key is of use"
