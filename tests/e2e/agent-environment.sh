#!/bin/bash
# Every variable of the environment does what docs/environment.md says, by its old name and by ours; one without a meaning
# gives a notice. With agent run, with a daemon, and with the library alone.
. "$(dirname "$0")/lib.sh"
need perl
plain=$BUILD/tests/e2e-plain

"$BUILD/bin/heapcast" agent --variables >"$T/environment.md"
cmp "$T/environment.md" "$ROOT/docs/environment.md" ||
	fail "docs/environment.md is not what \`heapcast agent --variables\` prints: write it anew"

# VARIABLE=VALUE...: records the plain program, into $T/r unless they say otherwise; what was logged is in $T/err.
with() {
	rm -f "$T/r"
	assert_status "${STATUS:-5}" env HEAPCAST_OUTPUT="$T/r" "$@" "$AGENT" run --quiet -- ${CMD:-"$plain"} >"$T/out" 2>"$T/err"
}
allocations() { "$COLLECTOR" ledger --json "$1" | grep -oE '"stored_allocations":[0-9]+' | grep -oE '[0-9]+$'; }
depth_of_frees() { "$COLLECTOR" export --format json --with-stacks "$1" | grep -c '"deallocation":{[^}]*"backtrace"' || true; }

# OUTPUT, with all of its placeholders; LOG, LOGFILE with its own; the limit of its size.
for p in MEMORY_PROFILER HEAPCAST; do
	mkdir "$T/$p"
	assert_status 5 env "${p}_OUTPUT=$T/$p/%e-%n-%%-%t-%p" "${p}_LOG=debug" "${p}_LOGFILE=$T/$p/%e-%t-%p.log" \
		"$AGENT" run --quiet -- "$plain" >"$T/out" 2>"$T/err"
	[ -s "$(echo "$T/$p"/e2e-plain-0-%-1?????????-*[0-9])" ] || fail "${p}_OUTPUT: $(ls "$T/$p")"
	assert_contains "${p}_LOGFILE" "$(echo "$T/$p"/e2e-plain-1?????????-*.log)" "debug" "recording pid"
	[ ! -s "$T/err" ] || fail "${p}_LOGFILE: something was logged elsewhere: $(cat "$T/err")"
	assert_status 5 env "${p}_OUTPUT=$T/$p/off" "${p}_LOG=off" MEMORY_PROFILER_INCLUDE_FILE=x \
		"$AGENT" run --quiet -- "$plain" >"$T/out" 2>"$T/err"
	[ ! -s "$T/err" ] || fail "${p}_LOG=off: $(cat "$T/err")"
done
for variable in MEMORY_PROFILER_LOGFILE_ROTATE_WHEN_BIGGER_THAN HEAPCAST_LOGFILE_LIMIT; do
	rm -f "$T"/turned*
	for i in 1 2 3; do with HEAPCAST_LOG=debug HEAPCAST_LOGFILE="$T/turned" $variable=300; done
	assert_contains "the first log of $variable" "$T/turned.initial" "memory limit"
	[ -e "$T/turned.old" ] || fail "$variable: no .old: $(ls "$T")"
	[ "$(wc -c <"$T/turned")" -le 1300 ] || fail "$variable: $(wc -c <"$T/turned") bytes"
	cmp -s "$T/turned.initial" "$T/turned.old" && fail "$variable: the first log was not kept"
done
STATUS=2 with HEAPCAST_LOG=loud
assert_contains "a wrong level" "$T/err" "HEAPCAST_LOG takes error|warn|info|debug|trace|off, not 'loud'"

echo 'kill $ARGV[0], $$; kill $ARGV[0], $$; exit 5;' >"$T/raise.pl"

