#!/bin/bash
# ctest: LABELS full
# The agent's memory (RssAnon + RssShmem) stays the number that was given when links speak TLS. This holds with one
# collector and with as many as there are places for, at full speed.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-secure.sh"
. "$TEST_SOURCE/lib-pairing.sh"
make_key ours

memory_of() {
	awk '$1 == "RssAnon:" || $1 == "RssShmem:" { sum += $2 } END { print sum + 0 }' "/proc/$1/status" 2>/dev/null || echo 0
}

# LIMIT_KIB COLLECTORS [KEY]: without one they are paired
within() {
	local limit=$1 count=$2 most=0 now i end key=()
	[ $# = 2 ] || key=(--key "$3")
	rm -rf "$T"/desk*
	for ((i = 0; i < count; i++)); do
		gather "desk$i" --no-discovery --listen off "${key[@]}" 127.0.0.1:8350
	done
	start_agent board 8350 --memory-limit "${limit}K" --policy count "${key[@]}" -- \
		"$BUILD/tests/e2e-paced" 200000000 1 "$T/end"
	for ((i = 0; i < count; i++)); do
		wait_for 20 "collector $i to have something" eval '[ "$(cat "$T/desk'$i'"/streams/*/recording.heapcast | wc -c)" -gt 20000 ]'
	done
	end=$((SECONDS + 3))
	while [ $SECONDS -lt $end ]; do
		now=$(memory_of "${agent_pid[board]}")
		[ "$now" -le "$most" ] || most=$now
		sleep 0.1
	done
	pkill -KILL -P "${agent_pid[board]}" || true
	wait "${agent_pid[board]}" || true
	for ((i = 0; i < count; i++)); do
		wait_idle "desk$i" 1
		stop_gather "desk$i"
	done
	echo "limit $limit KiB, $count collectors, $([ $# = 2 ] && echo "$(find "$T/keys" -name '*.key' | grep -c .) pairs" || echo "a key"): at most $most KiB"
	[ "$most" -gt 500 ] || fail "the agent's memory could not be read"
	[ "$most" -le "$limit" ] || fail "above the limit of $limit KiB"
}

need pkill
within 3800 1 "$T/ours.key"
within 3800 2 "$T/ours.key"
within 8192 4 "$T/ours.key"

# As many keys by pairing as an agent can have, which it looks at each second.
pair_begin first --interface lo
join first 0 "${code[first]}" --interface lo
pair_end first 0
for ((i = 2; i <= 16; i++)); do
	(umask 077 && printf 'pair:%s\n' "$(openssl rand -hex 32)" >"$T/keys/more$i.key")
done
touch "$T/keys"
within 3800 2
