#!/bin/bash
# A program has ended, and a true collector has everything. Other collectors come, ask for the stream, and go, or stay
# and never acknowledge: the agent ends when its --linger is over. Another one takes a part of what goes to a file, and
# no more. It holds up neither the program, however long that runs, nor the file's end.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
need python3
python3 -c 'import ctypes; ctypes.CDLL("liblz4.so.1")' 2>/dev/null || skip "liblz4.so.1 is not installed"

cat >"$T/strangers.py" <<'P'
# PORT RECORDING [stays]: subscribes again and again, each time as somebody else, until nobody listens any more; or once, and stays.
import os, socket, sys, time
sys.path.insert(0, os.environ["TEST_SOURCE"] + "/mutated")
from wire import Mutator, Schema, pack_frame

m = Mutator(Schema(os.environ["TEST_SOURCE"] + "/../../proto/heapcast.proto"))
say = lambda *fields: pack_frame(m.wrapped(m.schema.close([list(f) for f in fields])))
stream, stays, count = bytes.fromhex(sys.argv[2]), [], 0
while True:
    try:
        s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        s.sendall(say([1, 2, [[1, 0, 1], [2, 2, os.urandom(16)], [3, 2, b"x"], [4, 2, b"0"]]]) + say([2, 2, [[1, 2, stream]]]))
        s.recv(1000)
        count += 1
    except OSError:
        break
    if sys.argv[3:]:
        print("subscribed", flush=True)
        while s.recv(1 << 16):
            pass
        break
    if count % 2:
        s.close()
    else:
        stays = stays[-1:] + [s]
    time.sleep(0.2)
print(count)
P

start_agent board 8171 --linger 3s -- "$BUILD/tests/e2e-rolling" 300 2000 "$T/end"
gather desk --no-discovery --listen off 127.0.0.1:8171
wait_for 20 "the stream" eval '[ -n "$(ls "$T/desk/streams" 2>/dev/null)" ]'
TEST_SOURCE=$TEST_SOURCE python3 "$T/strangers.py" 8171 "$(streams desk)" >"$T/strangers" &
strangers=$!
sleep 1
touch "$T/end"
wait_idle desk 1
began=$SECONDS
wait_agent board
took=$((SECONDS - began))
wait "$strangers"
printf 'it ended %d s after everything was taken; %d strangers came\n' "$took" "$(cat "$T/strangers")"
[ "$took" -le 10 ] || fail "the end was put off for $took s"
[ "$(cat "$T/strangers")" -ge 10 ] || fail "there were few strangers"
stop_gather desk
balances desk

# The program waits for `go`, and makes 40 times more than the spool has room for.
start_agent file 8172 --linger 3s --memory-limit 2M --output "$T/file.heapcast" -- "$TARGETS/attached" "$T/go" 3 40000
id_of() { id=$({ "$COLLECTOR" ledger --json "$T/file.heapcast" 2>/dev/null || true; } | sed -n 's/^{[^{]*"process":{[^{]*"id":"\([0-9a-f]*\)".*/\1/p') && [ -n "$id" ]; }
wait_for 20 "the file" id_of
TEST_SOURCE=$TEST_SOURCE python3 "$T/strangers.py" 8172 "$id" stays >"$T/stays" &
strangers=$!
wait_for 10 "the stranger" grep -q subscribed "$T/stays"
touch "$T/go"
began=$SECONDS
status=0
wait "${agent_pid[file]}" || status=$?
assert_eq "exit status of the program" 7 "$status"
took=$((SECONDS - began))
wait "$strangers"
"$COLLECTOR" ledger --json "$T/file.heapcast" >"$T/ledger.json" || fail "the file's ledger: $(cat "$T/ledger.json")"
printf '%s events; the file was done after %d s\n' "$(sed -n 's/.*"ran_before_ns":[0-9]*,"produced":\([0-9]*\),.*/\1/p' "$T/ledger.json")" "$took"
[ "$took" -le 40 ] || fail "the file took $took s"
