#!/bin/bash
# A daemon and the settings of those who ask. A program's own settings hold for that program. The daemon's sockets, keys
# and limits stay its own. It takes a file's name from programs of its own user only. What is not honoured is said.
# Nobody trusts a stranger's socket.
. "$(dirname "$0")/lib-serve.sh"
need python3
plain=$BUILD/tests/e2e-plain
whole() { "$COLLECTOR" ledger "$1"; }
# says TEXT NAME=VALUE...: on standard error; "" nothing
says() {
	local text=$1
	shift
	assert_status 5 "${who[@]}" env LD_PRELOAD="$PRELOAD" "$@" "$plain" >"$T/said.out" 2>"$T/said.err"
	[ -n "$text" ] || assert_eq "standard error" "" "$(cat "$T/said.err")"
	[ -z "$text" ] || assert_contains "standard error with $*" "$T/said.err" "$text"
}
who=(env)

serve own --socket "$T/own" --output "$T/own-%p" --depth 64
export HEAPCAST_SOCKET=$T/own
# Of the own user: the file that the program names, in its working folder.
mkdir "$T/folder"
(cd "$T/folder" && says "" HEAPCAST_OUTPUT=mine HEAPCAST_MODE=sample=64K)
wait_for 10 "the file that was named" whole "$T/folder/mine"
"$COLLECTOR" sql --json "$T/folder/mine" "select sample_interval from recording" >"$T/sql.txt"
assert_contains "the program's own mode" "$T/sql.txt" 65536
says ""
wait_for 10 "one that names none" eval "ls $T/own-*"
# The daemon's own business.
says "HEAPCAST_COLLECTOR is not honoured: the agent that runs here keeps its own; HEAPCAST_MEMORY_LIMIT is not honoured" \
	HEAPCAST_OUTPUT="$T/kept" HEAPCAST_COLLECTOR=192.0.2.1 HEAPCAST_MEMORY_LIMIT=16M
wait_for 10 "it is recorded all the same" whole "$T/kept"
says "" HEAPCAST_OUTPUT="$T/equal" HEAPCAST_MEMORY_LIMIT=8M HEAPCAST_DEPTH=64 HEAPCAST_LOGFILE="$T/log"
says "HEAPCAST_SHORT_LIVED is not honoured: the agent that runs here was started without --short-lived" HEAPCAST_OUTPUT="$T/culled" HEAPCAST_SHORT_LIVED=10s
says "HEAPCAST_DEPTH is not honoured: the agent that runs here keeps 64 frames at most" HEAPCAST_OUTPUT="$T/deep" HEAPCAST_DEPTH=256
says "HEAPCAST_MODE takes full|sample[=BYTES]|off, not 'some': this program is not recorded" HEAPCAST_OUTPUT="$T/none" HEAPCAST_MODE=some
[ ! -e "$T/none" ] || fail "it was recorded"
# One that can cull does so for whom it is told to, and not for others.
serve culling --socket "$T/culling" --output "$T/c-%p" --cull 10s
says "" HEAPCAST_SOCKET="$T/culling" HEAPCAST_OUTPUT="$T/by-default"
says "" HEAPCAST_SOCKET="$T/culling" HEAPCAST_OUTPUT="$T/not" HEAPCAST_CULL=0
for f in by-default not; do wait_for 10 "$f" whole "$T/$f"; done
assert_contains "the log" "$T/culling.err" "0 lost, 2 short-lived, " "0 lost, 0 short-lived, "
stop_serve culling

# A container's program means other files by the same names.
if unshare --mount true 2>/dev/null; then
	# shellcheck disable=SC2016
	unshare --mount -- env LD_PRELOAD="$PRELOAD" HEAPCAST_OUTPUT="$T/inside" "$plain" >"$T/said.out" 2>"$T/said.err" || assert_eq "exit status" 5 $?
	assert_contains "a program in another mount namespace" "$T/said.err" "HEAPCAST_OUTPUT is not honoured"
	[ ! -e "$T/inside" ] || fail "the daemon has made a file for a container in its own file system"
fi
stop_serve own
unset HEAPCAST_SOCKET

[ "$(id -u)" = 0 ] && setpriv --reuid=1001 --regid=1001 --clear-groups test -x "$PRELOAD" 2>/dev/null ||
	skip "the rest needs root, to run programs of other users, and a build folder that they can read"
chmod 711 "$T"
mkdir "$T/theirs" && chown 1001 "$T/theirs"
who=(setpriv --reuid=1001 --regid=1001 --clear-groups)

# Of another user: recorded where the daemon's options say, not where the program does.
serve root --socket "$T/root" --output "$T/root-%p" --allow-user 1001
says "HEAPCAST_OUTPUT is not honoured: the agent that runs here makes files for programs of its own user only (0)" \
	HEAPCAST_SOCKET="$T/root" HEAPCAST_OUTPUT="$T/theirs/x"
recorded_one() { [ "$(recorded 'root-*')" = 1 ]; }
wait_for 10 "the daemon's own file" recorded_one
[ ! -e "$T/theirs/x" ] || fail "the file was made"
stop_serve root

# strangers NAME...: somebody of user 1002 answers there
strangers() {
	setpriv --reuid=1002 --regid=1002 --clear-groups python3 - "$@" >"$T/stranger.out" <<'PYTHON' &
import os, socket, sys
held = []
for name in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(name.replace("@", "\0", 1) if name[0] == "@" else name)
    if name[0] != "@":
        os.chmod(name, 0o666)
    s.listen(8)
    held.append(s)
print("there", flush=True)
while True:
    held[0].accept()
PYTHON
	stranger=$!
	wait_for 5 "the stranger" grep -q there "$T/stranger.out"
}
mkdir -m 1777 "$T/shared"
mkdir -m 777 "$T/shared/heapcast"
# By what name an agent is looked for.
printf '#!/bin/sh\necho "$5" >"%s"\n' "$T/theirs/name" >"$T/name.sh" && chmod 755 "$T/name.sh"
cp "$AGENT" "$T/agent-copy"
ln -sf "$T/name.sh" "$T/agent"
"${who[@]}" env LD_PRELOAD="$PRELOAD" HEAPCAST_AGENT="$T/agent" "$plain" >"$T/said.out" || true
name=$(cat "$T/theirs/name")
ln -sf "$AGENT" "$T/agent"
strangers "$name" "$T/shared/heapcast/agent.sock" "$T/shared/named"
# In $XDG_RUNTIME_DIR, and where an agent of one's own is looked for: passed over.
cd "$T/theirs"
says "" XDG_RUNTIME_DIR="$T/shared" HEAPCAST_AGENT="$T/agent" HEAPCAST_OUTPUT=passed-over
wait_for 10 "a recording past the strangers" whole "$T/theirs/passed-over"
# Named by the user in a folder where anybody can put it: said.
says "HEAPCAST_SOCKET: the agent at $T/shared/named is neither this user's nor root's" HEAPCAST_SOCKET="$T/shared/named"
kill "$stranger"
wait "$stranger" 2>/dev/null || true
