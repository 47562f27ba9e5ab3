#!/bin/bash
# Pairing between hosts: by broadcast, and by CODE@HOST; beside a collector that gathers, which needs nothing to be told and no restart.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
. "$TEST_SOURCE/lib-discovery.sh"
. "$TEST_SOURCE/lib-pairing.sh"
net_host desk 100
net_host board 2
net_host far 3
net_host stranger 66

look_on desk desk
HEAPCAST_PAIRS=$T/nothing look_on stranger stranger

# 1. By broadcast. The daemon of the board is started afterwards, and is found by the collector that was there before.
in_place=(on desk)
pair_begin first --name board
in_place=(on board)
join first 0 "${code[first]}"
pair_end first 0
assert_contains "collector pair" "$T/first.out" "paired with $(hostname) (10.77.0.2), as board"
assert_contains "agent pair" "$T/first.join" "paired with $(hostname) (10.77.0.100), as "
agent_on board served
wait_for 10 "the paired agent" has_connected desk 1
assert_contains "the agent" "$T/served.err" "paired with 1 collector"

# 2. CODE@HOST, and what is then recorded goes there, too. Nothing is announced by that host.
in_place=(on desk)
pair_begin second --name far
HEAPCAST_KEYS=$T/far-keys on far "$AGENT" run --policy block --pair "${code[second]}@10.77.0.100" --quiet -- \
	"$BUILD/tests/e2e-pairs" 20000 >"$T/far.out" 2>"$T/far.err" || assert_eq "exit status of the program" 5 $?
pair_end second 0
assert_contains "agent run --pair" "$T/far.err" "paired with $(hostname) (10.77.0.100)"
wait_for 20 "the stream" grep -q " ended " "$T/desk.log"
assert_eq "what else agent run --pair says" 1 "$(wc -l <"$T/far.err")"
stop_look desk
"$COLLECTOR" ledger --data "$T/desk" last >"$T/ledger.txt" || fail "$(cat "$T/ledger.txt")"
[ "$(ledger_number desk last produced)" -ge 40000 ] || fail "not all was recorded"
stop_agent served

# 3. Who is not paired was told so, and has nothing.
assert_eq "agents that the stranger found" 0 "$(found stranger)"
assert_contains "the stranger" "$T/stranger.err" "talks only to collectors with its key ('collector pair' makes one"
assert_contains "the agent" "$T/served.err" "listening for collectors"
stop_look stranger
echo "paired by broadcast and by CODE@HOST; the collector that was running took both up"

# 4. A stranger says, without a key, to be the paired agent: louder, sooner, and he has a link. The agent itself comes, and stays.
tool() {
	local name=$1
	shift
	on "$name" python3 "$TEST_SOURCE/lib-discovery.py" "$@"
}
need lz4
agent_on board posed
tool desk record "$T/beacons" 2
cat >"$T/pose.py" <<'END'
import socket, subprocess, sys, threading, time
agent = next(bytes.fromhex(l.split()[1])[10:26] for l in open(sys.argv[1]) if l.startswith("10.77.0.2 "))
hello = b"\x08\x01\x12\x10" + agent + b"\x1a\x04evil\x22\x010"
link = b"\x0a" + bytes([len(hello)]) + hello
batch = b"\x9a\x01" + bytes([len(link)]) + link
open(sys.argv[2], "wb").write(b"\x0a" + bytes([len(batch)]) + batch)
greeting = subprocess.run(["lz4", "-q", "--content-size", "-c", sys.argv[2]], capture_output=True, check=True).stdout
def serve(s):
    try:
        s.sendall(greeting)
        while s.recv(4096): pass
    except OSError: pass
def listen():
    listener = socket.create_server(("", 8150))
    while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
threading.Thread(target=listen, daemon=True).start()
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
sequence = 0xffffffff00
while True:
    varint, n = b"", (sequence := sequence + 1)
    while n > 127: varint, n = varint + bytes([n & 127 | 128]), n >> 7
    out.sendto(bytes.fromhex("08d4a68dc20410011a10") + agent + bytes.fromhex("20d63f28") + varint + bytes([n]), ("10.77.0.255", 43513))
    time.sleep(0.02)
END
kill -STOP "${agent_pid[posed]}" # the poser comes first
on stranger python3 "$T/pose.py" "$T/beacons" "$T/greeting" >"$T/pose.out" 2>"$T/pose.err" &
poser=$!
sleep 1
rm -f "$T/desk.log" "$T/desk.err"
look_on desk desk
wait_for 10 "the poser's link" grep -q "connected to 10.77.0.66:8150 (evil" "$T/desk.log" 
kill -CONT "${agent_pid[posed]}"
wait_for 10 "the agent itself" grep -q "connected to 10.77.0.2:8100" "$T/desk.log"
sleep 3
assert_eq "links with the agent that were lost" 0 "$(grep -c "disconnected from 10.77.0.2" "$T/desk.log" || true)"
assert_contains "the poser" "$T/desk.log" "disconnected from 10.77.0.66:8150: its agent came again, with its key"
stop_look desk
kill "$poser"
wait "$poser" 2>/dev/null || true
stop_agent posed
echo "who says to be a paired agent and has no key gives way"
