#!/bin/bash
# The collector's disk is full: it stops acknowledging, says so, goes on answering; when there is room it goes on, and nothing
# is missing. The agent keeps what it has, and the program waits or goes on as its policy says.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
if [ -z "${INSIDE_MOUNTS:-}" ]; then
	unshare --mount true 2>/dev/null || skip "needs a mount namespace of its own"
	mkdir "$T/disk"
	# The collector alone is in it: what is asked of the folder is asked through the collector.
	cat >"$T/collect" <<-'END'
		mount -t tmpfs -o size=1500k none "$1/disk" || exit 77
		dd if=/dev/zero of="$1/disk/ballast" bs=1k count=900 2>/dev/null
		shift
		exec "$@"
	END
fi
unshare --mount -- bash "$T/collect" "$T" "$COLLECTOR" gather --data "$T/disk/data" --no-discovery --listen off \
	--http 127.0.0.1:8080 127.0.0.1:8101 >"$T/disk.log" 2>"$T/disk.err" &
gatherer[disk]=$!
start_agent one 8101 --memory-limit 4M -- "$BUILD/tests/e2e-paced" 600000 10000 "$T/end"
wait_for 5 "the collector" grep -q "storing in" "$T/disk.log" || true
kill -0 "${gatherer[disk]}" || skip "needs a tmpfs"
wait_for 30 "the collector to say that its disk is full" grep -q "No space left on device" "$T/disk.err"
sleep 1.5
assert_eq "warnings while it is full" 1 "$(grep -c "No space left" "$T/disk.err")"
need curl
curl -fsS http://127.0.0.1:8080/list >"$T/list.json" || fail "the collector does not answer while its disk is full"
assert_contains "the list" "$T/list.json" e2e-paced
look() {
	nsenter --mount --target "${gatherer[disk]}" -- "$@"
}
look "$COLLECTOR" list --data "$T/disk/data" >"$T/list.txt" 2>&1
assert_contains "collector list" "$T/list.txt" "is full"
look rm "$T/disk/ballast"
wait_for 30 "the collector to go on" grep -q "there is room in" "$T/disk.err"
wait_for 60 "the program to be done" grep -q "done" "$T/one.out"
touch "$T/end"
wait_idle disk 1
wait_agent one
look "$COLLECTOR" ledger --data "$T/disk/data" last >"$T/ledger.txt" || { cat "$T/ledger.txt"; fail "the ledger does not balance"; }
look "$COLLECTOR" ledger --json --data "$T/disk/data" last >"$T/ledger.json"
assert_contains "the ledger" "$T/ledger.json" '"lost":0' '"missing_batches":0'
stop_gather disk
echo "full for a while: $(grep -o "\"stored\":[0-9]*" "$T/ledger.json" | head -n 1 | cut -d: -f2) events stored, none lost"
