# Libraries that are loaded and unloaded again and again, TIMES rounds each. They take no more room than once, and
# nothing is ever said to be in another one. After lib.sh, with TIMES set:   . "$TEST_SOURCE/lib-loaded-again.sh"
need python3
cp "$TARGETS"/reload[12].so "$TARGETS"/plain[12].so .

# again NAME SAME EXPECTED stay|move PATH FILE...: `EXPECTED` modules of these files, and SAME says how often they are in the same place.
again() {
	local name=$1 same=$2 expected=$3 how=$4 path=$5
	shift 5
	nice "$AGENT" run --output "$name.heapcast" -- "$TARGETS/reloader" "$TIMES" "$how" "$path" "${@/#/./}" >said 2>"$name.err"
	! grep "had no room\|could not be" "$name.err" >&3 || fail "$name: libraries without a name"
	assert_eq "$name: in the same place" "$same" "$([ "$(sed -n 's/^same //p' said)" -gt $((TIMES / 2)) ] && echo often || echo seldom)"
	"$COLLECTOR" ledger --json "$name.heapcast" >"$name.json"
	assert_contains "$name: the ledger" "$name.json" '"lost":0,' '"orphan_frees":0,' '"stacks_cut":0,' '"stacks_unknown":0,'
	assert_eq "$name: modules" "$expected" "$("$COLLECTOR" sql --csv "$name.heapcast" \
		"select count(*) from modules where path like '%/p.so' or path like '%/reload_.so' or path like '%/plain_.so'" |
		tail -n 1 | tr -d '\r')"
	"$COLLECTOR" export --symbols "$T" --format json --with-stacks "$name.heapcast" >"$name.blocks"
	python3 - "$TIMES" "$name.blocks" "$path" "$@" <<'END' >&3 || fail "$name: not what has happened"
import collections, json, sys
times, path, files = int(sys.argv[1]), sys.argv[3], sys.argv[4:]
nobody_knows = files[0].startswith("plain") and len(files) > 1 and path != "-"
found = collections.Counter()
for line in open(sys.argv[2]):
    block = json.loads(line)
    number = {999: 1, 1991: 2, 2007: 2}.get(block["size"])
    if block["size"] % 16 != 7 or not number:
        continue
    names = [f.get("function", f["name"]) for f in block["backtrace"]][:3]
    offsets = [int(f["address_s"], 16) & 0xfff for f in block["backtrace"]][:2]
    found[number, tuple(names), tuple(offsets)] += 1
for key in found:
    print(found[key], *key)
assert sum(found.values()) == times, "not as many blocks as rounds"
assert len(found) == len(files), "not one chain for each file"
for number, names, offsets in found:
    # Nobody knows which of two files without a build id is the one that is there now: there are no names, rather than wrong ones.
    inner = ("[p.so+", "[p.so+") if nobody_knows else ("inner_%d" % number, "reload_work")
    assert names[0].startswith(inner[0]) and names[1].startswith(inner[1]) and names[2] == "main", names
END
}
