#!/bin/bash
# A program that may not be looked at (PR_SET_DUMPABLE), by an agent that is not root: said once; what can be had goes on.
. "$(dirname "$0")/lib.sh"
need python3 setpriv

field() { python3 -c "import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2], {}, d))" "$@"; }
as_other() { "$@"; }
mkdir -m 777 "$T/hidden"
if [ "$(id -u)" = 0 ]; then
	as_other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
	as_other test -x "$AGENT" 2>/dev/null || skip "there is no other user here that could run $AGENT"
	chmod 755 "$T"
fi
as_other "$AGENT" run --gather-maps=50ms --figures-interval 50ms --output "$T/hidden/r" -- "$BUILD/tests/e2e-maps" hidden 1500 2>"$T/hidden.err"
assert_eq "said once" 1 "$(grep -c "can't read the memory maps of pid" "$T/hidden.err")"
assert_eq "said once" 1 "$(grep -c "can't read the proportional share" "$T/hidden.err")"
"$COLLECTOR" report --json "$T/hidden/r" >"$T/hidden.json"
assert_eq "figures go on" True "$(field "$T/hidden.json" "figures['last']['rss'] > 100000 and figures['last']['minor_faults'] > 10")"
# Root sees it all.
[ "$(id -u)" = 0 ] || exit 0
"$AGENT" run --quiet --gather-maps=50ms --figures-interval 50ms --output "$T/seen" -- "$BUILD/tests/e2e-maps" hidden 500
"$COLLECTOR" maps "$T/seen" >"$T/seen.txt"
assert_contains "root's maps" "$T/seen.txt" "[stack]"
