#!/bin/bash
# `collector extract` writes the symbol files that the data folder has of a recording, separate debug files and memory
# maps. Each is under the path that it had, and equals what it was. It writes nothing outside of the folder and nothing
# through a link, and replaces nothing unless told to.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-symbols.sh"
need cmp objcopy python3 lz4
make_app
start_collector
mkfifo "$T/hold"
"$AGENT" run --policy block --announce --interface lo --quiet --gather-maps -- "$T/app" hold <"$T/hold" &
program=$!
exec 7>"$T/hold"
wait_for 30 "its maps" eval 'ask maps --json last 2>/dev/null | python3 -c "import json, sys; sys.exit(not json.load(sys.stdin)[\"maps\"])" 2>/dev/null'
exec 7>&-
wait "$program"
wait_collector
id=$(build_id "$T/app")

# ---- nothing but maps; nothing at all ----
ask extract --list last >"$T/list"
assert_contains "the list" "$T/list" "/maps" "/smaps" "BUILD ID"
grep -q "$id" "$T/list" && fail "a file that nobody has is listed"
"$AGENT" run --quiet --output "$T/bare" -- "$T/app"
assert_status 1 ask extract --list "$T/bare" 2>"$T/err"
assert_contains "nothing" "$T/err" "nothing came with" "symbols fetch" "--gather-maps"
assert_status 1 ask extract -o "$T/none" "$T/bare" 2>/dev/null
[ ! -e "$T/none" ] || fail "a folder was made for nothing"

# ---- a program, its debug file, a library ----
objcopy --only-keep-debug "$T/app.full" "$T/app.dbg"
libc=$(ldd "$T/app" | awk '/libc\.so/ { print $3 }')
ask symbols add "$T/app" "$T/app.dbg" "$(readlink -f "$libc")" >/dev/null
ask extract --list --json last >"$T/list.json"
python3 - "$T/list.json" "$T/app" "$id" <<'PYTHON'
import json, os, sys
files = {f["name"]: f for f in json.load(open(sys.argv[1]))["files"]}
app, build_id = sys.argv[2:]
assert files[app] == {"name": app, "what": "program", "build_id": build_id, "size": os.path.getsize(app)}, files
assert files[app + ".debug"]["what"] == "debug file" and files[app + ".debug"]["build_id"] == build_id, files
assert any(n.endswith("/libc.so.6") for n in files), files
PYTHON
ask extract -o "$T/files" last >"$T/out"
cmp "$T/files$T/app" "$T/app"
cmp "$T/files$T/app.debug" "$T/app.dbg"
found=$(find "$T/files" -name libc.so.6)
cmp "$found" "$(readlink -f "$libc")"
assert_contains "what it says" "$T/out" "$(find "$T/files" -type f | wc -l) files written below $T/files"
# The maps are those that `collector maps` shows, as the kernel writes them.
ask maps --json last >"$T/maps.json"
python3 - "$T/maps.json" "$(echo "$T"/files/proc/*/maps)" "$(echo "$T"/files/proc/*/smaps)" <<'PYTHON'
import json, re, sys
maps = json.load(open(sys.argv[1]))["maps"]
lines = open(sys.argv[2]).read().splitlines()
assert len(lines) == len(maps) > 10, (len(lines), len(maps))
for m, line in zip(maps, lines):
    found = re.fullmatch(r"([0-9a-f]{8,})-([0-9a-f]{8,}) ([rwxps-]{4}) ([0-9a-f]{8,}) ([0-9a-f]+):([0-9a-f]+) (\d+) *(.*)", line)
    assert found, line
    assert (int(found[1], 16), int(found[2], 16) - int(found[1], 16), found[3], found[8]) == \
        (m["address"], m["size"], m["permissions"], m["name"]), (line, m)
rss = sum(int(l.split()[1]) for l in open(sys.argv[3]) if l.startswith("Rss:"))
assert rss * 1024 == sum(m["rss"] for m in maps) and rss, rss
PYTHON