# Recording that waits to be started; frees without stacks; children.
for p in MEMORY_PROFILER HEAPCAST; do
	with ${p}_DISABLE_BY_DEFAULT=0
	all=$(allocations "$T/r")
	[ "$all" -ge 2 ] || fail "${p}_DISABLE_BY_DEFAULT=0: $all allocations"
	with ${p}_DISABLE_BY_DEFAULT=1
	[ ! -s "$T/r" ] || assert_eq "allocations with ${p}_DISABLE_BY_DEFAULT=1" 0 "$(allocations "$T/r")"
	for n in 1 2; do
		CMD="perl $T/raise.pl USR$n"
		if [ $n = 1 ]; then other=2; else other=1; fi
		with ${p}_REGISTER_SIGUSR$n=1
		STATUS=$((128 + (n == 1 ? 10 : 12))) with ${p}_REGISTER_SIGUSR$n=0
		STATUS=$((128 + (n == 1 ? 10 : 12))) with ${p}_REGISTER_SIGUSR$other=1
		unset CMD
	done
done
with MEMORY_PROFILER_GRAB_BACKTRACES_ON_FREE=1
[ "$(depth_of_frees "$T/r")" -ge 1 ] || fail "GRAB_BACKTRACES_ON_FREE=1: no stack of a free"
for off in MEMORY_PROFILER_GRAB_BACKTRACES_ON_FREE=0 HEAPCAST_FREE_STACKS=0; do
	with $off
	assert_eq "stacks of frees with $off" 0 "$(depth_of_frees "$T/r")"
done
for on in MEMORY_PROFILER_TRACK_CHILD_PROCESSES=1 HEAPCAST_FOLLOW=1; do
	STATUS=0 CMD="$BUILD/targets/forks prefork 3" with $on HEAPCAST_OUTPUT="$T/on-${on%%=*}-%p"
	assert_eq "recordings with $on" 4 "$(find "$T" -name "on-${on%%=*}-*" | wc -l)"
	STATUS=0 CMD="$BUILD/targets/forks prefork 3" with "${on%=1}=0" HEAPCAST_OUTPUT="$T/off-${on%%=*}-%p"
	assert_eq "recordings with ${on%=1}=0" 1 "$(find "$T" -name "off-${on%%=*}-*" | wc -l)"
done

# Both ways of walking give the same stacks.
with MEMORY_PROFILER_USE_SHADOW_STACK=1
"$COLLECTOR" export --format collapsed "$T/r" >"$T/prefix.txt"
for full in MEMORY_PROFILER_USE_SHADOW_STACK=0 HEAPCAST_FULL_WALK=1; do
	with $full
	"$COLLECTOR" export --format collapsed "$T/r" >"$T/full.txt"
	cmp "$T/prefix.txt" "$T/full.txt" || fail "$full: other stacks"
done

# The owner of files.
if touch "$T/owned" && chown 1 "$T/owned" 2>/dev/null; then
	for p in MEMORY_PROFILER HEAPCAST; do
		with ${p}_CHOWN_OUTPUT_TO=1
		assert_eq "owner with ${p}_CHOWN_OUTPUT_TO" 1 "$(stat -c %u "$T/r")"
	done
else
	echo "CHOWN_OUTPUT_TO: not tried, files can not be given away here"
fi

# The network: ENABLE_SERVER and BASE_SERVER_PORT listen, ENABLE_BROADCAST is heard.
listens() { grep -qE ":$1 0+:0000 0A" /proc/net/tcp /proc/net/tcp6; }
while read -r port_hex variables; do
	# shellcheck disable=SC2086
	env HEAPCAST_OUTPUT="$T/net" HEAPCAST_LINGER=0s $variables "$AGENT" run --quiet -- sleep 0.7 2>"$T/net.err" &
	agent=$!
	wait_for 5 "$variables to listen" listens "$port_hex"
	wait "$agent"
done <<-END
	1FA4 MEMORY_PROFILER_ENABLE_SERVER=1
	2328 MEMORY_PROFILER_ENABLE_SERVER=1 MEMORY_PROFILER_BASE_SERVER_PORT=9000
	2328 HEAPCAST_LISTEN= HEAPCAST_BASE_SERVER_PORT=9000
END
with MEMORY_PROFILER_ENABLE_SERVER=0 MEMORY_PROFILER_ENABLE_BROADCAST=0
start_collector
env MEMORY_PROFILER_ENABLE_BROADCAST=1 HEAPCAST_INTERFACE=lo "$AGENT" run --quiet -- "$plain" >"$T/out" || true
wait_collector
ask ledger last >"$T/ledger.txt"

