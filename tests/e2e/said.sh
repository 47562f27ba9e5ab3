#!/bin/bash
# A setting that can't be honoured. `agent run` ends with 2 or 3 before the program has begun. With the library alone,
# the program says so: one line on standard error, before main, by the first process of a tree and nobody else. The
# program runs as ever.
. "$(dirname "$0")/lib.sh"
need setsid
plain=$BUILD/tests/e2e-plain
mkdir "$T/closed" "$T/out"
export HEAPCAST_OUTPUT="$T/out/%p"

# says TEXT NAME=VALUE...: the library alone says it, once, and the program runs; "" nothing
says() {
	local text=$1
	shift
	assert_status 5 env LD_PRELOAD="$PRELOAD" "$@" "$plain" >"$T/said.out" 2>"$T/said.err"
	assert_eq "standard output with $*" "done" "$(cat "$T/said.out")"
	if [ -z "$text" ]; then
		assert_eq "standard error with $*" "" "$(cat "$T/said.err")"
		return
	fi
	assert_eq "lines on standard error with $*" 1 "$(wc -l <"$T/said.err")"
	assert_contains "standard error with $*" "$T/said.err" "heapcast: " "$text"
}
# runs STATUS TEXT ARG...: `agent run` ends so, and the program was not started
runs() {
	local status=$1 text=$2
	shift 2
	assert_status "$status" env "${@:1:$#-1}" "$AGENT" run ${!#} -- touch "$T/started" >"$T/run.out" 2>"$T/run.err"
	assert_contains "agent run with $*" "$T/run.err" "$text"
	[ ! -e "$T/started" ] || fail "with $* the program was started"
}

# Every kind of value, by both names. What it is and what was given is in the line.
while IFS='|' read -r setting text; do
	says "$text" "$setting"
	runs 2 "$text" "$setting" --quiet
done <<-'END'
	HEAPCAST_CULL=yes|HEAPCAST_CULL takes a time such as 10s, 5m or 500ms, not 'yes'
	HEAPCAST_MEMORY_LIMIT=12x|HEAPCAST_MEMORY_LIMIT takes a size such as 4096, 512K or 8M, not '12x'
	HEAPCAST_MEMORY_LIMIT=1K|HEAPCAST_MEMORY_LIMIT: a memory limit of 1.00 KiB is too little
	HEAPCAST_MODE=some|HEAPCAST_MODE takes full|sample[=BYTES]|off, not 'some'
	HEAPCAST_POLICY=wait|HEAPCAST_POLICY takes block|thin|count, not 'wait'
	HEAPCAST_FOLLOW=perhaps|HEAPCAST_FOLLOW takes 0 or 1, not 'perhaps'
	HEAPCAST_FREE_STACKS=some|HEAPCAST_FREE_STACKS takes yes|no, not 'some'
	HEAPCAST_GATHER_MAPS=often|HEAPCAST_GATHER_MAPS takes 0, 1 or a time, not 'often'
	HEAPCAST_DEPTH=3|HEAPCAST_DEPTH takes 8 to 1000, not 3
	HEAPCAST_LOG=loud|HEAPCAST_LOG takes error|warn|info|debug|trace|off, not 'loud'
	HEAPCAST_LISTEN=nowhere|nowhere
	HEAPCAST_KEY=/missing/key|/missing/key
	HEAPCAST_LOGFILE=/missing/log|can't log to /missing/log
	HEAPCAST_FLIGHT_GROWTH=much|much
	HEAPCAST_ZERO_MEMORY=maybe|HEAPCAST_ZERO_MEMORY takes 0 or 1, not 'maybe'
	HEAPCAST_SAMPLE_SEED=x|HEAPCAST_SAMPLE_SEED takes a number, not 'x'
	MEMORY_PROFILER_CHOWN_OUTPUT_TO=me|MEMORY_PROFILER_CHOWN_OUTPUT_TO takes a whole number, not 'me'
	HEAPCAST_OUTPUT=a%q|takes %e, %t, %p, %n and %% beside other text, not 'a%q'
END
says "HEAPCAST_OUPUT; did you mean HEAPCAST_OUTPUT?" HEAPCAST_OUPUT=x

# What is found out only while the agent begins is said by the first program, too: it has asked before.
while IFS='|' read -r setting status text; do
	for _ in 1 2; do says "$text" HEAPCAST_ANNOUNCE=1 "$setting"; done
	runs "$status" "$text" HEAPCAST_ANNOUNCE=1 "$setting" --quiet
done <<-'END'
	HEAPCAST_INTERFACE=none9|2|there is no interface 'none9'
	HEAPCAST_LISTEN=192.0.2.1:8100|3|can't listen on port 8100
END

# Where a file can't be: no folder, no right, a full disk.
says "can't write a recording to /missing/x: No such file or directory: this program is not recorded" HEAPCAST_OUTPUT=/missing/x
runs 3 "can't write a recording to /missing/x: No such file or directory" A=B "--output /missing/x"
mkdir "$T/folder"
says "can't write a recording to $T/folder/: Is a directory: this program is not recorded" HEAPCAST_OUTPUT="$T/folder/"
says "$T/folder is no regular file: the recording goes to $T/folder-2" HEAPCAST_OUTPUT="$T/folder"
runs 3 "can't write a recording to $T/folder/: Is a directory" A=B "--output $T/folder/"
if [ "$(id -u)" = 0 ] && setpriv --reuid=1 --regid=1 --clear-groups test -x "$PRELOAD" 2>/dev/null; then
	chmod 711 "$T"
	mkdir "$T/theirs" && chown 1 "$T/theirs"
	assert_status 5 setpriv --reuid=1 --regid=1 --clear-groups env HEAPCAST_OUTPUT="$T/theirs/x" HEAPCAST_CHOWN_OUTPUT_TO=2 LD_PRELOAD="$PRELOAD" "$plain" 2>"$T/said.err" >"$T/said.out"
	assert_contains "a file that can't be given away" "$T/said.err" "can't give $T/theirs/x to user 2: Operation not permitted"
	assert_status 3 setpriv --reuid=1 --regid=1 --clear-groups "$AGENT" run --output "$T/theirs/x" --chown-output-to 2 -- "$plain" 2>"$T/run.err" >"$T/run.out"
	assert_contains "a file that can't be given away" "$T/run.err" "can't give recordings to user 2"
	assert_status 5 setpriv --reuid=1 --regid=1 --clear-groups env HEAPCAST_OUTPUT="$T/closed/x" LD_PRELOAD="$PRELOAD" "$plain" 2>"$T/said.err" >"$T/said.out"
	assert_contains "a folder without permission" "$T/said.err" "can't write a recording to $T/closed/x: Permission denied"
	assert_status 3 setpriv --reuid=1 --regid=1 --clear-groups "$AGENT" run --output "$T/closed/x" -- "$plain" 2>"$T/run.err" >"$T/run.out"
	assert_contains "a folder without permission" "$T/run.err" "can't write a recording to $T/closed/x: Permission denied"
	assert_status 3 setpriv --reuid=1 --regid=1 --clear-groups env -u HEAPCAST_OUTPUT "$AGENT" run -- "$plain" 2>"$T/run.err" >"$T/run.out"
	assert_contains "a working folder without permission" "$T/run.err" "can't write a recording to heapcast_e2e-plain_"
fi
if [ "$inside" = namespace ] && mkdir "$T/small" && unshare --mount true 2>/dev/null; then
	# shellcheck disable=SC2016
	unshare --mount -- bash -c '
		mount -t tmpfs -o size=64k none "$1/small" || exit 77
		head -c 1M /dev/zero >"$1/small/full"
		"$2" run --output "$1/small/x" -- touch "$1/started"' - "$T" "$AGENT" 2>"$T/run.err" || status=$?
	[ "$status" = 77 ] || assert_contains "a full disk ($status)" "$T/run.err" "$T/small/x: No space left on device"
	[ "$status" = 77 ] || assert_eq "a full disk" 3 "$status"
	[ ! -e "$T/started" ] || fail "on a full disk the program was started"
fi

# Where an agent is said to be.
says "HEAPCAST_AGENT: /missing can't be run" HEAPCAST_AGENT=/missing
says "HEAPCAST_AGENT: /bin/true has ended without an answer" HEAPCAST_AGENT=/bin/true
says "HEAPCAST_SOCKET: no agent answers at $T/nowhere" HEAPCAST_SOCKET="$T/nowhere"

# There is none, and who has said what it shall do is told; who has said nothing is not.
mkdir "$T/lone"
cp "$PRELOAD" "$T/lone/libheapcast.so"
lone() { PATH=/usr/bin:/bin PRELOAD=$T/lone/libheapcast.so says "$@" HEAPCAST_LOGFILE="$T/lone.log"; } # no agent serves that
lone "HEAPCAST_OUTPUT: there is no agent beside libheapcast.so" A=B
(unset HEAPCAST_OUTPUT && lone "" A=B && lone "HEAPCAST_FOLLOW: there is no agent" HEAPCAST_FOLLOW=1)
printf '#!/bin/sh\nexit 1\n' >"$T/lone/agent"
lone "HEAPCAST_OUTPUT: there is no agent beside libheapcast.so" HEAPCAST_OUTPUT="$T/not-executable"
chmod +x "$T/lone/agent"
lone "HEAPCAST_OUTPUT: the agent has ended without an answer" HEAPCAST_OUTPUT="$T/fails"
if [ "$inside" = namespace ] && unshare --pid --fork true 2>/dev/null; then
	assert_status 5 unshare --pid --fork env HEAPCAST_LOGFILE="$T/lone.log" LD_PRELOAD="$PRELOAD" "$plain" 2>"$T/said.err" >"$T/said.out"
	assert_eq "lines of process 1" 1 "$(wc -l <"$T/said.err")"
	assert_contains "process 1" "$T/said.err" "HEAPCAST_OUTPUT: process 1, and any that takes in orphans, starts no agent"
fi

# Not with HEAPCAST_LOG=off; not of what nobody has said; to no end of the program where nobody reads.
says "" HEAPCAST_LOG=off HEAPCAST_CULL=yes
says "" MEMORY_PROFILER_LOG=off HEAPCAST_SOCKET=/missing
says "" HEAPCAST_TEST=1
assert_status 5 env HEAPCAST_MODE=some LD_PRELOAD="$PRELOAD" "$plain" 2>&- >"$T/said.out"
assert_status 5 bash -c 'exec 2> >(exec true); sleep 0.2; exec env HEAPCAST_MODE=some LD_PRELOAD="$1" "$2" >/dev/null' - "$PRELOAD" "$plain"
mkfifo "$T/pipe"
exec 4<>"$T/pipe"
head -c 65536 /dev/zero >&4 # all that it holds
assert_status 5 timeout 5 env HEAPCAST_MODE=some LD_PRELOAD="$PRELOAD" "$plain" 2>&4 >"$T/said.out"
exec 4<&-

# Once by a tree: not by children, what comes after an exec, or who has lost its parent (whom somebody of another session takes in).
for setting in HEAPCAST_MODE=some HEAPCAST_CULL=yes; do
	setsid -w env "$setting" LD_PRELOAD="$PRELOAD" bash -c '
		"$1" >/dev/null
		(sleep 0.2; exec "$1" >/dev/null) &
		sh -c "\"$1\"; (sleep 0.3; \"$1\") & exit 0" - "$1" >/dev/null
		wait
		exec "$1" >/dev/null' - "$plain" 2>"$T/tree.err" || assert_eq "exit status" 5 $?
	sleep 0.6
	assert_eq "lines of a tree with $setting" 1 "$(wc -l <"$T/tree.err")"
done
# Each tree has its line.
for _ in 1 2; do says "takes a time such as 10s, 5m or 500ms, not 'yes'" HEAPCAST_CULL=yes; done
# Below `agent run` nobody says anything: its settings hold.
"$AGENT" run --quiet --output "$T/run" -- env HEAPCAST_MODE=some HEAPCAST_SOCKET=/missing "$plain" >"$T/run.out" 2>"$T/run.err" || assert_eq "exit status" 5 $?
assert_eq "standard error below agent run" "" "$(cat "$T/run.err")"
# Who has switched it off is not asked whether the program allocates.
HEAPCAST_OFF=1 "$AGENT" run --output "$T/off" -- "$plain" >"$T/run.out" 2>"$T/run.err" || assert_eq "exit status" 5 $?
assert_contains "agent run, switched off" "$T/run.err" "nothing was recorded: HEAPCAST_OFF is set"
# A daemon says at its start what it could not do for anybody: a wrong pattern ends it, a folder may come later.
assert_status 2 env -u HEAPCAST_OUTPUT "$AGENT" serve --socket "$T/socket" --output 'x%q' 2>"$T/serve.err"
assert_contains "a wrong pattern" "$T/serve.err" "--output takes %e, %t, %p, %n and %% beside other text, not 'x%q'"
echo mine >"$T/mine"
for output in /missing/x "$T/mine"; do
	"$AGENT" serve --socket "$T/socket" --output "$output" 2>"$T/serve.err" &
	wait_for 10 "the daemon" grep -q "programs ask at" "$T/serve.err"
	kill -TERM $!
	wait $!
	mv "$T/serve.err" "$T/serve.$(basename "$output").err"
done
assert_contains "a missing folder" "$T/serve.x.err" "can't write a recording to /missing/x: No such file or directory: programs are not recorded there until that is mended"
! grep -q "can't write" "$T/serve.mine.err" || fail "a daemon that would take a number: $(cat "$T/serve.mine.err")"
