#!/bin/bash
# Whatever the umask: what agent and collector write, recordings, rows, catalogue, names, spool, log, can be read by their user only.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
umask 000
mkdir "$T/desk" "$T/alone"

# FOLDER: what others can get at below it.
open_to_others() {
	find "$1" -mindepth 1 ! -type l ! -type s -perm /077 -printf '%m %P\n'
}

gather desk --no-discovery --listen 127.0.0.1:8301 --once --fetch-symbols
wait_for 10 "the collector to listen" grep -q "listening on" "$T/desk.log"
"$AGENT" run --policy block --quiet --collector 127.0.0.1:8301 --logfile "$T/alone/log" --log info -- "$BUILD/tests/e2e-pairs" 20000 >/dev/null || true
status=0
wait "${gatherer[desk]}" || status=$?
assert_eq "exit status of the collector" 0 "$status"
"$COLLECTOR" top --data "$T/desk" last >"$T/top.txt"
"$COLLECTOR" leaks --data "$T/desk" last >"$T/leaks.txt" || true
"$AGENT" run --quiet --output "$T/alone/recording" -- "$BUILD/tests/e2e-pairs" 2000 >/dev/null || true
"$AGENT" serve --spool "$T/alone/spool" --socket "$T/alone.socket" --listen 127.0.0.1:8302 --linger-idle 1s 2>"$T/serve.err" || true
for file in desk/catalogue.sqlite alone/recording alone/log alone/spool; do
	[ -e "$T/$file" ] || { find "$T" >&3; fail "there is no $file"; }
done
assert_eq "what others can read of the collector's" "" "$(open_to_others "$T/desk")"
assert_eq "what others can read of the agent's" "" "$(open_to_others "$T/alone")"
echo "$(find "$T/desk" "$T/alone" -type f | wc -l) files of both, with a umask of 000: none that others can read"
