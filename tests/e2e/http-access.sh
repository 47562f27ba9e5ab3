#!/bin/bash
# Who may ask over HTTP, and what it takes to be reached from elsewhere: by TLS of our own and behind a proxy, with
# which Host, Origin and token.
. "$(dirname "$0")/lib.sh"
need curl openssl python3
[ "$inside" = namespace ] || skip "network namespaces can't be made here"
ip link add beyond type dummy 2>/dev/null || ip link add beyond type veth peer name far-end 2>/dev/null ||
	skip "a network interface can't be made here"
ip address add 10.78.0.1/24 dev beyond
ip link set beyond up

"$AGENT" run --quiet --output "$T/plain.heapcast" -- "$BUILD/tests/e2e-plain" >"$T/out" || true
(umask 077 && echo "not-for-everybody-$RANDOM" >"$T/token")
token=$(cat "$T/token")
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=desk -addext "subjectAltName=DNS:desk,DNS:localhost,IP:10.78.0.1" \
	-keyout "$T/key.pem" -out "$T/cert.pem" 2>"$T/openssl.out"
openssl ecparam -name prime256v1 -genkey -noout -out "$T/other.pem"
chmod 600 "$T/key.pem" "$T/other.pem"
TLS=(--tls-cert "$T/cert.pem" --tls-key "$T/key.pem")
BEYOND=(--http 10.78.0.1:8157)

# ---- what does not start, and what is said ----

refused() { # WHAT TEXT OPTION...
	local what=$1 text=$2
	shift 2
	assert_status 2 "$COLLECTOR" serve "$@" "$T/plain.heapcast" 2>"$T/refused.err" >"$T/refused.out"
	assert_contains "$what" "$T/refused.err" "$text"
	assert_status 2 "$COLLECTOR" gather --data "$T/no-data" --no-discovery --listen off "$@" board 2>"$T/refused.err" >"$T/refused.out"
	assert_contains "$what, gather" "$T/refused.err" "$text"
	[ ! -e "$T/no-data" ] || fail "$what: a folder was made for nothing"
}
refused "nothing" "give --token FILE" "${BEYOND[@]}"
refused "TLS without a token" "give --token FILE" "${BEYOND[@]}" "${TLS[@]}"
refused "a token without TLS" "give --tls-cert FILE and --tls-key FILE; or --behind-proxy" "${BEYOND[@]}" --token "$T/token"
refused "the same for everybody" "could read the token" --http 0.0.0.0:8157 --token "$T/token"
refused "the same by IPv6" "could read the token" --http '[::]:8157' --token "$T/token"
refused "a certificate without its key" "--tls-key is missing" --http 127.0.0.1:8157 --tls-cert "$T/cert.pem"
refused "a key without a certificate" "--tls-cert is missing" --http 127.0.0.1:8157 --tls-key "$T/key.pem"
refused "no such certificate" "cannot open the certificate" --http 127.0.0.1:8157 --tls-cert "$T/none.pem" --tls-key "$T/key.pem"
refused "no certificate in it" "holds no certificate" --http 127.0.0.1:8157 --tls-cert "$T/token" --tls-key "$T/key.pem"
refused "another key" "is not the key of the certificate" --http 127.0.0.1:8157 --tls-cert "$T/cert.pem" --tls-key "$T/other.pem"
chmod 644 "$T/other.pem"
refused "a key that others can read" "can be used by others" --http 127.0.0.1:8157 --tls-cert "$T/cert.pem" --tls-key "$T/other.pem"
refused "a proxy without names" "give --allow-host NAME" "${BEYOND[@]}" --token "$T/token" --behind-proxy
refused "names without a proxy" "give --behind-proxy" "${BEYOND[@]}" --token "$T/token" --allow-host heap.example.org
refused "a proxy without a token" "give --token FILE" --http 127.0.0.1:8157 --behind-proxy --allow-host heap.example.org
refused "a name with a port" "without scheme and port" --http 127.0.0.1:8157 --token "$T/token" --behind-proxy --allow-host heap.example.org:443

