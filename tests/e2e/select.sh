#!/bin/bash
# Tags and --select: the agent's tags and the program's own reach the collector; a change reaches streams that run;
# rules of the collector add tags to what is there and to what comes; every command, a snapshot and REST choose by them.
. "$(dirname "$0")/lib-serve.sh"
need curl python3
URL=http://127.0.0.1:18093
data=$T/data

start_gather() {
	"$COLLECTOR" gather --data "$data" --interface lo --http "${URL#http://}" >"$T/gather.out" 2>"$T/gather.err" &
	gather=$!
	wait_for 10 "gather" curl -sf "$URL/list"
}
start_gather
cat >"$T/conf" <<-END
	socket = $T/socket
	announce = yes
	interface = lo
	tag = site=berlin, version=1.4
END
serve one --config "$T/conf"
hold first HEAPCAST_SOCKET="$T/socket" HEAPCAST_TAG="job=7,version=1.5"
hold second HEAPCAST_SOCKET="$T/socket"

# What list says of the streams that a selector chooses, a line each: pid, tags.
listed() { # SELECT
	"$COLLECTOR" list --data "$data" --select "$1" --json >"$T/list.json" || fail "list --select '$1'"
	python3 -c 'import json, sys
for s in json.load(open(sys.argv[1]))["streams"]: print(s["pid"], s.get("tags", ""))' "$T/list.json"
}
chosen() { # EXPECTED SELECT
	listed "$2" >"$T/listed"
	assert_eq "streams with $2" "$1" "$(cut -d' ' -f1 "$T/listed" | tr '\n' ' ' | sed 's/ $//')"
}
a=${held[first]} b=${held[second]}
wait_for 10 "both streams" eval '[ "$(listed "tag:site=berlin" | wc -l)" = 2 ]'
chosen "$a $b" 'host=* state=live version=1.*'
chosen "$a" 'tag:job'
chosen "$b" '!tag:job name=waiting'
chosen "$a" 'version!=1.4'
chosen "$b" "pid=$b"
chosen "" 'tag:site=paris'
build=$(readelf -n "$TARGETS/waiting" | sed -n 's/.*Build ID: //p')
chosen "$a $b" "build=${build:0:12} executable=*/waiting"
chosen "" "build!=${build:0:12}"

# A change of the file reaches what runs; the program's own tag counts more.
sed -i 's/^tag = .*/tag = site=paris, rack=3, version=1.6/' "$T/conf"
kill -HUP "${served[one]}"
wait_for 10 "the new tags" eval '[ "$(listed "tag:site=paris tag:rack=3" | wc -l)" = 2 ]'
chosen "$a" 'version=1.5'
chosen "$b" 'version=1.6'

# However many the agent has, the program's own stay.
sed -i 's/^tag = .*/tag = a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1/' "$T/conf"
kill -HUP "${served[one]}"
wait_for 10 "sixteen tags" eval '[ "$(listed "tag:a" | wc -l)" = 2 ]'
chosen "$a" 'tag:job=7 version=1.5'
assert_contains "the agent's log" "$T/one.err" "there is no room for all of --tag"

# Another agent takes the programs up: the tags are those of its own file, and those of the programs.
kill -KILL "${served[one]}"
sed -i 's/^tag = .*/tag = site=rome/' "$T/conf"
serve two --config "$T/conf"
wait_for 20 "the streams taken up" eval '[ "$(listed "tag:site=rome state=live" | wc -l)" = 2 ]'
chosen "$a" 'tag:job=7'
chosen "$b" '!version=1.5'

# Rules: now, and for what comes.
tag() { "$COLLECTOR" tag --data "$data" "$@"; }
tag stage=canary 'tag:job=7' >"$T/tag.out"
assert_contains "tag" "$T/tag.out" "Rule 1: stage=canary for 1 stream here, and those to come."
tag later=yes 'tag:stage=canary' 'tag:later!=no' >"$T/tag.out"
chosen "$a" 'tag:stage=canary tag:later=yes'
hold third HEAPCAST_SOCKET="$T/socket" HEAPCAST_TAG="job=7"
c=${held[third]}
wait_for 10 "the third" eval '[ "$(listed "tag:stage=canary" | wc -l)" = 2 ]'
tag --list >"$T/tag.out"
assert_contains "tag --list" "$T/tag.out" "1 stage=canary             tag:job=7" "2 later=yes                tag:stage=canary tag:later!=no"
for wrong in "site" "a=1 hst=x" "--forget 9" "--list a=1" ""; do
	# shellcheck disable=SC2086
	assert_status 2 tag $wrong 2>"$T/wrong"
done

