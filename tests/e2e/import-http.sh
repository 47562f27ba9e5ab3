#!/bin/bash
# Files that are imported over HTTP: by whom, of which kinds, under hostile names, beside the collector that gathers,
# and what a hostile file may cost. /rights, too, by which the page knows what it may do.
. "$(dirname "$0")/lib.sh"
need curl python3
cd "$T"
mkdir data
printf 'main;read;take 300\nmain;write 40\n' >some.collapsed
"$AGENT" run --quiet --output rec.heapcast -- "$BUILD/tests/e2e-plain" >said || true
"$COLLECTOR" serve --data data --http 127.0.0.1:18111 >serve.out 2>serve.err &
server=$!
wait_for 20 "the server" grep -q 18111 serve.out
URL=http://127.0.0.1:18111
TOKEN=$(token_in serve.out)

# send STATUS FILE QUERY CURL-ARG...: the answer is in `answer`
send() {
	local expected=$1 file=$2 query=$3 got
	shift 3
	[ -z "$TOKEN" ] || set -- -H "Authorization: Bearer $TOKEN" "$@"
	got=$(curl -s -m 60 -o answer -w '%{http_code}' -H 'Content-Type: application/octet-stream' --data-binary "@$file" "$@" "$URL/import$query" || true)
	[ "$got" = "$expected" ] || fail "status $got instead of $expected for $file $query $*: $(cat answer)"
}
holds() { python3 -c 'import json, sys; a = json.load(open("answer")); assert eval(sys.argv[1]), a' "$1"; }
listed() { curl -s "$URL/list" | python3 -c 'import json, sys; [print(s["name"]) for s in json.load(sys.stdin)]'; }
rights() { curl -s -o answer "$@" "$URL/rights"; }

# ---- who may ----
rights
holds 'not a["orders"] and "#token=" in a["why"] and a["data"] and a["import_bytes"] > 1 << 20 and not a["login"]'
rights -H "Authorization: Bearer x$TOKEN"
holds 'not a["orders"] and "not the token" in a["why"]'
rights -H "Authorization: Bearer $TOKEN"
holds 'a["orders"] and "why" not in a'
TOKEN='' send 401 some.collapsed '?name=x'
send 403 some.collapsed '?name=x' -H 'Origin: http://example.org'
send 415 some.collapsed '?name=x' -H 'Content-Type: text/plain'
send 411 /dev/null '?name=x'
send 400 some.collapsed '?colour=red'
holds 'a["parameter"] == "colour"'
send 400 some.collapsed "?name=$(printf 'x%.0s' {1..256})"
send 400 some.collapsed '?format=nonsense'
assert_contains "a format" answer 'format takes'
assert_eq "a GET" 405 "$(curl -s -o answer -w '%{http_code}' "$URL/import")"
assert_eq "nothing came of it" "" "$(listed)"

# ---- names lead nowhere, and take nobody's place ----
for name in ../../../../tmp/stolen /stolen '..%2f..%2fstolen' some.collapsed some.collapsed; do
	send 200 some.collapsed "?name=$name" -H "Origin: $URL"
	holds 'a["file"] in ("stolen", "some.collapsed") and a["format"] == "collapsed" and a["events"] == 2'
done
assert_eq "files of that name" "" "$(find / -maxdepth 2 -name stolen 2>/dev/null; find "$T" -name stolen)"
assert_eq "all are there" "stolen stolen stolen some.collapsed some.collapsed" "$(listed | paste -sd' ')"
send 200 some.collapsed '?name=%1b%5b31m%3cimg%20src=x%3e%ff'
holds '"\x1b" not in a["file"] and "\n" not in a["file"] and a["file"].endswith("?") and "<img src=x>" in a["file"]'
send 200 some.collapsed '?name=.&unit=blocks'
send 200 some.collapsed ''
holds 'a["file"] == "file"'
id=$(python3 -c 'import json; print(json.load(open("answer"))["id"])')
curl -s "$URL/data/$id/report" >answer
holds 'a["allocated"]["bytes"] == 340'

# ---- every kind, and what is none ----
corpus=$ROOT/tests/fuzz/corpus
for file in import_heaptrack/v3.zst import_jemalloc/exact import_gperftools/exact import_pprof/four.gz import_pprof/four; do
	send 200 "$corpus/$file" "?name=${file##*/}"
	holds "a['format'] == '$(echo "${file%/*}" | sed 's/import_//')'"
done
send 200 rec.heapcast '?name=rec.heapcast'
holds 'a["format"] == "heapcast" and a["events"] > 0'
send 200 rec.heapcast '?name=rec.heapcast'
holds '"nothing new" in a["note"] and a["events"] == 0'
count=$(listed | wc -l)
send 400 "$corpus/import_heaptrack/undefined" '?name=my.file'
assert_contains "what and where" answer 'my.file: line 3: string 9 is not defined'
send 400 "$COLLECTOR" '?name=collector'
assert_contains "none" answer 'collector is of no format that is known here'
{ head -c 4 rec.heapcast; head -c 100000 /dev/urandom; } >noise
send 400 noise '?name=noise.heapcast'
assert_contains "noise" answer 'noise.heapcast is no recording'
assert_eq "nothing of them stays" "$count" "$(listed | wc -l)"
assert_eq "nor on the disk" "$count" "$(find data/streams -mindepth 1 -maxdepth 1 | wc -l)"

# ---- who goes away in the middle leaves nothing; nor does what takes too much ----
awk 'BEGIN { for (i = 0; i < 300000; i++) printf "main;f%d;g%d %d\n", i % 1000, i, 1 + i % 50 }' >long
curl -s --limit-rate 100K -m 1 -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/octet-stream' --data-binary @long "$URL/import?name=gone" && fail "that was too quick"
worker() { # DISK MEMORY: as the server starts it
	"$COLLECTOR" import-worker -- data "$1" "$2" long - - <long >said 2>said.err && fail "it took the file: $(cat said)"
	[ "$(cut -c 1-4 said)" = "422 " ] || fail "it says $(cat said said.err)"
}
worker 100000 0
assert_contains "a disk that may hold no more" said "writing the recording"
worker 0 20000000
send 200 some.collapsed '?name=after'
assert_eq "what is left" "$((count + 1))" "$(find data/streams -mindepth 1 -maxdepth 1 | wc -l)"
send 200 long '?name=long'
kill "$server"
wait "$server" || fail "the server ended with $?"

# ---- beside the collector that gathers, with what it may keep ----
"$COLLECTOR" gather --data data --no-discovery --listen 127.0.0.1:18112 --keep-size 2M --http 127.0.0.1:18111 >gather.out 2>gather.err &
gather=$!
wait_for 20 "the page" grep -q 18111 gather.out
TOKEN=$(token_in gather.out)
rights
holds 'a["import_bytes"] == 2 << 20'
send 413 long '?name=long' --limit-rate 50M
wait_for 20 "an import beside the one who gathers" eval 'send 200 some.collapsed "?name=beside"; listed | grep -q beside'
kill -TERM "$gather"
wait "$gather"

# ---- without a folder there is no room ----
"$COLLECTOR" serve --data none --http 127.0.0.1:18111 rec.heapcast >files.out 2>files.err &
server=$!
wait_for 20 "the server" grep -q 18111 files.out
TOKEN=$(token_in files.out)
send 409 some.collapsed '?name=x'
assert_contains "where to" answer -- '--data DIR'
kill "$server"
wait "$server"
