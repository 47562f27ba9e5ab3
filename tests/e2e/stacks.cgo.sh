#!/bin/bash
# ctest: LABELS full COST 40
# Blocks of C code in a program of Go. Their stacks go on at the goroutine that has called it, over C code that calls Go
# back, however its stacks grow and are copied meanwhile. Each is the stack that the program says, and what a walk in
# full gives.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-stacks.sh"
need go gcc python3
[ "$(uname -m)" = x86_64 ] || skip "stacks go on in Go on x86-64 only"
GOROUTINES=20
ROUNDS=50

HOME=$T GOCACHE=$T/cache GOPATH=$T/path GO111MODULE=off GOPROXY=off GOTOOLCHAIN=local GOFLAGS='' \
	CGO_ENABLED=1 go build -o crossing "$ROOT/tests/targets/go/crossing.go" >build.err 2>&1 ||
	skip "go can't build a program with C code: $(tail -n 1 build.err)"

assert_status 7 "$AGENT" run --quiet --output crossing.heapcast -- ./crossing $GOROUTINES $ROUNDS
"$COLLECTOR" export --format json --with-stacks crossing.heapcast >crossing.json
python3 - "$ROOT/tests/targets/go/crossing.go" $GOROUTINES $ROUNDS <<'END' >&3
import collections, itertools, json, sys

source = open(sys.argv[1]).read().splitlines()
goroutines, rounds = int(sys.argv[2]), int(sys.argv[3])
numbers = [g + i + more for g in range(goroutines) for i in range(rounds) for more in (0, 1)]


def line(text):  # of the source, the only one that has it
    found = [i for i, s in enumerate(source, 1) if text in s]
    assert len(found) == 1, (text, found)
    return found[0]


down = ("main.deep", line("return deep(depth-1, at)"))
last = ("main.deep", line("at()"))
def names(*of):  # of frames whose lines are not ours
    return [(name, None) for name in of]


def from_go(wrapper, rest):  # the C function is called from
    return names("runtime.asmcgocall", "runtime.cgocall", "main._Cfunc_" + wrapper) + rest


end = names("main.main.func1.1", "runtime.goexit")


def deep(depth):
    return [last] + [down] * depth


def back(number):  # where C code is, which calls Go back
    call = ("main.round.func1", line("deep(number%7"))
    return from_go("c_back", [call] + deep(number % 7) + [("main.round", call[1])] + end)


def expected(size, number):
    if size == 777:
        return from_go("c_take", [("main.take", line("C.c_take(777)"))] + deep(number % 20) +
                       [("main.round", line("deep(number%20"))] + end)
    if size == 779:
        return back(number)
    call = line("C.c_take(778)")
    called_back = names("_cgoexp_goBack", "runtime.cgocallbackg1", "runtime.cgocallbackg",
                        "runtime.cgocallback", "crosscall2", "goBack", "c_back")
    return from_go("c_take", [("main.goBack.func1", call)] + deep(number % 300) +
                   [("main.goBack", call)] + called_back + back(number))


def seen(frames):
    out = []
    for f in frames:
        name, at = f.get("function", f["name"]), f.get("line")
        if name.startswith("_cgoexp_"):
            name = "_cgoexp_" + name.rsplit("_", 1)[1]
        ours = name.startswith("main.") and not name.startswith(("main._Cfunc_", "main.main."))
        if name.startswith("_cgo_") or (out and out[-1][0] == name == "runtime.cgocallbackg"):
            continue  # made by cgo
        if ours:
            assert f["source"].endswith("/crossing.go"), f
        out.append((name, at if ours else None))
    return tuple(out)


want, got = collections.Counter(), collections.Counter()
for size, number in itertools.product((777, 778, 779), numbers):
    inner = names("c_take", "c_back") if size == 779 else names("c_take")
    want[size, tuple(inner + expected(size, number))] += 1
for text in open("crossing.json"):
    block = json.loads(text)
    if block["size"] in (777, 778, 779):
        got[block["size"], seen(block["backtrace"])] += 1
print(sum(got.values()), "stacks,", len(got), "different ones")
for stack, count in list((got - want).items())[:3]:
    print("not expected:", count, stack)
for stack, count in list((want - got).items())[:3]:
    print("missing:", count, stack)
sys.exit(got != want)
END

work_crossing() {
	"$@" ./crossing $GOROUTINES $((10 * ROUNDS)) || [ $? = 7 ]
}
stacks_run "$CHECK" crossing 1
stacks_sound crossing
echo "$(found crossing compared) compared, $(found crossing truncated) truncated" >&3
