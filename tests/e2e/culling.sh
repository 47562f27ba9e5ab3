#!/bin/bash
# --short-lived: short-lived blocks are not among the events, and still are in every total. The totals are those of a
# counting library in the program, and those of a recording of the same program without culling, by call site,
# backtrace, size and lifetime.
# ctest: LABELS full TIMEOUT 300
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
need perl python3

# recorded NAME OPTION... -- CMD...: into $T/NAME, with the counting library behind; $T/NAME.counted is what that says.
recorded() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	LD_PRELOAD=$COUNTING COUNTING_OUTPUT=$T/counts "$AGENT" run --output "$T/$name" "${options[@]}" -- "$@" \
		>"$T/$name.out" 2>"$T/$name.err" || fail "$name ended with $?"
	counted "$1" >"$T/$name.counted"
	rm "$T"/counts.*
	"$COLLECTOR" ledger --json "$T/$name" >"$T/$name.ledger" || fail "$name: the ledger does not balance"
	"$COLLECTOR" report --json --count 1000 "$T/$name" >"$T/$name.report"
	"$COLLECTOR" histogram --json "$T/$name" >"$T/$name.histogram"
	"$COLLECTOR" top --json --count 1000 --by backtrace "$T/$name" >"$T/$name.top"
	"$COLLECTOR" top --json --count 1000 --value temporary "$T/$name" >"$T/$name.temporary"
	"$COLLECTOR" export --format collapsed --value allocated "$T/$name" | sort >"$T/$name.collapsed"
}

# agree PLAIN CULLED: all that is no moment is the same, and the counting library says so, too.
agree() {
	python3 - "$T/$1" "$T/$2" <<-'PYTHON' || fail "$2 does not say what $1 says"
		import json, sys
		plain, culled = ({k: json.load(open(p + "." + k)) for k in ("report", "histogram", "ledger", "top", "temporary")}
		         for p in sys.argv[1:])
		counted = dict(l.split(None, 1) for l in open(sys.argv[2] + ".counted"))
		def same(what, a, b):
		    if a != b:
		        sys.exit(f"{what}: {a} without culling, {b} with")
		report = culled["report"]
		same("blocks as counted", int(counted["allocations"]), report["allocated"]["blocks"])
		same("bytes as counted", int(counted["bytes"]), report["allocated"]["bytes"])
		for key in ("allocated", "temporary", "leaked", "frees", "distinct_backtraces", "failed"):
		    same(key, plain["report"][key], report[key])
		def sites(answer):
		    return sorted((g["function"] or "", g["module"] or "", json.dumps(g["value"]), json.dumps(g["allocated"]),
		        json.dumps(g["temporary"]), g["min_size"], g["max_size"]) for g in answer["groups"])
		same("backtraces", sites(plain["top"]), sites(culled["top"]))
		same("temporary", sites(plain["temporary"]), sites(culled["temporary"]))
		same("sizes", plain["histogram"]["sizes"], culled["histogram"]["sizes"])
		same("lifetimes, in total", sum(c["allocated"]["blocks"] for c in plain["histogram"]["lifetimes"]),
		    sum(c["allocated"]["blocks"] for c in culled["histogram"]["lifetimes"]))
		ledger = culled["ledger"]
		same("produced", plain["ledger"]["produced"], ledger["produced"])
		same("accounted for", ledger["produced"], ledger["delivered"] + ledger["culled"])
		same("culled, by thread", ledger["culled"], sum(t["culled"] for t in ledger["threads"]))
		if not report["culled"]["blocks"]:
		    sys.exit("nothing was culled")
	PYTHON
	cmp "$T/$1.collapsed" "$T/$2.collapsed" || fail "the flame graph of $2"
}

# Paragraphs in one line, in $T/flat.
flat() { "$@" | tr -s "\n " "  " >"$T/flat"; }

churn=("$TARGETS/churn" 40000 3 5 200)
recorded plain -- "${churn[@]}"
recorded all --short-lived 10s -- "${churn[@]}"
agree plain all
assert_eq "left of blocks" "$(grep -o '"leaked":{[^}]*"blocks":[0-9]*' "$T/all.report" | head -1 | grep -o '[0-9]*$')" \
	"$("$COLLECTOR" ledger --json "$T/all" | grep -o '"stored_allocations":[0-9]*' | grep -o '[0-9]*$')"
small=$(wc -c <"$T/all")
big=$(wc -c <"$T/plain")
echo "bytes: $big without culling, $small with" >&3
[ $((small * 20)) -lt "$big" ] || fail "$small bytes are not much less than $big"
flat "$COLLECTOR" report "$T/all"
assert_contains "the report" "$T/flat" "blocks that lived less than 10.00 s are in totals"
assert_contains "the agent" "$T/all.err" "more events, of blocks that were short-lived, are kept as sums"

