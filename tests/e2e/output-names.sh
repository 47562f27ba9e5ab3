#!/bin/bash
# No recording is written over, except the one that a person has named for what `agent run` runs. That is replaced by a
# new file under its name: never through a link, never another user's file, never a pattern's. All others take a number,
# and the log says so.
. "$(dirname "$0")/lib.sh"
need python3
plain=$BUILD/tests/e2e-plain
run() { "$AGENT" run --quiet "$@" 2>"$T/run.err" >"$T/run.out"; }
inode() { stat -c %i "$1"; }
alone() { env LD_PRELOAD="$PRELOAD" "$@"; }
whole() { "$COLLECTOR" ledger "$1"; }

# The one that was named is replaced by another file: who reads the former one goes on reading it.
assert_status 5 run --output "$T/r" -- "$plain"
exec 4<"$T/r"
first=$(sha256sum <"$T/r")
assert_status 0 run --output "$T/r" -- true
assert_eq "the former file" "$first" "$(sha256sum <&4)"
exec 4<&-
whole "$T/r" >"$T/ledger.txt"
assert_eq "files" r "$(cd "$T" && ls -A | grep -E '^r$|heapcast-')"
assert_eq "its mode" 600 "$(stat -c %a "$T/r")"

# Not while an agent writes there: the second one takes a number, and both are whole.
"$AGENT" run --quiet --output "$T/both" -- sleep 2 2>"$T/first.err" &
wait_for 10 "the first one's file" test -s "$T/both"
assert_status 5 run --output "$T/both" -- "$plain"
assert_contains "the log" "$T/run.err" "$T/both is taken" "goes to $T/both-2"
wait
assert_eq "the first one" sleep "$("$COLLECTOR" report --json "$T/both" | python3 -c 'import json, sys; print(json.load(sys.stdin)["process"]["name"])')"
whole "$T/both" >"$T/ledger.txt"
whole "$T/both-2" >"$T/ledger.txt"
# And of many that begin in one moment, none takes another's place.
for _ in 1 2 3 4 5 6 7 8; do "$AGENT" run --quiet --output "$T/crowd" -- sleep 4 2>>"$T/err.crowd" & done
wait
assert_eq "recordings of eight" 8 "$(find "$T" -name 'crowd*' | wc -l)"
for file in "$T"/crowd "$T"/crowd-[0-9]*; do whole "$file" >"$T/ledger.txt"; done

# Named by a pattern, both stay.
assert_status 5 run --output "$T/%e.rec" -- "$plain"
before=$(sha256sum <"$T/e2e-plain.rec")
assert_status 5 run --output "$T/%e.rec" -- "$plain"
assert_eq "the first of a pattern" "$before" "$(sha256sum <"$T/e2e-plain.rec")"
whole "$T/e2e-plain-2.rec" >"$T/ledger.txt"
assert_contains "the log" "$T/run.err" "e2e-plain.rec is taken: the recording of pid" "goes to $T/e2e-plain-2.rec"

# What is no former recording is left alone, and the program not started.
echo mine >"$T/mine"
ln -s "$T/mine" "$T/link"
ln -s "$T/nowhere" "$T/dangling"
mkdir "$T/folder"
mkfifo "$T/pipe"
cp "$plain" "$T/program"
while read -r name what; do
	assert_status 3 run --output "$T/$name" -- touch "$T/started"
	assert_contains "$name" "$T/run.err" "can't write a recording to $T/$name: it $what"
done <<-END
	link is a link
	dangling is a link
	folder is a folder
	pipe is no regular file
	mine is there, and is no recording
	program is there, and is no recording
END
assert_eq "a text" mine "$(cat "$T/mine")"
cmp "$plain" "$T/program" || fail "a program was written over"
: >"$T/empty"
assert_status 5 run --output "$T/empty" -- "$plain"
whole "$T/empty" >"$T/ledger.txt"
[ ! -e "$T/started" ] || fail "the program was started"
assert_eq "what the link leads to" mine "$(cat "$T/mine")"
[ ! -e "$T/nowhere" ] || fail "something was made through a link"

