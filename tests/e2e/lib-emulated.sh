# Programs of another processor under the recorder, beside this machine's agent:   . "$(dirname "$0")/lib-emulated.sh"
# ARCH
#
# qemu-user runs one program on this machine's kernel. Its libheapcast.so, built by the preset ARCH, asks an `agent
# serve` of this machine for a ring, which may have another word size. mips64, of the other byte order, has its own
# agent, which is emulated, too. Without a build, a C library or an emulator for ARCH the test is skipped.
#
#   emulate NAME STATUS PROGRAM...   records it; its output is $T/NAME.said, its recording $T/NAME, whose account must balance without
#                                    a loss; STATUS is its exit status
#   known NAME                       PROGRAM was targets/emulated: everything that it says is on record, as it says
arch=${1:?which processor?}
boards=${HEAPCAST_BOARDS:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build} # the presets' folders
sysroots=${HEAPCAST_SYSROOTS:-$boards/sysroots}
. "$(dirname "${BASH_SOURCE[0]}")/lib-serve.sh"

declare -A emulator=([arm64]=aarch64 [armhf]=arm [mips64el]=mips64el [mips64]=mips64)
libraries=$sysroots/$arch

need "qemu-${emulator[$arch]}-static" python3
library=$boards/$arch/lib/libheapcast.so
[ -e "$library" ] && [ -x "$boards/$arch/targets/emulated" ] || skip "nothing is built for $arch (cmake --workflow --preset $arch)"
[ -d "$libraries" ] || skip "there are no libraries for $arch (deploy/sysroots)"
if [ "$arch" = mips64 ]; then
	native=$AGENT AGENT=$T/agent-$arch
	printf '#!/bin/sh\nexec qemu-mips64-static -L "%s" "%s" "$@"\n' "$libraries" "$boards/$arch/bin/agent" >"$AGENT"
	chmod +x "$AGENT"
fi

emulate() {
	local name=$1 expected=$2 code=0
	shift 2
	serve agent --socket "$T/socket" --output "$T/$name" --policy block
	"qemu-${emulator[$arch]}-static" -L "$libraries" \
		-E "LD_PRELOAD=$library" -E "HEAPCAST_SOCKET=$T/socket" "$@" >"$T/$name.said" 2>"$T/$name.err" || code=$?
	stop_serve agent
	assert_eq "exit status of the agent" 0 "$status"
	assert_eq "exit status of the program" "$expected" "$code"
	[ -e "$T/$name" ] || { cat "$T/agent.err" "$T/$name.err" >&3; fail "nothing was recorded"; }
	"$COLLECTOR" ledger "$T/$name" >"$T/ledger.txt" || { cat "$T/ledger.txt" >&3; fail "the account of $name does not balance"; }
	assert_eq "events of $name that were lost" 0 "$(awk '$1 == "lost" { print $2 }' "$T/ledger.txt")"
}

known() {
	local name=$1
	lz4 -dc "$T/$name" | protoc --decode=heapcast.Recording -I "$ROOT/proto" heapcast.proto >"$T/decoded.txt"
	for what in recording allocations; do "$COLLECTOR" sql --json "$T/$name" "select * from $what" >"$T/$what.json"; done
	"$COLLECTOR" sql --json "$T/$name" "select stack, text from stacks" >"$T/stacks.json"
	python3 - "$arch" "$T/$name.said" "$T" <<'PYTHON'
import json, re, sys

arch, said, folder = sys.argv[1:]
said = {name: int(value) for name, value in (line.split() for line in open(said))}
read = lambda what: json.load(open(f"{folder}/{what}.json"))["answers"][0]
rows = [row for row in read("allocations") if row["size"] % 16 == 7]
ways = {row["stack"]: row["text"] for row in read("stacks")}
recording, = read("recording")

def same(what, expected, found):
    if expected != found:
        sys.exit(f"{arch}, {what}: expected {expected}, found {found}")

bits, big, machine = {"arm64": (64, False, "aarch64"), "armhf": (32, False, "arm"),
                      "mips64el": (64, False, "mips64el"), "mips64": (64, True, "mips64")}[arch]
process = re.search(r"process \{(.*?)\n  \}", open(f"{folder}/decoded.txt").read(), re.S).group(1)
field = lambda name: dict(re.findall(r"^    (\w+): (.*)$", process, re.M)).get(name)
same("processor", machine, recording["architecture"])
same("word size", str(bits), field("pointer_bits"))
same("word size, as the program knows it", bits, said["bits"])
same("byte order", "true" if big else None, field("big_endian"))
same("page size", str(said["page"]), field("page_size"))

same("blocks", said["blocks"], len(rows))
same("freed", said["freed"], sum(row["death_ns"] is not None for row in rows))
same("bytes", said["bytes"], sum(row["size"] for row in rows))
same("above 2 GiB", said["high"], sum(row["address"] >= 1 << 31 for row in rows))
if said["high"] < 600:
    sys.exit(f"{arch}: only {said['high']} blocks lie above 2 GiB")

# Every backtrace is whole: from the start of the program or of a thread down to the call.
for row in rows:
    way = ways[row["stack"]].split(";")
    if way[-1] == "pass":
        same("a thread's backtrace", ["work", "pass"], way[-2:])
    elif way[-1] == "inner":
        same("backtrace", ["main", "outer", "inner"], way[-3:])
        same("its beginning", True, way[0] in ("_start", "__start"))
    else:
        same("the last backtrace", "main", way[-1])
for name in ("inner", "pass"):
    same(f"backtraces of {name}", 1, len({row["stack"] for row in rows if ways[row["stack"]].endswith(";" + name)}))

# Blocks that change hands: they die in the other thread, and none of them before it was born.
handed = [row for row in rows if ways[row["stack"]].endswith(";pass")]
same("blocks that the other thread has freed", len(handed) - 1, sum(row["death_thread"] not in (None, row["thread"]) for row in handed))
same("blocks that died before they were born", 0, sum(row["death_ns"] is not None and row["death_ns"] < row["birth_ns"] for row in rows))

# Stamps are of the time that the program itself has read before and after.
moment, = [row for row in rows if row["function"] == "main"]
at = recording["start_wall_ns"] + moment["birth_ns"]
if not said["before"] - 2000000 <= at <= said["after"] + 2000000:
    sys.exit(f"{arch}: a block made between {said['before']} and {said['after']} has the stamp {at}")
PYTHON
}