start() { # OPTION...
	rm -f "$T/serve.out"
	"$COLLECTOR" serve "$@" "$T/plain.heapcast" >"$T/serve.out" 2>"$T/serve.err" &
	server=$!
	wait_for 10 "the server" grep -q Serving "$T/serve.out"
}
stop() {
	kill "$server"
	wait "$server" || fail "collector serve ended with $?: $(cat "$T/serve.err")"
}
asked() { # STATUS CURL-ARG...: the answer is in $T/answer, its head in $T/head
	local expected=$1 got
	shift
	got=$(curl -s -o "$T/answer" -D "$T/head" -m 20 -w '%{http_code}' "$@" || true)
	[ "$got" = "$expected" ] || fail "status $got instead of $expected for $*: $(head -c 500 "$T/answer")"
}
bearer=(-H "Authorization: Bearer $token")
order=(-H 'Content-Type: application/json' -d '{"action":"stop"}')
control=/data/last/control

# ---- on loopback ----

start --http 127.0.0.1:8157
url=http://127.0.0.1:8157
made=$(token_in "$T/serve.out")
asked 200 "$url/list"
asked 401 "${order[@]}" "$url$control"
assert_contains "what to bring" "$T/answer" "Authorization: Bearer" "#token="
asked 401 "${order[@]}" "${bearer[@]}" "$url$control"
asked 409 "${order[@]}" -H "Authorization: Bearer $made" "$url$control"
asked 403 "${order[@]}" -H "Authorization: Bearer $made" -H 'Origin: http://example.org' "$url$control"
asked 403 "${order[@]}" -H "Authorization: Bearer $made" -H 'Host: example.org' "$url$control"
asked 403 -H 'Host: example.org' "$url/list"
asked 403 -H 'Origin: http://127.0.0.1:9999' -X DELETE "$url/list"
asked 200 -H 'Origin: http://example.org' "$url/list"
grep -qi '^access-control' "$T/head" && fail "a page of elsewhere may read: $(cat "$T/head")"
stop
start --http 127.0.0.1:8157
[ "$(token_in "$T/serve.out")" != "$made" ] || fail "the token of the run before"
stop
start --http 127.0.0.1:8157 --token "$T/token"
assert_eq "what it says" "Serving $url/" "$(head -n 1 "$T/serve.out")"
asked 200 "$url/list"
asked 409 "${order[@]}" "${bearer[@]}" "$url$control"
asked 401 "${order[@]}" "$url$control"
assert_contains "where the token is" "$T/answer" "The file of --token has it"
stop

# ---- by TLS ----

start "${BEYOND[@]}" "${TLS[@]}" --token "$T/token"
url=https://10.78.0.1:8157
assert_eq "what it says" "Serving $url/" "$(head -n 1 "$T/serve.out")"
tls=(--cacert "$T/cert.pem")
asked 000 "${bearer[@]}" "$url/list"
for path in / /list /data/last/allocations /openapi.json /nowhere; do
	asked 401 "${tls[@]}" "$url$path"
