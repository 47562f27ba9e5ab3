#!/bin/bash
# With a key an agent and a collector find each other only if both have it. No key, another one, beacons that are sent
# again, and garbage come to nothing.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
. "$TEST_SOURCE/lib-discovery.sh"

make_key() {
	(umask 077 && python3 -c 'import os; print(os.urandom(32).hex())' >"$T/$1")
}
make_key ours
make_key other
net_host desk 100
net_host board 2
net_host stranger 66

tool() {
	local name=$1
	shift
	on "$name" python3 "$TEST_SOURCE/lib-discovery.py" "$@"
}

# 1. Both have it, one of two: found at once, and later.
agent_on board keyed --key "$T/ours"
look_on desk same --key "$T/other" --key "$T/ours"
wait_for 10 "the agent with our key" has_connected same 1
echo "with a key: found after $(grep -m 1 "found an agent" "$T/same.log" | awk '{ print $1 }') ms"
stop_look same

# 2. Nobody else has: and is told why.
look_on desk none
look_on stranger wrong --key "$T/other"
tool desk record "$T/beacons" 4 # and these will be sent again
for tag in none wrong; do
	assert_eq "agents found ($tag)" 0 "$(found "$tag")"
	stop_look "$tag"
done
assert_contains "what a collector without a key says" "$T/none.err" "talks only to collectors with its key" "skipped"
assert_contains "what a collector with another key says" "$T/wrong.err" "none of the keys given here" "skipped"
assert_eq "warnings that there are other keys" 1 "$(grep -c "talks only to" "$T/none.err")"
[ "$(grep -c '^10.77.0.2 ' "$T/beacons")" -ge 2 ] || fail "no beacons were recorded: $(cat "$T/beacons")"
grep '^10.77.0.2 ' "$T/beacons" >"$T/its"
awk 'length($2) > 2 * 160 { exit 1 }' "$T/its" || fail "a beacon is larger than a probe"

# 3. An agent without a key is not believed by a collector that has one.
agent_on stranger plain
look_on desk with --key "$T/ours"
wait_for 10 "the agent with our key" has_connected with 1
sleep 2
assert_eq "agents found" 1 "$(found with)"
assert_eq "connections to the one without it" 0 "$(grep -c "collector at" "$T/plain.err" || true)"
stop_look with
stop_agent plain

# 4. The agent is gone; its beacons come again, from another host (which listens there) and from its own address.
stop_agent keyed
nsenter --net="/proc/${net_pid[stranger]}/ns/net" -- "$AGENT" serve --listen 0.0.0.0:8100 --memory-limit 2M --config "" --socket @bait 2>>"$T/bait.err" &
look_on desk again --key "$T/ours"
tool stranger replay "$T/its" 10.77.0.255 43513 2
tool board replay "$T/its" 10.77.0.255 43513 2
assert_eq "agents found by beacons of the past" 0 "$(found again)"
stop_look again
assert_eq "connections" 0 "$(grep -c connected "$T/bait.err" || true)"

# 5. While the agent is known, its beacons of a moment ago come from elsewhere: the link stays where it is.
agent_on board keyed-again --key "$T/ours"
look_on desk known --key "$T/ours"
wait_for 10 "the agent with our key" has_connected known 1
tool desk record "$T/fresh" 2
grep '^10.77.0.2 ' "$T/fresh" >"$T/its"
tool stranger replay "$T/its" 10.77.0.255 43513 3
assert_eq "agents found" 1 "$(found known)"
assert_eq "connections" 1 "$(connected known)"

# 6. Garbage, to both ends, for some seconds: nothing is found, nothing is lost, and they go on.
tool stranger garbage 10.77.0.255 5 7
assert_eq "agents found in garbage" 1 "$(found known)"
assert_eq "connections" 1 "$(connected known)"
stop_look known
look_on desk after --key "$T/ours"
wait_for 10 "the agent after all that" has_connected after 1
stop_look after
