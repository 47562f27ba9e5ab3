#!/bin/bash
# `collector fleet`: a leak planted on one of 200 boards, and a growth planted in one build, are the first finding; a fleet without a
# plant is told nothing; the same recordings give the same bytes; the digest is that of the report; --fail-if is a gate.
. "$(dirname "$0")/lib.sh"
need python3 sha256sum

made() { # NAME PLANT
	"$BUILD/tests/made-fleet" "$T/$1" 200 60 16 7 "$2"
	"$COLLECTOR" fleet --data "$T/$1" >"$T/$1.out"
	"$COLLECTOR" fleet --data "$T/$1" --json >"$T/$1.json"
}
made none ""
made board board
made build build

assert_contains "a fleet without a plant" "$T/none.out" "Nothing stands out."
assert_contains "the leak" "$T/board.out" "  1. Leak: parse_header" "on 1 of 200 boards: gw-066" "the other boards: median"
assert_contains "the growth" "$T/build.out" "  1. Growth in build b2b2b2b2: cache_put" "on 100 of 200 boards:" \
	"boards with build a1a1a1a1 before: median"
[ "$(wc -L <"$T/build.out")" -le 80 ] || fail "lines of more than 80 columns: $(cat "$T/build.out")"

# What is planted: 8 KiB a minute, on the board from the middle on.
python3 - "$T" <<'END'
import hashlib, json, sys
for name, kind, function, boards, grown in (("none", None, None, 0, 0),
                                            ("board", "leak_on_boards", "parse_header", 1, 28 * 8192),
                                            ("build", "growth_in_build", "cache_put", 100, 57 * 8192)):
    answer = json.load(open(f"{sys.argv[1]}/{name}.json"))
    report = answer["report"]
    text = json.dumps(report, separators=(",", ":"), ensure_ascii=False).encode()
    assert hashlib.sha256(text).hexdigest() == answer["sha256"], name
    assert report["boards"] == 200 and report["streams"] == 200 and report["unread"] == 0, report
    assert len(report["findings"]) == (kind is not None), report["findings"]
    if not kind:
        continue
    first = report["findings"][0]
    assert (first["kind"], first["function"], len(first["boards"])) == (kind, function, boards), first
    assert abs(first["median"] - grown) < grown / 10, (first["median"], grown)
    assert abs(first["others_median"]) < 1024, first
    if name == "board":
        begun = (report["to_ns"] - first["since_ns"]) / 60e9
        assert 25 <= begun <= 33, begun
    growth = next(f for f in report["functions"] if f["function"] == function)
    assert growth["growing"] == boards and growth["boards"] == 200, growth
END

# The same bytes, whatever the order of the folders and the number of processors.
cp -r "$T/build" "$T/again"
taskset -c 0 "$COLLECTOR" fleet --data "$T/again" --json >"$T/again.json"
cmp "$T/build.json" "$T/again.json" || fail "the same recordings give two reports"

# By age, of a part of the time, of a part of the boards.
"$COLLECTOR" fleet --data "$T/board" --align start >"$T/age.out"
assert_contains "by age" "$T/age.out" "since the start of each process" "  1. Leak: parse_header"
# Moments are at whole minutes of the clock.
grep -Eq "from an age of (28|30) min on" "$T/age.out" || fail "by age: $(cat "$T/age.out")"
"$COLLECTOR" fleet --data "$T/board" --last 20m --step 1m >"$T/last.out"
assert_contains "the last minutes" "$T/last.out" "  1. Leak: parse_header" "during the whole time shown"
"$COLLECTOR" fleet --data "$T/board" --select 'host!=gw-066' >"$T/others.out"
assert_contains "without that board" "$T/others.out" "Fleet: 199 boards" "Nothing stands out."

"$COLLECTOR" fleet --data "$T/board" --step 30s >"$T/cut.out"
assert_contains "a time that is cut" "$T/cut.out" "There is older data; these are the last 48 moments"

