#!/bin/bash
# A recording that was packed with its binaries gives them to another machine: `symbols add` takes them out. A recording
# that brings no names then has functions, inlined frames and lines there. The packed one answers every question as
# without them. strip and anonymise leave them out, and so does import. Each build id is in it once, only of modules in
# a backtrace, and what can't go along is named. Of what was spoilt nothing is taken.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-symbols.sh"
need lz4 protoc
make_app
echo 'int idle(void) { return 1; }' >idle.c
gcc -shared -fPIC -Wl,--build-id idle.c -o libidle.so
gcc -g -O2 -fno-optimize-sibling-calls -Wl,--build-id -Wl,--no-as-needed app.c "$T/libidle.so" -o app.full
objcopy --strip-all app.full app
mkdir debug
head -c 100000 /dev/urandom >pad
objcopy --only-keep-debug --add-section .pad=pad app.full debug/app.debug
id=$(build_id app)
"$AGENT" run --quiet --output plain.heapcast -- "$T/app"

files_of() { # RECORDING: what it brings along, as lz4 and protoc see it
	lz4 -dc "$1" | protoc --decode=heapcast.Recording -I "$ROOT/proto" heapcast.proto | grep -c '^ *file {' || true
}
same_answers() { # WHAT RECORDING OTHER
	local question
	for question in report ledger leaks; do
		"$COLLECTOR" "$question" --json "$2" >one.json || fail "$1: $question of $2"
		"$COLLECTOR" "$question" --json "$3" >other.json || fail "$1: $question of $3"
		cmp one.json other.json || fail "$1: $question differs"
	done
	"$COLLECTOR" ledger "$3" >ledger
	assert_contains "$1: the account" ledger "The account adds up, and is complete."
}

# ---- packed ----
"$COLLECTOR" pack --symbols debug --with-binaries -o packed.heapcast plain.heapcast >said 2>pack.err
grep -qE '^[0-9]+ binaries are in it, ' said || fail "pack says: $(cat said)"
! grep -F -e "$T/app" -e libidle pack.err || fail "something is left out"
"$COLLECTOR" pack --symbols debug -o names.heapcast plain.heapcast >said
assert_eq "binaries without the option" 0 "$(files_of names.heapcast)"
same_answers "with binaries" names.heapcast packed.heapcast
"$COLLECTOR" pack --symbols debug --with-binaries --json -o - plain.heapcast 2>said.json | cmp - packed.heapcast || fail "to a pipe it is another one"
"$COLLECTOR" pack --symbols debug --with-binaries --json -o twice.heapcast packed.heapcast >twice.json 2>err
"$COLLECTOR" pack --json -o kept.heapcast packed.heapcast >kept.json
python3 - <<'PYTHON'
import json
first, twice, kept = (json.load(open(n)) for n in ("said.json", "twice.json", "kept.json"))
assert first["binaries"] >= 2 and first["binary_bytes"] > 100000, first
for other in (twice, kept):
    assert all(other[k] == first[k] for k in ("binaries", "binary_bytes")), (first, other)
PYTHON
assert_eq "pieces of one that was packed twice" "$(files_of packed.heapcast)" "$(files_of twice.heapcast)"

# ---- what leaves them out ----
"$COLLECTOR" strip --threshold all -o stripped.heapcast packed.heapcast >said
assert_eq "binaries of a stripped one" 0 "$(files_of stripped.heapcast)"
"$COLLECTOR" strip --threshold all -o stripped-names.heapcast names.heapcast >said
cmp stripped.heapcast stripped-names.heapcast || fail "stripped, it is another one"
"$COLLECTOR" export --anonymise --seed pack --output anonymous.heapcast packed.heapcast 2>err ||
	fail "anonymise: $(cat err)"
assert_eq "binaries of an anonymous one" 0 "$(files_of anonymous.heapcast)"
same_answers "stripped" stripped.heapcast stripped-names.heapcast
"$COLLECTOR" import --data "$T/imported" packed.heapcast >said
assert_contains "import" said "its end is there"
! grep -q damaged said || fail "import: $(cat said)"
assert_eq "binaries of an imported one" 0 "$(files_of "$(find "$T/imported" -name '*.heapcast')")"

