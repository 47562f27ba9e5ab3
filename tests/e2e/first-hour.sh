#!/bin/bash
# What somebody types in the first hour, right and wrong: `heapcast run` that answers by itself, `last`, short options,
# and the page. Also names that are cut or mistyped, times that make no sense, files of other tools, and a program that
# was renamed.
. "$(dirname "$0")/lib.sh"
need cc curl python3
H=$BUILD/bin/heapcast

# says STATUS TEXT -- CMD...: CMD ends so, and says TEXT on standard error.
says() {
	local expected=$1 text=$2 status=0
	shift 3
	"$@" >out 2>err </dev/null || status=$?
	[ "$status" = "$expected" ] || { cat out err; fail "exit status of \"$*\": expected $expected, got $status"; }
	assert_contains "$*" err "$text"
}

mkdir work && cd work

# ---- heapcast run answers ----

# answered CMD...: runs it, with its output in `out` and `err`; again where the machine was too busy for an answer in time.
answered() {
	local i
	for ((i = 0; i < 10; i++)); do
		status=0
		"$@" >out 2>err || status=$?
		grep -q "takes longer than a second" err || return 0
	done
}

answered "$H" run -o sort.heapcast -- sort /etc/passwd
sort /etc/passwd | cmp - out
assert_contains "heapcast run" err "events, 0 lost" "peak" "leaked" "temporary" "Most in use at the peak:" \
	"next: heapcast report 'sort.heapcast'"
"$H" report --json sort.heapcast >report.json
peak=$(grep -oE '"peak":\{"bytes":[0-9]+' report.json | grep -oE '[0-9]+$')
[ "$peak" -gt 0 ] || fail "no peak in $(head -c 300 report.json)"
# The collector's own words for that number.
shown=$("$H" report sort.heapcast | sed -nE 's/^  peak +([0-9.]+ [KMG]?i?B) .*/\1/p')
grep -qE "^  peak +$shown " err || fail "the peak is $shown, and heapcast run says: $(cat err)"
[ "$(wc -L <err)" -le 80 ] || fail "wider than 80 columns: $(cat err)"

# Where names take long (their reader is stopped here) the figures are there all the same.
stop_readers() {
	local pid
	while sleep 0.002; do
		for pid in $(pgrep -f symbols-worker); do
			[ "$(readlink "/proc/$pid/cwd")" != "$PWD" ] || kill -STOP "$pid"
		done
	done
}
stop_readers 2>/dev/null &
stopper=$!
"$H" run -o slow.heapcast -- sort /etc/passwd >out 2>err
kill $stopper
pkill -KILL -f symbols-worker || true
sort /etc/passwd | cmp - out
assert_contains "heapcast run that finds no names in time" err "peak" "finding the call sites takes longer than a second" \
	"next: heapcast report 'slow.heapcast'"

# A program that has allocated so little that nothing is written yet when the answer is begun.
: >later
mkfifo ended
"$COLLECTOR" summary --follow -- later <ended >out 2>err &
asked=$!
exec 8>ended
sleep 0.5
cat sort.heapcast >later
exec 8>&-
wait $asked || fail "an answer about a file that was empty at first: $(cat err)"
assert_contains "an answer about a file that was empty at first" out "peak" "Most in use at the peak:"
rm later ended

"$H" run -q -o quiet.heapcast -- sort /etc/passwd >out 2>err
[ ! -s err ] || fail "heapcast run -q says: $(cat err)"
"$H" run --report -o report.heapcast -- sort /etc/passwd >out 2>err
sort /etc/passwd | cmp - out
assert_contains "heapcast run --report" err "Most allocated, by call site" "Ledger: adds up"
# Its exit status is the program's, and a program that ends by a signal is answered for, too.
assert_status 3 "$H" run -q -o three.heapcast -- sh -c 'exit 3'
answered "$H" run -o killed.heapcast -- sh -c 'kill -KILL $$'
assert_eq "status of a killed program" 137 "$status"
assert_contains "a killed program" err "was ended by signal 9" "Most in use at the peak:"
# The agent under its own name says what it said before, and needs no collector.
"$AGENT" run -o own.heapcast -- sort /etc/passwd 2>err >out
assert_contains "agent run" err "next: collector report 'own.heapcast'"
! grep -q "Most in use" err || fail "agent run answers: $(cat err)"

