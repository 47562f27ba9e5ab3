#!/bin/bash
# Suppression files of LeakSanitizer: a program that leaks in two ways, a file that names one, and a gate for a build.
. "$(dirname "$0")/lib.sh"
need cc python3
cat >"$T/leaky.c" <<'END'
#include <stdio.h>
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline)) static void known_leak(void)
{
	for (int i = 0; i < 3; i++)
		kept = malloc(1000);
}

__attribute__((noinline)) static void new_leak(void)
{
	kept = malloc(77);
}

__attribute__((noinline)) static void store(size_t size)
{
	kept = malloc(size);
}

__attribute__((noinline)) static void wide_way(void)
{
	store(6600);
}

__attribute__((noinline)) static void narrow_way(void)
{
	store(3000);
}

__attribute__((noinline)) static void thin_way(void)
{
	store(400);
}

int main(int argc, char **argv)
{
	(void)argv;
	puts("");
	known_leak();
	if (argc > 1)
		new_leak();
	if (argc > 2) {
		wide_way();
		narrow_way();
		thin_way();
	}
	return 0;
}
END
cc -g -O0 -o "$T/leaky" "$T/leaky.c"
cd "$T"
"${COLLECTOR%/*}/heapcast" run -q -o old.heapcast -- ./leaky >/dev/null
"${COLLECTOR%/*}/heapcast" run -q -o new.heapcast -- ./leaky more >/dev/null
printf '# known\n\nrace:other\nleak:^known_*$\n' >lsan.supp

leaks() {
	"$COLLECTOR" leaks "$@"
}
leaks old.heapcast --suppress lsan.supp >text 2>note
assert_contains "the text" text "suppressed" "3  leak:^known_*$"
assert_contains "the note" note "1 line is for other sanitizers"
assert_status 0 leaks old.heapcast --suppress lsan.supp --fail-if 'leaked_bytes > 0' >/dev/null 2>&1
assert_status 1 leaks new.heapcast --suppress lsan.supp --fail-if 'leaked_bytes > 0' >/dev/null 2>&1
assert_status 1 leaks old.heapcast --fail-if 'leaked_bytes > 0' >/dev/null 2>&1
HEAPCAST_SUPPRESS=lsan.supp assert_status 0 leaks old.heapcast --fail-if 'suspect_bytes > 0 or leaked_blocks > 0' >/dev/null 2>&1
for by in site function backtrace; do
	leaks new.heapcast --suppress lsan.supp --by $by >"$by"
	assert_contains "by $by" "$by" new_leak "SUPPRESSED  BLOCKS"
	sed '/SUPPRESSED/,$d' "$by" | grep -q known_leak && fail "--by $by lists what is suppressed"
done

leaks new.heapcast --suppress none --json >all.json
leaks new.heapcast --suppress lsan.supp --json >some.json 2>/dev/null
"$COLLECTOR" report new.heapcast --json >report.json
python3 - <<'PYTHON'
import json
load = lambda name: json.load(open(name))
whole, some, report = load("all.json"), load("some.json"), load("report.json")
assert "suppressed" not in whole and whole["total"]["bytes"] == report["leaked"]["bytes"]
left, out = some["total"], some["suppressed"]["total"]
assert left["bytes"] + out["bytes"] == whole["total"]["bytes"], (left, out, whole["total"])
assert left["blocks"] + out["blocks"] == whole["total"]["blocks"]
assert left["bytes"] == 77 and left["blocks"] == 1, left
by = {p["pattern"]: p["value"] for p in some["suppressed"]["patterns"]}
assert by["^known_*$"]["bytes"] == 3000 and by["^known_*$"]["blocks"] == 3, by
PYTHON

# All ways to a leak of some weight are shown, each with its share and who called it.
"${COLLECTOR%/*}/heapcast" run -q -o ways.heapcast -- ./leaky more ways >/dev/null
leaks ways.heapcast | sed -n '/ store$/,/ known_leak$/p' >ways
assert_contains "the ways to store()" ways "66 % by wide_way  leaky.c:24" "30 % by narrow_way  leaky.c:29" " 4 % by others"
assert_eq "ways that lead on to main()" "$(grep -c '^ *by main  leaky.c:' ways)" 2

# What heapcast run ends with names the sites that look most like leaks, without what is built in.
"$COLLECTOR" summary ways.heapcast >summary
assert_contains "the end of heapcast run" summary "Never freed, by call site, what looks most like a leak first:"
assert_eq "the first site that leaked" "$(sed -n '/Never freed/{n;p}' summary | tr -s ' ')" " 9.77 KiB 76 % store leaky.c:19, leaky"

# The REST API leaves out what is built in, unless it is asked not to.
mkdir data
"$COLLECTOR" import --data data new.heapcast >/dev/null
"$COLLECTOR" serve --data data --http 127.0.0.1:0 >served 2>&1 &
wait_for 20 "the collector to serve" grep -q Serving served
address=$(sed -n 's/.*\(http:[^#]*\).*/\1/p' served)
leaks new.heapcast --json >known.json
curl -sf "${address}data/last/leaks" >rest-known.json
curl -sf "${address}data/last/leaks?suppress=none" >rest-all.json
assert_eq "status of a word that is none" "$(curl -s -o wrong -w '%{http_code}' "${address}data/last/leaks?suppress=some")" 400
assert_contains "what is said of it" wrong "known or none"
python3 - <<'PYTHON'
import json
load = lambda name: json.load(open(name))
known, whole, rest_known, rest_all = map(load, ("known.json", "all.json", "rest-known.json", "rest-all.json"))
for command, rest in ((known, rest_known), (whole, rest_all)):
    assert rest["total"] == command["total"] and rest["suspect_bytes"] == command["suspect_bytes"], (rest, command)
assert rest_all["suppressed"] == {"total": {"bytes": 0, "blocks": 0}, "patterns": []}, rest_all
assert rest_known["suppressed"]["total"]["blocks"] > 0  # stdio's buffer
assert rest_known["suppressed"]["total"]["bytes"] + rest_known["total"]["bytes"] == rest_all["total"]["bytes"]
PYTHON
kill_children

# What is no such file is an error that says where, and nothing waits for ever.
refused() {
	local words=$1
	shift
	timeout 30 "$COLLECTOR" leaks old.heapcast --suppress "$@" >/dev/null 2>wrong && fail "$1 is taken"
	assert_contains "what is said of $1" wrong "$words"
}
printf 'leak:a\nnonsense\n' >bad.supp
printf 'leak:a\0b\n' >nul.supp
truncate -s 100M large.supp
mkfifo pipe
mkdir folder
head -c 1000000 /dev/zero | tr '\0' x | sed 's/^/leak:/' >long.supp
refused "bad.supp, line 2" bad.supp
refused "nul.supp, line 1" nul.supp
refused "too large" large.supp
refused "it is a folder" folder
refused "long.supp, line 1" long.supp
refused "No such file" absent.supp
timeout 30 "$COLLECTOR" leaks old.heapcast --suppress pipe >/dev/null
timeout 30 "$COLLECTOR" leaks old.heapcast --suppress <(sleep 0.3; cat lsan.supp) >text 2>/dev/null
assert_contains "through a pipe" text "leak:^known_"
