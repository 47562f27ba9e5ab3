#!/bin/bash
# Somebody has recorded a session between an agent and a collector, and plays it again: to the agent what the collector
# has said, to the collector what the agent has. With a key neither says more than its part of a handshake, and nothing
# is stored. Without a key the agent serves whoever says hello, but acknowledgements of another stream and the order to
# stop move nothing. The collector has that stream already.
# ctest: TIMEOUT 300
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
need openssl python3
grep -q -e --key <("$AGENT" run --help) || skip "this build has no --key"

net_host board 2
net_host desk 3
net_host stranger 4
(umask 077 && openssl rand -hex 32 >"$T/key")

cat >"$T/wire.py" <<'P'
# record PORT HOST PORT FILE: passes one connection on, and what the one who connects says goes to FILE.0, the answers to FILE.1
# replay HOST PORT FILE: says that; how many bytes came back
import select, socket, sys, time

if sys.argv[1] == "record":
    port, host, to, name = int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
    listener = socket.create_server(("0.0.0.0", port))
    print("listening", flush=True)
    a, _ = listener.accept()
    b = socket.create_connection((host, to))
    files = [open(f"{name}.{i}", "wb") for i in range(2)]
    ends = [a, b]
    while True:
        for s in select.select(ends, [], [])[0]:
            data = s.recv(65536)
            if not data:
                sys.exit(0)
            i = ends.index(s)
            files[i].write(data)
            files[i].flush()
            ends[1 - i].sendall(data)
else:
    host, port, data = sys.argv[2], int(sys.argv[3]), open(sys.argv[4], "rb").read()
    s = socket.create_connection((host, port))
    s.settimeout(3)
    came = 0
    try:
        s.sendall(data)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            part = s.recv(65536)
            if not part:
                break
            came += len(part)
    except OSError:
        pass
    print(came)
P

# TAG KEY...: a session with an order, recorded on its way, then played again at both ends, to an agent that records another program.
play() {
	local tag=$1 said
	shift
	serve_on board "$@" -- "$BUILD/tests/e2e-rolling" 300 2000 "$T/end.$tag"
	on stranger python3 "$T/wire.py" record 8100 10.77.0.2 8100 "$T/$tag.wire" >"$T/$tag.recorder" &
	wait_for 10 "the recorder to listen" grep -q listening "$T/$tag.recorder"
	gather_on desk 10.77.0.4 --data "$T/$tag.desk" --listen 0.0.0.0:8200 "$@"
	wait_for 20 "the stream" grep -q began "$T/desk.log"
	wait_for 20 "the recording" eval '"$COLLECTOR" list --data "$T/'"$tag"'.desk" | grep -q rolling'
	on desk "$COLLECTOR" ctl --data "$T/$tag.desk" last snapshot >/dev/null
	on desk "$COLLECTOR" ctl --data "$T/$tag.desk" last stop >"$T/$tag.stop" 2>&1 || true
	touch "$T/end.$tag"
	wait_for 20 "the stream to end" grep -q " ended " "$T/desk.log"
	wait "${agent_pid[board]}"
	"$COLLECTOR" ledger --data "$T/$tag.desk" --json last >"$T/$tag.before" || true

	# To the collector what the agent has said.
	said=$(on stranger python3 "$T/wire.py" replay 10.77.0.3 8200 "$T/$tag.wire.1")
	echo "$tag: the collector answers a replayed agent with $said bytes"
	assert_eq "streams" 1 "$(find "$T/$tag.desk/streams" -mindepth 1 -maxdepth 1 | wc -l)"
	"$COLLECTOR" ledger --data "$T/$tag.desk" --json last >"$T/$tag.after" || true
	cmp "$T/$tag.before" "$T/$tag.after" >&3 || fail "$tag: a replayed session has changed a recording"
	stop_gather desk
	rm "$T/desk.log"

	# To an agent what the collector has said.
	serve_on board "$@" -- "$BUILD/tests/e2e-rolling" 300 2000 "$T/end2.$tag"
	wait_for 20 "the agent" on stranger python3 -c 'import socket; socket.create_connection(("10.77.0.2", 8100))'
	replayed=$(on stranger python3 "$T/wire.py" replay 10.77.0.2 8100 "$T/$tag.wire.0")
	echo "$tag: the agent answers a replayed collector with $replayed bytes"
	gather_on desk 10.77.0.2 --data "$T/$tag.desk2" "$@"
	wait_for 20 "the stream" grep -q began "$T/desk.log"
	touch "$T/end2.$tag"
	wait_for 20 "the stream to end" grep -q " ended " "$T/desk.log"
	wait "${agent_pid[board]}"
	stop_gather desk
	rm "$T/desk.log"
	"$COLLECTOR" ledger --data "$T/$tag.desk2" --json last >"$T/$tag.ledger" || fail "$tag: the account is not complete"
	python3 - "$T/$tag.ledger" <<-'END' || fail "$tag: a replayed order was obeyed"
		import json, sys
		ledger = json.load(open(sys.argv[1]))
		assert not any(s["state"] == "stopped" for s in ledger["states"]), ledger["states"]
		assert ledger["lost"] == 0, ledger["lost"]
	END
}

play plain
[ "$replayed" -gt 0 ] || fail "without a key an agent serves whoever says hello"
grep -q stopped "$T/plain.before" && fail "without a key a collector elsewhere may not stop it"
play keyed --key "$T/key"
grep -q stopped "$T/keyed.before" || fail "with a key it may"
# Its part of a handshake (RFC 8446: ServerHello, EncryptedExtensions, Finished) and an alert, no frame of ours.
[ "$replayed" -lt 600 ] || fail "$replayed bytes came back"
