#!/bin/bash
# A thread holds the loader's lock, in a callback, and waits for a thread that allocates from code that nobody has seen.
# No hook waits for the loader. Where libc can be asked without that lock (_dl_find_object, glibc 2.35), every stack is
# whole. Elsewhere stacks end there, are counted, and are whole again when the lock is free.
. "$(dirname "$0")/lib.sh"
need python3
plugins=("$TARGETS/plugin1.so")
[ ! -e "$TARGETS/cxx_plugin.so" ] || plugins+=("$TARGETS/cxx_plugin.so")

# locked NAME LIBRARY: its recording; how many stacks were cut is in $cut
locked() {
	[ -e "$2" ] || fail "$2 is not built"
	HEAPCAST_PRELOAD=$2 nice "$AGENT" run --quiet --output "$1.heapcast" -- "$TARGETS/loader_locked" "${plugins[@]}" >said ||
		fail "$1: the program ended with $?: it hangs"
	"$COLLECTOR" ledger --json "$1.heapcast" >ledger.json || fail "$1: the ledger does not balance"
	assert_contains "$1: the ledger" ledger.json '"lost":0,' '"orphan_frees":0,'
	cut=$(sed 's/.*"stacks_unknown":\([0-9]*\).*/\1/' ledger.json)
	"$COLLECTOR" export --format json --with-stacks "$1.heapcast" >"$1.json"
}

# chains NAME CUT: each block once whole, and once whole or cut
chains() {
	python3 - "$1.json" "$2" "$(sed -n 's/^allocations //p' said)" <<'END' >&3 || fail "$1: not what has happened"
import collections, json, sys
cut = int(sys.argv[2])
chains = collections.Counter()
for line in open(sys.argv[1]):
    block = json.loads(line)
    names = [f.get("function", f["name"]).split("(")[0] for f in block["backtrace"]]
    if names[0] in ("operator new", "operator new[]"):
        names.pop(0)
    if not names or names[0] != "plugin_work" and not names[0].startswith("fresh_"):
        continue
    chains[names[0], names[1:3] == ["work", "main"]] += 1
whole = sum(n for (name, is_whole), n in chains.items() if is_whole)
print(whole, "whole of", sum(chains.values()))
assert sum(chains.values()) == int(sys.argv[3]), "not as many as the program says"
assert whole == sum(chains.values()) if not cut else whole >= sum(chains.values()) / 2, chains
fresh = [name for name, _ in chains if name.startswith("fresh_")]
assert len(set(fresh)) == 16, fresh
END
}

if python3 -c 'import ctypes; ctypes.CDLL(None)._dl_find_object' 2>/dev/null; then
	locked found "$PRELOAD"
	assert_eq "stacks that are cut" 0 "$cut"
	chains found 0
fi
locked unknown "$BUILD/lib/libheapcast-locked.so"
[ "$cut" -gt 0 ] || fail "no stack was cut where libc could not be asked"
chains unknown 1
