#!/bin/bash
# SIGTERM and SIGINT: rings are drained and delivered, to files or to the collector, within --stop-timeout, programs go on
# unrecorded. A collector that takes nothing is not waited for: the rest goes to a file. What can't be delivered is said: exit 3.
. "$(dirname "$0")/lib-serve.sh"
pairs=$BUILD/tests/e2e-pairs

# busy NAME COUNT ENV...: pairs of malloc and free in the background, on record when this returns
busy() {
	local name=$1 count=$2
	shift 2
	env LD_PRELOAD="$PRELOAD" "$@" "$pairs" "$count" >"$T/$name.said" 2>&1 &
	held[$name]=$!
	wait_for 10 "the program to be recorded" grep -q "recording pid ${held[$name]} " "$T/$name.err"
}
ends() {
	local result=0
	wait "${held[$1]}" || result=$?
	assert_eq "exit status of the program" 5 "$result"
	assert_eq "what the program says" "pairs: $2" "$(cat "$T/$1.said")"
}
# ended_within SECONDS NAME
ended_within() {
	local since=$SECONDS
	status=0
	wait "${served[$2]}" || status=$?
	[ $((SECONDS - since)) -le "$1" ] || fail "the daemon took $((SECONDS - since)) s to end"
}
# stored ARG...: events in a recording whose ledger balances. A program that blocks loses what waits for room at that moment, at
# most, and goes on unrecorded at once
stored() {
	adds_up "$@" >"$T/ledger.txt" || fail "the ledger: $(cat "$T/ledger.txt")"
	grep -qE "^  lost +[0-4]$" "$T/ledger.txt" || fail "lost while stopping: $(cat "$T/ledger.txt")"
	awk '/^stored here/ { gsub(",", "", $NF); print $NF }' "$T/ledger.txt"
}

# Into files, in the middle of a program at full speed.
for signal in TERM INT; do
	served[$signal]=
	env --default-signal=INT "$AGENT" serve --socket "$T/$signal.s" --policy block --output "$T/$signal-%p" 2>"$T/$signal.err" &
	served[$signal]=$!
	wait_for 10 "agent serve" serving $signal
	busy $signal 20000000 HEAPCAST_SOCKET="$T/$signal.s"
	wait_for 10 "some events" test -s "$T/$signal-${held[$signal]}"
	kill -$signal "${served[$signal]}"
	ended_within 3 $signal
	assert_eq "exit status of the daemon after SIG$signal" 0 "$status"
	assert_contains "the log" "$T/$signal.err" "no new programs; delivering what there is, for up to 10 s"
	kill -0 "${held[$signal]}" 2>/dev/null || fail "the program was to outlast the daemon"
	[ "$(stored "$T/$signal-${held[$signal]}")" -ge 1000 ] || fail "too few events: $(cat "$T/ledger.txt")"
	[ ! -e "$T/$signal.s" ] || fail "the socket is left behind"
	plain HEAPCAST_SOCKET="$T/$signal.s" HEAPCAST_LOG=off
	ends $signal 20000000
done

# To a collector: all of it, no file.
collect() {
	"$COLLECTOR" gather --data "$T/$1" --no-discovery --listen 127.0.0.1:18143 >"$T/$1.out" 2>"$T/$1.err2" &
	collector=$!
	wait_for 10 "the collector" grep -q ":46DF 00000000:0000 0A" /proc/net/tcp
}
mkdir "$T/cwd" && cd "$T/cwd"
collect data
serve net --socket "$T/net.s" --policy block --collector 127.0.0.1:18143
busy net 20000000 HEAPCAST_SOCKET="$T/net.s"
wait_for 10 "the collector's order" grep -q "sends stream of pid" "$T/net.err"
sleep 0.2
kill -TERM "${served[net]}"
ended_within 5 net
assert_eq "exit status of the daemon" 0 "$status"
[ "$(stored --data "$T/data" last)" -ge 1000 ] || fail "too few events: $(cat "$T/ledger.txt")"
assert_eq "files beside the collector" "" "$(ls "$T/cwd")"
ends net 20000000

# The collector stops: half of the time is for it, then the rest has a file. With nowhere to write it, exit 3 and the count.
for way in file nowhere second; do
	timeout=2s
	[ $way != second ] || timeout=60s
	serve $way --socket "$T/$way.s" --policy block --block-max 60s --collector 127.0.0.1:18143 --stop-timeout $timeout
	busy $way 2000000 HEAPCAST_SOCKET="$T/$way.s"
	wait_for 10 "the collector's order" grep -q "sends stream of pid ${held[$way]} " "$T/$way.err"
	kill -STOP $collector
	sleep 0.5
	if [ $way = nowhere ]; then
		rm -rf "$T/cwd" # where the file would go
		cd "$T"
	fi
	kill -TERM "${served[$way]}"
	if [ $way = second ]; then
		sleep 0.5
		kill -0 "${served[$way]}" || fail "the daemon did not wait for the collector"
		kill -TERM "${served[$way]}"
	fi
	ended_within 4 $way
	kill -CONT $collector
	ends $way 2000000
	if [ $way = nowhere ]; then
		assert_eq "exit status of the daemon" 3 "$status"
		grep -qE "^agent: [1-9][0-9,]* events of 1 programs could not be delivered and are lost; there were 2.* for it \(--stop-timeout\)" "$T/$way.err" ||
			fail "the daemon's last words: $(cat "$T/$way.err")"
		mkdir "$T/cwd" && cd "$T/cwd"
	else
		assert_eq "exit status of the daemon" 0 "$status"
		assert_contains "the log" "$T/$way.err" "what was left is in heapcast_e2e-pairs_"
		[ -s "$(echo "$T"/cwd/heapcast_e2e-pairs_*_"${held[$way]}".heapcast)" ] || fail "no file: $(ls "$T/cwd")"
	fi
done
kill $collector
wait $collector || true
