#!/bin/bash
# Pairing on one machine: a code that is pasted once, then nothing is typed; everything is recorded, by TLS only. Strangers, another code, a
# code that was used or is too old, and a recording of the conversation gain nothing.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
. "$TEST_SOURCE/lib-pairing.sh"
need python3
lo=(--interface lo)

# 1. Twice one line.
pair_begin once "${lo[@]}"
assert_contains "what is typed on the board" "$T/once.out" "    ./agent pair ${code[once]}" "    agent pair ${code[once]}" \
	"    ${code[once]}@$(hostname)"
join first 0 "$(tr A-Z a-z <<<"${code[once]}" | sed 's/...../&-/g')" "${lo[@]}" # as people write
pair_end once 0
grep -q "^paired with $(hostname) (127.0.0.1), as " "$T/once.out" || fail "collector pair says: $(cat "$T/once.out" "$T/once.err")"
grep -q "^paired with $(hostname) (" "$T/first.join" || fail "agent pair says: $(cat "$T/first.join")"
name=$(basename "$T"/keys/*.key .key)
same_keys "$T/keys/$name.key" "$T/pairs/$name.key"
assert_eq "modes of keys and folders" "600 600 600 700 700" "$(stat -c %a "$T"/*/*.key "$T/keys/installation" "$T/keys" "$T/pairs" | sort | xargs)"
if grep -rqi "${code[once]}" "$T/keys" "$T/pairs"; then fail "the code is in a file"; fi
"$AGENT" pair --list | grep -q "^$name .*$(hostname) (127.0.0.1)" || fail "$("$AGENT" pair --list)"
"$COLLECTOR" pairs | grep -q "^$name .* never " || fail "$("$COLLECTOR" pairs)"

# 2. Nothing is typed, both ways; every event comes, and each way it is TLS.
program=("$BUILD/tests/e2e-pairs" 20000)
gather found "${lo[@]}" --once
wait_for 10 "the collector" grep -q "listening on" "$T/found.log"
assert_status 5 "$AGENT" run --policy block --announce "${lo[@]}" --log info --quiet -- "${program[@]}" >"$T/found.run" 2>"$T/found.run.err"
wait "${gatherer[found]}"
gather dialled --no-discovery --listen 127.0.0.1:8310 --once
wait_for 10 "the collector" grep -q "listening on" "$T/dialled.log"
assert_status 5 "$AGENT" run --policy block --collector 127.0.0.1:8310 --log info --quiet -- "${program[@]}" >"$T/dialled.run" 2>"$T/dialled.run.err"
wait "${gatherer[dialled]}"
start_agent named 8311 --log info -- "${program[@]}"
gather named --no-discovery --listen off --once 127.0.0.1:8311
status=0
wait "${agent_pid[named]}" || status=$?
assert_eq "exit status of the program" 5 "$status"
wait "${gatherer[named]}"
for way in found dialled named; do
	err=$T/$way.run.err
	[ -e "$err" ] || err=$T/$way.err
	assert_contains "the agent ($way)" "$err" "paired with 1 collector: this agent talks to nobody else"
	whole=$(streams "$way")
	"$COLLECTOR" ledger --data "$T/$way" "$whole" >"$T/ledger.txt" || fail "$way: $(cat "$T/ledger.txt")"
	produced[0]=$(ledger_number "$way" "$whole" produced)
	[ "${produced[0]}" -ge 40000 ] || fail "$way: ${produced[0]} events"
done
"$COLLECTOR" pairs | grep -q "^$name .* never " && fail "it was connected, and collector pairs does not say so"
echo "paired by one line each: recorded whole when found, when dialled by the agent and when named, nothing typed"

# 3. A stranger with a plain connection gets no byte but TLS's refusal, and one with another key none of what there is.
start_agent alone 8312 --log info --linger 1s -- "$BUILD/tests/e2e-paced" 100000000 1 "$T/end"
wait_for 10 "the agent" grep -q "listening for collectors on port 8312" "$T/alone.err"
python3 - 8312 "$T/heard" <<'END'
import socket, sys
heard = b""
for said in (b"", b"\x04\x22\x4d\x18" + bytes(100), b"GET / HTTP/1.0\r\n\r\n"):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.settimeout(8)
    s.sendall(said)
    try:
        while part := s.recv(4096):
            heard += part
    except (TimeoutError, ConnectionResetError):
        pass