done
asked 200 "${tls[@]}" "${bearer[@]}" "$url/list"
asked 200 "${tls[@]}" "${bearer[@]}" --http2 --tls-max 1.2 "$url/list"
grep -q '^HTTP/1.1 200' "$T/head" || fail "another version: $(cat "$T/head")"
asked 000 "${tls[@]}" "${bearer[@]}" --tls-max 1.1 "$url/list"
asked 200 "${tls[@]}" "${bearer[@]}" --resolve desk:8157:10.78.0.1 https://desk:8157/list
asked 400 "http://10.78.0.1:8157/list"
assert_contains "plain HTTP" "$T/answer" "https://"
asked 401 "${tls[@]}" "${order[@]}" "$url$control"
asked 409 "${tls[@]}" "${order[@]}" "${bearer[@]}" "$url$control"
asked 409 "${tls[@]}" "${order[@]}" "${bearer[@]}" -H "Origin: $url" "$url$control"
asked 403 "${tls[@]}" "${order[@]}" "${bearer[@]}" -H "Origin: http://10.78.0.1:8157" "$url$control"
asked 403 "${tls[@]}" "${order[@]}" "${bearer[@]}" -H "Origin: https://10.78.0.1" "$url$control"
# A body of several records; a record of a head and a body; an answer of several slices, in parts.
{ printf '%60000s\n' " " && echo "select 1 as one"; } >"$T/long.sql"
asked 200 "${tls[@]}" "${bearer[@]}" --data-binary "@$T/long.sql" "$url/data/last/sql"
assert_contains "an answer" "$T/answer" '"one":1'
question="with recursive n(i) as (select 1 union all select i + 1 from n where i < 90000) select i, 'a text of some length' as text from n"
asked 200 "${tls[@]}" "${bearer[@]}" --data "$question" "$url/data/last/sql"
mv "$T/answer" "$T/slowly"
asked 200 "${tls[@]}" "${bearer[@]}" --limit-rate 4M --data "$question" "$url/data/last/sql"
cmp "$T/answer" "$T/slowly"
[ "$(stat -c %s "$T/slowly")" -gt 3000000 ] || fail "a short answer"
# Six requests in one record are answered in order, and half a hello is let go.
python3 - "$T/cert.pem" "$token" <<'P'
import socket, ssl, sys, time
c = ssl.create_default_context(cafile=sys.argv[1])
half = socket.create_connection(("10.78.0.1", 8157), 30)
half.sendall(b"\x16\x03\x01\x02\x00abc")
began = time.monotonic()
s = c.wrap_socket(socket.create_connection(("10.78.0.1", 8157), 30), server_hostname="desk")
paths = ["/list", "/openapi.json", "/list", "/nowhere", "/list", "/questions"]
s.sendall("".join(f"GET {p} HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer {sys.argv[2]}\r\n{'Connection: close' if p == paths[-1] else 'Accept: */*'}\r\n\r\n"
                  for p in paths).encode())
said = b""
while part := s.recv(65536):
    said += part
assert [int(a[:3]) for a in said.split(b"HTTP/1.1 ")[1:]] == [200, 200, 200, 404, 200, 200], said
try:
    assert half.recv(10) == b""
except ConnectionResetError:
    pass
took = time.monotonic() - began
assert 8 < took < 20, took
P
# Many that begin TLS and do not go on.
python3 - "$T/cert.pem" "$token" <<'P'
import socket, ssl, subprocess, sys, time
ca, token = sys.argv[1:]
c = ssl.create_default_context(cafile=ca)
def hello():
    i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
    s = c.wrap_bio(i, o, server_hostname="localhost")
    try: s.do_handshake()
    except ssl.SSLWantReadError: pass
    return o.read()
one = hello()
held = []
end = time.monotonic() + 3
asked = 0
while time.monotonic() < end:
    while len(held) < 400:
        s = socket.create_connection(("10.78.0.1", 8157)); s.settimeout(0); s.sendall(one); held.append(s)
    r = subprocess.run(["curl", "-s", "-m", "20", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", ca, "-H", "Authorization: Bearer " + token,
                        "https://10.78.0.1:8157/list"], capture_output=True, text=True).stdout
    assert r == "200", r
    asked += 1
    keep = []
    for s in held:
        try:
            while s.recv(4096): pass
            s.close()
        except BlockingIOError: keep.append(s)
        except OSError: s.close()
    held = keep
print(asked, "questions,", len(held), "held")
P
stop

# ---- the login page ----

