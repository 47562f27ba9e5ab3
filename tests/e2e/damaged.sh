#!/bin/bash
# Recordings that a disk or a dying agent has cut or damaged: all whole frames are used, the rest is counted, and the place
# is named. Nothing is ever taken for what it is not.
. "$(dirname "$0")/lib.sh"
"$AGENT" run --quiet --output "$T/whole.heapcast" -- "$BUILD/tests/e2e-killed" 100000 >/dev/null || true

# One number of the ledger's JSON.
number() {
	grep -o "\"$1\": *[0-9]*" "$2" | head -n 1 | grep -o '[0-9]*$'
}

# The ledger of a file; its exit status goes to $status.
ledger_of() {
	status=0
	"$COLLECTOR" ledger --json "$1" >"$T/ledger.json" 2>"$T/ledger.err" || status=$?
}

size=$(stat -c %s "$T/whole.heapcast")
ledger_of "$T/whole.heapcast"
assert_eq "exit status for the whole recording" 0 "$status"
assert_eq "bytes cut off the whole recording" 0 "$(number cut_bytes "$T/ledger.json")"
whole=$(number stored "$T/ledger.json")

# Cut in the middle of a frame, more and more.
last=$whole
for percent in 97 80 50 20; do
	head -c $((size * percent / 100)) "$T/whole.heapcast" >"$T/cut.heapcast"
	ledger_of "$T/cut.heapcast"
	[ "$status" -le 1 ] || { cat "$T/ledger.err"; fail "a recording cut at $percent % can't be read: status $status"; }
	stored=$(number stored "$T/ledger.json")
	cut=$(number cut_bytes "$T/ledger.json")
	assert_eq "exit status of a recording cut at $percent %" 1 "$status"
	assert_contains "the ledger of a recording cut at $percent %" "$T/ledger.json" '"adds_up":true' '"complete":false' \
		"the file is cut off: its last $(printf "%'d" "$cut" | sed ':a; s/\B[0-9]\{3\}\>/,&/; ta') bytes are left out"
	[ ! -s "$T/ledger.err" ] || fail "it is said twice that the recording is cut: $(cat "$T/ledger.err")"
	[ "$cut" -gt 0 ] && [ "$cut" -lt "$size" ] || fail "cut at $percent %: $cut bytes counted as cut"
	[ "$stored" -le "$last" ] && [ "$stored" -lt "$whole" ] || fail "cut at $percent %: $stored events of $whole"
	last=$stored
done
# What was there before the cut is in the report.
head -c $((size * 97 / 100)) "$T/whole.heapcast" >"$T/cut.heapcast"
assert_status 0 "$COLLECTOR" report "$T/cut.heapcast" >"$T/report.txt"
assert_contains "the report of a cut recording" "$T/report.txt" keep_a_block

# Cut within its first frame, it has nothing that can be told: each command says so, and none shows zeros.
head -c 40 "$T/whole.heapcast" >"$T/cut.heapcast"
for command in report top leaks timeline ledger "diff --base $T/whole.heapcast" "export --format json" "strip -o $T/strip.heapcast" \
	"pack -o $T/pack.heapcast" "import --data $T/store"; do
	# shellcheck disable=SC2086
	assert_status 2 "$COLLECTOR" $command "$T/cut.heapcast" >"$T/out.txt" 2>"$T/said.err"
	assert_contains "$command of a file with no whole frame" "$T/said.err" \
		"$T/cut.heapcast is cut off before its first event: nothing of it can be read"
	[ ! -s "$T/out.txt" ] || fail "$command of a file with no whole frame prints: $(cat "$T/out.txt")"
done
[ ! -e "$T/strip.heapcast" ] && [ ! -e "$T/pack.heapcast" ] || fail "something is left: $(ls "$T")"

# A byte in the middle is another one: a frame less, the place is named, and it is not complete.
cp "$T/whole.heapcast" "$T/bad.heapcast"
printf '\377' | dd of="$T/bad.heapcast" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
cmp -s "$T/whole.heapcast" "$T/bad.heapcast" && printf '\000' |
	dd of="$T/bad.heapcast" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
ledger_of "$T/bad.heapcast"
assert_eq "exit status for a damaged recording" 1 "$status"
assert_eq "damaged places" 1 "$(number damaged_places "$T/ledger.json")"
assert_contains "the ledger of a damaged recording" "$T/ledger.json" "bytes of the recording are damaged, in 1 place, the first at"

# A bit in the last frame of a file that is whole is another one: that is damage, and no cut.
last=$(LC_ALL=C grep -abo $'\x04\x22\x4d\x18' "$T/whole.heapcast" | tail -n 1 | cut -d: -f1)
for at in $((last + 7)) $((last + 16)) $(((last + size) / 2)) $((size - 6)) $((size - 1)); do
	python3 - "$T/whole.heapcast" "$T/bad.heapcast" "$at" <<-'PYTHON'
		import sys
		data = bytearray(open(sys.argv[1], "rb").read())
		data[int(sys.argv[3])] ^= 0x20
		open(sys.argv[2], "wb").write(data)
	PYTHON
	ledger_of "$T/bad.heapcast"
	assert_eq "exit status with another bit at $at of $size" 1 "$status"
	assert_eq "bytes cut off, with another bit at $at" 0 "$(number cut_bytes "$T/ledger.json")"
	assert_eq "bytes that are damaged, with another bit at $at" "$((size - last))" "$(number skipped_bytes "$T/ledger.json")"
	assert_contains "the account with another bit at $at" "$T/ledger.json" '"adds_up":true' '"complete":false' \
		"without an end, and what followed is not known"
done

# Not recordings.
: >"$T/empty"
head -c 100000 /dev/urandom >"$T/noise"
for file in "$T/empty" "$T/noise" "$COLLECTOR"; do
	status=0
	"$COLLECTOR" report "$file" >"$T/out.txt" 2>"$T/said.err" || status=$?
	[ "$status" = 2 ] || [ "$status" = 3 ] || fail "report of $file: status $status"
	assert_contains "the refusal of $file" "$T/said.err" "is not a recording: "
	[ ! -s "$file" ] || assert_contains "the refusal of $file" "$T/said.err" "at offset 0"
done
