#!/bin/bash
# Only LD_PRELOAD was typed, for several programs. The settings in each program's environment hold for that program,
# whoever came first, one after another and at the same time. A program with another setting of an agent's memory or
# sockets gets an agent of its own; the rest share one. On a busy machine, too.
. "$(dirname "$0")/lib.sh"
need perl
plain=$BUILD/tests/e2e-plain
export HEAPCAST_MEMORY_LIMIT=64M # places for all of them
for _ in 1 2; do nice sh -c 'while :; do :; done' & done

alone() { env LD_PRELOAD="$PRELOAD" "$@"; }
whole() { "$COLLECTOR" ledger "$1"; }
program() { "$COLLECTOR" sql --json-lines "$1" "select executable from recording" | grep -q "$2"; }
agents() {
	local dir
	for dir in /proc/[0-9]*; do
		grep -q "serve --for-pid" <(tr '\0' ' ' <"$dir/cmdline" 2>/dev/null) || continue
		! grep -qsz "^HEAPCAST_TEST_MARK=$T\$" "$dir/environ" || echo "${dir#/proc/}"
	done
}

# One after another, and in two folders.
mkdir "$T/one" "$T/two"
(cd "$T/one" && assert_status 0 alone HEAPCAST_OUTPUT=a perl -e 1)
(cd "$T/two" && assert_status 5 alone HEAPCAST_OUTPUT=b "$plain" >/dev/null)
wait_for 10 "the first one's file" whole "$T/one/a"
wait_for 10 "the second one's file" whole "$T/two/b"
program "$T/one/a" perl && program "$T/two/b" e2e-plain || fail "a recording is under another program's name"
assert_eq "files" 2 "$(find "$T/one" "$T/two" -type f | wc -l)"
assert_eq "agents of programs that differ in their own settings" 1 "$(agents | wc -l)"

# At the same time, 20 with one name: none shares a file.
cat >"$T/same.pl" <<-'END'
	my @kept = map { "x" x (100 + $_) } 1 .. 2000;
	select undef, undef, undef, 0.3;
END
pids=
for i in $(seq 20); do
	alone HEAPCAST_OUTPUT="$T/same.heapcast" perl "$T/same.pl" &
	pids="$pids $!"
done
for pid in $pids; do wait "$pid"; done
ended() { for f in "$T"/same*.heapcast; do whole "$f" || return 1; done; }
wait_for 20 "all recordings to be whole" ended
assert_eq "recordings of one name" 20 "$(find "$T" -name 'same*.heapcast' | wc -l)"
[ -e "$T/same.heapcast" ] && [ -e "$T/same-2.heapcast" ] && [ -e "$T/same-20.heapcast" ] || fail "the names are $(ls "$T")"
for f in "$T"/same*.heapcast; do
	"$COLLECTOR" sql --json-lines "$f" "select pid from recording"
done >"$T/pids.txt"
assert_eq "programs in them" 20 "$(grep -oE '[0-9]+' "$T/pids.txt" | sort -u | wc -l)"
[ "$(stat -c %a "$T/same-2.heapcast")" = 600 ] || fail "the mode is $(stat -c %a "$T/same-2.heapcast")"

# What else is a program's own: mode, depth, stacks of frees, children, sums. One pair of each runs at the same time.
depth_of_frees() { "$COLLECTOR" export --format json --with-stacks "$1" | grep -cE '"deallocation":\{"time_ns":[0-9]+,"kind":"free"[^}]*"backtrace"' || true; }
alone HEAPCAST_OUTPUT="$T/sampled" HEAPCAST_MODE=sample=64K perl "$T/same.pl" &
alone HEAPCAST_OUTPUT="$T/full" perl "$T/same.pl" &
alone HEAPCAST_OUTPUT="$T/no-stacks" MEMORY_PROFILER_GRAB_BACKTRACES_ON_FREE=0 perl "$T/same.pl" &
alone HEAPCAST_OUTPUT="$T/culled" HEAPCAST_CULL=10s perl "$T/same.pl" &
alone HEAPCAST_OUTPUT="$T/followed-%p" HEAPCAST_FOLLOW=1 "$BUILD/targets/forks" prefork 3 >/dev/null &
alone HEAPCAST_OUTPUT="$T/alone-%p" "$BUILD/targets/forks" prefork 3 >/dev/null &
wait_for 30 "the sampled one" whole "$T/sampled"
for f in full no-stacks culled; do wait_for 20 "$f" whole "$T/$f"; done
stored() { "$COLLECTOR" ledger --json "$1" | grep -oE '"stored_allocations":[0-9]+' | grep -oE '[0-9]+$'; }
[ "$(stored "$T/sampled")" -lt $(($(stored "$T/full") / 2)) ] || fail "the sampled one has $(stored "$T/sampled") of $(stored "$T/full") allocations"
[ "$(stored "$T/culled")" -lt $(($(stored "$T/full") * 9 / 10)) ] || fail "the culled one has $(stored "$T/culled") of $(stored "$T/full") allocations"
[ "$(depth_of_frees "$T/full")" -gt 0 ] || fail "frees have no stacks"
assert_eq "stacks of frees where none were wanted" 0 "$(depth_of_frees "$T/no-stacks")"
four() { [ "$(find "$T" -name 'followed-*' -size +0 | wc -l)" = 4 ]; }
wait_for 10 "the children of one that wants it" four
wait_for 10 "one that does not" eval "ls $T/alone-*"
assert_eq "children of one that does not want it" 1 "$(find "$T" -name 'alone-*' | wc -l)"
assert_eq "agents: culling takes memory of its own" 2 "$(agents | wc -l)"
# Both are found by `agent ctl`, which wants to know which one is meant.
XDG_RUNTIME_DIR=$T assert_status 3 "$AGENT" ctl status 2>"$T/ctl.err" >"$T/ctl.out"
assert_contains "agent ctl" "$T/ctl.err" "programs with different settings have agents of their own: --socket @heapcast-$(id -u)-"
"$AGENT" ctl --socket "$(sed -nE 's/.*--socket (@[^ ,]*), .*/\1/p' "$T/ctl.err")" status >"$T/ctl.out"

# Files are named from where the program was started, those of an agent, too.
(umask 077 && head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$T/one/key")
(cd "$T/one" && assert_status 5 alone HEAPCAST_KEY=key HEAPCAST_SPOOL=spool HEAPCAST_ANNOUNCE=1 HEAPCAST_INTERFACE=lo HEAPCAST_LINGER=100ms HEAPCAST_OUTPUT=kept "$plain" >/dev/null 2>"$T/kept.err")
assert_eq "standard error of one with a key" "" "$(cat "$T/kept.err")"
wait_for 10 "the recording of one with a key" whole "$T/one/kept"
[ -d "$T/one/spool" ] && [ ! -e /spool ] || fail "the spool is not beside the program"