start "${BEYOND[@]}" "${TLS[@]}" --token "$T/token"
url=https://10.78.0.1:8157
html=(-H 'Accept: text/html,application/xhtml+xml;q=0.9')
jar=(-b "$T/jar" -c "$T/jar")
asked 401 "${tls[@]}" "$url/"
assert_contains "for a script" "$T/answer" '"error":"this needs the token'
! grep -qi '^www-authenticate: Basic' "$T/head" || fail "a browser asks for a password of its own"
asked 401 "${tls[@]}" "${html[@]}" "$url/"
assert_contains "the form" "$T/answer" '<form method="post" action="login">' 'type="password"'
assert_contains "its policy" "$T/head" "form-action 'self'" "frame-ancestors 'none'"
! grep -q '<script' "$T/answer" || fail "a script: $(cat "$T/answer")"
asked 401 "${tls[@]}" "${html[@]}" "$url/list"
asked 200 "${tls[@]}" "$url/login"
login() { # STATUS TOKEN CURL-ARG...
	local status=$1 said=$2
	shift 2
	asked "$status" "${tls[@]}" --data-urlencode "token=$said" "$@" "$url/login"
}
login 403 "$token" -H 'Origin: https://example.org'
login 403 "$token" -H 'Origin: null'
login 401 wrong
assert_contains "a wrong one" "$T/answer" "that is not the token" "<form"
! grep -qi '^set-cookie' "$T/head" || fail "a cookie for a wrong token"
asked 411 "${tls[@]}" -X POST "$url/login"
login 303 "$token" -H "Origin: $url" "${jar[@]}"
assert_contains "the answer" "$T/head" "location: ./"
grep -qiE '^set-cookie: __Host-heapcast-8157=[A-Z2-7]{26}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure.?$' "$T/head" || fail "$(cat "$T/head")"
! grep -q "$token" "$T/head" || fail "the token is the cookie"
cookie=$(sed -nE 's/^set-cookie: ([^;]*);.*/\1/ip' "$T/head")
asked 200 "${tls[@]}" "${html[@]}" "${jar[@]}" "$url/"
asked 200 "${tls[@]}" "${jar[@]}" "$url/list"
asked 200 "${tls[@]}" -H "Cookie: a=b; $cookie; c=d" "$url/list"
asked 409 "${tls[@]}" "${jar[@]}" "${order[@]}" -H "Origin: $url" "$url$control"
asked 403 "${tls[@]}" "${jar[@]}" "${order[@]}" -H 'Origin: https://example.org' "$url$control"
asked 403 "${tls[@]}" "${jar[@]}" "${order[@]}" -H 'Origin: https://10.78.0.1:9999' "$url$control"
asked 403 "${tls[@]}" "${jar[@]}" -H 'Origin: https://example.org' -X POST "$url/logout"
asked 200 "${tls[@]}" "${jar[@]}" "$url/list"
for wrong in "${cookie}A" "${cookie%?}" "${cookie%=*}=" "${cookie/8157/8158}" "${cookie%=*}=$token"; do
	asked 401 "${tls[@]}" -H "Cookie: $wrong" "$url/list"
done
login 303 "$token" -c "$T/second"
asked 405 "${tls[@]}" "${jar[@]}" "$url/logout"
asked 303 "${tls[@]}" "${jar[@]}" -d '' "$url/logout"
grep -qi '^set-cookie: .*Max-Age=0' "$T/head" || fail "the cookie stays: $(cat "$T/head")"
asked 401 "${tls[@]}" -H "Cookie: $cookie" "$url/list"
asked 200 "${tls[@]}" -b "$T/second" "$url/list"
asked 303 "${tls[@]}" -b "$T/second" -X POST "$url/logout"
asked 401 "${tls[@]}" -b "$T/second" "$url/list"
asked 303 "${tls[@]}" -d more=than-nothing "$url/logout"

# Wrong tokens: a few at once, then one a second; who is logged in is not kept waiting, nor who brings none.
login 303 "$token" -c "$T/third"
sleep 5
began=$(date +%s%N) wrong=0
for i in {1..30}; do
	got=$(curl -s -o "$T/answer" -m 20 -w '%{http_code}' "${tls[@]}" -H "Authorization: Bearer wrong-$i" "$url/list")
	case $got in 401) wrong=$((wrong + 1)) ;; 429) ;; *) fail "status $got" ;; esac
