#!/bin/bash
# SIGHUP: what can change under running programs does, what can't is named and stays, a file with a mistake changes nothing.
. "$(dirname "$0")/lib-serve.sh"

cat >"$T/conf" <<-END
	socket = $T/socket
	output = $T/first-%p
	logfile = $T/agent.err
	log = info
	policy = block
END
"$AGENT" serve --config "$T/conf" &
agent=$!
wait_for 10 "agent serve" grep -qs "programs ask at" "$T/agent.err"

# reload TEXT...: SIGHUP, and the log says all that
reload() {
	local lines text
	lines=$(wc -l 2>/dev/null <"$T/agent.err" || echo 0)
	kill -HUP "$agent"
	for text; do wait_for 5 "\"$text\" in the log" grep -qF -e "$text" "$T/agent.err"; done
	kill -0 "$agent" || fail "SIGHUP ended the agent"
	[ "$(wc -l <"$T/agent.err")" -gt "$lines" ] || [ "$lines" = 0 ] || fail "the log says nothing of it"
}

hold before HEAPCAST_SOCKET="$T/socket"

cat >"$T/conf" <<-END
	socket = $T/elsewhere
	memory-limit = 16M
	depth = 30
	output = $T/second-%p
	logfile = $T/agent.err
	log = debug
	policy = thin
	mode = off
	allow-user = 12345
	linger = 5s
END
reload "read again: $T/conf"
assert_contains "the log" "$T/agent.err" \
	"socket can't change while the agent runs: it stays $T/socket (wanted: $T/elsewhere); restart the agent for it" \
	"memory-limit can't change while the agent runs: it stays 8M (wanted: 16M)" "depth can't change while the agent runs: it stays 256" \
	"output: $T/second-%p, was $T/first-%p" "policy: thin, was block" "mode: off, was full" "linger: 5s, was 30s" \
	"allow-user: 12345, was not set" "log: debug, was info" "programs ask at $T/socket (mode 0666" "12345"
assert_eq "what can't change is told so" 3 "$(grep -c "can't change" "$T/agent.err")"

cp "$T/conf" "$T/good.conf"

# New programs are recorded as it says now, the one before goes on as it was.
plain HEAPCAST_SOCKET="$T/socket"
release before
wait_for 10 "the end of the one before" grep -q "waiting, pid .* ended: [0-9]* events, 0 lost" "$T/agent.err"
wait_for 10 "the end of the new one" grep -q "e2e-plain, pid .* ended: 0 events, 0 lost" "$T/agent.err"
assert_eq "recordings of the program before" 1 "$(recorded 'first-*')"
assert_eq "recordings of the new one" 1 "$(find "$T" -name 'second-*' | wc -l)"
assert_contains "the level of the log" "$T/agent.err" "debug"

# Mistakes, each at the end of a file that would change something else.
seconds=$(find "$T" -name 'second-*' | wc -l)
printf 'socket = %s\nlogfile = %s\noutput = %s\nallow-user = *\nmode = sometimes\n' "$T/socket" "$T/agent.err" "$T/never-%p" >"$T/conf"
reload "$T/conf:5: mode takes full|sample[=BYTES]|off, not 'sometimes'; nothing was changed"
plain HEAPCAST_SOCKET="$T/socket"
sed -i 's/^mode .*/no option/' "$T/conf"
reload "$T/conf:5: expected is NAME = VALUE, or # and a comment; nothing was changed"
sed -i 's/^no option/allow-group = nobody-calls-it-so/' "$T/conf"
reload "there is no group 'nobody-calls-it-so'; nothing was changed"
sed -i 's/^allow-group .*/log = loud/' "$T/conf"
reload "--log takes error|warn|info|debug|trace|off, not 'loud'; nothing was changed"
sed -i 's/^log = .*/collector = :1/' "$T/conf"
reload "--collector takes HOST[:PORT], not ':1'; nothing was changed"
mv "$T/conf" "$T/away"
reload "can't read the file $T/conf: No such file or directory; nothing was changed"
plain HEAPCAST_SOCKET="$T/socket"
assert_eq "files under the name that holds" $((seconds + 2)) "$(find "$T" -name 'second-*' | wc -l)"
assert_eq "files under the refused name" 0 "$(find "$T" -name 'never-*' | wc -l)"
assert_eq "mode of the socket" 666 "$(stat -c %a "$T/socket")"

# The log is opened anew, for whoever has moved it; the socket is the daemon's alone again.
grep -v "^output\|^allow-user\|^mode" "$T/good.conf" >"$T/conf"
mv "$T/agent.err" "$T/agent.1"
reload "read again: $T/conf" "mode: full, was off" "output: not set, was $T/second-%p" "allow-user: not set, was 12345"
assert_eq "mode of the socket" 600 "$(stat -c %a "$T/socket")"

# Collectors: none, one, another one, none.
start() {
	"$COLLECTOR" gather --data "$T/$1" --no-discovery --listen "127.0.0.1:$2" >"$T/$1.out" 2>"$T/$1.err" &
	collectors+=($!)
	wait_for 10 "the collector" grep -q ":$(printf %04X "$2") 00000000:0000 0A" /proc/net/tcp
}
collectors=()
start one 18141
start two 18142
cp "$T/conf" "$T/none.conf"
echo "collector = 127.0.0.1:18141" >>"$T/conf"
reload "collector: 127.0.0.1:18141, was not set" "connected to the collector at 127.0.0.1:18141"
hold over HEAPCAST_SOCKET="$T/socket"
has_stream() { "$COLLECTOR" list --data "$T/$1" | grep waiting; }
wait_for 10 "the first collector to have the stream" has_stream one
sed -i 's/18141/18142/' "$T/conf"
reload "collector: 127.0.0.1:18142, was 127.0.0.1:18141" "connected to the collector at 127.0.0.1:18142"
release over
wait_for 10 "the recording's end" grep -q "waiting, pid .* ended: " "$T/agent.err"
adds_up --data "$T/two" last >"$T/ledger.txt" || fail "the second collector: $(cat "$T/ledger.txt")"
cp "$T/none.conf" "$T/conf"
echo "output = $T/third-%p" >>"$T/conf"
reload "collector: not set, was 127.0.0.1:18142"
plain HEAPCAST_SOCKET="$T/socket"
kill "$agent"
wait "$agent" || fail "exit status of the agent: $?"
assert_eq "recordings" 1 "$(recorded 'third-*')"
kill "${collectors[@]}"
wait "${collectors[@]}" || true
