#!/bin/bash
# Several programs at a time, each with a ring of its own within the one budget. A program for which there is no memory
# is turned away with a message, and runs on unharmed. A place is given again when its program has ended.
. "$(dirname "$0")/lib-serve.sh"

serve daemon --socket "$T/socket" --memory-limit 2M --policy block --output "$T/r-%p"
assert_contains "the log" "$T/daemon.err" "memory limit 2.00 MiB: "

# kilobytes PID: what counts against the limit (a sanitizer's memory does not)
kilobytes() {
	if grep -qF __asan_init "$AGENT" || grep -qF __tsan_init "$AGENT"; then echo 0 && return; fi
	awk '/^Rss(Anon|Shmem):/ { sum += $2 } END { print sum }' "/proc/$1/status"
}

for name in one two three; do hold $name HEAPCAST_SOCKET="$T/socket"; done
assert_eq "programs on record" 3 "$(grep -c "recording pid" "$T/daemon.err")"
[ "$(kilobytes "${served[daemon]}")" -le 2048 ] || fail "the agent has $(kilobytes "${served[daemon]}") KiB of 2048"
hold four HEAPCAST_SOCKET="$T/socket" # runs as ever
plain HEAPCAST_SOCKET="$T/socket"
assert_eq "programs on record" 3 "$(grep -c "recording pid" "$T/daemon.err")"
assert_eq "programs turned away" 2 "$(grep -c "asks to be recorded, but there is no memory for it: raise --memory-limit" "$T/daemon.err")"
release two
wait_for 10 "the end of one" grep -q "pid ${held[two]}, ended: 20[0-9]* events, 0 lost" "$T/daemon.err"
plain HEAPCAST_SOCKET="$T/socket"
wait_for 10 "the place of one" grep -q "e2e-plain, pid [0-9]*, ended" "$T/daemon.err"
for i in 1 2 3; do plain HEAPCAST_SOCKET="$T/socket"; done
for name in one three four; do release $name; done
[ "$(kilobytes "${served[daemon]}")" -le 2048 ] || fail "the agent has $(kilobytes "${served[daemon]}") KiB of 2048"
stop_serve daemon
assert_eq "exit status of the daemon" 0 "$status"
assert_eq "recordings" 7 "$(recorded 'r-*')"
for name in one two three; do
	"$COLLECTOR" ledger "$T/r-${held[$name]}" >"$T/ledger.txt"
	[ "$(awk '$1 == "delivered" { gsub(",", "", $NF); print $NF }' "$T/ledger.txt")" -ge 20000 ] || fail "$name: $(cat "$T/ledger.txt")"
done
[ ! -e "$T/r-${held[four]}" ] || fail "the fourth was recorded"
