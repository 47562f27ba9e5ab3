# What tests of the flight recorder share. After lib.sh:   . "$TEST_SOURCE/lib-flight.sh"
#
#   flight_truth STREAM FILE WINDOW [OPTION...]
#                                      by `collector report OPTION...`: what e2e-leaker counted in FILE is in STREAM of $T/data. These
#                                      are all live blocks of its call site; every block of the last WINDOW seconds before the end, as
#                                      events; and in total every call, as an event or in sums. Prints one line of figures
#   recording_bytes                    size of the one recording in $T/data
#   memory_watch PID FILE              in the background: the most of RssAnon + RssShmem (KiB) that a process ever had
LEAKER=$BUILD/tests/e2e-leaker

flight_truth() {
	adds_up --data "$T/data" --json "$1" >"$T/ledger.json" || fail "the ledger does not balance"
	"$LEAKER" "$2" >"$T/truth.txt"
	python3 - "$COLLECTOR" "$T" "$1" "${@:3}" <<'END' || fail "$1 is not what the program did"
import json, subprocess, sys
collector, folder, stream, window, given = sys.argv[1:4] + [float(sys.argv[4]), sys.argv[5:]]
def ask(*options):
    return json.loads(subprocess.check_output([collector, "report", "--data", folder + "/data", "--json", *given, *options, stream]))
def need(what, holds):
    if not holds:
        sys.exit(f"{what}")
lots, leaked = [], 0
for line in open(folder + "/truth.txt"):
    word = line.split()
    if word[0] == "leaked":
        leaked, leaked_bytes = int(word[1]), int(word[2])
    else:
        lots.append([int(x) for x in word[1:]])
whole, OWN = ask(), ["--function-regex", "^(leak_one|churn_one)$"]
start, end = whole["process"]["start_wall_ns"], whole["process"]["duration_ns"]
ledger = json.load(open(folder + "/ledger.json"))
need(f"lost {ledger['lost']}, pending {ledger['pending']}", ledger["lost"] <= 1 and not ledger["pending"])
# The call under way when it was killed may be there or not.
live = ask("--function-regex", "^leak_one$")["leaked"]
need(f"live blocks: {live} of {leaked}", leaked <= live["blocks"] <= leaked + 1)
births = sum(l[1] for l in lots)
all = ask(*OWN)["allocated"]["blocks"]
need(f"births in all: {all} of {births}", births <= all <= births + 1)
last = [l for l in lots if l[0] - start >= end - window * 1e9]
need(f"{len(last)} lots in the last {window} s", last and last[0][0] - start <= end - window * 1e9 + 2e9)
begin = (last[0][0] - start - 5000000) / 1e9
there = ask(*OWN, "--from", f"{begin:.6f}s")
births = sum(l[1] for l in last)
need(f"culled in the window: {there['culled']}", not there["culled"]["blocks"])
need(f"births in the window: {there['allocated']['blocks']} of {births}", births <= there["allocated"]["blocks"] <= births + 1)
frees = sum(l[2] for l in last)
need(f"deaths in the window: {there['temporary']['blocks']} of {frees}", frees <= there["temporary"]["blocks"] <= frees + 1)
deliveries = [s for s in ledger["states"] if s["state"] == "delivery"]
need("there is no mark of a delivery", deliveries)
final = deliveries[-1]
need(f"the window was {final['value'] / 1e9:.1f} s", final["value"] >= window * 1e9 or final["value"] >= final["time_ns"] - 1e6)
print(f"{live['blocks']} live blocks of {leaked}; of the last {window:g} s all {births} births and {frees} frees; "
      f"{ledger['culled']} events in sums; sent for " + ", ".join(f"{d['text']} at {d['time_ns'] / 1e9:.1f} s (whole: {d['value'] / 1e9:.1f} s)" for d in deliveries))
END
}

recording_bytes() {
	stat -c %s "$T"/data/streams/*/recording.heapcast
}

memory_watch() {
	local most=0 now
	while [ -e "/proc/$1/status" ]; do
		now=$(awk '$1 == "RssAnon:" || $1 == "RssShmem:" { sum += $2 } END { print sum + 0 }' "/proc/$1/status" 2>/dev/null || echo 0)
		[ "${now:-0}" -le "$most" ] || most=$now
		echo "$most" >"$2.new"
		mv "$2.new" "$2"
		sleep 0.2
	done
}
