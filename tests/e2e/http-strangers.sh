#!/bin/bash
# ctest: LABELS full
# HTTP where others can ask. Nobody gets anything without the token. 400 connections of one address that never end their
# request, or that stay after it, lock nobody else out.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
need curl python3

net_host desk 2
net_host friend 3
net_host stranger 4
"$AGENT" run --quiet --output "$T/plain.heapcast" -- "$BUILD/tests/e2e-plain" >"$T/out" || true
printf 'not-for-everybody-%s\n' "$RANDOM" >"$T/token"

# ---- the token ----

refused() { # WHAT STATUS TEXT OPTION...
	local what=$1 status=$2 text=$3
	shift 3
	assert_status "$status" "$COLLECTOR" serve "$@" "$T/plain.heapcast" 2>"$T/refused.err" >"$T/refused.out"
	assert_contains "$what" "$T/refused.err" "$text"
}
chmod 644 "$T/token"
refused "a token that others can read" 2 "can be used by others" --http 127.0.0.1:8157 --token "$T/token"
chmod 600 "$T/token"
echo short >"$T/short"
chmod 600 "$T/short"
refused "a token that can be guessed" 2 "openssl rand -hex 32" --http 127.0.0.1:8157 --token "$T/short"
assert_status 2 "$COLLECTOR" gather --data "$T/data" --no-discovery --listen off --http 127.0.0.1:8157 --token "$T/short" board 2>"$T/refused.err"
[ ! -e "$T/data" ] || fail "a folder was made for nothing"

# Connections as a proxy makes them: their first bytes can be seen.
nsenter --net="/proc/${net_pid[desk]}/ns/net" -- "$COLLECTOR" serve --http 10.77.0.2:8157 --token "$T/token" \
	--behind-proxy --allow-host x "$T/plain.heapcast" \
	>"$T/serve.log" 2>"$T/serve.err" &
server=$!
wait_for 10 "the server" grep -q Serving "$T/serve.log"
url=http://10.77.0.2:8157

asked() { # HOST CURL-ARG...: the status
	local host=$1
	shift
	on "$host" curl -s -o "$T/answer" -m 3 -H 'Host: x' -w '%{http_code}' "$@" || true
}
token=$(cat "$T/token")
for path in / /list /data/last/allocations /openapi.json /nowhere; do
	assert_eq "$path without the token" 401 "$(asked stranger "$url$path")"
	assert_contains "what is missing" "$T/answer" "Authorization: Bearer"
done
assert_eq "another token" 401 "$(asked stranger -H "Authorization: Bearer x$token" "$url/list")"
assert_eq "a part of it" 401 "$(asked stranger -H "Authorization: Bearer ${token:0:20}" "$url/list")"
assert_eq "none" 401 "$(asked stranger -H "Authorization: Bearer" "$url/list")"
assert_eq "an order" 401 "$(asked stranger -H 'Content-Type: application/json' -d '{"action":"stop"}' "$url/data/last/control")"
assert_eq "with the token" 200 "$(asked friend -H "Authorization: Bearer $token" "$url/list")"
assert_eq "as a password" 401 "$(asked friend -u "anybody:$token" "$url/")"
assert_eq "an order is heard" 409 "$(asked friend -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"action":"stop"}' "$url/data/last/control")"

# Who tries wrong tokens again and again is slowed, and nobody else is.
# By one curl: one wrong token is forgiven a second, and a busy machine takes longer than that to start another.
asked stranger -H "Authorization: Bearer wrong" "$url/list?[1-40]" \
	--next -s -o "$T/answer" -m 3 -H 'Host: x' -w '\n%{http_code}\n' -H "Authorization: Bearer $token" "$url/list" >"$T/status"
assert_eq "one more" 429 "$(tail -n 1 "$T/status")"
assert_eq "somebody else" 200 "$(asked friend -H "Authorization: Bearer $token" "$url/list")"
sleep 6
assert_eq "later" 200 "$(asked stranger -H "Authorization: Bearer $token" "$url/list")"

# ---- a flood ----

cat >"$T/flood.py" <<'P'
# HOW SECONDS TOKEN: 400 connections that are made anew when they end.
import resource, selectors, socket, sys, time

how, seconds, token = sys.argv[1], float(sys.argv[2]), sys.argv[3]
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
first = {"silent": b"", "line": b"GET /lis", "head": b"GET /list HTTP/1.1\r\nHost: x\r\nX: ",
         "body": b"POST /data/last/sql HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nAuthorization: Bearer " + token.encode() + b"\r\n\r\n",
         "kept": b"GET /list HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token.encode() + b"\r\n\r\n"}[how]
held, made, end = [], 0, time.monotonic() + seconds
while time.monotonic() < end:
    while len(held) < 400:
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(("10.77.0.2", 8157))
        held.append([s, False])
        made += 1
    time.sleep(0.02)
    for pair in held:
        try:
            if not pair[1]:
                pair[0].send(first)
                pair[1] = True
            if not pair[0].recv(65536):
                pair[0].close()
        except BlockingIOError:
            pass
        except OSError:
            pair[0].close()
    held = [p for p in held if p[0].fileno() >= 0]
print(made)
P

descriptors() {
	find "/proc/$server/fd" -mindepth 1 -maxdepth 1 | wc -l
}

for how in silent line head body kept; do
	on stranger python3 "$T/flood.py" $how 3 "$token" >"$T/made" &
	flood=$!
	sleep 1
	most=0 longest=0 count=0
	while kill -0 $flood 2>/dev/null; do
		began=$(date +%s%N)
		assert_eq "$how: the friend" 200 "$(asked friend -H "Authorization: Bearer $token" "$url/list")"
		took=$((($(date +%s%N) - began) / 1000000))
		[ "$took" -le "$longest" ] || longest=$took
		now=$(descriptors)
		[ "$now" -le "$most" ] || most=$now
		count=$((count + 1))
		sleep 0.1
	done
	wait $flood
	printf '%s: %d connections; %d questions of another address, the slowest %d ms; at most %d descriptors\n' \
		"$how" "$(cat "$T/made")" "$count" "$longest" "$most"
	[ "$count" -ge 3 ] || fail "$how: the friend was kept waiting"
	[ "$most" -lt 700 ] || fail "$how: $most descriptors"
done

# Who says nothing more is let go.
on stranger python3 - <<'P'
import socket, time
began, all = time.monotonic(), []
for said in b"", b"GET /list HTTP/1.1\r\nHost:":
    s = socket.create_connection(("10.77.0.2", 8157), 20)
    s.send(said)
    all.append(s)
for s in all:
    try:
        assert s.recv(100) == b""
    except ConnectionResetError:
        pass
    took = time.monotonic() - began
    assert 8 < took < 14, took
P
kill "$server"
wait "$server" || true