# Maps.
for p in MEMORY_PROFILER HEAPCAST; do
	for wanted in 0 1; do
		CMD="sleep 0.5" STATUS=0 with ${p}_GATHER_MAPS=$wanted
		"$COLLECTOR" maps "$T/r" >"$T/maps.txt"
		assert_contains "${p}_GATHER_MAPS=$wanted" "$T/maps.txt" "$([ $wanted = 1 ] && echo '[stack]' || echo 'No maps had been gathered')"
	done
done
STATUS=2 with HEAPCAST_GATHER_MAPS=often
assert_contains "a wrong interval" "$T/err" "HEAPCAST_GATHER_MAPS takes 0, 1 or a time, not 'often'"

# Without a meaning: one notice each, which says why; what asks for nothing gets none.
for v in USE_PERF_EVENT_OPEN=1 BACKTRACE_CACHE_SIZE_LEVEL_1=1 BACKTRACE_CACHE_SIZE_LEVEL_2=1 \
	DISABLE_PR_SET_VMA_ANON_NAME=1 WRITE_BINARIES_TO_OUTPUT=1 INCLUDE_FILE=/etc/* EMIT_PARTIAL_BACKTRACES=1; do
	with "MEMORY_PROFILER_$v"
	assert_eq "notices of $v" 1 "$(grep -c "warn .*MEMORY_PROFILER_${v%=*} has no meaning here: " "$T/err")"
done
with MEMORY_PROFILER_CULL_TEMPORARY_ALLOCATIONS=0 MEMORY_PROFILER_GATHER_MAPS=0 MEMORY_PROFILER_WRITE_BINARIES_TO_OUTPUT=0 \
	MEMORY_PROFILER_ZERO_MEMORY=0
[ ! -s "$T/err" ] || fail "a notice for nothing: $(cat "$T/err")"
with MEMORY_PROFILER_MISSPELT=1
assert_contains "an unknown one" "$T/err" "MEMORY_PROFILER_MISSPELT is no variable that is known here"

# A daemon reads its own environment; the library that of each program.
env MEMORY_PROFILER_OUTPUT="$T/served-%p" MEMORY_PROFILER_LOGFILE="$T/%e-%p.log" MEMORY_PROFILER_TRACK_CHILD_PROCESSES=1 \
	MEMORY_PROFILER_USE_PERF_EVENT_OPEN=1 "$AGENT" serve --memory-limit 16M --socket "$T/socket" &
agent=$!
wait_for 5 "the daemon" test -S "$T/socket"
served() { env HEAPCAST_SOCKET="$T/socket" LD_PRELOAD="$PRELOAD" "$@" >"$T/out"; }
served "$BUILD/targets/forks" prefork 3
assert_status 138 served perl -e 'kill USR1 => $$; sleep 1'
assert_status 7 served env HEAPCAST_REGISTER_SIGUSR1=1 perl -e 'kill USR1 => $$; exit 7'
kill "$agent"
wait "$agent"
[ "$(find "$T" -name 'served-*' | wc -l)" -ge 6 ] || fail "the daemon: recordings are missing"
assert_contains "the daemon's log" "$T/agent-$agent.log" "USE_PERF_EVENT_OPEN has no meaning here" "recording pid"

# The library alone: its agent has the environment of the program.
env MEMORY_PROFILER_OUTPUT="$T/alone-%p" MEMORY_PROFILER_LOGFILE="$T/alone-%e.log" MEMORY_PROFILER_TRACK_CHILD_PROCESSES=1 \
	MEMORY_PROFILER_INCLUDE_FILE=1 MEMORY_PROFILER_REGISTER_SIGUSR1=1 HEAPCAST_MEMORY_LIMIT=16M LD_PRELOAD="$PRELOAD" \
	"$BUILD/targets/forks" prefork 3 >"$T/out"
four() { [ "$(find "$T" -name 'alone-[0-9]*' -size +0 | wc -l)" = 4 ]; }
wait_for 10 "four recordings" four
assert_contains "the log of the library's agent" "$T/alone-forks.log" "INCLUDE_FILE has no meaning here" "recording pid"
