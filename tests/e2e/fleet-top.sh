#!/bin/bash
# `collector fleet --top` and /fleet/top: what a whole fleet has in use at a minute. Sums by minute are kept beside recordings; with
# them, without them, and where they are spoilt, answers are the same to the byte, and so are comparisons.
. "$(dirname "$0")/lib.sh"
need python3 jq curl

"$BUILD/tests/made-fleet" "$T/data" 20 20 16 7 board
fleet() { "$COLLECTOR" fleet --data "$T/data" "$@"; }
questions=("--step 1m" "--step 1m --align start" "--step 2m --last 10m" "--step 30s" "--top function" "--top site --count 3"
	"--top backtrace" "--top function --select host=gw-0*1")

ask_all() { # NAME
	local i
	for i in "${!questions[@]}"; do
		# shellcheck disable=SC2086 # words
		fleet ${questions[i]} --json >"$T/$1.$i"
	done
}
same_as_first() { # NAME
	local i
	for i in "${!questions[@]}"; do cmp "$T/first.$i" "$T/$1.$i" || fail "$1: fleet ${questions[i]} says something else"; done
}

# Nothing can be kept: what would hold the sums is a file.
for stream in "$T"/data/streams/*/; do : >"$stream/columns"; done
ask_all first
[ -z "$(find "$T/data" -name minutes)" ] || fail "sums were kept where they can't be"
for stream in "$T"/data/streams/*/; do rm "$stream/columns"; done
ask_all making
[ "$(find "$T/data" -name minutes | wc -l)" = 20 ] || fail "not all sums were kept"
[ -z "$(find "$T/data" -name 'minutes.*')" ] || fail "half a file was left behind"
same_as_first making
ask_all kept
same_as_first kept

# They are read, and not made again; what is spoilt is replaced.
inodes() { find "$T/data" -name minutes -printf '%i %p\n' | sort; }
inodes >"$T/before"
ask_all again
inodes | cmp - "$T/before" || fail "sums were made again"
mapfile -t files < <(find "$T/data" -name minutes | sort)
printf x | dd of="${files[0]}" bs=1 seek=100 conv=notrunc status=none
printf x | dd of="${files[1]}" bs=1 seek=$(($(stat -c %s "${files[1]}") - 3)) conv=notrunc status=none
truncate -s 50 "${files[2]}"
: >"${files[3]}"
rm "${files[4]}"
mkfifo "${files[4]}"
cp "${files[6]}" "${files[5]}"
ask_all spoilt
same_as_first spoilt
inodes >"$T/after"
[ "$(comm -13 "$T/before" "$T/after" | wc -l)" = 6 ] || fail "not what was spoilt was replaced: $(comm -13 "$T/before" "$T/after")"
touch "$(dirname "$(dirname "${files[7]}")")/recording.heapcast"
ask_all touched
same_as_first touched

# Other rules name other call sites, whether sums are kept or not.
echo 'parse_header' >"$T/rules"
fleet --hide-rules "$T/rules" --top function --json >"$T/rules.kept"
find "$T/data" -name columns -prune -exec rm -rf {} +
fleet --hide-rules "$T/rules" --top function --json >"$T/rules.made"
cmp "$T/rules.kept" "$T/rules.made"
grep -q '"function":"main"' "$T/rules.kept" || fail "rules hide nothing: $(cat "$T/rules.kept")"
[ -z "$(find "$T/data" -name minutes)" ] || fail "names by other rules were kept"

