# Real programs under the recorder. After lib.sh:   . "$TEST_SOURCE/lib-real.sh"
#
#   real_program CMD...   runs it natively and recorded, over TCP found by broadcast, with libcounting.so behind the
#                         recorder in the same process; then holds both runs and both counts against each other
#   real_names NAME...    what `collector report` of it must show
#   same NAME CMD...      runs it natively and recorded to files: exit status, output and errors are the same, each
#                         recording's account balances, and nothing was lost. With FOLLOW set, children that exec are
#                         recorded too, and LEAST recordings must come out; it has LIMIT seconds (60). A CMD that is not installed is left out:
#                         same_ran counts the others, same_missing names it. What differs from run to run by nature goes
#                         through the function `alike`, if the test has one: output in, output out

# Which recording is looked at.
RECORDING=last

# The independent count of the process that ran this executable: "NAME VALUE" lines.
counted() {
	local file
	for file in "$T"/counts.*; do
		if [ "$("$BUILD/tests/counting-show" "$file" 2>/dev/null | awk '$1 == "executable" { print $2 }')" = "$1" ]; then
			"$BUILD/tests/counting-show" "$file"
			return
		fi
	done
	fail "libcounting.so has counted nothing in $1"
}

# One value of "NAME VALUE" lines on standard input.
value_of() {
	awk -v name="$1" '$1 == name { print $2; found = 1 } END { exit !found }'
}

# The program itself behind a name in PATH.
executable_of() {
	readlink -f "$(command -v "$1")"
}

check_ledger() {
	ask ledger "$RECORDING" >"$T/ledger.txt" 2>"$T/ledger.err" || { cat "$T/ledger.txt" >&3; fail "the ledger does not balance"; }
}

# The numbers of the report, as "NAME VALUE" lines under the witness's names.
report_totals() {
	ask report "$RECORDING" --json >"$T/report.json"
	python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
print("allocations", report["allocations"])
print("bytes", report["allocated"]["bytes"])
print("frees", report["frees"])
print("reallocated", report["reallocations"])
' "$T/report.json"
}

# The report's totals are the witness's, to the byte.
check_counts() {
	local name
	counted "$1" >"$T/counted.txt"
	report_totals >"$T/totals.txt"
	for name in allocations bytes frees reallocated; do
		assert_eq "$name" "$(value_of $name <"$T/counted.txt")" "$(value_of $name <"$T/totals.txt")"
	done
	[ "$(value_of allocations <"$T/counted.txt")" -gt 100 ] || fail "that was no workload"
}

run_natively() {
	local status=0
	"$@" <"$T/stdin" >"$T/native.out" 2>"$T/native.err" || status=$?
	echo "$status" >"$T/native.status"
}

run_recorded() {
	local status=0
	LD_PRELOAD=$COUNTING COUNTING_OUTPUT=$T/counts "$AGENT" run --policy block --announce --interface lo --quiet -- "$@" \
		<"$T/stdin" >"$T/recorded.out" 2>"$T/recorded.err" || status=$?
	echo "$status" >"$T/recorded.status"
}

same_behaviour() {
	assert_eq "exit status" "$(cat "$T/native.status")" "$(cat "$T/recorded.status")"
	cmp "$T/native.out" "$T/recorded.out" || fail "the recorded program wrote something else to standard output"
	cmp "$T/native.err" "$T/recorded.err" || fail "the recorded program wrote something else to standard error"
}

# A program that reads $T/stdin (made empty where the test has made none) and ends by itself.
real_program() {
	local name
	for name in agent collector; do
		[ -x "$BUILD/bin/$name" ] || fail "$BUILD/bin/$name is not built"
	done
	[ -e "$T/stdin" ] || : >"$T/stdin"
	run_natively "$@"
	start_collector
	run_recorded "$@"
	wait_collector
	same_behaviour
	check_ledger
	check_counts "$(executable_of "$1")"
	ask report "$RECORDING" >"$T/report.txt"
}

real_names() {
	assert_contains "collector report" "$T/report.txt" "$@"
}

same_ran=0
same_missing=

# The account of every recording in $T/rec balances without a loss, and there are so many of them.
check_recordings() {
	local name=$1 least=$2 file count=0
	for file in "$T"/rec/*.heapcast; do
		[ -e "$file" ] || break
		"$COLLECTOR" ledger --json "$file" >"$T/ledger.json" 2>"$T/ledger.err" ||
			{ cat "$T/ledger.json" >&3; fail "the ledger of $name does not balance"; }
		grep -q '"lost":0,' "$T/ledger.json" || { cat "$T/ledger.json" >&3; fail "of $name something was lost"; }
		count=$((count + 1))
	done
	[ "$count" -ge "$least" ] || fail "$name: $count recordings, at least $least were to be expected"
}

same_output() {
	local name=$1 stream
	for stream in out err; do
		if declare -F alike >/dev/null; then
			alike <"$T/native.$stream" >"$T/alike" && mv "$T/alike" "$T/native.$stream"
			alike <"$T/recorded.$stream" >"$T/alike" && mv "$T/alike" "$T/recorded.$stream"
		fi
		cmp "$T/native.$stream" "$T/recorded.$stream" && continue
		diff "$T/native.$stream" "$T/recorded.$stream" | head -n 20 >&3
		fail "$name wrote something else to its standard $stream"
	done
}

same() {
	local name=$1 status=0 stdin=/dev/null
	shift
	if ! command -v "$1" >/dev/null; then
		same_missing="$same_missing $1"
		return
	fi
	[ ! -e "$T/stdin" ] || stdin=$T/stdin
	rm -rf "$T/rec"
	mkdir "$T/rec"
	"$@" >"$T/native.out" 2>"$T/native.err" <"$stdin" || status=$?
	assert_status "$status" timeout "${LIMIT:-60}" "$AGENT" run --quiet ${FOLLOW:+--follow --memory-limit 32M} \
		--output "$T/rec/%p.heapcast" -- "$@" >"$T/recorded.out" 2>"$T/recorded.err" <"$stdin"
	same_output "$name"
	check_recordings "$name" "${LEAST:-1}"
	same_ran=$((same_ran + 1))
}
