#!/bin/bash
# /data/ID/flame: the tree as columns has the sums of /report, /tree and /diff. The recordings are one whose numbers are
# known, a sampled one and one with hostile names. The tree is asked for reversed, too, and as a difference. Leaving out
# what is small keeps the sums above it.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-export.sh"
need curl
record_branches
"$AGENT" run --quiet --mode sample=4K --output sampled.heapcast -- "$PROGRAM"
printf 'ma\001in"\\;a\xff\xc0;</script>\033[31m;x 300\nma\001in"\\;"];b 40\nother 7\n' >hostile.collapsed
"$COLLECTOR" import --format collapsed --output hostile.heapcast hostile.collapsed >import.says
files=(small.heapcast grown.heapcast sampled.heapcast hostile.heapcast)
ids=()
for file in "${files[@]}"; do
	ids+=("$("$COLLECTOR" report --json "$file" | python3 -c 'import json, sys; print(json.load(sys.stdin)["process"]["id"])')")
done

"$COLLECTOR" serve --http 127.0.0.1:18094 "${files[@]}" >serve.out 2>serve.err &
server=$!
wait_for 10 "the server" grep -q 18094 serve.out
refused() { # PATH TEXT...
	local path=$1
	shift
	assert_eq "status of $path" 400 "$(curl --silent --output answer --write-out '%{http_code}' "http://127.0.0.1:18094$path")"
	assert_contains "$path" answer "$@"
}
refused "/data/last/flame?reversed=true&base=last" "does not go with"
refused "/data/last/flame?count=few" "count takes a whole number"

cat >flame.py <<'PYTHON'
import json, sys, urllib.request

def get(path):
    return json.load(urllib.request.urlopen(f"http://127.0.0.1:18094/data/{path}"))

class Flame:
    """An answer by node: what is above and below, and the names of functions from the root."""
    def __init__(self, path):
        self.answer = answer = get(path)
        self.n, f, s = answer["nodes"], answer["frames"], answer["strings"]
        self.bytes = self.n["bytes"]
        assert s[0] == "" and len(set(s)) == len(s), "a string is there twice"
        assert len({len(column) for column in self.n.values()}) == 1 and len({len(column) for column in f.values()}) == 1
        frames = list(zip(*(f[k] for k in ("function", "file", "line", "module", "inline"))))
        assert len(set(frames)) == len(frames) and set(range(len(frames))) == set(self.n["frame"][1:]), "frames"
        assert self.n["depth"][0] == 0 and self.n["frame"][0] == -1 and 0 not in self.n["depth"][1:], "the root"
        self.below, self.path, stack = [[] for _ in self.bytes], [], []
        for i, (depth, frame) in enumerate(zip(self.n["depth"], self.n["frame"])):
            assert depth <= len(stack), (i, depth)
            if i:
                self.below[stack[depth - 1]].append(i)
            self.path.append(self.path[stack[depth - 1]] + ((s[frames[frame][0]], s[frames[frame][3]]),) if i else ())
            stack[depth:] = [i]
        assert len(set(self.path)) == len(self.path), "a path is there twice"
        self.inline = {s[frames[x][0]] for x in self.n["frame"][1:] if frames[x][4]}
        self.lines = {s[frames[x][0]]: (s[frames[x][1]], frames[x][2]) for x in self.n["frame"][1:]}
        for key, column in self.n.items():
            if key not in ("depth", "frame"):
                assert all(sum(column[c] for c in self.below[i]) <= column[i] + (key != "bytes") * len(self.below[i])
                           for i in range(len(column))), key # blocks of samples are rounded
        if "base_bytes" not in self.n:
            assert all([self.bytes[c] for c in b] == sorted((self.bytes[c] for c in b), reverse=True) for b in self.below)

    def own(self, column="bytes"):
        """Its own, by the innermost function."""
        sums = {}
        for i, value in enumerate(self.n[column]):
            name = self.path[i][-1][0] if i else ""
            sums[name] = sums.get(name, 0) + value - sum(self.n[column][c] for c in self.below[i])
        return {name: value for name, value in sums.items() if value}

def walk(tree, depth=0):
    yield depth, tree["size"], tree["count"], tree.get("value", {})
    for child in tree["children"]:
        yield from walk(child, depth + 1)

ids = dict(zip(("small", "grown", "sampled", "hostile"), sys.argv[1:]))
small, grown, sampled, hostile = ids.values()

# ---- the sums of the others, whatever is asked ----
for id in ids.values():
    report = get(f"{id}/report")
    for value, query in (("allocated", ""), ("leaked", "?value=leaked"), ("temporary", "?value=temporary"), ("peak", "?value=peak"),
                         (None, "?at=50%25"), (None, "?size_min=1000&hide=yes")):
        flame, tree = Flame(f"{id}/flame{query}"), list(walk(get(f"{id}/tree{query}")))
        answer, n = flame.answer, flame.n
        assert "base_total" not in answer and answer["cut"] == 0 and "base_bytes" not in n, answer["cut"]
        assert answer.get("incomplete") == report.get("incomplete"), answer.get("incomplete")
        if value:
            assert answer["total"] == report[value], (id, query, answer["total"], report[value])
        assert abs(answer["total"]["bytes"] - flame.bytes[0]) <= len(flame.bytes), (answer["total"], flame.bytes[0])
        assert [(d, b, c) for d, b, c, _ in tree] == list(zip(n["depth"], n["bytes"], n["blocks"])), (id, query)
        for (_, _, _, frame), path in zip(tree[1:], flame.path[1:]):
            assert frame.get("function", path[-1][0]) == path[-1][0] and frame.get("library", "") == path[-1][1], (frame, path)
