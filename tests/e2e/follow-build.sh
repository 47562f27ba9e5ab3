#!/bin/bash
# ctest: LABELS full
# make -j2 and make -j8 of twelve files under --follow with the default limit, beside two spinners. Every process has a
# stream, none was left out or only counted, and nothing is lost. Then a storm of short processes, deep trees, and
# children that are killed.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
need gcc make pgrep
export CCACHE_DISABLE=1
mkdir "$T/src"
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\nint f%d(int x) { char b[9]; snprintf(b, 9, "%%d", x); return (int)strlen(b) + getpid(); }\n' \
		$i >"$T/src/f$i.c"
done
printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\n%%.o: %%.c\n\tgcc -O2 -c $< -o $@\n' >"$T/src/Makefile"
nice -n 5 sh -c 'while :; do :; done' &
one=$!
nice -n 5 sh -c 'while :; do :; done' &
two=$!

# NAME LEAST CMD...: followed, with the agent's memory looked at meanwhile.
follow() {
	local name=$1 least=$2 agent most=0 now
	shift 2
	rm -rf "$T/rec"
	mkdir "$T/rec"
	"$AGENT" run --follow --output "$T/rec/%p.heapcast" -- "$@" >"$T/$name.out" 2>"$T/$name.err" &
	agent=$!
	while kill -0 "$agent" 2>/dev/null; do
		now=$(awk '/^Rss(Anon|Shmem):/ { sum += $2 } END { print sum + 0 }' "/proc/$agent/status" 2>/dev/null || echo 0)
		[ "$now" -le "$most" ] || most=$now
		sleep 0.1
	done
	wait "$agent" || fail "$name ended with $?: $(tail -n 5 "$T/$name.err")"
	check_recordings "$name" "$least"
	if grep -q "not recorded\|no memory\|were cut\|had no room" "$T/$name.err"; then fail "$name: $(grep "not recorded\|no memory\|were cut\|had no room" "$T/$name.err")"; fi
	for file in "$T"/rec/*; do
		"$COLLECTOR" ledger --json "$file" | grep -q '"unrecorded":0,' || fail "$name: children of $file were not recorded"
	done
	echo "$name: $(find "$T/rec" -type f | wc -l) streams, nothing lost; the agent had $most KiB of 8192"
	[ "$most" -le 8192 ] || fail "$name: the agent had $most KiB of 8192"
}

# make, and for each file gcc, cc1 and as.
follow "make -j2" 37 make -s -C "$T/src" -j2
rm "$T"/src/*.o
follow "make -j8" 37 make -s -C "$T/src" -j8
kill "$one" "$two"

cat >"$T/storm" <<'END'
#!/bin/bash
i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done
deep() { [ "$1" = 0 ] || (deep $(($1 - 1)); /bin/true); }
deep 8
for k in 1 2 3 4 5 6; do sleep 30 & done
sleep 1 # none of them dies in a record
kill -KILL $(jobs -p)
wait 2>/dev/null
exit 0
END
chmod +x "$T/storm"
follow storm 70 "$T/storm"
