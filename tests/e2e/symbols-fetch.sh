#!/bin/bash
# ctest: TIMEOUT 240
# Symbol files from the agent's host. A program lies in a folder that only the agent sees (a mount namespace of its
# own). Its stacks have no names on the collector's side until `symbols fetch` has asked the agent for the file, by
# build id. What may not leave, is gone, was replaced or is stripped is refused with the reason. `gather
# --fetch-symbols` asks by itself.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-symbols.sh"
need unshare mount python3
unshare --mount true 2>/dev/null || skip "no mount namespaces here"
chmod 755 "$T"
make_app

# It waits for a file until it ends, so that its agent can be asked.
python3 - "$T/app.c" <<'PYTHON'
import sys
path = sys.argv[1]
text = open(path).read()
text = text.replace("return argc", "while (access(getenv(\"APP_END\"), F_OK))\n\tusleep(20000);\nreturn argc")
open(path, "w").write(text)
PYTHON
for mark in INNER MIDDLE OUTER MAIN; do
	printf -v "LINE_$mark" %s "$(grep -n "/\* $mark \*/" "$T/app.c" | cut -d: -f1)"
done
build() { gcc -g -O2 -fno-optimize-sibling-calls -Wl,--build-id "$@" "$T/app.c"; }
build -o "$T/kept"
id=$(build_id "$T/kept")
mkdir "$T/hidden"
export APP_END=$T/end

# Runs `agent run ARG... -- CMD` where $T/hidden holds what PREPARE (a shell command with `$T` and $hidden) puts there.
recorded_apart() {
	local prepare=$1
	shift
	rm -f "$T/end"
	unshare --mount bash -c 'mount -t tmpfs none "$1/hidden" && hidden=$1/hidden && T=$1 && eval "$2" && shift 2 && exec "$@"' \
		apart "$T" "$prepare" "$AGENT" run --announce --interface lo --quiet "$@" 2>"$T/agent.err" &
	agent_pid=$!
}

gather_on() {
	"$COLLECTOR" gather --data "$T/data" --interface lo "$@" >"$T/collector.out" 2>"$T/collector.err" &
	collector_pid=$!
	wait_for 10 "the collector to listen" collector_listens
}

has_app() { ask export --format json --with-stacks last --size-min 48 --size-max 48 2>/dev/null | awk 'END { exit NR < 1000 }'; }

end_app() {
	touch "$T/end"
	wait "$agent_pid" || fail "agent run ended with $?: $(cat "$T/agent.err")"
}

assert_refused() {
	local what=$1 text=$2
	shift 2
	assert_status 1 ask symbols fetch "$@" >"$T/fetch.out" 2>"$T/fetch.err"
	assert_contains "$what" "$T/fetch.out" "$text"
	[ -z "$(find "$T/data/symbols" -name '.receiving*' 2>/dev/null)" ] || fail "$what: a half file was left"
}

# --- Nobody to ask ---
mkdir -p "$T/data"
gather_on
assert_refused "no agent" "no agent is connected" --build-id "$id"

# --- A file that the collector does not see ---
recorded_apart 'cp "$T/kept" "$hidden/app"' -- "$T/hidden/app"
wait_for 20 "the app's blocks" has_app
[ ! -e "$T/hidden/app" ] || fail "the collector sees the file"
assert_nameless "before the file came"
assert_refused "an unknown build id" "had a module with this build id" --build-id 0123456789abcdef0123456789abcdef01234567
assert_status 2 ask symbols fetch --build-id 12x4 2>"$T/usage.err"
assert_contains "the usage" "$T/usage.err" "--build-id takes hexadecimal digits"
ask symbols fetch last >"$T/fetch.out" || true # libc and others are here, the app must come
assert_contains "fetch" "$T/fetch.out" "$id  $T/hidden/app" "it is here now"
cmp "$T/kept" "$T/data/symbols/.build-id/${id:0:2}/${id:2}.debug"
assert_named "of the file that came"
[ "$(stat -c %a "$T/data/control.sock")" = 600 ] || fail "the control socket is open to others"
end_app
ask ledger last >"$T/ledger"
kill -INT "$collector_pid"
wait_collector
[ ! -e "$T/data/control.sock" ] || fail "the control socket was left"
assert_status 3 ask symbols fetch --build-id "$id" 2>"$T/fetch.err"
assert_contains "without gather" "$T/fetch.err" "no collector is at work"

# --- What is refused ---
round() { # PREPARE ARG...: a recording of its own
	local prepare=$1
	shift
	rm -rf "$T/data"
	gather_on
	recorded_apart "$prepare" "$@" -- "$T/hidden/app"
	wait_for 20 "the app's blocks" has_app
}

end_round() {
	end_app
	kill -INT "$collector_pid"
	wait_collector
}

round 'install -m 700 "$T/kept" "$hidden/app"'
assert_refused "a file of the user's own" "not every user of the agent's host may read" --build-id "$id"
end_round
round 'mkdir -m 711 "$hidden/in" && cp "$T/kept" "$hidden/in/app" && ln -s in/app "$hidden/app" && chmod 700 "$hidden/in"'
assert_refused "a folder of the user's own" "not every user of the agent's host may read" --build-id "$id"
end_round
round 'cp "$T/kept" "$hidden/app"' --send-symbols no
assert_refused "switched off" "gives no files away" --build-id "$id"
end_round

# Changed while it runs, by a script beside it that waits to be told.
build -DOTHER='x' -Wl,--build-id=0x00112233445566778899aabbccddeeff00112233 -o "$T/other"
changed() { # WHAT COMMAND
	echo "$2" >"$T/then.new"
	mv "$T/then.new" "$T/then"
	wait_for 20 "$1" eval '[ ! -e "$T/then" ]'
	assert_refused "$1" "the file is gone, or another one is in its place" --build-id "$id"
}
round '(while [ ! -e "$T/end" ]; do [ ! -e "$T/then" ] || { eval "$(cat "$T/then")"; rm "$T/then"; }; sleep 0.05; done) & cp "$T/kept" "$hidden/app"'
changed "a file that is gone" 'rm "$hidden/app"'
changed "a file that was replaced" 'cp "$T/other" "$hidden/app"'
changed "a device behind a link" 'rm "$hidden/app"; ln -s /dev/zero "$hidden/app"'
changed "a pipe" 'rm "$hidden/app"; mkfifo "$hidden/app"'
end_round

# --- Stripped: its debug file on that host comes instead ---
objcopy --strip-all "$T/kept" "$T/stripped"
objcopy --only-keep-debug "$T/kept" "$T/kept.debug"
round 'mkdir "$hidden/.debug"; cp "$T/kept.debug" "$hidden/.debug/"; objcopy --add-gnu-debuglink="$T/kept.debug" "$T/stripped" "$hidden/app"'
ask symbols fetch --build-id "$id" >"$T/fetch.out"
cmp "$T/kept.debug" "$T/data/symbols/.build-id/${id:0:2}/${id:2}.debug"
assert_named "of the debug file that came"
end_round

# --- Asked for by gather itself, also where only the program's user may read; the program ends at once ---
rm -rf "$T/data"
touch "$T/end.stays"
start_collector --fetch-symbols
APP_END=$T/end.stays recorded_apart 'install -m 700 "$T/kept" "$hidden/app"' --send-symbols yes -- "$T/hidden/app"
wait "$agent_pid" || fail "agent run ended with $?"
wait_collector
assert_contains "gather" "$T/collector.out" "symbol file $id came"
assert_named "of the file that gather asked for"