# The library alone takes a number in all of these cases, and of a recording that is there.
for name in r link dangling folder pipe; do
	was=$(ls -ldi --time-style=full-iso "$T/$name")
	assert_status 5 alone HEAPCAST_OUTPUT="$T/$name" HEAPCAST_LOGFILE="$T/alone.log" "$plain" >/dev/null
	wait_for 10 "$name-2" whole "$T/$name-2"
	assert_eq "$name" "$was" "$(ls -ldi --time-style=full-iso "$T/$name")"
	assert_contains "the log" "$T/alone.log" "$T/$name is taken"
done

# With --follow it is the program that was named which has the name; its children have numbers, whether it is there before or not.
for _ in 1 2; do
	rm -f "$T"/f-*
	assert_status 0 run --memory-limit 16M --follow --output "$T/f" -- "$BUILD/targets/forks" prefork 3
	assert_eq "recordings" "f f-2 f-3 f-4" "$(cd "$T" && echo f f-*)"
	for f in "$T"/f "$T"/f-*; do whole "$f" >"$T/ledger.txt"; done
	"$COLLECTOR" ledger --json "$T/f" >"$T/f.json"
done

# Another user's file, in a folder of one's own.
if [ "$(id -u)" = 0 ] && chown 1 "$T/mine" 2>/dev/null; then
	assert_status 3 run --output "$T/mine" -- touch "$T/started"
	assert_contains "another user's file" "$T/run.err" "can't write a recording to $T/mine: it belongs to another user (1)"
	assert_eq "another user's file" mine "$(cat "$T/mine")"
	assert_status 5 alone HEAPCAST_OUTPUT="$T/mine" "$plain" >/dev/null
	wait_for 10 "a number beside it" whole "$T/mine-2"
	assert_eq "another user's file" mine "$(cat "$T/mine")"
else
	echo "another user's file: not tried, files can not be given away here"
fi

# A device is no recording.
assert_status 5 run --output /dev/null -- "$plain"
[ -c /dev/null ] || fail "/dev/null is no device any more"

# ---- what the other commands write ----

# A result replaces an earlier one of its kind, and nothing else: no recording, and no file of another kind.
"$AGENT" run --quiet --output "$T/p.heapcast" -- "$plain" >"$T/run.out" || true
ask() { "$COLLECTOR" "$@" 2>"$T/ask.err" >"$T/ask.out" </dev/null; }
refused() { # FILE WHY COMMAND...: the command says that FILE is there, and leaves it and its folder as they are
	local file=$1 why=$2 was listed
	shift 2
	was=$(sha256sum <"$file") listed=$(ls -A "$(dirname "$file")")
	assert_status 2 ask "$@"
	assert_contains "$*" "$T/ask.err" "$file is there already$why (--force replaces it)"
	assert_eq "$file after $*" "$was" "$(sha256sum <"$file")"
	assert_eq "files after $*" "$listed" "$(ls -A "$(dirname "$file")")"
}
mkdir "$T/w"
cp "$T/p.heapcast" "$T/w/a.heapcast"
cp "$T/p.heapcast" "$T/w/a.svg"
echo "some text" >"$T/w/notes.svg"
results=("flamegraph -o" "timeline -o" "export --format pprof -o" "export --format collapsed -o" "export --format json -o"
	"export --format csv -o" "analyze --html")
for command in "${results[@]}"; do
	read -r -a words <<<"$command"
	for file in a.heapcast a.svg; do
		refused "$T/w/$file" ", and is a recording" "${words[@]}" "$T/w/$file" "$T/p.heapcast"
	done
	refused "$T/w/notes.svg" ", and is no earlier file of this kind" "${words[@]}" "$T/w/notes.svg" "$T/p.heapcast"
