# Real programs under the recorder. After lib.sh:   . "$TEST_SOURCE/lib-real.sh"
#
#   real_program CMD...   runs it natively and recorded, over TCP found by broadcast, with libcounting.so behind the
#                         recorder in the same process; then holds both runs and both counts against each other
#   real_names NAME...    what `collector report last` must show

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
	ask ledger last >"$T/ledger.txt" 2>"$T/ledger.err" || { cat "$T/ledger.txt" >&3; fail "the ledger does not balance"; }
}

# The numbers of the report, as "NAME VALUE" lines under the witness's names.
report_totals() {
	ask report last --json >"$T/report.json"
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
	LD_PRELOAD=$COUNTING COUNTING_OUTPUT=$T/counts "$AGENT" run --announce --interface lo --quiet -- "$@" \
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
	ask report last >"$T/report.txt"
}

real_names() {
	assert_contains "collector report last" "$T/report.txt" "$@"
}
