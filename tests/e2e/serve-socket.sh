#!/bin/bash
# Where programs find the daemon; one agent a name, whatever was there before; a daemon that is stopped, or whose clients say
# nothing, hurts nobody.
. "$(dirname "$0")/lib-serve.sh"
need python3

# $XDG_RUNTIME_DIR for a user, /run/heapcast for root; the library finds both without being told.
# shellcheck disable=SC2016
found='
	LD_PRELOAD=$2 HEAPCAST_AGENT=/none "$3"
	[ $? = 5 ] || exit 1'
if [ "$(id -u)" = 0 ]; then
	if unshare --mount true 2>/dev/null; then
		# shellcheck disable=SC2016
		unshare --mount -- bash -c '
			mount -t tmpfs none /run || exit 77
			umask 077
			"$1" serve --output "$4/root-%p" 2>"$4/root.err" &
			agent=$!
			for i in $(seq 100); do grep -q "programs ask" "$4/root.err" && break; sleep 0.05; done
			[ "$(stat -c "%a %U" /run/heapcast)" = "755 root" ] || exit 2
			[ "$(stat -c "%a %U" /run/heapcast/agent.sock)" = "600 root" ] || exit 3'"$found"'
			kill $agent && wait $agent || exit 4
			[ -z "$(ls /run/heapcast)" ] || exit 5' - "$AGENT" "$PRELOAD" "$BUILD/tests/e2e-plain" "$T" >"$T/root.out" 2>&1 || status=$?
		assert_eq "root's default" 0 "${status:-0}"
		assert_eq "recordings of root" 1 "$(recorded 'root-*')"
	fi
	user=(setpriv --reuid=1001 --regid=1001 --clear-groups)
	chmod 711 "$T"
	if ! "${user[@]}" test -x "$PRELOAD" 2>/dev/null; then user=(); fi
else
	user=(env)