# Builds of few boards; too few.
for boards in 6 12 24; do
	"$BUILD/tests/made-fleet" "$T/few$boards" "$boards" 60 64 1 build
	assert_status 1 "$COLLECTOR" fleet --data "$T/few$boards" --fail-if growths_in_builds >"$T/few.out"
	assert_contains "$boards boards" "$T/few.out" "  1. Growth in build b2b2b2b2: cache_put" "on $((boards / 2)) of $boards boards"
done
"$BUILD/tests/made-fleet" "$T/few4" 4 60 64 1 build
"$COLLECTOR" fleet --data "$T/few4" >"$T/few.out"
assert_contains "four boards" "$T/few.out" "Nothing stands out." "Too few boards to tell that one differs" "Too few boards to compare builds" \
	"most on gw-00"

# A gate.
assert_status 1 "$COLLECTOR" fleet --data "$T/build" --fail-if 'growths_in_builds > 0'
assert_status 0 "$COLLECTOR" fleet --data "$T/board" --fail-if 'growths_in_builds > 0'
assert_status 2 "$COLLECTOR" fleet --data "$T/board" --fail-if 'growth_in_builds > 0'

# It does not hold where nothing could be judged.
"$BUILD/tests/made-fleet" "$T/short" 6 5 16 1 build
assert_status 3 "$COLLECTOR" fleet --data "$T/short" --step 1m --fail-if 'findings > 0'
assert_status 0 "$COLLECTOR" fleet --data "$T/short" --step 1m >"$T/short.out"
assert_contains "five minutes" "$T/short.out" "6 of 6 boards cannot be judged" "         -         -"
assert_status 3 "$COLLECTOR" fleet --data "$T/board" --select 'host=nobody' --fail-if 'findings > 0'

# Whose streams these are: by host where there are several, in 80 columns.
"$COLLECTOR" list --data "$T/none" >"$T/list.out"
assert_eq "titles of a fleet's list" "ID STARTED HOST PROGRAM IN USE STATE" "$(sed -n 1p "$T/list.out" | tr -s ' ')"
assert_eq "hosts in a fleet's list" 200 "$(grep -Eo '^[0-9a-f]{12} [-0-9]+ [0-9:]+ gw-[0-9]{3} ' "$T/list.out" | cut -d ' ' -f 4 | sort -u | wc -l)"
[ "$(wc -L <"$T/list.out")" -le 80 ] || fail "lines of more than 80 columns: $(cat "$T/list.out")"
"$COLLECTOR" list --data "$T/none" --select 'host=gw-007' >"$T/list.out"
assert_eq "titles of a host's list" "ID STARTED PROGRAM PID EVENTS IN USE STATE" "$(sed -n 1p "$T/list.out" | tr -s ' ')"

# Wrong input, and a recording that can't be read.
assert_status 2 "$COLLECTOR" fleet --data "$T/board" --step 1500ms
assert_status 2 "$COLLECTOR" fleet --data "$T/board" --align now
assert_status 2 "$COLLECTOR" fleet --data "$T/board" --select 'hots=a'
assert_status 1 "$COLLECTOR" fleet --data "$T/board" --select 'host=nobody'
assert_status 2 "$COLLECTOR" fleet --data "$T/nowhere"
streams=("$T"/none/streams/*/)
first=${streams[0]}
rm -rf "$first/columns"
printf 'nonsense' >"$first/recording.heapcast"
"$COLLECTOR" fleet --data "$T/none" >"$T/spoilt.out"
assert_contains "a spoilt recording" "$T/spoilt.out" "1 stream could not be read"
rm "$first/recording.heapcast"
mkfifo "$first/recording.heapcast"
"$COLLECTOR" list --data "$T/none" >"$T/list.out" 2>"$T/list.err"
assert_contains "what list says" "$T/list.err" "1 stream is left out"
"$COLLECTOR" fleet --data "$T/none" >"$T/fifo.out"
assert_contains "a FIFO" "$T/fifo.out" "1 stream could not be read" "Fleet: 199 boards"
rm "$T"/none/streams/*/recording.heapcast
assert_status 3 "$COLLECTOR" fleet --data "$T/none" --fail-if 'findings > 0'
