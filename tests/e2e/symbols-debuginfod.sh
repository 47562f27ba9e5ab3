#!/bin/bash
# Debug information from Debian's debuginfod on loopback. It is asked only when the user names a server. Its answers are
# remembered. It is asked again after a "no", and given up when a server does not answer.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-symbols.sh"
need debuginfod curl
export HOME=$T
make_app
record_app
id=$(build_id "$T/app")
url=http://127.0.0.1:18083
mkdir "$T/served" "$T/later"
objcopy --only-keep-debug "$T/app.full" "$T/later/app.debug"
rm "$T/app.full"
TMPDIR=$T DEBUGINFOD_URLS='' debuginfod -F -d "$T/debuginfod.sqlite" -p 18083 -t 0 -g 0 "$T/served" >"$T/debuginfod.out" 2>&1 &
server=$!
answers() { # STATUS
	[ "$(curl -s -o /dev/null -w '%{http_code}' "$url/buildid/$id/debuginfo")" = "$1" ]
}
wait_for 20 "debuginfod" answers 404

# It does not have the file yet: said, no fault, and not held against it.
assert_nameless "from a server without the file" --debuginfod "$url"
mv "$T/later/app.debug" "$T/served/"
kill -USR1 "$server"
wait_for 20 "debuginfod to see the file" answers 200

# The variable that Debian sets for everybody is nobody's decision.
export DEBUGINFOD_URLS=$url
assert_nameless "with no more than DEBUGINFOD_URLS"
unset DEBUGINFOD_URLS
assert_named "by debuginfod" --debuginfod "$url"
[ -n "$(find "$T/data/symbols/debuginfod" -path "*$id*" -size +0)" ] || fail "what came was not kept in the data folder"
[ ! -e "$T/.cache" ] || fail "something was written to the user's own cache"

# Kept: neither server nor option is needed again.
kill "$server"
wait "$server" || true
assert_named "without the server"
HEAPCAST_DEBUGINFOD=$url assert_named "with the option as a variable"

# A server that accepts and says nothing, and one that is not there: a note, within the time, for all modules together.
rm -rf "$T/data/symbols" "$T/data"/symbols.sqlite*
python3 -c '
import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 18084)); s.listen(50); time.sleep(100)' &
mute=$!
wait_for 10 "the mute server" grep -q ':46A4 ' /proc/net/tcp
began=$SECONDS
ask report last --debuginfod http://127.0.0.1:18084 --debuginfod-timeout 2s --json >"$T/mute.json"
[ $((SECONDS - began)) -lt 30 ] || fail "a mute server held the report up for $((SECONDS - began)) s"
assert_contains "the report" "$T/mute.json" "asking debuginfod (http://127.0.0.1:18084)"
kill "$mute"
wait "$mute" 2>/dev/null || true
ask report last --debuginfod "$url" --json >"$T/dead.json"
assert_contains "the report" "$T/dead.json" "asking debuginfod ($url)"
