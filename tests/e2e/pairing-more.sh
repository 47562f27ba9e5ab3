#!/bin/bash
# ctest: LABELS full
# Pairing, in more cases: several boards with one code; a board that is not paired beside one that is; a conversation
# that breaks or is sent again. Limits, builds that can't pair, and run --pair.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
. "$TEST_SOURCE/lib-pairing.sh"
need python3
lo=(--interface lo)

# 1. One code for two boards: each has a key of its own; a third gets none.
pair_begin shelf "${lo[@]}" --for 2 --name shelf
HEAPCAST_KEYS=$T/one join one 0 "${code[shelf]}" "${lo[@]}"
HEAPCAST_KEYS=$T/two join two 0 "${code[shelf]}@127.0.0.1"
pair_end shelf 0
HEAPCAST_KEYS=$T/three join three 1 "${code[shelf]}@127.0.0.1" --within 2s
same_keys "$T"/one/*.key "$T/pairs/shelf.key"
same_keys "$T"/two/*.key "$T/pairs/shelf-2.key"
[ "$(key_of "$T/pairs/shelf.key")" != "$(key_of "$T/pairs/shelf-2.key")" ] || fail "both boards have the same key"
echo "--for 2: two boards, two keys"

# 2. The conversation is recorded, and sent again while the same code is good still: nobody is paired by that.
cat >"$T/tape.py" <<'END'
# tape.py LISTEN CONNECT FILE: passes one connection on, and keeps what the side that dialled has said
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
near = listener.accept()[0]
far = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
tape = open(sys.argv[3], "wb", 0)
def pump(a, b, keep):
    try:
        while data := a.recv(4096):
            if keep: tape.write(data)
            b.sendall(data)
    except OSError: pass
    try: b.shutdown(socket.SHUT_WR)
    except OSError: pass
back = threading.Thread(target=pump, args=(far, near, False))
back.start()
pump(near, far, True)
back.join()
END
pair_begin taped "${lo[@]}" --for 2 --name taped
python3 "$T/tape.py" 8320 43514 "$T/tape" >"$T/tape.out" 2>"$T/tape.err" &
tape=$!
wait_for 5 "the tape" grep -q listening "$T/tape.out"
HEAPCAST_KEYS=$T/four join four 0 "${code[taped]}@127.0.0.1:8320"
wait "$tape"
[ "$(wc -c <"$T/tape")" -gt 400 ] || fail "the tape holds $(wc -c <"$T/tape") bytes"
python3 - "$T/tape" <<'END'
import socket, sys
tape = open(sys.argv[1], "rb").read()
for step in (len(tape), 100):
    s = socket.create_connection(("127.0.0.1", 43514))
    s.settimeout(6)
    try:
        for at in range(0, len(tape), step):
            s.sendall(tape[at:at + step])
        while s.recv(4096): pass
    except (TimeoutError, ConnectionResetError, BrokenPipeError): pass
END
assert_eq "keys after the conversation was sent again" 1 "$(ls "$T"/pairs/taped*.key | wc -l)"
HEAPCAST_KEYS=$T/five join five 0 "${code[taped]}" "${lo[@]}"
pair_end taped 0
echo "the recorded conversation, sent again: no key"

# Strangers hold the door: they come again and again, say nothing or nonsense, and close nothing. Both ways there is a place all the same.
cat >"$T/crowd.py" <<'END'
import socket, time
held = []
for turn in range(10000):
    for port in (43514, 8100, 8101):
        try:
            s = socket.create_connection(("127.0.0.1", port), 0.2)
            s.setblocking(False)
            s.send((b"", b"GET / HTTP/1.0\r\n\r\n", bytes.fromhex("1603010200010001fc0303") + bytes(50))[turn % 3])
            held.append(s)
        except OSError: pass
    if len(held) > 200: held = held[100:]
    time.sleep(0.01)
END
pair_begin crowd "${lo[@]}" --for 2 --name crowd
python3 "$T/crowd.py" >"$T/crowd.log" 2>&1 &
crowd=$!
sleep 1
HEAPCAST_KEYS=$T/eight join eight 0 "${code[crowd]}@127.0.0.1" --within 30s
HEAPCAST_KEYS=$T/nine join nine 0 "${code[crowd]}" "${lo[@]}" --within 30s
pair_end crowd 0
kill "$crowd"
wait "$crowd" 2>/dev/null || true
[ "$(wc -l <"$T/crowd.err")" -lt 40 ] || fail "it says too much of strangers: $(wc -l <"$T/crowd.err") lines"
echo "a crowd of strangers at both doors: paired, both ways"

# 3. It breaks after each so many bytes: then neither uses a key, or both do, or the collector has one and says so. Then it works.
cat >"$T/cut.py" <<'END'
# cut.py LISTEN CONNECT BYTES: passes on so many bytes from the far side, and cuts both
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
near = listener.accept()[0]
listener.close()
far = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
left = int(sys.argv[3])
def forth():
    try:
        while data := near.recv(4096): far.sendall(data)
    except OSError: pass
threading.Thread(target=forth, daemon=True).start()
try:
    while left > 0 and (data := far.recv(left)):
        near.sendall(data)
        left -= len(data)
except OSError: pass
END
unsure=0 neither=0 both=0
for bytes in 60 180 220 240 260 270 280 290 400; do
	rm -rf "$T/cut" "$T"/pairs/cut*
	pair_begin cut "${lo[@]}" --name cut --within 4s
	rm -f "$T/cut.ready"
	python3 "$T/cut.py" 8321 43514 "$bytes" >"$T/cut.ready" 2>"$T/cut.py.err" &
	wait_for 5 "the knife" grep -q listening "$T/cut.ready"
	status=0
	HEAPCAST_KEYS=$T/cut "$AGENT" pair "${code[cut]}@127.0.0.1:8321" --within 2s >"$T/cut.join" 2>"$T/cut.join.err" || status=$?
	ended=0
	wait "${pairing[cut]}" || ended=$?
	ours=$(find "$T/cut" -name '*.key' 2>/dev/null | grep -c . || true) theirs=$(find "$T/pairs" -name 'cut*.key' | grep -c . || true)
	case "$status $ours $theirs $ended" in
	"1 0 0 1") neither=$((neither + 1)) ;;
	"1 0 1 1")
		unsure=$((unsure + 1))
		assert_contains "collector pair, cut after $bytes" "$T/cut.err" "may not have kept the key" "does no harm"
		;;
	"0 1 1 "[01])
		both=$((both + 1))
		same_keys "$T"/cut/*.key "$T/pairs/cut.key"
		;;
	*) fail "cut after $bytes bytes: agent pair $status, keys there $ours, here $theirs, collector pair $ended: $(cat "$T/cut.err" "$T/cut.join.err")" ;;
	esac
	assert_eq "keys that are half made" "" "$(find "$T/cut" "$T/pairs" -name '.new-*' 2>/dev/null || true)"
done
[ "$neither" -gt 0 ] || fail "it was never cut early"
echo "cut in nine places: $neither times nobody had a key, $unsure times the collector alone, $both times both"

# 4. A collector that has pairs finds those who are not paired as before, unless it is told otherwise.
gather lab "${lo[@]}"
wait_for 10 "the collector" grep -q "listening on" "$T/lab.log"
HEAPCAST_KEYS= assert_status 5 "$AGENT" run --policy block --announce "${lo[@]}" --quiet -- "$BUILD/tests/e2e-pairs" 5000 >/dev/null
wait_idle lab 1 20
HEAPCAST_KEYS=$T/one assert_status 5 "$AGENT" run --policy block --announce "${lo[@]}" --quiet -- "$BUILD/tests/e2e-pairs" 5000 >/dev/null
wait_idle lab 2 20
HEAPCAST_KEYS= assert_status 5 "$AGENT" run --policy block --collector 127.0.0.1 --quiet -- "$BUILD/tests/e2e-pairs" 5000 >/dev/null
wait_idle lab 3 20
HEAPCAST_KEYS= start_agent named 8322 -- "$BUILD/tests/e2e-pairs" 5000
gather by-name --no-discovery --listen off --once 127.0.0.1:8322
wait "${gatherer[by-name]}"
balances by-name
stop_gather lab
balances lab
gather strict "${lo[@]}" --paired-only
wait_for 10 "the collector" grep -q "listening on" "$T/strict.log"
HEAPCAST_KEYS= assert_status 5 "$AGENT" run --policy block --announce "${lo[@]}" --linger 2s --quiet -- "$BUILD/tests/e2e-pairs" 5000 >/dev/null 2>&1
HEAPCAST_KEYS= assert_status 5 "$AGENT" run --policy block --collector 127.0.0.1 --linger 2s --quiet -- "$BUILD/tests/e2e-pairs" 5000 >/dev/null 2>&1
HEAPCAST_KEYS=$T/two assert_status 5 "$AGENT" run --policy block --announce "${lo[@]}" --quiet -- "$BUILD/tests/e2e-pairs" 5000 >/dev/null
wait_idle strict 1 20
stop_gather strict
assert_eq "streams with --paired-only" 1 "$(streams strict | wc -l)"
assert_contains "what the collector says of the other agent" "$T/strict.err" "is not paired, and --paired-only takes no other"
assert_contains "what it says of the paired one" "$T/strict.log" ", by its key)"
echo "paired and unpaired agents side by side; with --paired-only the paired one alone"

# An agent that is paired with two collectors is a stranger to none of them.
HEAPCAST_PAIRS=$T/elsewhere pair_begin elsewhere "${lo[@]}" --name elsewhere
HEAPCAST_KEYS=$T/one join elsewhere 0 "${code[elsewhere]}" "${lo[@]}" --name a-second
pair_end elsewhere 0
gather here "${lo[@]}"
HEAPCAST_PAIRS=$T/elsewhere gather there "${lo[@]}" --listen off
wait_for 10 "the collectors" eval 'grep -q "listening on" "$T/here.log" && grep -q "listening on" "$T/there.log"'
HEAPCAST_KEYS=$T/one "$AGENT" serve --announce "${lo[@]}" --config '' --socket @two 2>"$T/two.err" &
serving=$!
wait_for 10 "both collectors" eval 'grep -q "connected to" "$T/here.log" && grep -q "connected to" "$T/there.log"'
sleep 4
kill -TERM "$serving"
wait "$serving" || true
stop_gather here
stop_gather there
assert_eq "what collectors say of an agent with two keys" "" "$(cat "$T/here.err" "$T/there.err")"
# To one that has none of its keys it is.
gather third "${lo[@]}"
HEAPCAST_KEYS=$T/stranger HEAPCAST_PAIRS=$T/strange pair_begin strange "${lo[@]}" --name strange
HEAPCAST_KEYS=$T/stranger join strange 0 "${code[strange]}" "${lo[@]}"
pair_end strange 0
HEAPCAST_KEYS=$T/stranger "$AGENT" serve --announce "${lo[@]}" --config '' --socket @stranger 2>"$T/stranger.err" &
serving=$!
wait_for 10 "the collector to say so" grep -q "has a key that this collector has not ('collector pair' makes one for both): such agents are skipped" "$T/third.err"
kill -TERM "$serving"
wait "$serving" || true
stop_gather third
echo "paired with two collectors: both are met, and neither takes it for a stranger"

# 5. run --pair: pairs, then announces by the new key. The collector has gathered all the time.
gather running "${lo[@]}" --paired-only
wait_for 10 "the collector" grep -q "listening on" "$T/running.log"
pair_begin run "${lo[@]}" --name run
HEAPCAST_KEYS=$T/six assert_status 5 "$AGENT" run --policy block "${lo[@]}" --pair "${code[run]}" --quiet -- "$BUILD/tests/e2e-pairs" 5000 >"$T/run.run" 2>"$T/run.run.err"
pair_end run 0
assert_contains "agent run --pair" "$T/run.run.err" "paired with"
wait_idle running 1 20
stop_gather running
balances running
echo "run --pair: paired and recorded, by a collector that was running"

# An agent that was there before its first pairing has set no memory aside for it: it goes on, and says so.
HEAPCAST_KEYS=$T/late "$AGENT" serve --announce "${lo[@]}" --config '' --socket @late 2>"$T/late.err" &
serving=$!
wait_for 10 "the agent" grep -q "listening for collectors" "$T/late.err"
HEAPCAST_PAIRS=$T/latter pair_begin late "${lo[@]}"
HEAPCAST_KEYS=$T/late join late 0 "${code[late]}" "${lo[@]}"
pair_end late 0
wait_for 10 "the agent to say so" grep -q "was started before its first pairing, and still talks to everybody in plain" "$T/late.err"
kill -TERM "$serving"
wait "$serving" || true

# 6. What can't be is said in a sentence: no code, too little memory, a key given beside the pairs, an explicit nothing.
assert_status 2 "$AGENT" pair NONSENSE 2>"$T/code.err"
assert_contains "no code" "$T/code.err" "that is no code: it has 8 letters, and 'collector pair' has printed 26"
HEAPCAST_KEYS=$T/one assert_status 2 "$AGENT" run --announce "${lo[@]}" --memory-limit 2M -- true 2>"$T/memory.err"
assert_contains "too little memory" "$T/memory.err" "this agent is paired" "'' leaves that alone" "too little with TLS: the least is"
HEAPCAST_KEYS=$T/seven assert_status 2 "$AGENT" pair ABCDEFGHIJKLMNOPQRSTUVWXYA --memory-limit 2M 2>"$T/memory.err"
assert_contains "too little memory to pair" "$T/memory.err" "too little with TLS: the least is"
HEAPCAST_KEYS=$T/one "$AGENT" run --announce "${lo[@]}" --keys '' --memory-limit 2M --quiet --linger 0s -- true
HEAPCAST_KEYS=$T/one "$AGENT" run --output "$T/file" --memory-limit 2M --quiet -- true # a file needs no key
assert_status 2 "$AGENT" run --announce "${lo[@]}" --keys "$T/nowhere" -- true 2>"$T/nowhere.err"
assert_contains "a folder that is not there" "$T/nowhere.err" "there is no folder of keys $T/nowhere"
chmod 0777 "$T/one"
HEAPCAST_KEYS=$T/one assert_status 2 "$AGENT" run --announce "${lo[@]}" -- true 2>"$T/open.err"
assert_contains "a folder that others may write to" "$T/open.err" "others may write to the folder of keys"
HEAPCAST_KEYS=$T/one "$AGENT" run --output "$T/file-too" --quiet -- true
chmod 0777 "$T/pairs"
assert_status 3 "$COLLECTOR" pairs 2>"$T/open.err"
assert_contains "a folder that others may write to" "$T/open.err" "others may write to the folder of keys"

# Whether a key can be kept is known before a code is shown, or tried.
assert_status 3 "$COLLECTOR" pair "${lo[@]}" >"$T/unkept.out" 2>"$T/unkept.err"
assert_contains "collector pair" "$T/unkept.err" "others may write to the folder of keys"
assert_eq "codes that were shown" "" "$(cat "$T/unkept.out")"
HEAPCAST_KEYS=$T/one assert_status 3 "$AGENT" pair "${code[late]}" "${lo[@]}" 2>"$T/unkept.err"
assert_contains "agent pair" "$T/unkept.err" "others may write to the folder of keys"

# 7. Another user, with the keys in the usual place: where they can't be read nothing goes in plain instead; $HOME may be left from somebody.
[ "$(id -u)" = 0 ] && setpriv --reuid=1 --regid=1 --clear-groups true 2>/dev/null || { echo "what follows needs root, to be another user"; exit 0; }
chmod 711 "$T"
setpriv --reuid=1 --regid=1 --clear-groups test -x "$AGENT" || { echo "what follows needs a build folder that other users can read"; exit 0; }
mkdir -p "$T/home/.config/heapcast"
cp -r "$T/two" "$T/home/.config/heapcast/keys"
chown -R 1:1 "$T/home"
as_other() { # HOME OPTION...: his agent, with its log
	local home=$1
	shift
	(cd / && setpriv --reuid=1 --regid=1 --clear-groups env -u HEAPCAST_KEYS -u XDG_CONFIG_HOME HOME="$home" \
		"$AGENT" run --announce "${lo[@]}" --log info --linger 0s --output "$T/home/file" "$@" -- true)
}
as_other "$T/home" 2>"$T/other.err"
assert_contains "the log" "$T/other.err" "paired with 1 collector"
as_other /root 2>"$T/other.err" # his home is that of the user database: no keys
assert_contains "the log of who is not paired" "$T/other.err" "not paired: what this agent sends goes in plain"
chmod 000 "$T/home/.config/heapcast/keys"
assert_status 2 as_other "$T/home" 2>"$T/other.err"
assert_contains "keys that can't be read" "$T/other.err" "cannot open the folder of keys $T/home/.config/heapcast/keys: Permission denied"
echo "another user's keys: used, refused where they can't be read"
