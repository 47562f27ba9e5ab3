#!/bin/bash
# What a program that is attached to maps for itself is on record as libheapcast.so has it: the same calls, bytes and
# call sites in the same order. What its allocator maps is not. No other process has a probe for it.
. "$(dirname "$0")/lib-attach.sh"
need curl python3
touch there

"$AGENT" run --quiet --output preload.heapcast -- "$TARGETS/mappings" there >said
names=(preload)
for mode in full sample=64; do
	rm -f go
	"$TARGETS/mappings" go >said 3>&- &
	target=$!
	attach -p $target --mode $mode --output "$mode.heapcast"
	touch go
	wait $target || fail "the program: $(cat said)"
	attached_ended
	assert_eq "lost ($mode)" 0 "$(ledger_value $mode.heapcast lost)"
	assert_eq "events apart from the heap ($mode)" 17 "$(ledger_value $mode.heapcast stored_apart)"
	names+=("$mode")
done

# Blocks of the heap are what they were (own() makes sizes odd).
assert_eq "blocks of the heap" "1,4194311" "$(sql full.heapcast 'select count(*), sum(size) from allocations')"

echo "recording is off"
rm -f go
"$TARGETS/mappings" go >said 3>&- &
target=$!
attach -p $target --mode off --output off.heapcast
touch go
wait $target
attached_ended
assert_eq "events apart from the heap (off)" 0 "$(ledger_value off.heapcast stored_apart)"

echo "what --check says"
rm -f go
"$TARGETS/mappings" go >said 3>&- &
target=$!
wait_for 10 "the program's libc" grep -q libc /proc/$target/maps
"$AGENT" attach --check -p $target >check || fail "$(cat check)"
touch go
wait $target
sed '/^not seen:/,$d' check >seen
for name in mmap munmap mremap sbrk brk; do
	grep -qE "^ +$name +(entry|further in)" seen || fail "$name is not among the functions: $(cat check)"
done
sed '1,/^not seen:/d' check | tr -s ' \n' ' ' >unseen
assert_contains "what is not seen" unseen "memory that is mapped without libc"
! grep -wE 'mmap|munmap|mremap|s?brk' unseen || fail "what is recorded is said not to be seen: $(cat unseen)"

echo "the same calls"
for name in "${names[@]}"; do
	"$COLLECTOR" serve --data "$T/none" --http 127.0.0.1:18187 "$name.heapcast" >"$name.out" 2>"$name.err" &
	server=$!
	wait_for 20 "the server" grep -q 18187 "$name.out"
	curl --silent --show-error --fail-with-body --globoff "http://127.0.0.1:18187/data/last/mmaps" >"$name.json"
	kill $server
	wait $server || true
done
python3 - "${names[@]}" <<'END'
import json, sys
def calls(name):
    found = []
    for operation in json.load(open(name + ".json"))["operations"]:
        for kind, o in operation.items():
            frames = [f.get("function") for f in o.get("backtrace", [])]
            found.append((kind, o.get("length"), frames[:frames.index("main") + 1] if "main" in frames else frames))
    return found
preload, *others = [(name, calls(name)) for name in sys.argv[1:]]
assert len(preload[1]) >= 10, preload
for name, found in others:
    assert found == preload[1], "%s:\n%s\npreload:\n%s" % (name, "\n".join(map(str, found)), "\n".join(map(str, preload[1])))
END
