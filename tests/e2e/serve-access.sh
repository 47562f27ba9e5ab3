#!/bin/bash
# Who may be recorded: the daemon's own user and root, and whom the options name. They name a user or a group, by name
# or number, and the group may be the main one or another. Whoever may not be recorded runs on as ever, and the log says
# it once a user. SIGHUP changes it.
. "$(dirname "$0")/lib-serve.sh"
need setpriv

# Of the own user, in any case.
serve own --socket "$T/own" --output "$T/own-%p"
assert_eq "mode of the socket" 600 "$(stat -c %a "$T/own")"
plain HEAPCAST_SOCKET="$T/own"
stop_serve own
assert_eq "recordings of the own user" 1 "$(recorded 'own-*')"

[ "$(id -u)" = 0 ] && setpriv --reuid=1 --regid=1 --clear-groups true 2>/dev/null || skip "the rest needs root, to run programs of other users"

chmod 711 "$T"
setpriv --reuid=1 --regid=1 --clear-groups test -x "$PRELOAD" && setpriv --reuid=1 --regid=1 --clear-groups test -x "$BUILD/tests/e2e-plain" ||
	skip "the rest needs a build folder that other users can read"

# as USER GROUP GROUPS|- ENV...: the short program as somebody else
as() {
	local result=0 who=("--reuid=$1" "--regid=$2")
	if [ "$3" = - ]; then who+=(--clear-groups); else who+=("--groups=$3"); fi
	shift 3
	setpriv "${who[@]}" env "$@" LD_PRELOAD="$PRELOAD" HEAPCAST_AGENT=/none "$BUILD/tests/e2e-plain" >"$T/plain.said" 2>&1 || result=$?
	assert_eq "exit status of the program" 5 "$result"
	assert_eq "what the program says" "done" "$(cat "$T/plain.said")"
}
count() { find "$T" -name "$1" | wc -l; }
known() { getent "$1" "$2" >/dev/null; }

# Nobody else: others can't even connect, and are free to start an agent of their own.
serve none --socket "$T/none" --output "$T/none-%p"
as 59001 59001 - HEAPCAST_SOCKET="$T/none" HEAPCAST_LOG=off
stop_serve none
assert_eq "recordings of another user" 0 "$(count 'none-*')"

# Users by number and by name, and what the log says of the others: once each.
known passwd daemon || skip "there is no user called daemon"
serve users --socket "$T/users" --output "$T/users-%p" --allow-user "59001, daemon"
assert_eq "mode of the socket" 666 "$(stat -c %a "$T/users")"
assert_contains "the log" "$T/users.err" "who may: users root (0), 59001, daemon (1)"
as 59001 59001 - HEAPCAST_SOCKET="$T/users"
as 1 65533 - HEAPCAST_SOCKET="$T/users"
plain HEAPCAST_SOCKET="$T/users"
for i in 1 2 3; do
	as 59002 59001 59001,1 HEAPCAST_SOCKET="$T/users"
	as 1003 1003 - HEAPCAST_SOCKET="$T/users"
done
stop_serve users
assert_eq "recordings of two users and root" 3 "$(recorded 'users-*')"
for user in 59002 1003; do
	assert_eq "refusals of user $user in the log" 1 "$(grep -c "(e2e-plain) of user $user asks to be recorded and may not: it runs on unrecorded. --allow-user $user" "$T/users.err")"
done
assert_eq "warnings in the log" 2 "$(grep -c " warn " "$T/users.err")"

# A group: its main members and its others; the socket is theirs.
serve group --socket "$T/group" --output "$T/group-%p" --allow-group 58001
assert_eq "mode and group of the socket" "660 58001" "$(stat -c '%a %g' "$T/group")"
as 59001 58001 - HEAPCAST_SOCKET="$T/group"
as 59002 59002 7,58001,9 HEAPCAST_SOCKET="$T/group"
as 1003 1003 7,9 HEAPCAST_SOCKET="$T/group" HEAPCAST_LOG=off
stop_serve group
assert_eq "recordings of a group" 2 "$(recorded 'group-*')"

# Several groups, at an abstract name, which anybody can connect to.
serve groups --socket "@heapcast-test-$$" --output "$T/groups-%p" --allow-group 58001,58002
as 59001 58002 - HEAPCAST_SOCKET="@heapcast-test-$$"
as 59002 59002 5,6,58001 HEAPCAST_SOCKET="@heapcast-test-$$"
as 1003 1003 - HEAPCAST_SOCKET="@heapcast-test-$$"
stop_serve groups
assert_eq "recordings of two groups" 2 "$(recorded 'groups-*')"
assert_contains "the log" "$T/groups.err" "of user 1003 asks to be recorded and may not"

# Everyone; then, by SIGHUP, nobody else.
printf 'allow-user = *\noutput = %s\nsocket = %s\n' "$T/all-%p" "$T/all" >"$T/all.conf"
serve all --config "$T/all.conf"
assert_contains "the log" "$T/all.err" "who may: every user"
as 59001 59001 - HEAPCAST_SOCKET="$T/all"
printf 'allow-user = 59002\noutput = %s\nsocket = %s\n' "$T/all-%p" "$T/all" >"$T/all.conf"
kill -HUP "${served[all]}"
wait_for 5 "the file to be read again" grep -q "allow-user: 59002, was \*" "$T/all.err"
as 59001 59001 - HEAPCAST_SOCKET="$T/all"
as 59002 59002 - HEAPCAST_SOCKET="$T/all"
stop_serve all
assert_eq "recordings" 2 "$(recorded 'all-*')"

# A daemon of an ordinary user: that user. Root's programs trust it only where nobody else could have put its socket; this is in a folder
# below /tmp.
mkdir "$T/user" && chown 59001 "$T/user"
setpriv --reuid=59001 --regid=59001 --clear-groups "$AGENT" serve --socket "$T/user/socket" --output "$T/user/r-%p" 2>"$T/user.err" &
served[user]=$!
wait_for 5 "the user's daemon" serving user
as 59001 59001 - HEAPCAST_SOCKET="$T/user/socket"
as 59002 59002 - HEAPCAST_SOCKET="$T/user/socket" HEAPCAST_LOG=off
plain HEAPCAST_SOCKET="$T/user/socket" HEAPCAST_LOG=off
stop_serve user
assert_eq "exit status of the user's daemon" 0 "$status"
assert_eq "recordings of the user" 1 "$(recorded 'user/r-*')"

# Who has connected is who asks: a connection that is handed to another process is closed.
serve handed --socket "$T/handed" --output "$T/handed-%p" --allow-user "*"
need python3
python3 - "$T/handed" <<'PYTHON'
import os, socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.settimeout(10)
if os.fork() == 0:
    s.send(b"\0" * 64)
    os._exit(0)
os.wait()
sys.exit(s.recv(64) != b"")
PYTHON
stop_serve handed
