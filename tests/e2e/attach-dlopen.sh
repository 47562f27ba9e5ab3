#!/bin/bash
# Libraries come and go thousands of times in a program that runs already, each where another one was. No stack is
# walked by the rows of another library, and no frame is said to be in another one. Where the agent was too late, a
# stack is cut; only few may be. A library that brings an allocator is probed when it comes, and only once when it comes
# again.
. "$(dirname "$0")/lib-attach.sh"
need python3
TIMES=2000

"$TARGETS/swapper" go $TIMES "$TARGETS/swap_alloc.so" "$TARGETS"/swap[123].so >said &
target=$!
attach -p $target --output swap.heapcast
touch go
status=0
wait $target || status=$?
assert_eq "exit status of the program" 0 $status
attached_ended
[ "$(sed -n 's/^same //p' said)" -gt $((TIMES / 2)) ] || fail "the libraries do not come to lie where others were"
assert_eq "lost events" 0 "$(ledger_value swap.heapcast lost)"
# The allocator hands out one block at a time. Its probes may come between a block's birth and its end: that one is an orphan.
orphans=$(ledger_value swap.heapcast orphan_frees)
[ "$orphans" -le 1 ] || fail "frees of unrecorded blocks: $orphans, and at most the one that lived when the probes came was expected"
"$COLLECTOR" export --format json --with-stacks swap.heapcast >swap.json

python3 - $TIMES swap.json <<'END' >&3
import collections, json, re, sys
times = int(sys.argv[1])
found = collections.Counter()
wrong = collections.Counter()
for line in open(sys.argv[2]):
    block = json.loads(line)
    number = block["size"] // 1000 + (block["size"] % 1000 > 900)  # 1000 * number, less up to 15
    if block["size"] % 16 != 7 or number not in (1, 2, 3, 5):
        continue
    chain = [(re.sub(r"\(.*", "", f.get("function") or "?"), f.get("library", "").rsplit("/", 1)[-1]) for f in block["backtrace"]]
    if chain and chain[0][1].startswith("ld-"):
        continue # the loader's own, as large as ours by the length of a path
    if number == 5:
        found["of the allocator"] += 1
        if chain[:2] != [("use_allocator", "swapper"), ("main", "swapper")]:
            wrong[str(chain)] += 1
        continue
    library = "swap%d.so" % number
    whole = [("swap_inner", library), ("swap_work", library), ("use_plugin", "swapper"), ("main", "swapper")]
    if chain[:4] == whole:
        found["whole"] += 1
    elif all(f == w or f[1] == "" for f, w in zip(chain, whole)):
        found["cut"] += 1
    else:
        wrong[str(chain)] += 1
print(dict(found))
for chain, count in wrong.most_common(10):
    print("wrong, %d times: %s" % (count, chain))
assert not wrong, "wrong chains"
assert found["whole"] + found["cut"] == times, "not %d" % times
assert found["whole"] > times / 2, "many are cut"
assert found["of the allocator"] > 300, "the allocator was probed late"
END

echo "a file that is mapped again further on is another module; what lies between is none"
need python3
rm -f go
cat >again.py <<'END'
import mmap, os, time
program = open("/proc/self/exe", "rb")
size = os.fstat(program.fileno()).st_size
again = mmap.mmap(program.fileno(), size - 4096, offset=4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.01)
END
python3 again.py &
target=$!
wait_for 20 "the program" test -e ready
attach -p $target --output again.heapcast
touch go
wait $target
attached_ended
program=$(sql again.heapcast "select count(*), max(end - start) < 64 << 20 from modules
	where path = (select path from modules order by module limit 1)")
assert_eq "modules of the program's file, and none holds what is between" "2,1" "$program"
