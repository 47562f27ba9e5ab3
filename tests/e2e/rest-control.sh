#!/bin/bash
# Orders by REST: POST /data/ID/control of the server beside gather, what it answers, what it refuses, and from whom; what the
# recording says of it.
. "$(dirname "$0")/lib-serve.sh"
need curl python3
URL=http://127.0.0.1:18083

serve board --config "" --socket "$T/socket" --listen 127.0.0.1:8100
"$COLLECTOR" gather --data "$T/data" --no-discovery --listen off --http 127.0.0.1:18083 127.0.0.1:8100 >"$T/gather.out" 2>"$T/gather.err" &
gather=$!
wait_for 20 "the link" grep -q "^connected" "$T/gather.out"
HEAPCAST_SOCKET=$T/socket LD_PRELOAD=$PRELOAD "$BUILD/tests/e2e-rolling" 100 3000 "$T/end" >"$T/said" &
program=$!
wait_for 20 "the stream" grep -q began "$T/gather.out"
wait_for 20 "the recording" eval 'ask list --json | grep -q "\"pid\":$program"'

# The token is in the address that gather printed.
TOKEN=$(token_in "$T/gather.out")
[ "${#TOKEN}" = 26 ] || fail "no token in $(cat "$T/gather.out")"

# post STATUS BODY CURL-ARG...: the answer is in $T/answer; with the token TOKEN, none if it is empty
post() {
	local expected=$1 body=$2 id=${ID:-last} got
	shift 2
	[ -z "$TOKEN" ] || set -- -H "Authorization: Bearer $TOKEN" "$@"
	got=$(curl -s -m 20 -o "$T/answer" -w '%{http_code}' -H 'Content-Type: application/json' --data-binary "$body" "$@" "$URL/data/$id/control${QUERY-}")
	[ "$got" = "$expected" ] || fail "status $got instead of $expected for $body $*: $(cat "$T/answer")"
}
holds() { python3 -c 'import json, sys; a = json.load(open(sys.argv[1])); assert eval(sys.argv[2]), a' "$T/answer" "$1"; }

post 200 '{"action":"stop"}'
holds 'a["mode"] == "off" and a["time_ns"] > 0 and len(a["id"]) == 32'
post 200 ' { "action" : "start" } '
holds 'a["mode"] == "full"'
post 200 '{"action":"mode","mode":"sample","interval":65536}'
holds 'a["mode"] == "sample" and a["interval"] == 65536'
post 200 '{"action":"mode","mode":"sample=4K"}'
holds 'a["interval"] == 4096'
post 200 '{"action":"snapshot"}'
holds 'a["snapshot"] == 1'
post 200 '{"text":"gr\u00fcn \"\ud83d\ude00\"\n<b>","action":"mark"}'
ID=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"][:8])' "$T/answer") post 200 '{"action":"mode","mode":"full"}'

# Reading takes no token here, an order does, as others may share this machine. Who has none hears where it is.
assert_eq "reading without the token" 200 "$(curl -s -o "$T/answer" -w '%{http_code}' "$URL/list")"
for wrong in "" "x$TOKEN" "${TOKEN:0:25}" "${TOKEN}A"; do
	TOKEN=$wrong post 401 '{"action":"stop"}'
	holds '"#token=" in a["error"]'
done
assert_eq "statements of SQL are questions" 200 "$(curl -s -o "$T/answer" -w '%{http_code}' -d 'select 1' "$URL/data/last/sql")"
for path in data/last/sql data/last/execute_script; do
	assert_eq "$path of a page from elsewhere" 403 "$(curl -s -o "$T/answer" -w '%{http_code}' -H 'Origin: http://example.org' -d 'select 1' "$URL/$path")"
done

# What makes no sense is named.
for body in '{}' '[]' '' 'stop' '{"action":"fly"}' '{"action":"stop"' '{"action":"stop"}x' '{"action":1}' '{"action":"mark"}' \
	'{"action":"mark","text":""}' '{"action":"stop","action":"start"}' '{"action":"stop","speed":"high"}' '{"action":"mode"}' \
	'{"action":"mode","mode":"often"}' '{"action":"mode","mode":"full","interval":5}' '{"action":"mode","mode":"sample","interval":0}' \
	'{"action":"mode","mode":"sample","interval":1e9}' '{"action":"mode","mode":"sample","interval":99999999999}' \
	'{"action":"mark","text":"\ud800"}' '{"action":"stop","text":"now"}' '{"action":"mode","mode":"full","text":"x"}' \
	"{\"action\":\"mark\",\"text\":\"$(printf 'x%.0s' {1..1025})\"}"; do
	expected=400
	[ -n "$body" ] || expected=411
	post "$expected" "$body"
	holds 'len(a["error"]) > 10'
