#!/bin/bash
# A user's daemon with CAP_CHECKPOINT_RESTORE (Linux 5.9), and no other right, takes up the rings of its user's programs.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup.sh"
need setpriv
need_takeup
user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
able=("${user[@]}" --inh-caps +checkpoint_restore --ambient-caps +checkpoint_restore)
"${able[@]}" true 2>/dev/null || skip "no CAP_CHECKPOINT_RESTORE here"
chmod 777 "$T"
"${user[@]}" test -r "$PRELOAD" || skip "another user can't read the build folder"

start_collector
start_daemon_as "${able[@]}" -- --announce --policy block
HEAPCAST_SOCKET=$T/socket "${user[@]}" env LD_PRELOAD="$PRELOAD" "$TARGETS/steady" 2 >"$T/steady.out" 2>"$T/steady.err" &
steady=$!
wait_for 10 "the program" grep -q started "$T/steady.out"
sleep 0.5
kill_daemon
start_daemon_as "${able[@]}" -- --announce --policy block
wait_for 5 "the ring to be taken up" taken_up 1
sleep 0.5
end_steady
wait_collector
ask_ledger
assert_eq "pending" 0 "$(ledger_value pending)"
set -- $(gaps_of "agent was gone")
[ "$1" -ge 1 ] && [ "$2" -gt 0 ] || fail "$1 gaps with $2 events"
