#!/bin/bash
# ctest: LABELS full
# The program does not notice the recorder, however poor its surroundings are: limits, closed descriptors,
# no /proc, an agent that sleeps or dies. And nothing is left behind.
. "$(dirname "$0")/lib.sh"
need perl pgrep

# Allocates ROUNDS times, says how many it kept, ends with 6 or $STATUS.
cat >"$T/work.pl" <<'END'
my ($rounds, @keep) = @ARGV;
for my $i (1 .. $rounds) { my $s = "x" x ($i % 5000 + 100); push @keep, $s if $i % 100 == 0; }
print scalar(@keep), "\n";
exit($ENV{STATUS} // 6);
END

recorded() {
	timeout 30 "$AGENT" run --quiet --output "$T/recording" "$@" </dev/null
}

balances() {
	adds_up "$T/recording" >"$T/ledger.txt" 2>"$T/ledger.err" ||
		{ cat "$T/ledger.txt" >&3; fail "$1: the ledger does not balance"; }
}

# The same with and without, in a shell that prepares the surroundings.
same_in() {
	local what=$1 script=$2 native=0
	rm -f "$T/recording"
	sh -c "$script" >"$T/native.out" 2>"$T/native.err" </dev/null || native=$?
	assert_status "$native" recorded -- sh -c "$script" >"$T/recorded.out" 2>"$T/recorded.err"
	cmp "$T/native.out" "$T/recorded.out" || fail "$what: other output"
	cmp "$T/native.err" "$T/recorded.err" || fail "$what: other errors"
	balances "$what"
}

ended() {
	local state
	state=$(awk '{ print $3 }' "/proc/$1/stat" 2>/dev/null) || return 0
	[ "$state" = Z ] || [ -z "$state" ]
}

no_agent_left() {
	local dir
	for dir in /proc/[0-9]*; do
		[ "$(readlink "$dir/exe" 2>/dev/null)" != "$(readlink -f "$AGENT")" ] || return 1
	done
}

work="perl '$T/work.pl' 3000"
same_in "little address space" 'ulimit -v 40000; exec ls /'
same_in "very little address space" 'ulimit -v 12000; exec ls /'
same_in "five descriptors" 'ulimit -n 5; exec ls -d /'
same_in "no standard input" 'exec ls / <&-'
same_in "no standard output" 'exec ls / >&-'
same_in "no standard descriptors" 'exec ls / >&- 2>&- <&-'
same_in "all descriptors closed" 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; exec ls /'
same_in "a folder that is gone" "mkdir '$T/gone'; cd '$T/gone'; rmdir '$T/gone'; exec ls -d /"
same_in "ignored signals" "trap '' TERM INT HUP PIPE CHLD; exec $work"
same_in "another library preloaded" "exec stdbuf -oL $work"
same_in "a daemon" "(setsid sh -c 'exec >/dev/null 2>&1 <&1; $work' &) ; exec $work"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	same_in "no /proc" "exec unshare -m sh -c 'umount -l /proc && exec ls -d /'"
fi
# The library must be where that user can read it, else ld.so says so.
if [ "$(id -u)" = 0 ] && command -v su >/dev/null && su nobody -s /bin/sh -c "test -r '$PRELOAD'"; then
	same_in "another user" "exec su nobody -s /bin/sh -c 'id -u; ls -d /'"
fi

# An agent that is killed: the program goes on.
"$AGENT" run --quiet --output "$T/killed" -- perl "$T/work.pl" 2000000 >"$T/killed.out" &
agent=$!
wait_for 10 "the recording" test -s "$T/killed"
kill -KILL "$agent"
wait "$agent" 2>/dev/null || true
wait_for 30 "the program to end without its agent" grep -qx 20000 "$T/killed.out"

# An agent that stops answering: one bounded wait, then the program goes on and is counted.
"$AGENT" run --quiet --block-max 1s --output "$T/recording" -- perl "$T/work.pl" 1000000 >"$T/stopped.out" &
agent=$!
target() { pgrep -P "$agent" >"$T/target"; }
wait_for 10 "the target" target
sleep 0.2
kill -STOP "$agent"
wait_for 20 "the program to end while its agent sleeps" ended "$(head -n 1 "$T/target")"
assert_eq "output" 10000 "$(cat "$T/stopped.out")"
kill -CONT "$agent"
status=0
wait "$agent" || status=$?
assert_eq "exit status" 6 "$status"
balances "an agent that slept"

# SIGKILL at any moment.
for i in 1 2 3 4 5 6 7 8; do
	rm -f "$T/recording"
	"$AGENT" run --quiet --output "$T/recording" -- perl "$T/work.pl" 100000000 >/dev/null &
	agent=$!
	wait_for 10 "the target" target
	sleep "0.0$((i * i))"
	kill -KILL "$(head -n 1 "$T/target")"
	status=0
	wait "$agent" || status=$?
	assert_eq "exit status" 137 "$status"
	[ ! -e "$T/recording" ] || balances "SIGKILL"
done

# Without `agent run`: two at once, then one after another, in a pipe, a substitution and with a time limit.
alone() {
	HEAPCAST_OUTPUT=$T/alone-%p LD_PRELOAD=$PRELOAD "$@"
}
started=$SECONDS
assert_status 6 alone perl "$T/work.pl" 100 >"$T/zero"
export STATUS=0
alone perl "$T/work.pl" 3000 >"$T/one" &
first=$!
alone perl "$T/work.pl" 3000 >"$T/two" &
assert_status 0 wait "$first"
assert_status 0 wait $!
cmp "$T/one" "$T/two"
for i in 1 2 3 4 5 6 7 8 9 10; do assert_eq "output" 1 "$(alone perl "$T/work.pl" 100)"; done
assert_eq "output in a pipe" 30 "$(alone perl "$T/work.pl" 3000 2>&1 | cat)"
assert_status 124 alone timeout 0.5 perl "$T/work.pl" 100000000
[ $((SECONDS - started)) -le 10 ] || fail "alone: it took $((SECONDS - started)) s"
wait_for 20 "the agent to leave" no_agent_left
for file in "$T"/alone-*; do
	adds_up "$file" >"$T/ledger.txt" || fail "$file does not balance"
done
[ "$(find "$T" -name 'alone-*' | wc -l)" -ge 14 ] || fail "recordings are missing"