fi
if [ ${#user[@]} != 0 ]; then
	mkdir "$T/run" "$T/out" && chmod 700 "$T/run"
	[ "${user[0]}" = env ] || chown 1001 "$T/run" "$T/out"
	XDG_RUNTIME_DIR=$T/run "${user[@]}" "$AGENT" serve --output "$T/out/user-%p" 2>"$T/user.err" &
	served[user]=$!
	wait_for 5 "the user's daemon" serving user
	assert_eq "the user's folder" 700 "$(stat -c %a "$T/run/heapcast")"
	assert_eq "the user's socket" 600 "$(stat -c %a "$T/run/heapcast/agent.sock")"
	result=0
	XDG_RUNTIME_DIR=$T/run "${user[@]}" env LD_PRELOAD="$PRELOAD" HEAPCAST_AGENT=/none "$BUILD/tests/e2e-plain" >"$T/said" || result=$?
	assert_eq "exit status of the user's program" 5 "$result"
	stop_serve user
	assert_eq "recordings of the user" 1 "$(recorded 'out/user-*')"
fi

# A second one gives way, at once, and the first goes on.
serve first --socket "$T/socket" --output "$T/r-%p"
inode=$(stat -c %i "$T/socket")
assert_status 3 "$AGENT" serve --socket "$T/socket" 2>"$T/second.err"
assert_contains "the second" "$T/second.err" "another agent serves at $T/socket already"
kill -STOP "${served[first]}" # even if it can't answer now
assert_status 3 timeout 10 "$AGENT" serve --socket "$T/socket" 2>"$T/second.err"
kill -CONT "${served[first]}"
assert_eq "the socket" "$inode" "$(stat -c %i "$T/socket")"
plain HEAPCAST_SOCKET="$T/socket"
wait_for 10 "the end of the recording" grep -q "e2e-plain, pid .* ended" "$T/first.err"

# What a killed one leaves behind is replaced; of many that start at once one stays.
kill -KILL "${served[first]}"
wait "${served[first]}" || true
[ -S "$T/socket" ] || fail "the socket of a killed daemon is gone"
plain HEAPCAST_SOCKET="$T/socket" HEAPCAST_LOG=off
for i in 1 2 3 4 5 6 7 8; do "$AGENT" serve --socket "$T/socket" --output "$T/r-%p" 2>"$T/many$i.err" & done
sleep 0.5
one() { [ "$(grep -l "programs ask" "$T"/many*.err | wc -l)" = 1 ] && [ "$(grep -l "serves at" "$T"/many*.err | wc -l)" = 7 ]; }
wait_for 10 "one of eight to serve" one
served[many]=$(jobs -p | while read -r pid; do ! kill -0 "$pid" 2>/dev/null || echo "$pid"; done | tail -n 1)
plain HEAPCAST_SOCKET="$T/socket"
stop_serve many
assert_eq "exit status" 0 "$status"
[ ! -e "$T/socket" ] && [ ! -e "$T/socket.lock" ] || fail "the socket is left behind"
assert_eq "recordings" 2 "$(recorded 'r-*')"

# Who starts while another one is about to listen gives way: that one has the lock.
flock "$T/busy.lock" sleep 30 &
lock=$!
wait_for 5 "the lock" sh -c "! flock -n '$T/busy.lock' true"
assert_status 3 "$AGENT" serve --socket "$T/busy" 2>"$T/busy.err"
assert_contains "the one that is too late" "$T/busy.err" "another agent serves at $T/busy already"
[ ! -e "$T/busy" ] || fail "it has made a socket all the same"
kill "$lock"
wait "$lock" 2>/dev/null || true

# A file that is no socket is nobody's to take away; nor a socket that somebody else has put there.
echo mine >"$T/file"
assert_status 3 "$AGENT" serve --socket "$T/file" 2>"$T/file.err"
assert_contains "a file" "$T/file.err" "$T/file is there and no socket"
assert_eq "the file" mine "$(cat "$T/file")"
assert_status 3 "$AGENT" serve --socket "$T/none/socket" 2>"$T/file.err"
assert_contains "no folder" "$T/file.err" "can't listen at $T/none/socket: No such file or directory (--socket says where)"
assert_status 3 "$AGENT" serve --socket "$T/$(printf %0200d 1)" 2>"$T/file.err"
assert_contains "a long name" "$T/file.err" "the name of the socket is too long"
serve moved --socket "$T/moved" --output "$T/r-%p"
mv "$T/moved" "$T/away"
touch "$T/moved"
stop_serve moved
[ -e "$T/moved" ] || fail "somebody else's file was taken away"

# Clients that connect and say nothing keep nobody out for long.
serve silent --socket "$T/silent" --output "$T/silent-%p"
python3 - "$T/silent" >"$T/silent.out" <<'PYTHON' &
import socket, sys, time
held = []
for i in range(40):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    held.append(s)
print("there", flush=True)
time.sleep(60)
PYTHON
silent=$!
wait_for 5 "silent clients" grep -q there "$T/silent.out"
after() { plain HEAPCAST_SOCKET="$T/silent" && compgen -G "$T/silent-*"; }
wait_for 15 "a recording beside silent clients" after
kill "$silent"
wait "$silent" 2>/dev/null || true

# Stopped, with a full queue: programs run on, unrecorded, within the second that an answer may take.
kill -STOP "${served[silent]}"
python3 - "$T/silent" >"$T/queue.out" <<'PYTHON' &
import resource, socket, sys, time
held = []
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
for i in range(min(most - 10, 5000)):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    held.append(s)
    try:
        s.connect(sys.argv[1])
    except BlockingIOError:
        print("full", flush=True)
        break
else:
    print("not full" if most > 5000 else "full of all that this user may open", flush=True)
time.sleep(60)
PYTHON
queue=$!
wait_for 5 "a full queue" grep -q "^full" "$T/queue.out"
since=$(date +%s%N)
plain HEAPCAST_SOCKET="$T/silent"
took=$((($(date +%s%N) - since) / 1000000))
[ $took -lt 3000 ] || fail "the program took $took ms"
kill "$queue"
wait "$queue" 2>/dev/null || true
kill -CONT "${served[silent]}"
plain HEAPCAST_SOCKET="$T/silent"
stop_serve silent
assert_eq "exit status" 0 "$status"
