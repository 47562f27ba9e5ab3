#!/bin/bash
# Wrong use gives a sentence that helps. (What can be shown with files alone is in tests/golden/errors.)
. "$(dirname "$0")/lib.sh"

# says EXPECTED_STATUS TEXT... -- CMD...: CMD ends so, and all TEXTs are in what it writes to standard error.
says() {
	local expected=$1 status=0 texts=()
	shift
	while [ "$1" != -- ]; do
		texts+=("$1")
		shift
	done
	shift
	"$@" >"$T/says.out" 2>"$T/says.err" </dev/null || status=$?
	[ "$status" = "$expected" ] || { cat "$T/says.err"; fail "exit status of \"$*\": expected $expected, got $status"; }
	assert_contains "$*" "$T/says.err" "${texts[@]}"
	[ "$(wc -l <"$T/says.err")" -le 12 ] || { cat "$T/says.err"; fail "\"$*\" says too much"; }
}

plain=$BUILD/tests/e2e-plain

# A command that is not there, or can't be run: as a shell would end.
says 127 no-such-program -- "$AGENT" run -- no-such-program
says 126 "$T" -- "$AGENT" run -- "$T"

# Nothing can be preloaded: that is said, and the program is not started, since nobody wants an empty recording.
says 126 "statically linked" "record it with 'agent attach -p PID'" -- "$AGENT" run --output "$T/s.heapcast" -- "$BUILD/tests/e2e-static"
[ ! -s "$T/s.heapcast" ] || fail "a recording of a program that can't be recorded"

cp "$plain" "$T/other"
if [ "$(id -u)" = 0 ] && chown 65534 "$T/other" 2>/dev/null && chmod 4755 "$T/other" && [ -u "$T/other" ]; then
	chmod 755 "$T"
	says 126 setuid "record it as root with 'agent attach -p PID'" -- "$AGENT" run --output "$T/u.heapcast" -- "$T/other"
else
	echo "(setuid: not tried, it takes two users)"
fi

# Files of tools that cannot be imported look like stacks where lines end in numbers.
printf 'desc: (none)\ncmd: true\ntime_unit: i\nsnapshot=0\nn0: 5 (heap) 4096 \nn1: main 12\n' >"$T/massif.out"
says 2 "massif.out looks like a file of massif, which can't be imported" -- "$COLLECTOR" import --data "$T/none" "$T/massif.out"
says 2 "massif.out is no recording of heapcast: it looks like a file of massif" -- "$COLLECTOR" report "$T/massif.out"
{ printf '%.0s-' {1..80}; printf '\nCommand:            true\nMassif arguments:   (none)\n  0  0 0\n'; } >"$T/printed"
says 2 "printed looks like what ms_print prints" -- "$COLLECTOR" import --data "$T/none" "$T/printed"
{ echo "main;f 12"; for ((i = 0; i < 30; i++)); do echo "no stack, no number"; done; } >"$T/prose"
says 2 "prose is not of collapsed stacks: 30 of 31 lines are no stack and a number" -- "$COLLECTOR" import --data "$T/none" "$T/prose"

# What cannot be read or written is named, and why.
"$AGENT" run --quiet --output "$T/r.heapcast" -- "$plain" >"$T/out" || true
says 2 "$T: Is a directory" -- "$COLLECTOR" import --data "$T/none" "$T"
for command in pack strip; do
	says 3 "writing /dev/full: No space left on device" -- "$COLLECTOR" $command -o /dev/full "$T/r.heapcast"
done
for command in "top" "export --format csv"; do
	# shellcheck disable=SC2086
	assert_status 3 "$COLLECTOR" $command "$T/r.heapcast" >/dev/full 2>"$T/says.err"
	assert_contains "$command on a full disk" "$T/says.err" "writing to standard output" "No space left on device"
	assert_eq "lines of $command on a full disk" 1 "$(wc -l <"$T/says.err")"
done

# The library is gone.
mkdir -p "$T/alone"
cp "$AGENT" "$T/alone/agent"
says 3 libheapcast.so -- "$T/alone/agent" run --output "$T/x.heapcast" -- "$plain"

# A folder that can't be written: said, and the program is not started.
says 3 no-such-folder -- "$AGENT" run --output "$T/no-such-folder/x.heapcast" -- "$plain"

# Nobody there: where it listens, and what to check.
says 1 43513 "Check that" -- "$COLLECTOR" gather --data "$T/none" --interface lo --once --for 1s

# A second collector: the folder is taken; with a folder of its own it goes on, and says that a port is taken.
start_collector
says 3 "$T/data" -- "$COLLECTOR" gather --data "$T/data" --interface lo --once --for 1s
says 1 "127.0.0.1:43513 is taken" --listen -- "$COLLECTOR" gather --data "$T/second" --interface lo --once --for 1s
kill -TERM "$collector_pid"
wait "$collector_pid" || true

# Ports that others have.
"$COLLECTOR" serve --data "$T/data" --http 127.0.0.1:18080 >"$T/serve.out" 2>&1 &
wait_for 10 "the server" grep -q 18080 "$T/serve.out"
says 3 "port 18080 of 127.0.0.1 is in use" --http -- "$COLLECTOR" serve --data "$T/data" --http 127.0.0.1:18080