# ---- last ----

touch -d '2 hours ago' ./*.heapcast
touch -d '1 hour ago' three.heapcast
assert_contains "last" <("$H" report last) "sh -c"
assert_contains "no name" <("$H" report) "sh -c"
: >empty.heapcast # of an agent that was stopped at once
mkdir folder.heapcast
assert_contains "an empty file" <("$H" report last) "sh -c"
start_collector --data heapcast-data
record ls -d / >out
wait_collector
assert_contains "the newest is a stream" <("$H" report last) "ls -d /"
touch three.heapcast
assert_contains "the newest is a file" <("$H" report last) "sh -c"
assert_contains "--data" <("$H" report --data heapcast-data last) "ls -d /"
mkdir ../nothing && cd ../nothing
says 2 "nothing has been recorded yet" -- "$H" report last
says 2 "'heapcast run -- CMD' records CMD" -- "$H" report
cd ../work

# ---- short and cut options ----

assert_eq "-n" "$("$H" top --count 1 sort.heapcast)" "$("$H" top -n 1 sort.heapcast)"
"$H" export --format collapsed -o - sort.heapcast >stacks
"$H" export --format collapsed -o sort.collapsed sort.heapcast >out
cmp stacks sort.collapsed
assert_eq "--cou" "$("$H" top --count 1 sort.heapcast)" "$("$H" top --cou 1 sort.heapcast)"
says 2 "--size-m is the beginning of several options: --size-min, --size-max" -- "$H" top --size-m 3 sort.heapcast
says 2 "did you mean --count" -- "$H" top --cuont 3 sort.heapcast
says 2 "did you mean 'report'" -- "$H" reprot sort.heapcast
assert_eq "a command's beginning" "$("$H" report sort.heapcast)" "$("$H" rep sort.heapcast)"
says 2 "heapcast report sort.heapcast" -- "$H" sort.heapcast

# ---- what makes no sense ----

says 2 '--at takes a time, not "500%"' -- "$H" top --at 500% sort.heapcast
says 2 "--at 5h is beyond the end: the recording ends at " -- "$H" top --at 5h sort.heapcast
says 2 "@TIME 2h is beyond the end: the recording ends at " -- "$H" diff --base sort.heapcast@2h sort.heapcast
says 0 "--from is beyond the end: the recording ends at " -- "$H" top --from 1h30 sort.heapcast
says 0 "--to is beyond the end: the recording ends at " -- "$H" leaks --to 1h30 sort.heapcast
"$H" report sort.heapcast >out # the end as it is printed is no time beyond it
"$H" top --at "$(sed -nE 's/.* for ([0-9.]+) (us|ms|s)[;.]?$/\1\2/p' out | head -n 1)" sort.heapcast >out
"$H" top --at 100% sort.heapcast >out
says 2 "nothing can be between --from and --to" -- "$H" top --from 10s --to 5s sort.heapcast
says 2 "nothing can be between --size-min and --size-max" -- "$H" leaks --size-min 2K --size-max 1K sort.heapcast
"$H" top --from 5s --to 5s --size-min 1K --size-max 1K sort.heapcast >out
says 2 "'heapcast import sort.collapsed' makes one of it" -- "$H" report sort.collapsed
gzip -k sort.collapsed
says 2 "'heapcast import sort.collapsed.gz' makes one of it" -- "$H" tree sort.collapsed.gz
"$H" export --format heaptrack -o sort.ht sort.heapcast >out
says 2 "(heaptrack)" -- "$H" report sort.ht
says 2 "cannot open no.heapcast: No such file or directory" -- "$H" report no.heapcast
says 2 "there is no file nowhere here" -- "$H" report nowhere

# ---- a process that cannot be joined leaves nothing behind ----

mkdir tmp
status=0
TMPDIR=$PWD/tmp TERM=xterm python3 -c 'import os, pty, sys; sys.exit(os.WEXITSTATUS(pty.spawn(sys.argv[1:])))' \
	"$H" top --live -p 4194305 >out 2>&1 </dev/null || status=$? # more than any pid
[ $status != 0 ] || fail "top --live of no process succeeds: $(cat out)"
assert_contains "top --live of no process" out "nothing was recorded"
assert_eq "what top --live of no process leaves" "" "$(ls tmp)"

# ---- gates ----

says 1 "it is true that leaked_blocks >= 0: leaked_blocks is " -- "$H" report sort.heapcast --fail-if 'leaked_blocks >= 0'
says 0 "it is not true that peak_bytes > 1G and leaked_blocks < 0: leaked_blocks is " -- \
	"$H" report sort.heapcast --fail-if 'peak_bytes > 1G and leaked_blocks < 0'
grep -q 'peak_bytes is [0-9]' err || fail "the gate does not say peak_bytes: $(cat err)"

# ---- a program under another name ----

cp "$BUILD/tests/e2e-plain" first && cp first second
"$H" run -q -o first.heapcast -- ./first >out || true # ends with 5
"$H" run -q -o second.heapcast -- ./second >out || true
"$H" diff --value allocated --base first.heapcast second.heapcast >out
assert_contains "a renamed program" out "added           0 B in 0, removed 0 B in 0"
"$H" diff --value allocated --map first=other --base first.heapcast second.heapcast >out
! grep -q "removed 0 B" out || fail "--map did nothing: $(head -n 8 out)"
# In a flame graph of both, each frame is there once.
"$H" flamegraph --value allocated --output one.svg second.heapcast >out
"$H" flamegraph --value allocated --base first.heapcast --output both.svg second.heapcast >out
assert_eq "frames of a renamed program" "$(grep -c "<title>" one.svg)" "$(grep -c "<title>" both.svg)"
"$H" flamegraph --value allocated --map first=other --base first.heapcast --output both.svg second.heapcast >out
[ "$(grep -c "<title>" one.svg)" -lt "$(grep -c "<title>" both.svg)" ] || fail "--map of flamegraph did nothing"
says 2 "--map takes OLD=NEW" -- "$H" diff --map first --base first.heapcast second.heapcast

# ---- the page ----

printf '#!/bin/sh\necho "$1" >"%s"\n' "$T/opened" >browser
chmod +x browser
mkdir sources
printf '#include <stdlib.h>\nint main(void)\n{\n\treturn !malloc(4711);\n}\n' >sources/small.c
cc -g -O0 -o small sources/small.c
"$H" run -q -o small.heapcast -- ./small
BROWSER=$PWD/browser "$H" page >page.out 2>&1 &
page=$!
wait_for 10 "the browser" test -s "$T/opened"
assert_contains "the address" page.out "$(cat "$T/opened")"
# Sources of this folder are shown, and none of another one.
shows_source() { # STATUS: what the page's server answers who asks for the source of the program
	assert_eq "status of small.c" "$1" "$(curl -s -o source -w '%{http_code}' -H "Authorization: Bearer $(token_in page.out)" \
		"$(sed -n 's/.*\(http:[^#]*\).*/\1/p' page.out)data/last/source?file=$PWD/sources/small.c")"
}
shows_source 200
assert_contains "the source" source "malloc(4711)"
mv sources .. # the folder above
shows_source 404
"$H" page --http 127.0.0.1:8080 >page2.out 2>&1 & # its port is taken: another one
second=$!
wait_for 10 "the second page" grep -q "Serving http://127.0.0.1:" page2.out
if grep -q 127.0.0.1:8080/ page.out page2.out; then
	assert_eq "addresses" 2 "$(sed -nE 's|.*http://([0-9.:]+)/.*|\1|p' page.out page2.out | sort -u | wc -l)"
fi
kill -TERM "$page" "$second"
wait "$page" "$second" || true
