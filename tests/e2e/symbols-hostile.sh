#!/bin/bash
# ctest: LABELS full
# Symbol files that were made to harm, with the right build id. They are a packed symbol table that unpacks to 300 MiB,
# debug information with bits turned, files cut, and a pipe and a loop of links among the symbols. The collector answers
# in time, says which file is no use, and takes the names from the good one beside it.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-symbols.sh"
need xz
make_app
record_app
mkdir "$T/good" "$T/bad"
objcopy --only-keep-debug "$T/app.full" "$T/debug"

fresh() { # forget what is known
	rm -f "$T/data"/symbols.sqlite*
}

head -c 300M /dev/zero | xz -1 >"$T/bomb.xz"
objcopy --add-section .gnu_debugdata="$T/bomb.xz" "$T/app" "$T/bad/bomb"
mkfifo "$T/bad/pipe"
ln -s . "$T/bad/loop"
ln -s /dev/zero "$T/bad/zero"
began=$SECONDS
ask report last --symbols "$T/bad" --json >"$T/report.json"
[ $((SECONDS - began)) -lt 60 ] || fail "the report took $((SECONDS - began)) s"
assert_contains "the report" "$T/report.json" "$T/bad/bomb: its .gnu_debugdata can't be unpacked"
cp "$T/debug" "$T/good/"
assert_named "beside a bomb" --symbols "$T/bad" --symbols "$T/good"
rm "$T/bad"/*

# Sections of debug information with bits turned, one file after the other, all at once below one folder.
python3 - "$T/debug" "$T/bad" <<'PYTHON'
import random, subprocess, sys
data = open(sys.argv[1], "rb").read()
sections = []
for line in subprocess.check_output(["readelf", "-WS", sys.argv[1]], text=True).splitlines():
    words = line.replace("[ ", "[").split()
    if len(words) > 5 and words[1].startswith(".debug"):
        sections.append((int(words[4], 16), int(words[5], 16)))
assert len(sections) >= 4, sections
r = random.Random(5)
for n in range(40):
    bad = bytearray(data)
    if n % 4 == 0:
        del bad[r.randrange(len(bad) // 2, len(bad)):]
    for i in range(1 + n):
        offset, size = r.choice(sections)
        at = offset + r.randrange(size)
        if at < len(bad):
            bad[at] = r.choice((bad[at] ^ 1 << r.randrange(8), 0, 255, r.randrange(256)))
    open(f"{sys.argv[2]}/{n:02}", "wb").write(bad)
PYTHON
for file in "$T"/bad/*; do
	mkdir "$T/one"
	mv "$file" "$T/one/"
	fresh
	ask report last --symbols "$T/one" --json >"$T/report.json" || fail "the report ended with $? over $file"
	rm -r "$T/one"
done
fresh
assert_named "in the end" --symbols "$T/good"
