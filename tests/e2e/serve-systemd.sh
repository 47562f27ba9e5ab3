#!/bin/bash
# Under a service manager, which a script plays, the agent takes sockets that are passed, says when it is ready,
# reloads, stops and lives. A program that asked before it was started is recorded. systemd understands the units.
. "$(dirname "$0")/lib-serve.sh"
need python3

cat >"$T/manager.py" <<'PYTHON'
"""manager.py NOTIFY WHAT... -- CMD...: runs CMD as systemd would, with the sockets WHAT (unix, tcp, udp), and prints what it hears."""
import os, signal, socket, sys
at = sys.argv.index("--")
name, what, command = sys.argv[1], sys.argv[2:at], sys.argv[at + 1:]
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind("\0" + name[1:] if name[0] == "@" else name)
passed = []
for kind in what:
    if kind == "unix":
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.bind("passed.sock")
        s.listen(64)
    elif kind == "tcp":
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", 18144))
        s.listen(8)
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    passed.append(s)
print("listening", flush=True)
if passed and what[0] == "unix":
    passed[0].settimeout(20)
    import select
    select.select([passed[0]], [], [], 20) # socket activation: somebody has to come first
pid = os.fork()
if pid == 0:
    os.environ.update(NOTIFY_SOCKET=name, WATCHDOG_USEC="400000", WATCHDOG_PID=str(os.getpid()), LISTEN_PID=str(os.getpid()),
                      LISTEN_FDS=str(len(passed)), LISTEN_FDNAMES=":".join(what))
    fds = [os.dup(s.fileno()) for s in passed]
    high = [os.dup2(fd, 100 + i) for i, fd in enumerate(fds)]
    for i, fd in enumerate(high):
        os.dup2(fd, 3 + i)
        os.close(fd)
    os.execv(command[0], command)
print("pid", pid, flush=True)
notify.settimeout(0.1)
while True:
    try:
        print(notify.recv(4096).decode().replace("\n", " "), flush=True)
        continue
    except TimeoutError:
        pass
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        print("ended", os.waitstatus_to_exitcode(status), flush=True)
        break
PYTHON

# manager NOTIFY WHAT... -- ARG...: in the background; what it says is in $T/manager.out
manager() {
	local sockets=()
	while [ "$1" != -- ]; do sockets+=("$1") && shift; done
	shift
	rm -f "$T/passed.sock" "$T/manager.out"
	python3 "$T/manager.py" "${sockets[@]}" -- "$AGENT" serve "$@" >"$T/manager.out" 2>"$T/manager.err" &
	manager=$!
	wait_for 10 "the manager" grep -q "listening" "$T/manager.out"
}
heard() { wait_for 10 "\"$1\" from the agent" grep -q "$1" "$T/manager.out"; }
agent_pid() { awk '$1 == "pid" { print $2 }' "$T/manager.out"; }

# Sockets for programs and collectors; a notify socket with a path.
printf 'output = %s\n' "$T/r-%p" >"$T/conf"
manager "$T/notify" unix tcp -- --config "$T/conf"
plain HEAPCAST_SOCKET="$T/passed.sock" # before the agent is there: it is what starts it
heard "^READY=1$"
heard "^STATUS=recording 0 programs; there is a place for [0-9]"
assert_contains "the log" "$T/manager.err" "programs ask at passed.sock (passed by the service manager)" "listening for collectors on port 18144"
[ "$(recorded 'r-*')" = 1 ] || wait_for 5 "the first program's recording" compgen -G "$T/r-*"
hold two HEAPCAST_SOCKET="$T/passed.sock"
heard "^STATUS=recording 1 programs"
three() { [ "$(grep -c "^WATCHDOG=1$" "$T/manager.out")" -ge 4 ]; }
wait_for 5 "signs of life" three

# A collector that comes to the passed port.
"$COLLECTOR" gather --data "$T/data" --no-discovery --listen off 127.0.0.1:18144 >"$T/collector.out" 2>"$T/collector.err" &
collector=$!
wait_for 10 "the collector" grep -q "sends stream of pid ${held[two]} " "$T/manager.err"

# Reloading, well and badly.
echo "mode = off" >>"$T/conf"
before=$(python3 -c 'import time; print(time.monotonic_ns() // 1000)')
kill -HUP "$(agent_pid)"
heard "^RELOADING=1 MONOTONIC_USEC="
ready() { [ "$(grep -c "^READY=1" "$T/manager.out")" = "$1" ]; }
wait_for 5 "READY=1 after it" ready 2
said=$(sed -n 's/^RELOADING=1 MONOTONIC_USEC=//p' "$T/manager.out")
[ "$said" -ge "$before" ] && [ "$said" -le $((before + 10000000)) ] || fail "RELOADING=1 says $said, it was after $before"
echo "mode = odd" >"$T/conf"
kill -HUP "$(agent_pid)"
heard "^READY=1 STATUS=kept its settings: $T/conf:1: mode takes"

