#!/bin/bash
# --follow with more children than there are places: the program's standard error stays its own; the summary says it once,
# and --quiet not at all.
. "$(dirname "$0")/lib.sh"
cat >"$T/script" <<-'SCRIPT'
	#!/bin/bash
	for i in 1 2 3; do
		sleep 0.2 | sleep 0.2 | sleep 0.2 | sleep 0.2 | sleep 0.2 | sleep 0.2
	done
	echo "its own word" >&2
SCRIPT
chmod +x "$T/script"

"$AGENT" run --follow --quiet --output "$T/%p" -- "$T/script" 2>"$T/quiet.err"
assert_eq "standard error with --quiet" "its own word" "$(cat "$T/quiet.err")"
"$AGENT" run --follow --output "$T/%p" -- "$T/script" 2>"$T/said.err"
assert_eq "lines about it" 1 "$(grep -c "places were taken" "$T/said.err")"
assert_eq "lines at a level below" 0 "$(grep -c "places are taken" "$T/said.err")"
"$AGENT" run --help >"$T/help.txt"
assert_contains "the help" "$T/help.txt" "those that fork" "a place for each 2 MiB"

# Threads without a place in the ring are a matter of the memory limit as well, and said so.
"$AGENT" run --output "$T/crowd" -- "$BUILD/tests/e2e-crowd" 1000 2>"$T/crowd.err"
assert_contains "the summary" "$T/crowd.err" "events of threads without a place in the ring: raise --memory-limit"
"$COLLECTOR" ledger "$T/crowd" >"$T/ledger.txt"

# More collectors than links are turned away without a word on the program's standard error.
"$AGENT" run --listen 127.0.0.1:8177 --linger 100ms --quiet --output "$T/away" -- sleep 1 2>"$T/away.err" &
agent=$!
wait_for 5 "the agent to listen" grep -q ":1FF1 " /proc/net/tcp
for _ in 1 2 3 4 5 6; do
	(exec 3<>/dev/tcp/127.0.0.1/8177 && sleep 0.5) 2>/dev/null &
done
wait "$agent"
assert_eq "standard error" "" "$(cat "$T/away.err")"
