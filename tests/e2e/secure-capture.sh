#!/bin/bash
# What somebody on the network sees of a session. With a key he sees neither names of functions and files nor the
# command line nor the list of streams. Without one the same capture shows them. What the program has in its environment
# is never sent.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-secure.sh"
need python3
make_key ours
make_key theirs

# Every packet of the loopback, until it is ended: as tcpdump does, with less.
cat >"$T/capture.py" <<'P'
import signal, socket, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
s.bind(("lo", 0))
with open(sys.argv[1], "wb", 0) as out:
    print("capturing", flush=True)
    while True:
        out.write(s.recv(65536))
P

start_capture() {
	rm -f "$T/$1.pcap" "$T/capture.out"
	python3 "$T/capture.py" "$T/$1.pcap" >"$T/capture.out" 2>"$T/capture.err" &
	capture=$!
	wait_for 5 "the capture" eval 'grep -q capturing "$T/capture.out" || ! kill -0 $capture'
	kill -0 $capture 2>/dev/null || skip "packets can't be captured here: $(tail -n 1 "$T/capture.err")"
}

end_capture() {
	sleep 0.3
	kill -TERM $capture
	wait $capture || true
}

# Frames are compressed, so words are looked for in what opens as LZ4, too. CAPTURE WORD: how often
cat >"$T/look.py" <<'P'
import subprocess, sys
data, word = open(sys.argv[1], "rb").read(), sys.argv[2].encode()
count, at = data.count(word), 0
magic = bytes.fromhex("04224d18")
while not count and (at := data.find(magic, at)) >= 0:
    opened = subprocess.run(["lz4", "-dc"], input=data[at:at + 200000], capture_output=True).stdout
    count += opened.count(word)
    at += 4
print(count)
P
shows() {
	python3 "$T/look.py" "$T/$1.pcap" "$2"
}

mkdir "$T/module-of-the-capture"
cp "$BUILD/tests/e2e-pairs" "$T/module-of-the-capture/program-of-the-capture"

# NAME WAY AGENT... -- COLLECTOR...
session() {
	local name=$1 way=$2
	shift 2
	start_capture "$name"
	SECRET_IN_THE_ENVIRONMENT=environment-of-the-capture start_both "$way" "$name" "$linger" "$@"
	end_both "$name"
	end_capture
	[ "$(stat -c %s "$T/$name.pcap")" -gt 1000 ] || fail "$name: nothing was captured"
}
program=("$T/module-of-the-capture/program-of-the-capture" 20000 argument-of-the-capture)

words=(program-of-the-capture module-of-the-capture argument-of-the-capture libc.so e2e-pairs)
for way in collector-dials agent-dials; do
	linger=30s
	session plain $way --
	session secret $way --key "$T/ours.key" -- --key "$T/ours.key"
	linger=2s
	session wrong $way --key "$T/ours.key" -- --key "$T/theirs.key"
	[ "$way" = agent-dials ] || session bare $way --key "$T/ours.key" --
	for name in plain secret; do
		assert_eq "streams" 1 "$(streams "$name-$way" | wc -l)"
	done
	for word in "${words[@]}"; do
		for name in secret wrong bare; do
			assert_eq "how often $word shows ($name, $way)" 0 "$(shows $name "$word")"
		done
	done
	for word in program-of-the-capture module-of-the-capture argument-of-the-capture libc.so; do
		[ "$(shows plain "$word")" -gt 0 ] || fail "without a key $word does not show: this test finds nothing"
	done
	assert_eq "how often the environment shows" 0 "$(shows plain environment-of-the-capture)"
	echo "$way: with a key $(stat -c %s "$T/secret.pcap") bytes show nothing; without one $(stat -c %s "$T/plain.pcap") bytes show all but the environment"
done
for stream in "$T"/plain-*/streams/*/recording.heapcast; do
	lz4 -dc "$stream" >"$T/opened"
	if grep -q environment-of-the-capture "$T/opened"; then fail "the environment is in the recording"; fi
done
