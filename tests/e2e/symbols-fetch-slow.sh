#!/bin/bash
# ctest: LABELS full TIMEOUT 180
# A symbol file over a link of 1 Mbit/s, while events flow. These are stored as if there were no file, and nothing is
# lost or waited for. When the link breaks, the transfer goes on where it was.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
need python3 objcopy cmp
net_host board 2
net_host desk 3
net_rate board 1mbit

# The program that makes events, with 2.5 MB of noise in its file: 20 s of the link.
head -c 2500000 /dev/urandom >"$T/noise"
objcopy --add-section .noise="$T/noise" "$BUILD/tests/e2e-paced" "$T/paced"
id=$(readelf -n "$T/paced" | sed -n 's/.*Build ID: //p')
[ -n "$id" ] || skip "the compiler makes no build ids"

# Prints what the collector says of the file, with the second.
cat >"$T/ask.py" <<'PYTHON'
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"fetch %s\n" % sys.argv[2].encode())
for line in s.makefile():
    print(line.strip(), flush=True)
    if line.startswith(("ok", "no")):
        break
PYTHON

gather_on desk 10.77.0.2
serve_on board --memory-limit 2M --send-symbols yes -- "$T/paced" 60000 100000 "$T/end"
wait_for 30 "the stream" grep -q "began" "$T/desk.log"
wait_for 10 "the socket" test -S "$T/desk/control.sock"
python3 "$T/ask.py" "$T/desk/control.sock" "$id" >"$T/file.log" &
asking=$!
at() { awk '/^at/ { n = $2 } END { print n + 0 }' "$T/file.log"; }
stored() { ledger_number desk "$(streams desk)" delivered; }
wait_for 30 "the program to be done" grep -q done "$T/board.out"
[ "$(at)" -gt 0 ] || wait_for 10 "a piece of the file" eval '[ "$(at)" -gt 0 ]'

# All that the program did is stored while most of the file is still to come.
# 30,000 blocks, of which each hundredth stays.
all_stored() { [ "$(stored)" -ge 59700 ]; }
wait_for 5 "the events, while the file comes" all_stored
kill -0 "$asking" 2>/dev/null || fail "the file was there before the events: $(cat "$T/file.log")"
now=$(at)
[ "$now" -lt 2300000 ] || fail "most of the file had come before the events: $now"

# The link breaks; the rest comes, not the whole.
wait_for 30 "a part of the file" eval '[ "$(at)" -gt 400000 ]'
resident=$(awk '/^Rss(Anon|Shmem):/ { sum += $2 } END { print sum }' "/proc/${agent_pid[board]}/status")
[ "$resident" -le 2048 ] || fail "the agent has $resident KiB of 2048"
before=$(at)
broken="the link could not be broken (ss -K)"
if on desk ss -K dst 10.77.0.2 2>/dev/null | grep -q 10.77; then
	wait_for 20 "the link to be broken" grep -q disconnected "$T/desk.log"
	wait_for 20 "the link to be back" eval '[ "$(grep -c "^connected" "$T/desk.log")" -ge 2 ]'
	broken="after a break it went on from $before"
fi
wait_for 90 "the rest of the file" grep -q "^ok" "$T/file.log"
wait "$asking"
python3 - "$T/file.log" "$before" <<'PYTHON'
import sys
at = [int(line.split()[1]) for line in open(sys.argv[1]) if line.startswith("at")]
assert at == sorted(at), "it began anew: %s" % at
PYTHON
cmp "$T/paced" "$T/desk/symbols/.build-id/${id:0:2}/${id:2}"* >&3
touch "$T/end"
wait_idle desk 1
wait_agent board
stop_gather desk
whole desk
stream=$(streams desk)
echo "events stored with $now of $(stat -c %s "$T/paced") bytes of the file; $broken; the agent had $resident KiB"