assert "samples" in Flame(f"{sampled}/flame").answer["total"]

# ---- what the program is known to have done ----
flame = Flame(f"{small}/flame?value=leaked")
own = {name: sum(b - sum(flame.bytes[c] for c in flame.below[i]) for i, b in enumerate(flame.bytes)
                 if name in [f for f, _ in flame.path[i]]) for name in ("keep_small", "keep_large", "descend", "work")}
assert own == {"keep_small": 100000, "keep_large": 1000000, "descend": 2560, "work": 204800}, own
flame = Flame(f"{small}/flame")
if "make_one" in flame.lines: # it was built with -g
    assert "make_one" in flame.inline and "churn" not in flame.inline, flame.inline
    assert flame.lines["make_one"][0].endswith("branches.c") and flame.lines["make_one"][1], flame.lines["make_one"]

# ---- reversed: below the root is what allocated, and what each has is its own in the other way ----
for id in ids.values():
    forwards, backwards = Flame(f"{id}/flame"), Flame(f"{id}/flame?reversed=true")
    first = {}
    for i in backwards.below[0]:
        name = backwards.path[i][-1][0]
        first[name] = first.get(name, 0) + backwards.bytes[i]
    assert first == forwards.own(), (id, first, forwards.own())
    assert backwards.bytes[0] == forwards.bytes[0] and backwards.answer["total"] == forwards.answer["total"]
    assert backwards.answer["cut"] == 0
    assert max(backwards.n["depth"]) == max(forwards.n["depth"])

# ---- a difference ----
for now, base, query in ((grown, small, "&value=leaked"), (small, grown, ""), (sampled, small, "&value=peak")):
    flame, diff = Flame(f"{now}/flame?base={base}{query}"), get(f"{now}/diff?base={base}{query}")
    assert flame.answer["total"] == diff["new"] and flame.answer["base_total"] == diff["base"], (flame.answer["total"], diff["new"])
    assert abs(flame.bytes[0] - flame.n["base_bytes"][0] - diff["bytes"]) <= 2 * len(flame.bytes) * (now == sampled), diff["bytes"]
    sides = [Flame(f"{id}/flame?{query}").bytes[0] for id in (now, base)]
    assert sides == [flame.bytes[0], flame.n["base_bytes"][0]], (sides, flame.bytes[0], flame.n["base_bytes"][0])
flame = Flame(f"{grown}/flame?base={small}&value=leaked")
changes = {}
for i, path in enumerate(flame.path):
    for name, _ in path:
        if name.startswith("keep_") and all(not f.startswith("keep_") for f, _ in path[:-1]):
            changes[name] = flame.bytes[i] - flame.n["base_bytes"][i]
assert changes == {"keep_small": -60000, "keep_large": 1000000, "keep_new": 210000}, changes
moment = Flame(f"{small}/flame?base={small}@25%25&at=75%25")
assert moment.answer["total"]["bytes"] == get(f"{small}/snapshot?at=75%25")["total"]["bytes"]
assert moment.answer["base_total"]["bytes"] == get(f"{small}/snapshot?at=25%25")["total"]["bytes"]

# ---- leaving out what is small ----
for query in ("value=allocated", "reversed=true", f"base={grown}"):
    whole = Flame(f"{small}/flame?{query}")
    sizes = dict(zip(whole.path, zip(*(whole.n[k] for k in whole.n if k not in ("depth", "frame")))))
    for count in (1, 2, 7, len(whole.bytes) - 1, len(whole.bytes)):
        part = Flame(f"{small}/flame?{query}&count={count}")
        assert len(part.bytes) == count and part.answer["total"] == whole.answer["total"], (query, count)
        left = len(whole.bytes) - count
        assert part.answer["cut"] == left or "reversed" in query and bool(left) <= bool(part.answer["cut"]), (query, count, part.answer["cut"])
        for path, *values in zip(part.path, *(part.n[k] for k in part.n if k not in ("depth", "frame"))):
            assert sizes[path] == tuple(values), (query, count, path)
        if "base" not in query:
            assert sorted(part.bytes, reverse=True) == sorted(whole.bytes, reverse=True)[:count], (query, count)

# ---- hostile names ----
names = {name for path in Flame(f"{hostile}/flame").path for name, _ in path}
assert any("</script>" in name for name in names) and any('"]' in name for name in names), names
assert not any(ord(c) < 32 for name in names for c in name), names
PYTHON
python3 flame.py "${ids[@]}"

kill -TERM "$server"
wait "$server" || fail "serve ended with $?"
