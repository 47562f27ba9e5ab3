#!/bin/bash
# Symbol files from a daemon. One program is in a mount namespace of its own, so neither daemon nor collector sees its
# files by their paths. One has ended. One had its file removed while it runs, and its user may have it. Two collectors
# ask at a time.
. "$(dirname "$0")/lib-serve.sh"
. "$TEST_SOURCE/lib-symbols.sh"
need unshare mount gcc
unshare --mount true 2>/dev/null || skip "no mount namespaces here"
chmod 755 "$T"
mkdir "$T/hidden"
cat >"$T/app.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char *volatile block = malloc(48);
	while (argc > 1 && access(argv[1], F_OK))
		usleep(20000);
	return !block;
}
C
gcc -g -O2 -Wl,--build-id "$T/app.c" -o "$T/app"
gcc -O2 -s -DOTHER=1 -Wl,--build-id=0x00112233445566778899aabbccddeeff00112233 "$T/app.c" -o "$T/ended"
chmod 700 "$T/ended"
id=$(build_id "$T/app")
ended=$(build_id "$T/ended")

serve d --config "" --socket "$T/socket" --announce --interface lo --memory-limit 4M --send-symbols yes
export HEAPCAST_SOCKET=$T/socket
gather() {
	"$COLLECTOR" gather --data "$T/$1" --interface lo --listen off "${@:2}" >"$T/$1.out" 2>"$T/$1.err" &
	wait_for 20 "a link of $1" grep -q "^connected" "$T/$1.out"
}
gather data --no-discovery 127.0.0.1:8100
fetch() { "$COLLECTOR" symbols fetch --data "$T/$1" --build-id "$2"; }

# In a namespace of its own.
unshare --mount bash -c 'mount -t tmpfs none "$1/hidden" && cp "$1/app" "$1/hidden/" && LD_PRELOAD=$2 exec "$1/hidden/app" "$1/end"' apart "$T" "$PRELOAD" &
hidden=$!
wait_for 20 "the hidden program" eval 'ls -l /proc/$hidden/exe 2>/dev/null | grep -q hidden/app && grep -q "app .*began" "$T/data.out"'
[ ! -e "$T/hidden/app" ] || fail "the daemon sees the file"
wait_for 20 "its module" fetch data "$id"
cmp "$T/app" "$T/data/symbols/.build-id/${id:0:2}/${id:2}.debug"

# One that has ended, of its user's own; it was stripped, and the answer says so.
LD_PRELOAD=$PRELOAD "$T/ended"
wait_for 20 "its end" grep -q "ended .*ended" "$T/data.out"
fetch data "$ended" >"$T/fetch.out"
assert_contains "a stripped file" "$T/fetch.out" "it has exported names only"
rm -r "$T/data/symbols"

# Two collectors: the second waits until the first has its file.
gather other --no-discovery 127.0.0.1:8100
fetch data "$id" >"$T/first.out" &
first=$!
fetch other "$id" >"$T/second.out"
wait "$first"
cmp "$T/data/symbols/.build-id/${id:0:2}/${id:2}.debug" "$T/other/symbols/.build-id/${id:0:2}/${id:2}.debug"

# Its file is removed while it runs: there is the mapping, for who may open it.
cp "$T/app" "$T/again"
LD_PRELOAD=$PRELOAD "$T/again" "$T/end" &
again=$!
wait_for 20 "the program" grep -q "again .*began" "$T/data.out"
rm "$T/again" "$T/app"
rm -r "$T/data/symbols"
maps=("/proc/$again/map_files/"*)
if head -c 4 "${maps[0]}" >/dev/null 2>&1; then
	kill "$hidden" # else the file would come from there
	wait "$hidden" 2>/dev/null || true
	wait_for 20 "the removed file" fetch data "$id"
	[ -s "$T/data/symbols/.build-id/${id:0:2}/${id:2}.debug" ] || fail "the removed file did not come"
else
	echo "mappings can't be opened here: removed files were not tried"
fi
touch "$T/end"
wait "$again"
stop_serve d
assert_eq "exit status of the daemon" 0 "$status"