# ---- what can't go along is named ----
cp app app.here
cp debug/app.debug app.debug.here
truncate -s 513M debug/app.debug
"$COLLECTOR" pack --symbols debug --with-binaries --force -o other.heapcast plain.heapcast >said 2>err
assert_contains "a debug file that is too large" err "$T/app: the file with more to tell has more than 512 MiB, and is left out"
mkdir other
"$COLLECTOR" symbols add --data other other.heapcast >said
cmp app "other/symbols/.build-id/${id:0:2}/${id:2}" || fail "the next best file did not go along"
rm app app.full
"$COLLECTOR" pack --symbols debug --with-binaries --force -o other.heapcast plain.heapcast >said 2>err
assert_contains "only one that is too large" err "$T/app is left out: its file has more than 512 MiB"
rm -r debug
"$COLLECTOR" pack --with-binaries --force -o other.heapcast plain.heapcast >said 2>err
assert_contains "no file" err "$T/app is left out: no file with its build id here"
cp libidle.so app
"$COLLECTOR" pack --with-binaries --force -o other.heapcast plain.heapcast >said 2>err
assert_contains "another build" err "$T/app is left out: the file here is another build: recorded was build id $id"
rm app

# ---- on another machine ----
ask import plain.heapcast >said
assert_nameless "without the binaries"
ask symbols add packed.heapcast >said || fail "add: $(cat said)"
added=$(sed -n 's/^\([0-9]*\) added: .*/\1/p' said)
assert_eq "binaries that were added" "$(python3 -c 'import json; print(json.load(open("said.json"))["binaries"])')" "$added"
assert_named "with them"
ask report last >report
assert_contains "the report" report "app.c:$LINE_INNER"
kept=data/symbols/.build-id/${id:0:2}/${id:2}.debug
cmp app.debug.here "$kept" || fail "what came is another file"
ask symbols list >list
grep -q "^$id  *yes  *yes  *yes .*$kept" list || fail "list: $(cat list)"
! grep -q "$(build_id libidle.so)" list || fail "a module without a place in a backtrace came along"
ask symbols add packed.heapcast >said
assert_contains "once more" said "0 added, $added there already"
[ -z "$(find data/symbols -name '.adding*')" ] || fail "half-made copies were left"
assert_status 3 ask symbols add plain.heapcast >said 2>err
assert_contains "one without" err "plain.heapcast brings no binaries along: 'collector pack --with-binaries' puts them in"
# A folder that nothing was recorded to yet.
mkdir fresh
"$COLLECTOR" symbols add --data fresh packed.heapcast >said
"$COLLECTOR" tree --data fresh plain.heapcast >tree
assert_contains "in a fresh folder" tree "main [app]" "outer [app]" "inner [app]"

# ---- spoilt ----
cat >spoil.py <<'PYTHON'
"""spoil.py WIRE PROTO PACKED BUILD_ID: NAME.heapcast for each way to spoil the app's file, and no other file in it."""
import copy, os, sys, zlib
sys.path.insert(0, sys.argv[1])
import wire
schema = wire.Schema(sys.argv[2])
numbers = {name: number for number, (name, _, _) in schema.messages["FilePiece"].items()}
before, pieces = [], [] # frames of the recording; messages
link = next(n for n, f in schema.messages["Batch"].items() if f[0] == "link")
file = next(n for n, f in schema.messages["Link"].items() if f[0] == "file")
frames, rest = wire.split_frames(open(sys.argv[3], "rb").read())
assert not rest
for frame in frames:
    batch = schema.open("Batch", wire.Mutator.element(wire.unpack_frame(frame)))
    of = [v for n, _, m in batch if n == link for k, _, v in m if k == file]
    if not of:
        before.append(frame)
    elif dict((n, v) for n, _, v in of[0])[numbers["build_id"]].hex() == sys.argv[4]:
        pieces.append(batch)
assert len(pieces) > 4, len(pieces)


class Piece:
    def __init__(self, batch):
        (self.fields,) = [v for n, _, m in batch if n == link for k, _, v in m if k == file]

    def __getitem__(self, name):
        return next((v for n, _, v in self.fields if n == numbers[name]), 0)

    def __setitem__(self, name, value):
        self.fields[:] = [f for f in self.fields if f[0] != numbers[name]]
        self.fields.append([numbers[name], 2 if isinstance(value, bytes) else 0, value])


def pack(batch):
    return wire.pack_frame(wire.Mutator.wrapped(schema.close(batch)))


def checksums(batches):
    crc = 0
    for b in batches:
        piece = Piece(b)
        piece["crc"] = crc = zlib.crc32(piece["data"], crc)


def byte(batches):
    piece = Piece(batches[1])
    piece["data"] = bytes([piece["data"][0] ^ 1]) + piece["data"][1:]


def no_elf(batches):
    piece = Piece(batches[0])
    piece["data"] = b"MZ" + piece["data"][2:]
    checksums(batches)


def other_content(batches): # of the padding, with all else right
    piece = next(Piece(b) for b in batches if pad in Piece(b)["data"])
    piece["data"] = piece["data"].replace(pad, b"another binary !")
    checksums(batches)


def each(name, change):
    def spoil(batches):
        for b in batches:
            Piece(b)[name] = change(Piece(b)[name])
    return spoil