# The numbers are those of the recordings at that time.
fleet --top function --json --count 100 >"$T/top"
"$COLLECTOR" list --data "$T/data" --json >"$T/list"
python3 - "$T" <<'END'
import json, sys
top = json.load(open(f"{sys.argv[1]}/top"))
streams = json.load(open(f"{sys.argv[1]}/list"))["streams"]
assert top["streams"] == 20 and top["groups"] == len(top["rows"]) == 16, top
assert top["bytes"] == sum(r["bytes"] for r in top["rows"]) and top["blocks"] == sum(r["blocks"] for r in top["rows"])
assert [r["bytes"] for r in top["rows"]] == sorted((r["bytes"] for r in top["rows"]), reverse=True)
final = sum(s["in_use_bytes"] for s in streams)  # some seconds later
assert abs(top["bytes"] - final) < final / 20, (top["bytes"], final)
assert all(r["share"] == r["bytes"] * 1000 // top["bytes"] for r in top["rows"])
assert top["at_ns"] % 60000000000 == 0 and top["by"] == "function"
END
fleet --top backtrace --count 2 >"$T/text"
assert_contains "the text" "$T/text" "In use at " " of 20 streams in 16" "BACKTRACE" "and 14 more (--count)" ", src/gateway.c:"
[ "$(wc -L <"$T/text")" -le 80 ] || fail "lines of more than 80 columns: $(cat "$T/text")"

# Of what was sampled, the error is that of the recording, and exact numbers have none.
"$BUILD/tests/made-fleet" "$T/sampled" 2 20 4 7 "" 1 0 gw 8192
"$COLLECTOR" list --data "$T/sampled" --json | jq -r '.streams[] | .host + " " + .id' | sort >"$T/ids"
error_of() { "$COLLECTOR" fleet --data "$T/sampled" --top function --at "$2" --select "host=$1" --json; }
at=$("$COLLECTOR" fleet --data "$T/sampled" --top function --json | jq '.at_ns / 1000000000')
error_of gw-000 "@$at" >"$T/exact"
error_of gw-001 "@$at" >"$T/estimated"
grep -q bytes_error "$T/exact" && fail "an error of exact numbers: $(cat "$T/exact")"
read -r _ id < <(grep ^gw-001 "$T/ids")
"$COLLECTOR" top --data "$T/sampled" --by function --hide rules --at "$at" "$id" --json >"$T/alone"
python3 - "$T" <<'END'
import json, sys
fleet, alone = (json.load(open(f"{sys.argv[1]}/{name}")) for name in ("estimated", "alone"))
errors = {r["function"]: r["bytes_error"] for r in fleet["rows"]}
wanted = {r["function"]: r["value"]["bytes_error"] for r in alone["groups"]}
assert len(errors) == 4 and errors.keys() == wanted.keys(), (errors, wanted)
for name in errors:  # variances are rounded up to 1 KiB²
    assert wanted[name] <= errors[name] < wanted[name] * 1.001, (name, errors[name], wanted[name])
assert max(errors.values()) < fleet["bytes_error"] < sum(errors.values()), fleet
END
fleet_text() { "$COLLECTOR" fleet --data "$T/sampled" --top "$@"; }
fleet_text site >"$T/text"
grep -qE '^In use at .* \+- [0-9.]+ KiB in ' "$T/text" || fail "no error of all: $(cat "$T/text")"
[ "$(grep -cE '^ *[0-9.]+ [KM]iB \+- *[0-9.]+ [KM]iB  ' "$T/text")" = 4 ] || fail "no errors: $(cat "$T/text")"
[ "$(wc -L <"$T/text")" -le 80 ] || fail "lines of more than 80 columns: $(cat "$T/text")"

# Another minute.
at=$(jq '.at_ns / 1000000000 - 600' "$T/top")
fleet --top function --at "@$at" --json >"$T/earlier"
[ "$(jq .at_ns "$T/earlier")" = "${at}000000000" ] || fail "another minute than $at: $(cat "$T/earlier")"
fleet --top function --at "$(date -u -d "@$((at + 59))" '+%Y-%m-%dT%H:%M:%SZ')" --json | cmp - "$T/earlier"
fleet --top function --at "$(date -d "@$at" '+%Y-%m-%d %H:%M')" --json | cmp - "$T/earlier"
assert_status 1 fleet --top function --at '2021-01-01 00:00'
assert_status 2 fleet --top function --at yesterday
assert_status 2 fleet --top module
assert_status 2 fleet --at '2026-11-30 14:05'
assert_status 2 fleet --top function --step 1m
assert_status 1 fleet --top function --select host=nobody

# Over HTTP.
"$COLLECTOR" serve --data "$T/data" --http 127.0.0.1:18145 >"$T/serve" 2>&1 &
served=$!
wait_for 20 "the collector to listen" grep -q 18145 "$T/serve"
url=http://127.0.0.1:18145
curl -sS "$url/fleet/top?count=100" | jq -c . >"$T/rest"
jq -c 'del(.command, .schema)' "$T/top" | cmp - "$T/rest" || fail "REST says something else: $(cat "$T/rest")"
curl -sS "$url/fleet/top?by=site&count=3" | jq -c . >"$T/rest"
jq -c 'del(.command, .schema)' "$T/first.5" | cmp - "$T/rest"
curl -sS "$url/fleet/top?select=host%3Dnobody" >"$T/rest"
grep -q '"note":"there are no such streams"' "$T/rest" || fail "no note: $(cat "$T/rest")"
[ "$(curl -sS -o "$T/rest" -w '%{http_code}' "$url/fleet/top?at=now")" = 400 ] || fail "at=now: $(cat "$T/rest")"
kill $served
wait $served || true