done
post 400 '{"action":"stop","speed":"high"}'
holds 'a["parameter"] == "speed"'
post 413 "{\"action\":\"mark\",\"text\":\"$(printf 'x%.0s' {1..9000})\"}"
QUERY='?now=1' post 400 '{"action":"stop"}'
ID=ffff post 404 '{"action":"stop"}'
assert_eq "a GET" 405 "$(curl -s -o "$T/answer" -w '%{http_code}' "$URL/data/last/control")"
assert_eq "a POST elsewhere" 405 "$(curl -s -o "$T/answer" -w '%{http_code}' -d x=1 "$URL/data/last/report")"
assert_eq "a DELETE" 405 "$(curl -s -o "$T/answer" -w '%{http_code}' -X DELETE "$URL/data/last/control")"

# A page from elsewhere: by its origin, by the type that a form can send, by a name that it has for this machine.
post 403 '{"action":"stop"}' -H 'Origin: http://example.org'
post 403 '{"action":"stop"}' -H 'Origin: null'
post 200 '{"action":"mark","text":"own page"}' -H "Origin: $URL"
post 403 '{"action":"stop"}' -H 'Host: example.org'
assert_eq "a form" 415 "$(curl -s -o "$T/answer" -w '%{http_code}' -H "Authorization: Bearer $TOKEN" -d '{"action":"stop"}' "$URL/data/last/control")"
assert_eq "plain text" 415 "$(curl -s -o "$T/answer" -w '%{http_code}' -H "Authorization: Bearer $TOKEN" -H 'Content-Type: text/plain' -d '{"action":"stop"}' "$URL/data/last/control")"

# A body that comes slowly, or never; the next request of a connection whose body was refused.
exec 9<>/dev/tcp/127.0.0.1/18083
printf 'POST /data/last/control HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 35\r\n\r\n' "$TOKEN" >&9
sleep 0.3
printf '{"action":"mark",' >&9
sleep 0.3
printf '"text":"in parts"}' >&9
wait_for 5 "the answer" eval 'timeout 1 head -n 1 <&9 | grep -q "200"'
exec 9>&-

# A server of its own, with a token that was given, hands orders on to the collector at work in the folder.
(umask 077 && echo a-token-of-the-test >"$T/token")
"$COLLECTOR" serve --data "$T/data" --http 127.0.0.1:18084 --token "$T/token" >"$T/serve.out" 2>"$T/serve.err" &
server=$!
wait_for 20 "the server" grep -q 18084 "$T/serve.out"
URL=http://127.0.0.1:18084 post 401 '{"action":"stop"}'
TOKEN=a-token-of-the-test
URL=http://127.0.0.1:18084 post 403 '{"action":"stop"}' -H 'Origin: http://example.org'
URL=http://127.0.0.1:18084 post 200 '{"action":"mark","text":"with the token"}'
! grep -q '#' "$T/serve.out" || fail "a token that was given is printed: $(cat "$T/serve.out")"
TOKEN=$(token_in "$T/gather.out")
kill "$server"
wait "$server" || true

touch "$T/end"
wait "$program"
wait_for 20 "its end" grep -q "rolling .* ended " "$T/gather.out"
post 409 '{"action":"stop"}'
holds '"ended" in a["error"]'
curl -s "$URL/openapi.json" | python3 -c '
import json, sys
p = json.load(sys.stdin)["paths"]["/data/{id}/control"]
assert list(p) == ["post"] and "action" in p["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"], p'
kill -TERM "$gather"
wait "$gather"
stop_serve board

ask ledger last --json >"$T/ledger.json" || fail "the account does not balance"
python3 - "$T/ledger.json" <<'PYTHON'
import json, sys
states = [(s["state"], s["value"], s.get("text", "")) for s in json.load(open(sys.argv[1]))["states"]]
assert states == [("stopped", 0, ""), ("started", 0, ""), ("mode", 65536, ""), ("mode", 4096, ""), ("snapshot", 1, ""),
                  ("text", 0, "gr\u00fcn \"\U0001f600\" <b>"), ("mode", 0, ""), ("text", 0, "own page"), ("text", 0, "in parts"), ("text", 0, "with the token")], states
print(len(states), "orders by REST")
PYTHON