done
echo "main;f 5" >"$T/w/stacks"
for command in "export --anonymise" pack strip "import"; do
	read -r -a words <<<"$command"
	from=$T/p.heapcast
	[ "$command" != import ] || from=$T/w/stacks
	refused "$T/w/a.heapcast" "" "${words[@]}" -o "$T/w/a.heapcast" "$from"
	refused "$T/w/notes.svg" "" "${words[@]}" -o "$T/w/notes.svg" "$from"
	cp "$T/w/notes.svg" "$T/w/forced"
	assert_status 0 ask "${words[@]}" --force -o "$T/w/forced" "$from"
	whole "$T/w/forced" >"$T/ledger.txt"
done
# Again and again, as in CI; an empty file is nothing that could be lost; a file's rights stay, and what a link leads to is replaced.
umask 022
for name in x.svg x.html x.pb.gz x.collapsed x.json x.csv x.massif x.ht x.dot x.replay x.speedscope x.memtracer; do
	case $name in
	*.svg) words=(flamegraph -o) ;;
	*.html) words=(analyze --html) ;;
	*.pb.gz) words=(export --format pprof -o) ;;
	*.ht) words=(export --format heaptrack -o) ;;
	*.memtracer) words=(analyze --format memtracer --output) ;;
	*.dot) words=(export --format callgraph -o) ;;
	*) words=(export --format "${name#x.}" -o) ;;
	esac
	: >"$T/w/$name"
	for _ in 1 2 3; do
		assert_status 0 ask "${words[@]}" "$T/w/$name" "$T/p.heapcast"
		[ -s "$T/w/$name" ] || fail "$name is empty"
	done
	assert_eq "the mode of $name" 644 "$(stat -c %a "$T/w/$name")"
	assert_status 0 ask "${words[@]}" "$T/w/new-$name" "$T/p.heapcast"
	assert_eq "the mode of a new $name" 644 "$(stat -c %a "$T/w/new-$name")"
done
refused "$T/w/x.svg" ", and is no earlier file of this kind" analyze --html "$T/w/x.svg" "$T/p.heapcast"
assert_status 0 ask analyze --force --html "$T/w/x.svg" "$T/p.heapcast"
chmod 600 "$T/w/x.html"
ln -s x.html "$T/w/link.html"
assert_status 0 ask analyze --html "$T/w/link.html" "$T/p.heapcast"
[ -L "$T/w/link.html" ] || fail "a link was replaced"
assert_eq "the mode of a file that was replaced" 600 "$(stat -c %a "$T/w/x.html")"
assert_status 0 ask export --format csv -o /dev/stdout "$T/p.heapcast"
cmp "$T/w/x.csv" "$T/ask.out" || fail "-o /dev/stdout writes something else"

# Where it cannot be written as a whole, the former file stays, and nothing is left.
for name in x.html x.csv; do
	case $name in
	*.html) words=(analyze --html) ;;
	*) words=(export --format csv -o) ;;
	esac
	was=$(sha256sum <"$T/w/$name") listed=$(ls -A "$T/w")
	status=0
	(trap '' XFSZ && ulimit -f 0 && "$COLLECTOR" "${words[@]}" "$T/w/$name" "$T/p.heapcast" 2>&1 >/dev/null | cat >"$T/ask.out"; exit "${PIPESTATUS[0]}") || status=$?
	assert_eq "$name where nothing can be written" "$was" "$(sha256sum <"$T/w/$name")"
	assert_eq "files where nothing can be written" "$listed" "$(ls -A "$T/w")"
	[ $status != 0 ] || fail "it succeeds where nothing can be written"
done

# Bytes are nothing for a terminal.
status=0
python3 -c 'import os, pty, sys; sys.exit(os.WEXITSTATUS(pty.spawn(sys.argv[1:])))' "$COLLECTOR" export --format pprof "$T/p.heapcast" \
	>"$T/ask.out" </dev/null || status=$?
assert_eq "export --format pprof on a terminal" 2 $status
assert_contains "export --format pprof on a terminal" "$T/ask.out" "pprof is nothing for a terminal"
