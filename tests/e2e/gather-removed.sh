#!/bin/bash
# What a collector writes is removed under it. If the folder of a stream is removed or moved away, the stream begins
# anew with what its agent still has, and says that something is missing. If the catalogue is removed, it is made anew.
# Each is said, by name.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"

# An old stream, which nobody writes any more, and one that lives.
"$AGENT" run --quiet --output "$T/old.heapcast" -- "$BUILD/tests/e2e-kinds"
"$COLLECTOR" import --data "$T/desk" "$T/old.heapcast" >/dev/null 2>&1
gather desk --no-discovery --listen off 127.0.0.1:8172
start_agent board 8172 -- "$BUILD/tests/e2e-rolling" 300 1000 "$T/end"
# shellcheck disable=SC2317 # called by wait_for
live() { "$COLLECTOR" list --data "$T/desk" --json 2>/dev/null | grep -o '{[^}]*"state":"live"[^}]*}'; }
wait_for 20 "the stream" eval '[ -n "$(live)" ]'
stream=$(live | sed 's/.*"id":"\([0-9a-f]*\)".*/\1/')
in_use() { live | grep -o '"in_use_bytes":[0-9]*' | cut -d: -f2; }
wait_for 20 "what is in use" eval '[ "$(in_use)" -gt 300000 ]'

# ---- the catalogue ----
rm -f "$T"/desk/catalogue.sqlite*
[ "$(in_use)" -gt 300000 ] || fail "without a catalogue list says $(in_use) bytes in use"
wait_for 20 "a new catalogue" test -s "$T/desk/catalogue.sqlite"
wait_for 20 "a word of it" grep -q "the catalogue of .*/desk was removed: it is made anew" "$T/desk.err"
[ "$(in_use)" -gt 300000 ] || fail "with a new catalogue list says $(in_use) bytes in use"
assert_eq "streams in list" 2 "$("$COLLECTOR" list --data "$T/desk" --json | grep -o '"id"' | wc -l)"
wait_for 20 "the old stream in the new catalogue" eval \
	'[ "$(python3 -c "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(\"select count(*) from streams\").fetchone()[0])" "$T/desk/catalogue.sqlite")" = 2 ]'

# ---- the stream ----
again() { # HOW
	local before
	before=$(grep -c "was removed while it was being written" "$T/desk.err" || true)
	"$@"
	wait_for 20 "a word of it" eval '[ "$(grep -c "was removed while it was being written" "$T/desk.err")" -gt '"$before"' ]'
	assert_contains "what it says" "$T/desk.err" "stream $stream of e2e-rolling: "
	wait_for 20 "a new recording" test -s "$T/desk/streams/$stream/recording.heapcast"
}
again rm -r "$T/desk/streams/$stream"
again mv "$T/desk/streams/$stream" "$T/elsewhere"
again rm "$T/desk/streams/$stream/recording.heapcast"
touch "$T/end"
wait_agent board
wait_idle desk 1
stop_gather desk
assert_eq "streams in list" 2 "$("$COLLECTOR" list --data "$T/desk" --json | grep -o '"id"' | wc -l)"
assert_status 0 adds_up --data "$T/desk" "$stream" >"$T/ledger.txt"
cat "$T/ledger.txt"
[ -s "$T/elsewhere/recording.heapcast" ] || fail "what was moved away was cut"
"$COLLECTOR" ledger "$T/elsewhere" >/dev/null || [ $? = 1 ] || fail "what was moved away can't be read"