# Commands: the newest, one of them, none.
ask report --select 'tag:stage=canary' --json last >"$T/report.json"
has() { python3 -c "import json,sys; a=json.load(open(sys.argv[1])); assert $2, a" "$1" || fail "$2: $(cat "$1")"; }
has "$T/report.json" "a['process']['pid'] == $c and 'job=7' in a['process']['tags']"
ask top --select 'tag:stage=canary !pid='"$c" --json >"$T/top.json"
has "$T/top.json" "a['process']['pid'] == $a"
assert_status 2 ask top --select tag:stage=x 2>"$T/none"
assert_contains "nothing selected" "$T/none" "no stream in $data matches --select 'tag:stage=x'"
assert_status 2 ask top --select 'foo=1' 2>"$T/none"
assert_contains "an unknown name" "$T/none" "streams can't be selected by 'foo'"
assert_status 2 ask top --select 'pid=1' "$T/x.heapcast" 2>"$T/none"
assert_contains "a file" "$T/none" "--select chooses among the streams in"

assert_status 2 ask list --select foo=1 2>"$T/none"
assert_status 2 ask list --select "" 2>"$T/none"
assert_contains "an empty selector" "$T/none" "the selector is empty"
chosen "$a $c" 'tag:job=* !state=snapshot'
# What a variable says gives way to what is named otherwise.
"$AGENT" run --quiet --output "$T/file.heapcast" -- true
HEAPCAST_SELECT=tag:stage=x ask report "$T/file.heapcast" >"$T/said" || fail "a file, with HEAPCAST_SELECT"
HEAPCAST_SELECT=tag:stage=x ask ctl "$(ask list --select "pid=$a" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["streams"][0]["id"])')" mark it >"$T/said" ||
	fail "an order to a stream, with HEAPCAST_SELECT"
HEAPCAST_SELECT="pid=$a" ask report --json >"$T/said"
has "$T/said" "a['process']['pid'] == $a"
# --select chooses the STREAM, not what it is compared with.
ask diff --base "$T/file.heapcast" --select "pid=$a" last >"$T/said" || fail "a base that is not selected"

# Orders to those.
ask ctl --select tag:stage=canary mark 'load test' --json >"$T/orders.json" || fail "ctl: $(cat "$T/orders.json")"
has "$T/orders.json" "a['done'] == 2 and a['refused'] == 0"
assert_status 1 ask ctl --select tag:stage=x mark it 2>"$T/none"
assert_contains "an order to nobody" "$T/none" "no running program matches --select 'tag:stage=x'"
assert_status 2 ask ctl --select tag:stage=x --all mark it 2>"$T/none"
assert_status 2 ask ctl --select foo=x mark it 2>"$T/none"
assert_status 2 ask ctl --select "" mark it 2>"$T/none"
assert_status 2 tag w=1 "" 2>"$T/none"

# A snapshot of those, and REST.
ask snapshot take canary --select tag:stage=canary --json >"$T/snapshot.json" || fail "snapshot: $(cat "$T/snapshot.json")"
has "$T/snapshot.json" "sorted(p['pid'] for p in a['processes']) == sorted([$a, $c])"
for wrong in list "show canary" "diff canary canary" "remove canary" "list --store clickhouse://127.0.0.1:1/none"; do
	# shellcheck disable=SC2086
	assert_status 2 ask snapshot $wrong --select tag:stage=canary 2>"$T/wrong"
	assert_contains "snapshot $wrong --select" "$T/wrong" "--select goes with take"
done
assert_status 1 ask snapshot take other --select tag:stage=x 2>"$T/none"
curl -sfG "$URL/list" --data-urlencode 'select=tag:stage=canary !state=snapshot' >"$T/rest.json" || fail "REST"
has "$T/rest.json" "sorted(s['pid'] for s in a) == sorted([$a, $c]) and all('stage=canary' in s['tags'] for s in a)"
assert_eq "a wrong selector over REST" 400 "$(curl -sG -o "$T/rest.json" -w '%{http_code}' "$URL/list" --data-urlencode 'select=foo=1')"
assert_contains "a wrong selector over REST" "$T/rest.json" "can't be selected by 'foo'"

# The catalogue can be made anew: it is all in the recordings, and the rules stay.
for name in first second third; do release $name; done
stop_serve two
kill -TERM $gather
wait $gather || true
listed 'name=waiting' | sort >"$T/before"
rm "$data"/catalogue.sqlite*
listed 'name=waiting' | sort >"$T/after"
cmp "$T/before" "$T/after" || fail "without the catalogue: $(diff "$T/before" "$T/after")"
tag --forget 2 >"$T/said"
chosen "" 'tag:later'
assert_status 3 ask ctl --select "pid=$a" mark it 2>"$T/none"
assert_contains "no collector" "$T/none" "no collector is at work"

# Rules that can't be read are no reason to choose otherwise.
head -c 8192 /dev/zero | tr '\0' x >"$data/tags.sqlite"
assert_status 3 ask list --select tag:stage 2>"$T/none"
assert_contains "damaged rules" "$T/none" "tags.sqlite"
assert_status 0 ask list >"$T/said"
