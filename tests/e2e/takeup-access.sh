#!/bin/bash
# An agent that takes up programs asks again whether they may be recorded. It leaves the ring of a program alone that no
# option names any more, and the log says why. The next daemon, which may record it, goes on with it.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to run a program of another user"
need setpriv
need_takeup
user=(setpriv --reuid 65534 --regid 65533 --groups 65532)
"${user[@]}" true 2>/dev/null || skip "can't become another user"
chmod 711 "$T"
"${user[@]}" test -r "$PRELOAD" || skip "another user can't read the build folder"

start_collector
start_daemon --announce --policy block --allow-group 65532
HEAPCAST_SOCKET=$T/socket "${user[@]}" env LD_PRELOAD="$PRELOAD" "$TARGETS/steady" 2 >"$T/steady.out" 2>"$T/steady.err" &
steady=$!
wait_for 10 "the program" grep -q started "$T/steady.out"
sleep 0.5
kill_daemon
start_daemon --announce --policy block
refused() { grep -q "pid $steady was recorded by an agent that is gone, and runs unrecorded now: its user may not be recorded" "$T/serve.err"; }
wait_for 5 "the refusal" refused
! taken_up 1 || fail "a program was taken up that may not be recorded"
kill_daemon
start_daemon --announce --policy block --allow-group 65532
wait_for 5 "the ring to be taken up" taken_up 1
sleep 0.5
end_steady
wait_collector
ask_ledger
assert_eq "pending" 0 "$(ledger_value pending)"
set -- $(gaps_of "agent was gone")
[ "$1" -ge 1 ] && [ "$2" -gt 0 ] || fail "$1 gaps with $2 events"
