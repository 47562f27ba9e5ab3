#!/bin/bash
# ctest: LABELS full
# What recording adds to the program's own memory (private and dirty, by smaps; the ring is the agent's). It is at most
# 300 KiB, and 32 KiB for each further thread.
. "$(dirname "$0")/lib.sh"
DATA=$TEST_SOURCE/data
BASE_KIB=300 THREAD_KIB=32 ROUNDS=3

# The process that runs this executable for the round at hand.
process_of() {
	local dir
	for dir in /proc/[0-9]*; do
		if [ "$(readlink "$dir/exe" 2>/dev/null)" = "$1" ] && grep -qsz "^MEMORY_ROUND=$round\$" "$dir/environ"; then
			echo "${dir#/proc/}"
			return
		fi
	done
	return 1
}

own_kib() {
	awk '/^[0-9a-f]+-[0-9a-f]+ / { ring = /memfd:/ } /^(Private_Dirty|Swap):/ && !ring { sum += $2 } END { print sum }' "/proc/$1/smaps"
}

# measure EXECUTABLE CMD...: its memory when it has printed "ready" and waits for its input.
round=0
measure() {
	local executable=$1
	shift
	round=$((round + 1))
	rm -f "$T/in" "$T/out"
	mkfifo "$T/in"
	MEMORY_ROUND=$round "$@" <"$T/in" >"$T/out" 2>"$T/program.err" &
	exec 7>"$T/in"
	[ -z "$input" ] || cat "$input" >&7
	wait_for 30 "$executable to be ready" grep -q ready "$T/out"
	own_kib "$(process_of "$executable")" >"$T/kib"
	exec 7>&-
	wait $! || true
}

median_of() {
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# growth LIMIT_KIB CMD...
growth() {
	local limit=$1 executable native recorded i
	shift
	executable=$(readlink -f "$(command -v "$1")")
	rm -f "$T/native" "$T/recorded"
	for ((i = 0; i < ROUNDS; i++)); do
		measure "$executable" "$@"
		cat "$T/kib" >>"$T/native"
		measure "$executable" "$AGENT" run --quiet --output "$T/recording" -- "$@"
		cat "$T/kib" >>"$T/recorded"
		rm -f "$T/recording"
	done
	native=$(median_of <"$T/native") recorded=$(median_of <"$T/recorded")
	printf '%-24s native %6d KiB, recorded %6d, more %4d of %4d\n' "$(basename "$*")" "$native" "$recorded" $((recorded - native)) "$limit"
	[ "$native" -gt 0 ] || fail "smaps says nothing of $executable"
	[ $((recorded - native)) -le "$limit" ] || over="$over $(basename "$1")"
}

over=
if command -v sqlite3 >/dev/null; then
	{ cat "$DATA/work.sql"; echo "SELECT 'ready';"; } >"$T/work.sql"
	input=$T/work.sql
	growth $BASE_KIB sqlite3 :memory:
fi
if command -v lua5.4 >/dev/null; then
	sed 's/os\.exit.*//' "$DATA/work.lua" >"$T/work.lua"
	printf 'print("ready") io.stdout:flush() io.read("a")\n' >>"$T/work.lua"
	input=
	growth $BASE_KIB lua5.4 "$T/work.lua"
fi
input=
growth $((BASE_KIB + THREAD_KIB)) "$BUILD/targets/waiting" 1
growth $((BASE_KIB + THREAD_KIB * 16)) "$BUILD/targets/waiting" 16
growth $((BASE_KIB + THREAD_KIB * 48)) "$BUILD/targets/waiting" 48
[ -z "$over" ] || fail "more than allowed:$over"
