# For the tests of exports: the program whose sums are known, recorded as it is and grown, and what the collector says of it.
#
#   record_branches     $T/small.heapcast, $T/grown.heapcast; $PROGRAM
#   export_as FORMAT OUTPUT ARG...
#   said VALUE FIELD [ARG...]    bytes or blocks that the collector reports of allocated, leaked, temporary or peak
PROGRAM=$BUILD/tests/e2e-branches
[ -x "$PROGRAM" ] || skip "$PROGRAM is not built"
need python3

record_branches() {
	"$AGENT" run --quiet --output "$T/small.heapcast" -- "$PROGRAM"
	"$AGENT" run --quiet --output "$T/grown.heapcast" -- "$PROGRAM" grown
}

export_as() {
	local format=$1 output=$2
	shift 2
	"$COLLECTOR" export --force --format "$format" --output "$output" "$@"
}

said() {
	local value=$1 field=$2
	shift 2
	"$COLLECTOR" report --json "${@:-$T/small.heapcast}" | python3 -c 'import json, sys
print(json.load(sys.stdin)[sys.argv[1]][sys.argv[2]])' "$value" "$field"
}