open(sys.argv[2], "wb").write(heard.replace(bytes.fromhex("15030300020246"), b""))
END
assert_eq "bytes that strangers got" 0 "$(wc -c <"$T/heard")"
HEAPCAST_PAIRS=$T/others gather unpaired --no-discovery --listen off 127.0.0.1:8312
wait_for 10 "the unpaired collector to be told" grep -q "it speaks TLS only: 'collector pair'" "$T/unpaired.log"
stop_gather unpaired
assert_eq "streams of who is not paired" "" "$(ls "$T/unpaired/streams" 2>/dev/null)"

# Another code, in the same moment, gets nothing either; nor does this one, used again, or too late.
pair_begin two "${lo[@]}"
pair_begin too-late "${lo[@]}" --within 2s --port 43599
join wrong 1 "$(tr A-Z B-ZA <<<"${code[two]:0:25}")A" "${lo[@]}" --within 3s
pair_end too-late 1
assert_contains "a code that nobody used" "$T/too-late.err" "nobody came in" "of no use any more"
join late 1 "${code[too-late]}" "${lo[@]}" --within 2s
HEAPCAST_KEYS=$T/second join second 0 "${code[two]}@127.0.0.1"
pair_end two 0
join used 1 "${code[two]}@127.0.0.1" --within 2s
assert_contains "a code that was used" "$T/used.join.err" "no collector has come"
assert_eq "keys of the agent" 1 "$(ls "$T"/keys/*.key | wc -l)"
assert_eq "keys of the collector" 2 "$(ls "$T"/pairs/*.key | wc -l)"
same_keys "$T"/second/*.key "$T/pairs/$name-2.key"
echo "strangers got no byte; another code, a used one and one that is too old gave no key"

# 4. Revoked: the link is cut at once, and nobody comes back. A pair that is made meanwhile counts at once, on both sides.
gather rotated --no-discovery --listen off 127.0.0.1:8312
wait_for 10 "the link" grep -q "connected to" "$T/rotated.log"
HEAPCAST_KEYS=$T/keys pair_begin again "${lo[@]}" --name again
join again 0 "${code[again]}" "${lo[@]}" --name again
pair_end again 0
wait_for 10 "the agent to take up the second key" grep -q "paired with 2 collectors" "$T/alone.err"
assert_eq "links that were cut by a new pair" 0 "$(grep -c disconnected "$T/rotated.log" || true)"
"$COLLECTOR" pairs revoke "$name" >"$T/revoked"
wait_for 5 "the link to be cut" grep -q "disconnected from 127.0.0.1:8312: its pair was revoked" "$T/rotated.log"
wait_for 10 "the link by the other key" eval '[ "$(grep -c "connected to 127" "$T/rotated.log")" -ge 2 ]'
"$COLLECTOR" pairs | grep -q "^again .*T.*T" || fail "the second key was not used: $("$COLLECTOR" pairs)"
"$AGENT" pair --forget again | grep -q "^forgot again" || fail "not forgotten"
wait_for 5 "the agent to cut the link" grep -q "its pair was forgotten" "$T/alone.err"
sleep 3
assert_eq "connections after both were revoked" 2 "$(grep -c "connected to 127" "$T/rotated.log")"
assert_status 2 "$COLLECTOR" pairs revoke "$name" 2>"$T/none.err"
assert_contains "revoking what is not there" "$T/none.err" "there is no pair"
stop_gather rotated
echo "a new pair counted without a restart, a revoked one was cut, by either side"

# 5. Without any key left the agent falls back to nothing: it talks to nobody.
"$AGENT" pair --forget "$name" >"$T/forgot"
assert_contains "the last one" "$T/forgot" "talk to no collector until they are paired anew"
wait_for 5 "the agent to say so" grep -q "no pair is left" "$T/alone.err"
gather nobody --no-discovery --listen off 127.0.0.1:8312
sleep 2
stop_gather nobody
assert_eq "streams of an agent whose pairs are gone" "" "$(ls "$T/nobody/streams" 2>/dev/null)"
pkill -KILL -f "e2e-paced 100000000 1 $T/end" || true
wait "${agent_pid[alone]}" 2>/dev/null || true
