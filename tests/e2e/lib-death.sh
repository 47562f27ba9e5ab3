# What death tests share. After lib.sh:   . "$TEST_SOURCE/lib-death.sh"
#
#   nothing_lost RECORDING FILE [IMAGE]   every call that e2e-witness counted in FILE is in the recording, thread by thread. Those that
#                                         had returned are stored, and at most the one that was under way. The account balances, and
#                                         nothing is lost but an unfinished record for each thread. Prints "THREADS CALLS UNFINISHED"
#   end_of RECORDING                      how it ended: "KIND STATUS SOURCE OOM_COUNTER", names of heapcast.proto; fails if it
#                                         has not ended yet
WITNESS=$BUILD/tests/e2e-witness

nothing_lost() {
	adds_up --json "$1" >"$T/ledger.json" || { cat "$T/ledger.json" >&3; fail "the ledger of $1 does not balance"; }
	"$WITNESS" "$2" >"$T/truth.txt"
	python3 - "$T/ledger.json" "$T/truth.txt" >"$T/verdict.txt" <<'END' || fail "$(cat "$T/verdict.txt")"
import json, sys
ledger = json.load(open(sys.argv[1]))
threads = {}
for t in ledger["threads"]:
    threads.setdefault(t["tid"], []).append(t)
calls = unfinished = count = 0
for line in open(sys.argv[2]):
    tid, returned = map(int, line.split())
    if not returned:
        continue
    if tid not in threads:
        sys.exit(print(f"thread {tid} had {returned} calls, and is not in the recording") or 1)
    stored = sum(t["stored"] for t in threads[tid])
    lost = sum(t["lost"] for t in threads[tid])
    if not returned <= stored <= returned + 1 or lost > 1:
        sys.exit(print(f"thread {tid}: {returned} calls returned, {stored} are stored, {lost} lost") or 1)
    calls += returned
    unfinished += lost
    count += 1
bad = [g for g in ledger["gaps"] if g["reason"] != "thread died in a record"]
if bad or ledger["lost"] != sum(g["events"] for g in ledger["gaps"]):
    sys.exit(print("gaps:", ledger["gaps"]) or 1)
print(count, calls, unfinished)
END
	cat "$T/verdict.txt"
}

end_of() {
	adds_up --json "$1" >"$T/end.json" || return 1
	python3 -c '
import json, sys
end = json.load(sys.stdin)["end"]
if not end:
    sys.exit(1)
print(end["kind"], end["status"], end["source"], end["oom_counter"])' <"$T/end.json"
}