# ---- what is there stays, unless told otherwise ----
echo mine >"$T/files$T/app"
assert_status 3 ask extract -o "$T/files" last >"$T/out" 2>"$T/err"
assert_contains "what is there" "$T/err" "File exists" "--force replaces"
assert_eq "what is there" mine "$(cat "$T/files$T/app")"
ask extract --force -o "$T/files" last >/dev/null
cmp "$T/files$T/app" "$T/app"
[ -z "$(find "$T/files" -name '.extract*')" ] || fail "half files were left"

# ---- links on the way, and in the place of the file ----
mkdir -p "$T/trap" "$T/outside"
ln -s "$T/outside" "$T/trap/${T:1:3}" 2>/dev/null || ln -s "$T/outside" "$T/trap/tmp"
first=$(cut -d/ -f2 <<<"$T")
rm -f "$T/trap/"*
ln -s "$T/outside" "$T/trap/$first"
assert_status 3 ask extract --force -o "$T/trap" last >/dev/null 2>"$T/err"
assert_contains "a link on the way" "$T/err" "opening the folder $first"
[ -z "$(ls -A "$T/outside")" ] || fail "something was written through a link: $(find "$T/outside")"
mkdir -p "$T/trap2$T"
echo precious >"$T/outside/file"
ln -s "$T/outside/file" "$T/trap2$T/app"
assert_status 3 ask extract -o "$T/trap2" last >/dev/null 2>/dev/null
assert_eq "the file behind a link" precious "$(cat "$T/outside/file")"
ask extract --force -o "$T/trap2" last >/dev/null
assert_eq "the file behind a link" precious "$(cat "$T/outside/file")"
[ ! -L "$T/trap2$T/app" ] && cmp "$T/trap2$T/app" "$T/app"

# ---- a recording that would like to write elsewhere: every path of the app is replaced by a hostile one of the same length ----
cat >"$T/hostile.py" <<'END'
import subprocess, sys
source, target, old, new = sys.argv[1:]
data = subprocess.run(["lz4", "-dc", source], stdout=subprocess.PIPE, check=True).stdout
assert data.count(old.encode()) > 0 and len(old) == len(new)
data = data.replace(old.encode(), new.encode())
def varint(at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
at = 0
with open(target, "wb") as out:
    while at < len(data):
        assert data[at] == 10
        length, body = varint(at + 1)
        end = body + length
        open(target + ".part", "wb").write(data[at:end])
        out.write(subprocess.run(["lz4", "-qc", "--content-size", "-BI", "-B7", target + ".part"], stdout=subprocess.PIPE, check=True).stdout)
        at = end
END
recording=$(find "$T/data/streams" -name recording.heapcast)
rest=$((${#T} + 4))
hostile() { # a path of the app's length
	local path=$1
	while [ ${#path} -lt $rest ]; do path+=x; done
	assert_eq "a path's length" $rest ${#path}
	printf %s "$path"
}
for path in "../../../../up" "/a/../../up" "//././/two" "/proc/self/cwd/up" "/ends/with/x/.."; do
	case $path in */..) full=$path; while [ ${#full} -lt $rest ]; do full=/y$full; done; full=${full: -$rest} ;; *) full=$(hostile "$path") ;; esac
	python3 "$T/hostile.py" "$recording" "$T/hostile" "$T/app" "$full" 2>"$T/py.err" || skip "lz4 can't make frames here: $(tail -1 "$T/py.err")"
	rm -rf "$T/jail"
	mkdir -p "$T/jail/a/b"
	status=0
	ask extract -o "$T/jail/a/b" "$T/hostile" >"$T/out" 2>"$T/err" || status=$?
	case $path in
	*..*) assert_eq "exit status for $path" 3 $status && assert_contains "$path" "$T/err" "no file is written to" ;;
	*) assert_eq "exit status for $path" 0 $status && cmp "$T/jail/a/b/$full" "$T/app" ;;
	esac
	assert_eq "files outside for $path" "" "$(find "$T/jail" -path "$T/jail/a/b" -prune -o -type f -print)"
done
