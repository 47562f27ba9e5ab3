#!/bin/bash
# A sandboxed program that people have: man reads pages in children behind filters, which libseccomp sets. All of them are recorded, nothing is
# lost, and it writes what it writes alone.
. "$(dirname "$0")/lib.sh"
need man ldd python3
ldd "$(command -v man)" >"$T/libraries" # no pipe: grep ends before it
grep -q libseccomp "$T/libraries" || skip "this man has no sandbox"
MANPAGER=cat MANWIDTH=80 man ls >"$T/alone.out" 2>/dev/null || skip "there is no page of ls"

assert_status 0 env MANPAGER=cat MANWIDTH=80 "$AGENT" run --follow --quiet --output "$T/%e_%p.heapcast" -- man ls >"$T/recorded.out"
cmp "$T/alone.out" "$T/recorded.out" || fail "man writes something else"
processes=0
for recording in "$T"/*.heapcast; do
	"$COLLECTOR" ledger --json "$recording" >"$T/ledger.json" || fail "the ledger of $recording"
	python3 -c '
import json, sys
ledger = json.load(sys.stdin)
sys.exit(bool(ledger["lost"] or not ledger["stored"] or ledger["end"]["kind"] != "exited"))' <"$T/ledger.json" || fail "$recording: $(cat "$T/ledger.json")"
	processes=$((processes + 1))
done
[ $processes -ge 3 ] || fail "$processes processes are on record, which is not man and its children"
