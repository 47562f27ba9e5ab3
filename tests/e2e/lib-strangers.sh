# What secure-strangers and secure-strangers-full do:
#   strangers_for CONNECTIONS SECONDS   a host opens so many connections to an agent and to a collector that listen, and never ends a
#                                       handshake; then it sends garbage for so long. Streams of others go on meanwhile: events a second
#                                       and memory are printed, without and with them.
. "$TEST_SOURCE/lib-net.sh"
need openssl python3

net_host board 2
net_host desk 3
net_host stranger 4

memory_of() {
	awk '$1 == "RssAnon:" || $1 == "RssShmem:" { sum += $2 } END { print sum + 0 }' "/proc/$1/status"
}

descriptors_of() {
	find "/proc/$1/fd" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l
}

cat >"$T/strangers.py" <<'P'
# HOW HOST PORT CONNECTIONS SECONDS
import os, resource, socket, sys, time

how, host, port, count, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
hello = bytes.fromhex("16030100c8010000c40303") + os.urandom(100)  # a handshake that begins
made = told = 0
answered = b""
held = []

def note(s):
    global told, answered
    try:
        s.setblocking(False)
        data = s.recv(4096)
        told += len(data)
        answered += data[:64]
    except OSError:
        pass

end = time.monotonic() + seconds
while how == "half" and (made < count or time.monotonic() < end):
    # As many as there are descriptors for, all at once; then they stay and say no more.
    while made < count and len(held) < 2000:
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((host, port))
        held.append((s, made))
        made += 1
    time.sleep(0.5)
    for s, number in held:
        try:
            s.send([b"", b"\x16", hello][number % 3])
        except OSError:
            pass
    time.sleep(0.5)
    if made < count:
        for s, _ in held:
            note(s)
            s.close()
        held = []
for s, _ in held:
    note(s)
    s.close()
while how == "garbage" and time.monotonic() < end:
    s = socket.socket()
    s.settimeout(2)
    try:
        s.connect((host, port))
        made += 1
        first = [b"", b"\x16\x03\x01\x40\x00", b"\x04\x22\x4d\x18", b"GET / HTTP/1.0\r\n\r\n"][made % 4]
        s.send(first + os.urandom(60000))
        note(s)
    except OSError:
        pass
    s.close()
print(made, told, answered[:7].hex())
P

# HOW HOST PORT CONNECTIONS SECONDS: what it made, and what it was told.
strange() {
	on stranger python3 "$T/strangers.py" "$@"
}

bytes_of() {
	cat "$T"/desk/streams/*/recording.heapcast 2>/dev/null | wc -c
}

# Events among so many bytes of the recordings, by the account of the first.
events_of() {
	echo $(($1 * events_there / bytes_there))
}

take_account() {
	local stream
	stream=$(streams desk | head -n 1)
	bytes_there=$(stat -c %s "$(recording_of desk "$stream")")
	events_there=$(ledger_number desk "$stream" stored)
}

# Events that are stored in a second, watched for so many.
rate_for() {
	local before after
	before=$(bytes_of)
	sleep "$1"
	after=$(bytes_of)
	events_of $(((after - before) / $1))
}

strangers_for() {
	local count=$1 seconds=$2 agent collector pid how before during quiet most told place host port leeway
	(umask 077 && openssl rand -hex 32 >"$T/key")
	nsenter --net="/proc/${net_pid[desk]}/ns/net" -- "$COLLECTOR" gather --data "$T/desk" --no-discovery --listen 10.77.0.3:43513 \
		--key "$T/key" 10.77.0.2:8100 >"$T/desk.log" 2>"$T/desk.err" &
	gatherer[desk]=$!
	serve_on board --memory-limit 16M --key "$T/key" -- "$BUILD/tests/e2e-paced" $((300000 * (4 * seconds + 60))) 20000 "$T/end"
	wait_for 20 "a stream" eval '[ "$(bytes_of)" -gt 30000 ]'
	# One that dials in, too.
	nsenter --net="/proc/${net_pid[board]}/ns/net" -- "$AGENT" run --quiet --log info --memory-limit 16M --key "$T/key" \
		--collector 10.77.0.3:43513 -- "$BUILD/tests/e2e-paced" $((300000 * (4 * seconds + 60))) 20000 "$T/end" \
		>"$T/dialler.out" 2>"$T/dialler.err" &
	agent_pid[dialler]=$!
	wait_for 20 "the second stream" eval '[ "$(find "$T/desk/streams" -name recording.heapcast -size +20k | wc -l)" = 2 ]'
	agent=${agent_pid[board]} collector=${gatherer[desk]}
	take_account
	quiet=$(rate_for 4)
	printf 'nobody else: %d events/s stored; agent %d KiB, collector %d KiB\n' "$quiet" "$(memory_of "$agent")" "$(memory_of "$collector")"
	for place in "agent 10.77.0.2 8100 $agent" "collector 10.77.0.3 43513 $collector"; do
		read -r place host port pid <<<"$place"
		leeway=512 # KiB, within its limit: sessions that have begun; what a collector packs of the streams meanwhile is much more
		[ "$place" = agent ] || leeway=65536
		for how in half garbage; do
			before=$(memory_of "$pid")
			most=0
			strange $how "$host" "$port" "$count" "$seconds" >"$T/strange.out" &
			stranger=$!
			during=$(bytes_of)
			local began=$SECONDS
			while kill -0 $stranger 2>/dev/null; do
				told=$(descriptors_of "$pid")
				[ "$told" -le "$most" ] || most=$told
				sleep 0.2
			done
			wait $stranger
			began=$((SECONDS - began > 0 ? SECONDS - began : 1))
			during=$(events_of $((($(bytes_of) - during) / began)))
			answer=
			read -r made told answer <"$T/strange.out" || true
			printf '%s, %s: %d connections in %d s, told %d bytes; %d events/s stored; %d KiB before, %d after; at most %d descriptors\n' \
				"$place" "$how" "$made" "$began" "$told" "$during" "$before" "$(memory_of "$pid")" "$most"
			# An alert that says "TLS" is all that anybody gets.
			[ "$told" -le $((7 * made)) ] || fail "strangers were told $told bytes"
			[[ "$answer" =~ ^(1503.*)?$ ]] || fail "strangers were told $answer"
			[ "$made" -gt 20 ] || fail "that was no flood"
			[ "$during" -gt $((quiet / 3)) ] || fail "the streams of others were disturbed"
			[ "$(memory_of "$pid")" -le $((before + leeway)) ] || fail "the memory of $place has grown"
			[ "$most" -lt 150 ] || fail "$place has let in $most"
		done
	done
	[ "$(memory_of "$agent")" -le 16384 ] || fail "the agent is above its limit"
	assert_eq "streams" 2 "$(streams desk | wc -l)"
	for name in board dialler; do
		if grep -c "link to .*:" "$T/$name.err" | grep -qv '^[12]$'; then cat "$T/$name.err" >&3; fail "$name has lost its link"; fi
	done
	[ "$(grep -c refused "$T/board.err")" -le 20 ] || fail "the agent's log is flooded"
	[ "$(grep -c refused "$T/desk.err")" -le 20 ] || fail "the collector's log is flooded"
	# Who has the key still comes in.
	{ on stranger "$COLLECTOR" gather --data "$T/late" --no-discovery --listen off --key "$T/key" 10.77.0.2:8100 \
		>"$T/late.log" 2>"$T/late.err" || true; } &
	wait_for 10 "one that has the key, from the same address" grep -q "began" "$T/late.log"
}
