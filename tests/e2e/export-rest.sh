#!/bin/bash
# ctest: LABELS full
# What `collector export` and `collector flamegraph --base` write is what /data/ID/export/ gives, byte for byte, with
# values, filters and moments. Go's pprof reads a profile from there by itself. What does not go together is refused,
# with the reason.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-export.sh"
need curl
record_branches

"$COLLECTOR" serve --http 127.0.0.1:18083 small.heapcast grown.heapcast >serve.out 2>serve.err &
wait_for 10 "the server" grep -q 18083 serve.out
get() {
	curl --silent --show-error --fail-with-body "http://127.0.0.1:18083$1"
}
id_of() {
	"$COLLECTOR" report --json "$1" | python3 -c 'import json, sys
report = json.load(sys.stdin)
print(report.get("id") or report["process"]["id"])'
}
small=$(id_of small.heapcast) grown=$(id_of grown.heapcast)

same() { # FORMAT QUERY ARG...
	local format=$1 query=$2
	shift 2
	get "/data/$small/export/$format?$query" >"served" || fail "$format?$query: $(cat served)"
	export_as "$format" written "$@" small.heapcast
	[ -s served ] || fail "$format?$query: nothing"
	cmp served written || fail "$format?$query differs from --format $format $*"
}
for format in speedscope callgraph pprof jemalloc gperftools massif csv json heaptrack replay; do
	same "$format" ""
	same "$format" "value=peak" --value peak
	same "$format" "value=leaked&size_min=1000" --value leaked --size-min 1000
done
same pprof "at=50%25" --at 50%
same csv "at=50%25&thread_name=worker" --at 50% --thread-name worker
for format in csv json; do
	same "$format" "table=backtraces&size_min=1000" --table backtraces --size-min 1000
	same "$format" "table=allocations&count=20" --table allocations --count 20
	same "$format" "with_stacks=true" --with-stacks
done
same callgraph "count=3&percent_min=0&weight=blocks" --count 3 --percent-min 0 --weight blocks
same speedscope "weight=blocks&value=temporary" --weight blocks --value temporary

# ---- flame graphs: the picture of the command, but for the line below the title ----
picture() {
	sed '/class="sub"/d' "$1"
}
get "/data/$grown/export/flamegraph?base=$small&value=leaked&title=what%20%3Cgrew%3E" >served
"$COLLECTOR" flamegraph --base small.heapcast --title 'what <grew>' --output - grown.heapcast >written
cmp <(picture served) <(picture written) || fail "the difference"
grep -qF 'what &lt;grew&gt;' served || fail "no title"
get "/data/$small/export/flamegraph/flame.svg?reversed=true&inverted=true&width=800" >served
"$COLLECTOR" flamegraph --reversed --inverted --width 800 --output - small.heapcast >written
cmp <(picture served) <(picture written) || fail "reversed and inverted"

# ---- refused ----
refused() { # PATH TEXT...
	local path=$1
	shift
	assert_eq "status of $path" 400 "$(curl --silent --output answer --write-out '%{http_code}' "http://127.0.0.1:18083$path")"
	assert_contains "$path" answer "$@"
}
refused "/data/$small/export/pprof?weight=bytes" "weight"
refused "/data/$small/export/flamegraph?reversed=perhaps" "reversed"
refused "/data/$small/export/flamegraph?reversed=true&base=$grown" "does not go with"
refused "/data/$small/export/csv?table=frames" "table takes allocations or backtraces"
refused "/data/$small/export/json?table=backtraces&with_stacks=true" "does not go with"
refused "/data/$small/export/csv?value=leaked&lifetime=only_temporary" "lifetime"
assert_status 2 "$COLLECTOR" export --format csv --value leaked --lifetime only_temporary small.heapcast >/dev/null 2>usage.err
assert_contains "a value and a lifetime" usage.err "lifetime"

# What a format has no use for, and a result over what it is made of, by whatever name.
said_no() { # TEXT ARG...
	local text=$1
	shift
	assert_status 2 "$COLLECTOR" "$@" >/dev/null 2>usage.err
	assert_contains "collector $*" usage.err "$text"
}
said_no "--weight goes with" export --format pprof --weight blocks small.heapcast
said_no "--count goes with callgraph, json and csv" export --format massif --count 3 small.heapcast
said_no "--with-stacks goes with json and csv" export --format pprof --with-stacks small.heapcast
said_no "--table takes allocations or backtraces, not 'frames'" export --format csv --table frames small.heapcast
said_no "does not go with" export --format csv --table backtraces --with-stacks small.heapcast
cp small.heapcast kept.heapcast
ln -s small.heapcast linked.heapcast
said_no "is what is read" export --format csv --output small.heapcast small.heapcast
said_no "is what is read" export --format csv --output small.heapcast linked.heapcast
said_no "is what is read" export --anonymise --output small.heapcast small.heapcast
said_no "is what is read" export --anonymise --format csv --output small.heapcast small.heapcast
said_no "is what is read" flamegraph --output linked.heapcast small.heapcast
said_no "is what is read" flamegraph --base small.heapcast --output small.heapcast grown.heapcast
said_no "is what is read" analyze --html small.heapcast small.heapcast
said_no "is what is read" analyze --format memtracer --output small.heapcast small.heapcast
"$COLLECTOR" export --format collapsed --output small.collapsed small.heapcast
cp small.collapsed kept.collapsed
said_no "is what is read" analyze --html small.collapsed small.collapsed
said_no "is a recording already" import --output other.heapcast small.heapcast
said_no "one of them" sql --json --csv small.heapcast "select 1"
said_no "goes with --format memtracer" analyze --minimum-size 3 small.heapcast
cmp small.heapcast kept.heapcast && cmp small.collapsed kept.collapsed || fail "what was read was written to"

if command -v go >/dev/null; then
	HOME=$T PPROF_TMPDIR=$T go tool pprof -top -unit=B -sample_index=alloc_space -symbolize=none \
		"http://127.0.0.1:18083/data/$small/export/pprof" >fetched.txt 2>fetch.err || fail "go tool pprof: $(cat fetch.err)"
	assert_contains "what pprof fetched" fetched.txt "of $(said allocated bytes)B total"
fi
