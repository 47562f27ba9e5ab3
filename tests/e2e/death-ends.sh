#!/bin/bash
# ctest: LABELS full
# All ways to end, of the agent's own child and of a stranger that a daemon records. The end and its cause are in the
# stream, with who says so. Every call that had returned is stored.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-death.sh"
ulimit -c 0

# WAY EXIT-STATUS KIND STATUS
ends="kill 137 signalled 9
abort 134 signalled 6
segv 139 signalled 11
exit 7 exited 7
_exit 8 exited 8
quick_exit 9 exited 9
exec 8 exited 8"

while read -r way shown kind number; do
	status=0
	rm -f "$T/rec" "$T"/truth*
	"$AGENT" run --quiet --output "$T/rec" -- "$WITNESS" "$T/truth" 3 "$way" 60 || status=$?
	assert_eq "exit status of agent run with $way" "$shown" "$status"
	assert_eq "the end by $way" "$kind $number wait none" "$(end_of "$T/rec")"
	nothing_lost "$T/rec" "$T/truth" >"$T/figures"
	if [ "$way" = exec ]; then
		nothing_lost "$T/rec" "$T/truth.exec" >>"$T/figures"
		"$COLLECTOR" ledger "$T/rec" >"$T/ledger.txt"
		assert_contains "collector ledger" "$T/ledger.txt" "replaced itself (exec)"
	fi
	echo "run, $way: $(tr '\n' ' ' <"$T/figures")(threads, calls, unfinished records)"
done <<<"$ends"

# Of a process that is not its child a daemon learns the cause by pidfd (Linux 6.15), or from the zombie's entry in /proc while
# its parent has not asked: then the way to it is a race, and an end of unknown cause is right, too.
"$AGENT" serve --policy block --socket "$T/socket" --output "$T/%p.heapcast" >"$T/serve.out" 2>"$T/serve.err" &
daemon=$!
wait_for 10 "the daemon's socket" test -S "$T/socket"
while read -r way shown kind number; do
	status=0
	rm -f "$T"/truth*
	HEAPCAST_SOCKET=$T/socket LD_PRELOAD=$PRELOAD "$WITNESS" "$T/truth" 3 "$way" 60 2>"$T/program.err" &
	program=$!
	wait "$program" 2>/dev/null || status=$?
	assert_eq "exit status of the program with $way" "$shown" "$status"
	wait_for 10 "the end of the recording" end_of "$T/$program.heapcast"
	read -r got_kind got_number source _ <<<"$(end_of "$T/$program.heapcast")"
	case $source in
	pidfd | proc) assert_eq "the end by $way" "$kind $number" "$got_kind $got_number" ;;
	*)
		assert_eq "the end by $way, which nobody saw" unknown "$got_kind"
		! printf '6.15\n%s\n' "$(uname -r)" | sort -CV || fail "this kernel tells how a process ended, and the agent does not know"
		;;
	esac
	nothing_lost "$T/$program.heapcast" "$T/truth" >"$T/figures"
	echo "serve, $way: $got_kind $got_number, by $source; $(cat "$T/figures")"
done <<<"$ends"

# A parent that does not wait leaves no zombie: there is nothing in /proc to read.
rm -f "$T"/truth*
HEAPCAST_SOCKET=$T/socket PRELOAD=$PRELOAD python3 - "$WITNESS" "$T/truth" >"$T/pid" <<'END'
import os, signal, subprocess, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
program = subprocess.Popen(sys.argv[1:] + ["3", "_exit", "60"], env=dict(os.environ, LD_PRELOAD=os.environ["PRELOAD"]))
program.wait()
print(program.pid)
END
wait_for 10 "the end of the recording" end_of "$T/$(cat "$T/pid").heapcast"
got=$(end_of "$T/$(cat "$T/pid").heapcast")
if printf '6.15\n%s\n' "$(uname -r)" | sort -CV; then
	assert_eq "the end of a program that nobody waits for" "exited 8 pidfd none" "$got"
fi
nothing_lost "$T/$(cat "$T/pid").heapcast" "$T/truth" >"$T/figures"
echo "serve, nobody waits: $got; $(cat "$T/figures")"
kill "$daemon"
wait "$daemon" || true