def one(name, change, which=1):
    return lambda batches: Piece(batches[which]).__setitem__(name, change(Piece(batches[which])[name]))


def too_long(batches):
    piece = Piece(batches[1])
    piece["data"] += Piece(batches[2])["data"][:1]


def again(batches):
    batches[:] = [copy.deepcopy(b) for _ in range(50) for b in batches[:2]]
    each("total", lambda n: 5)(batches)


pad = open("pad", "rb").read()[50000:50016]
ways = {
    "byte": byte, "total": one("total", lambda n: n + 1), "longer": each("total", lambda n: n + 1),
    "large": each("total", lambda n: 600 << 20), "other-id": each("build_id", lambda i: bytes([i[0] ^ 1]) + i[1:]),
    "long-id": each("build_id", lambda i: i * 2), "order": lambda b: b.insert(1, b.pop(2)), "beginning": lambda b: b.pop(0),
    "cut": lambda b: b.pop(), "twice": lambda b: b.insert(1, b[1]), "identity": one("identity", lambda n: n + 1),
    "refusal": one("refusal", lambda n: 7), "too-long": too_long, "no-elf": no_elf, "offset": one("offset", lambda n: 1 << 63),
    "empty": one("data", lambda d: b""), "other-content": other_content, "again": again,
}
for name, spoil in ways.items():
    batches = copy.deepcopy(pieces)
    spoil(batches)
    open(f"{name}.heapcast", "wb").write(b"".join(before + [pack(b) for b in batches]))
whole = b"".join(before + [pack(b) for b in pieces])
open("whole.heapcast", "wb").write(whole)
at = len(b"".join(before + [pack(b) for b in pieces[:2]])) + 5000
open("frame.heapcast", "wb").write(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
PYTHON
python3 spoil.py "$TEST_SOURCE/mutated" "$ROOT/proto/heapcast.proto" packed.heapcast "$id"
size=$(stat -c %s app.debug.here)
refused() { # NAME WHY
	rm -rf spoilt
	mkdir spoilt
	assert_status 3 "$COLLECTOR" symbols add --data spoilt "$1.heapcast" >said 2>err
	assert_contains "$1" err "collector symbols: $1.heapcast: the binary " "is not taken: $2"
	assert_contains "$1" said "0 added, 1 not"
	[ -z "$(find spoilt -type f)" ] || fail "$1: something was left: $(find spoilt -type f)"
	"$COLLECTOR" report --json "$1.heapcast" 2>err | cmp - whole.json || fail "$1: the report is another one"
}
"$COLLECTOR" report --json whole.heapcast >whole.json
refused byte "a checksum is wrong, of its first 32768 bytes"
refused total "it has $size bytes, and then $((size + 1)), as it says"
refused longer "only $size of its $((size + 1)) bytes are there"
refused large "it has more than 512 MiB, as it says"
refused other-id "the build id in it is another one"
refused order "what follows byte 16384 of it is missing"
refused beginning "its beginning is missing"
refused cut "only $((size / 16384 * 16384)) of its $size bytes are there"
refused twice "what follows byte 32768 of it is missing"
refused identity "pieces of it do not fit together"
refused refusal "it was changed while the recording was packed"
refused too-long "a piece of it makes no sense"
refused offset "what follows byte 16384 of it is missing"
refused empty "a piece of it makes no sense"
refused no-elf "it is no ELF file"
# A damaged frame is one piece less.
assert_status 3 "$COLLECTOR" symbols add --data spoilt frame.heapcast >said 2>err
assert_contains "a damaged frame" err "is not taken: what follows byte 32768 of it is missing"
"$COLLECTOR" ledger frame.heapcast >ledger 2>err || true
assert_contains "the ledger of a damaged one" ledger "damaged"
# As many as there are, they fill no screen, and what is good comes first.
for name in long-id again; do
	assert_status 3 "$COLLECTOR" symbols add --data spoilt "$name.heapcast" "whole.heapcast" >said 2>err
	assert_contains "$name" said "1 "
	[ "$(wc -l <err)" -le 22 ] || fail "$name: $(wc -l <err) lines"
done
assert_contains "50 that are spoilt" err "no more of it is looked at"
cmp app.debug.here "spoilt/symbols/.build-id/${id:0:2}/${id:2}.debug" || fail "the good one behind them did not come"
# What is there is not replaced by what somebody else says it is.
"$COLLECTOR" symbols add --data spoilt other-content.heapcast >said
assert_contains "another content" said "0 added, 1 there already"
cmp app.debug.here "spoilt/symbols/.build-id/${id:0:2}/${id:2}.debug" || fail "it took the place of what was there"
[ -z "$(find spoilt -name '.adding*')" ] || fail "half-made copies were left"
