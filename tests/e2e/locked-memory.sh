#!/bin/bash
# A program that has called mlockall(MCL_FUTURE): what is mapped for recording is not brought in and locked whole. 100 threads cost
# what they use, and the first malloc of a thread does not wait for half a megabyte of zeros.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
"$TARGETS/locked" 100 >"$T/native.txt" || [ $? != 77 ] || skip "no right to lock memory"
"$AGENT" run --quiet --output "$T/rec" -- "$TARGETS/locked" 100 >"$T/recorded.txt"
native=$(value_of resident_kib <"$T/native.txt")
recorded=$(value_of resident_kib <"$T/recorded.txt")
first=$(value_of first_us <"$T/recorded.txt")
echo "resident with 100 threads: native $native KiB, recorded $recorded KiB; first malloc $first us"
# 32 KiB a thread, and 300, as in target-memory; 57 MiB more where all is locked.
[ $((recorded - native)) -le $((300 + 100 * 40)) ] || fail "$((recorded - native)) KiB more"
"$COLLECTOR" ledger --json "$T/rec" >"$T/ledger.json" || fail "the ledger does not balance"
grep -q '"lost":0,' "$T/ledger.json" || fail "something was lost"

# Where a user may lock little the program is recorded all the same.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir -m 777 "$T/open"
	(ulimit -l 16384; "$AGENT" run --quiet --output "$T/little" -- setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock -- "$TARGETS/locked" 50) >"$T/little.txt" || fail "with a limit it ends with $?"
	"$COLLECTOR" ledger --json "$T/little" >"$T/ledger.json" || fail "the ledger does not balance"
	grep -q '"lost":0,' "$T/ledger.json" || fail "with a limit something was lost"
fi
