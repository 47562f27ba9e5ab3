#!/bin/bash
# ctest: LABELS full
# The page gives orders to real agents, takes a snapshot of them, and imports files; from elsewhere after a login.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
need curl openssl

(umask 077 && echo "not-for-everybody-$RANDOM" >"$T/token")
token=$(cat "$T/token")
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=desk -keyout "$T/key.pem" -out "$T/cert.pem" 2>"$T/openssl.out"
chmod 600 "$T/key.pem"
"$COLLECTOR" gather --interface lo --data "$T/data" --http 127.0.0.1:18085 --token "$T/token" >"$T/gather.out" 2>"$T/gather.err" &
gather=$!
wait_for 10 "the page" curl -s -o "$T/first" http://127.0.0.1:18085/
page=http://127.0.0.1:18085
"$COLLECTOR" serve --data "$T/data" --http 0.0.0.0:18086 --token "$T/token" --tls-cert "$T/cert.pem" --tls-key "$T/key.pem" >"$T/serve.out" 2>"$T/serve.err" &
server=$!
wait_for 10 "the page from elsewhere" grep -q Serving "$T/serve.out"
for name in obeys refuses; do
	cat >"$T/$name.py" <<'PYTHON'
import os, sys, time
kept = []
while not os.path.exists(sys.argv[1]):
    kept = kept[-50:] + [[bytearray(2000) for _ in range(100)]]
    time.sleep(0.02)
PYTHON
	orders=()
	[ $name = obeys ] || orders=(--orders no)
	"$AGENT" run --quiet --announce --interface lo --tag "kind=$name" "${orders[@]}" -- /usr/bin/python3 -S -E "$T/$name.py" "$T/stop" >"$T/$name.out" 2>"$T/$name.err" &
	agents+=($!)
done
cp "$ROOT/tests/fuzz/corpus/import_heaptrack/v3.zst" "$T/heaptrack.app.zst"
cp "$ROOT/tests/fuzz/corpus/import_heaptrack/undefined" "$T/broken"
play orders "$token" "$T/stop" "$T/heaptrack.app.zst" "$T/broken" https://127.0.0.1:18086
wait "${agents[@]}"
kill -TERM "$gather" "$server"
wait "$gather" "$server"
