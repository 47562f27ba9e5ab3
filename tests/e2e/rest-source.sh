#!/bin/bash
# /data/ID/source: text and sums of a source file, of files that debug information names and below --source alone, with the token.
. "$(dirname "$0")/lib.sh"
need curl python3
"$AGENT" run --quiet --output "$T/planted.heapcast" -- "$BUILD/tests/e2e-planted" >"$T/said"
mkdir -p "$T/copy/programs" "$T/other"
cp "$TEST_SOURCE/programs/planted.c" "$T/copy/programs/planted.c"
echo secret >"$T/secret.c"
ln -s "$T/secret.c" "$T/other/planted.c"
"$COLLECTOR" serve --http 127.0.0.1:18087 --data "$T/data" --source "$T/other" --source "$TEST_SOURCE/programs=$T/copy/programs" "$T/planted.heapcast" >"$T/serve.out" 2>"$T/serve.err" &

wait_for 10 "the server" grep -q Serving "$T/serve.out"
token=$(sed -n 's/.*#token=//p' "$T/serve.out")
URL=http://127.0.0.1:18087/data/last/source

# Name of the file, as a frame has it.
file=$(curl -s "http://127.0.0.1:18087/data/last/flame" | python3 -c '
import json, sys
print(next(s for s in json.load(sys.stdin)["strings"] if s.endswith("planted.c")))')
ask() { # STATUS FILE [CURL-ARG...]
	local wanted=$1 name=$2
	shift 2
	assert_eq "status for $name" "$wanted" "$(curl -s -o "$T/answer" -w '%{http_code}' --get "$@" --data-urlencode "file=$name" "$URL")"
}
ask 401 "$file"
ask 200 "$file" -H "Authorization: Bearer $token"
python3 - "$T/answer" "$T/copy/programs/planted.c" <<'PYTHON' || fail "the answer"
import json, sys
answer, text = json.load(open(sys.argv[1])), open(sys.argv[2]).read().splitlines()
assert answer["lines"] == text, "the text"
sums = {text[s["line"] - 1].strip(): s for s in answer["sums"]}
leak = sums["char *session = malloc(1000);"]
assert (leak["bytes"], leak["blocks"], leak["self_bytes"]) == (200000, 200, 200000), leak
called = sums["forget_session();"]
assert (called["bytes"], called["blocks"], called["self_bytes"]) == (200000, 200, 0), called
main = next(s for line, s in sums.items() if line.startswith("serve_request("))
assert main["blocks"] == 10000 + 500 + 200, main
PYTHON
ask 200 "$file" -H "Authorization: Bearer $token" --data-urlencode value=leaked --data-urlencode size_max=10
python3 -c 'import json, sys; assert not json.load(open(sys.argv[1]))["sums"]' "$T/answer" || fail "filters"
# What nothing of the recording is in, and what is elsewhere, by whatever name.
for name in "$T/secret.c" /etc/passwd ../../../../etc/passwd "$file/" "$T/other/planted.c" ""; do
	ask "$([ -n "$name" ] && echo 404 || echo 400)" "$name" -H "Authorization: Bearer $token"
	! grep -q "secret\|root:" "$T/answer" || fail "$name was served: $(cat "$T/answer")"
done
# Without a folder nothing is served, and a link out of one leads nowhere.
for folder in "" "--source $T/other"; do
	# shellcheck disable=SC2086 # an option and its value
	"$COLLECTOR" serve --http 127.0.0.1:18088 --data "$T/data" $folder "$T/planted.heapcast" >"$T/serve2.out" 2>"$T/serve2.err" &
	server=$!
	wait_for 10 "the server" grep -q Serving "$T/serve2.out"
	URL=http://127.0.0.1:18088/data/last/source
	ask 404 "$file" -H "Authorization: Bearer $(sed -n 's/.*#token=//p' "$T/serve2.out")"
	! grep -q secret "$T/answer" || fail "a link out of the folder: $(cat "$T/answer")"
	kill "$server"
	wait "$server" || true
	: >"$T/serve2.out"
done
assert_status 2 "$COLLECTOR" serve --http 127.0.0.1:18089 --source "$T/missing" "$T/planted.heapcast"
