#!/bin/bash
# An agent that is killed and started again at once has another identity at the same address. So the collector knows
# several agents there, by name and by their beacons. It keeps one link to the one that lives, and these do not displace
# each other.
. "$(dirname "$0")/lib-serve.sh"

"$COLLECTOR" gather --data "$T/data" --interface lo --listen off 127.0.0.1:8101 >"$T/gather.out" 2>"$T/gather.err" &
for i in 1 2 3 4; do
	serve "$i" --socket "$T/$i.s" --announce --interface lo --listen 127.0.0.1:8101
	wait_for 10 "a link to agent $i" grep -q "collector at .* connected" "$T/$i.err"
	[ "$i" = 4 ] || {
		sleep 0.3
		kill -KILL "${served[$i]}"
		wait "${served[$i]}" 2>/dev/null || true
	}
done
sleep 4
cat "$T/4.err"
[ "$(grep -c "connected" "$T/4.err")" -le 2 ] || fail "$(grep -c "connected" "$T/4.err") links in 4 s to one agent"
# The link that is there works.
HEAPCAST_SOCKET=$T/4.s LD_PRELOAD=$PRELOAD "$BUILD/tests/e2e-plain" >/dev/null || [ $? = 5 ]
wait_for 10 "the program's stream" grep -q "done\|ended" "$T/gather.out"
stop_serve 4
assert_eq "exit status of agent serve" 0 "$status"