# A short time; room for few; reallocations; sizes that vary.
recorded short --short-lived 5ms -- "${churn[@]}"
agree plain short
recorded few --short-lived 10s --short-lived-pending 20 -- "${churn[@]}"
agree plain few
flat "$COLLECTOR" report "$T/few"
assert_contains "the report" "$T/flat" "were sent as they are, for lack of room"
export PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0
strings=("$(readlink -f "$(command -v perl)")" -e 'my $s = ""; for (1 .. 3000) { $s .= "x" x 50; my @a = map { "y" x $_ } 1 .. 20; $h{$_} = [@a] if $_ % 100 == 0 }')
recorded strings -- "${strings[@]}"
recorded strings-culled --short-lived 1m -- "${strings[@]}"
agree strings strings-culled

# Filters: by function and thread sums answer; what they can't tell is left out and said.
"$COLLECTOR" report --json --function-regex churn "$T/all" | python3 -c '
import json, sys
r = json.load(sys.stdin)
assert r["culled"]["blocks"] and not r["culled_left_out"]["blocks"], r["culled"]'
"$COLLECTOR" report --json --address-min 1 "$T/all" | python3 -c '
import json, sys
r = json.load(sys.stdin)
assert not r["culled"]["blocks"] and r["culled_left_out"]["blocks"], r["culled"]
assert r["allocated"] == r["leaked"], r["allocated"]'
flat "$COLLECTOR" report --address-min 1 "$T/all"
assert_contains "a filter" "$T/flat" "a filter asks what sums"

# Sampled blocks are culled with their weights.
"$AGENT" run --quiet --mode sample=2K --short-lived 10s --output "$T/sampled" -- "${churn[@]}" >"$T/out"
"$COLLECTOR" ledger --json "$T/sampled" >"$T/sampled.ledger" || fail "sampled: the ledger does not balance"
"$COLLECTOR" report --json "$T/sampled" | python3 -c '
import json, sys
allocated, truth = json.load(sys.stdin)["allocated"], int(sys.argv[1])
assert allocated["bytes_error"] > 0 and allocated["samples"] > 1000, allocated
assert abs(allocated["bytes"] - truth) < 3 * allocated["bytes_error"], (allocated, truth)' \
	"$(awk '/^bytes / { print $2 }' "$T/plain.counted")" || fail "the estimate"

# A killed program: what waited is sent.
"$AGENT" run --quiet --short-lived 1h --output "$T/killed" -- perl -e 'my @a = map { "x" x 5000 } 1 .. 300; kill KILL => $$' &&
	fail "it was not killed"
adds_up --json "$T/killed" >"$T/killed.ledger" || fail "killed: the ledger does not balance"
assert_contains "killed" "$T/killed.ledger" '"pending":0' '"lost":0'
blocks=$("$COLLECTOR" report --json --size-min 5000 --size-max 5100 "$T/killed" | python3 -c 'import json, sys; print(json.load(sys.stdin)["leaked"]["blocks"])')
[ "$blocks" -ge 300 ] || fail "$blocks of 300 blocks were in use when it was killed"

# The old names.
variables() {
	env "$@" HEAPCAST_OUTPUT="$T/v" "$AGENT" run --quiet -- "${churn[@]}" >"$T/out" 2>"$T/v.err"
	[ ! -s "$T/v.err" ] || fail "$*: $(cat "$T/v.err")"
	"$COLLECTOR" report --json "$T/v" | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["process"]["cull_ns"] // 1000000, int(r["culled"]["blocks"] > 0), int(r["process"]["culled_too_early"] > 0))'
	rm "$T/v"
}
P=MEMORY_PROFILER
assert_eq "the threshold as it is" "10000 1 0" "$(variables ${P}_CULL_TEMPORARY_ALLOCATIONS=1)"
assert_eq "another" "250 1 0" "$(variables ${P}_CULL_TEMPORARY_ALLOCATIONS=1 ${P}_TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD=250)"
assert_eq "few" "10000 1 1" "$(variables ${P}_CULL_TEMPORARY_ALLOCATIONS=1 ${P}_TEMPORARY_ALLOCATION_PENDING_THRESHOLD=20)"
assert_eq "a threshold alone" "0 0 0" "$(variables ${P}_TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD=250)"
assert_eq "switched off" "0 0 0" "$(variables ${P}_CULL_TEMPORARY_ALLOCATIONS=0 ${P}_TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD=250)"
assert_eq "ours" "30000 1 0" "$(variables HEAPCAST_CULL=30s ${P}_CULL_TEMPORARY_ALLOCATIONS=1)"
for wrong in CULL_TEMPORARY_ALLOCATIONS=often TEMPORARY_ALLOCATION_PENDING_THRESHOLD=many; do
	assert_status 2 env ${P}_CULL_TEMPORARY_ALLOCATIONS=1 ${P}_$wrong "$AGENT" run -- true 2>"$T/err"
	assert_contains "a wrong value" "$T/err" "MEMORY_PROFILER_${wrong%=*} takes"
done
assert_status 2 "$AGENT" run --short-lived 10s --memory-limit 2M -- true 2>"$T/err"
assert_contains "too little" "$T/err" "--short-lived" "2.00 MiB"