done
took=$((($(date +%s%N) - began) / 1000000000))
[ "$wrong" -ge 5 ] && [ "$wrong" -le $((6 + took)) ] || fail "$wrong of 30 tries were looked at in $took s"
# On one connection, so that they are quick: the last one is slowed for certain.
curl -s -o "$T/answer" -D "$T/head" -m 60 "${tls[@]}" -H "Authorization: Bearer $token-x" "$url/list?[1-40]"
assert_contains "what is said" "$T/answer" "too many wrong tokens"
grep -qi '^retry-after: 1' "$T/head" || fail "$(cat "$T/head")"
asked 200 "${tls[@]}" -b "$T/third" "$url/list"
asked 401 "${tls[@]}" "$url/list"
sleep 6
asked 200 "${tls[@]}" "${bearer[@]}" "$url/list"
stop
start "${BEYOND[@]}" "${TLS[@]}" --token "$T/token"
asked 401 "${tls[@]}" -b "$T/third" "$url/list"
stop
start --http 127.0.0.1:8157
asked 404 http://127.0.0.1:8157/login
asked 404 -d token=x http://127.0.0.1:8157/login
stop

# ---- behind a proxy ----

start "${BEYOND[@]}" --token "$T/token" --behind-proxy --allow-host heap.example.org --allow-host other.example.org
url=http://10.78.0.1:8157
asked 403 "${bearer[@]}" "$url/list"
assert_contains "which names" "$T/answer" "--allow-host"
asked 403 "${bearer[@]}" -H 'Host: example.org' "$url/list"
asked 403 "${bearer[@]}" -H 'Host: heap.example.org.evil.org' "$url/list"
asked 403 "${bearer[@]}" -H 'Host:' -0 "$url/list"
asked 401 -H 'Host: heap.example.org' "$url/list"
asked 200 "${bearer[@]}" -H 'Host: heap.example.org' "$url/list"
asked 200 "${bearer[@]}" -H 'Host: Other.example.org:8443' "$url/list"
asked 409 "${bearer[@]}" -H 'Host: heap.example.org' "${order[@]}" -H 'Origin: https://heap.example.org' "$url$control"
for origin in http://heap.example.org https://heap.example.org:8443 https://other.example.org null; do
	asked 403 "${bearer[@]}" -H 'Host: heap.example.org' "${order[@]}" -H "Origin: $origin" "$url$control"
done
# Wrong tokens count for the address that the proxy has written last.
proxied() { # STATUS FORWARDED TOKEN
	asked "$1" -H 'Host: heap.example.org' -H "X-Forwarded-For: $2" -H "Authorization: Bearer $3" "$url/list"
}
for i in {1..12}; do asked 401 -H 'Host: heap.example.org' "$url/list"; done
for i in 1 2 3; do
	curl -s -o "$T/answer" -H 'Host: heap.example.org' -H "X-Forwarded-For: 192.0.2.$i, 198.51.100.7" -H "Authorization: Bearer wrong" \
		"$url/list?[1-20]"
done
proxied 429 "192.0.2.1,198.51.100.7" "$token"
proxied 200 "198.51.100.7, 192.0.2.1" "$token"
proxied 200 "2001:db8::1" "$token"
asked 303 -H 'Host: heap.example.org' -H 'Origin: https://heap.example.org' -d "token=$token" "$url/login"
grep -qi '^set-cookie: __Host-heapcast-8157=.*; Secure.\?$' "$T/head" || fail "$(cat "$T/head")"
stop
# A proxy of this host brings others in.
start --http 127.0.0.1:8157 --token "$T/token" --behind-proxy --allow-host heap.example.org
url=http://127.0.0.1:8157
asked 403 "${bearer[@]}" "$url/list"
asked 401 -H 'Host: heap.example.org' "$url/list"
asked 200 -H 'Host: heap.example.org' "${bearer[@]}" "$url/list"
stop