# Stopping: the passed socket stays.
release two
kill -TERM "$(agent_pid)"
heard "^STOPPING=1 STATUS=delivering what there is EXTEND_TIMEOUT_USEC=11000000"
heard "^ended 0$"
wait $manager
[ -S "$T/passed.sock" ] || fail "the agent took the manager's socket away"
assert_eq "recordings" 2 "$(recorded 'r-*')"
kill $collector
wait $collector || true
adds_up --data "$T/data" last >"$T/ledger.txt" || fail "the collector's ledger: $(cat "$T/ledger.txt")"

# A notify socket with an abstract name; no sockets.
manager "@heapcast-notify-$$" -- --socket "$T/own.sock" --output "$T/own-%p" --linger-idle 500ms
heard "^READY=1$"
plain HEAPCAST_SOCKET="$T/own.sock"
heard "^ended 0$"
wait $manager
assert_eq "recordings" 1 "$(recorded 'own-*')"

# Sockets that it has no use for; those of another process of the service.
manager "$T/notify2" tcp udp --
heard "^ended 2$"
wait $manager
assert_contains "the agent" "$T/manager.err" "passed descriptor 4, which is neither ListenSequentialPacket=PATH (where programs ask) nor ListenStream=PORT"
if grep -q READY "$T/manager.out"; then fail "it was ready all the same"; fi
LISTEN_PID=1 LISTEN_FDS=3 serve other --socket "$T/other.sock" --linger-idle 100ms
wait "${served[other]}" || fail "LISTEN_PID of another process: $?"

# An agent that the library starts is no service, though the program is one.
manager "$T/notify3" -- --socket "$T/own.sock" --linger-idle 4s
heard "^READY=1$"
NOTIFY_SOCKET=$T/notify3 WATCHDOG_USEC=100000 HEAPCAST_OUTPUT=$T/alone-%p HEAPCAST_AGENT=$AGENT plain HEAPCAST_LINGER=0s
wait_for 5 "its recording" compgen -G "$T/alone-*"
heard "^ended 0$"
wait $manager
assert_eq "READY=1" 1 "$(grep -c "^READY=1" "$T/manager.out")"

# What the unit leaves of root's rights is enough, for programs of other users, too.
if [ "$(id -u)" = 0 ] && setpriv --bounding-set -all --reuid=0 true 2>/dev/null && chmod 711 "$T" &&
	setpriv --reuid=1001 --regid=1001 --clear-groups test -x "$PRELOAD" 2>/dev/null; then
	bounds=$(sed -n 's/^CapabilityBoundingSet=//p' "$ROOT/deploy/systemd/heapcast-agent.service" | tr A-Z a-z | sed 's/cap_/+/g; s/ /,/g')
	setpriv --bounding-set "-all,$bounds" --no-new-privs "$AGENT" serve --socket "$T/bound.sock" --allow-user 1001 --allow-group 2001 \
		--output "$T/bound-%e-%p" --chown-output-to 1001 2>"$T/bound.err" &
	served[bound]=$!
	wait_for 5 "agent serve with few rights" serving bound
	result=0
	setpriv --reuid=1001 --regid=1001 --clear-groups env HEAPCAST_SOCKET="$T/bound.sock" LD_PRELOAD="$PRELOAD" \
		"$BUILD/tests/e2e-plain" >"$T/said" || result=$?
	assert_eq "exit status of the program" 5 "$result"
	stop_serve bound
	assert_eq "recordings" 1 "$(recorded 'bound-e2e-plain-*')"
	assert_eq "owner of the recording" 1001 "$(stat -c %u "$T"/bound-e2e-plain-*)"
else
	echo "the unit's rights: not tried, that takes root and a build folder that others can read"
fi

need systemd-analyze
for unit in service socket; do
	sed "s,^ExecStart=/usr/bin/heapcast-agent,ExecStart=$AGENT," "$ROOT/deploy/systemd/heapcast-agent.$unit" >"$T/heapcast-agent.$unit"
done
systemd-analyze verify --man=no "$T/heapcast-agent.service" "$T/heapcast-agent.socket" >"$T/units.txt" 2>&1 || fail "the units: $(cat "$T/units.txt")"
[ ! -s "$T/units.txt" ] || fail "the units: $(cat "$T/units.txt")"
