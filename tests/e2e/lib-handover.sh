# Blocks that change hands between threads, out of one heap whose addresses come back at once, from the target to the
# collector's pairs. handover.sh and handover-full.sh include it.
#
#   handover PAIRS SECONDS   records it over TCP. Then the sums are the target's own, by thread, too; no pair was repaired and none is
#                            missing; of samples of the blocks each was freed by the consumer of its producer
need curl python3

said() {
	awk -v name="$1" '$1 == name { print $2; found = 1 } END { exit !found }' "$T/said.txt"
}

serve() {
	rm -f "$T/serve.out" # of the one before
	"$COLLECTOR" serve --data "$T/data" --http 127.0.0.1:18082 >"$T/serve.out" 2>"$T/serve.err" &
	server=$!
	wait_for 120 "the server" grep -q 18082 "$T/serve.out"
}

sample() {
	curl --silent --show-error --fail-with-body -o "$T/sample.$1.json" \
		"http://127.0.0.1:18082/data/last/allocations?skip=$1&count=3000&size_min=128"
}

handover() {
	local pairs=$1 seconds=$2 place blocks
	rm -rf "$T/data" "$T"/sample.*.json
	start_collector
	# One arena and no cache of a thread's own: what one thread frees the next gets.
	GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1 \
		record "$BUILD/targets/handover" 0 "$pairs" "$seconds" >"$T/said.txt"
	wait_collector
	adds_up --data "$T/data" last --json >"$T/ledger.json"
	ask report last --json >"$T/report.json"
	serve
	blocks=$(said allocations)
	for place in 0 1 2; do sample $((blocks / 3 * place)); done
	kill "$server"
	wait "$server" || true
	python3 - "$T" "$pairs" <<'PYTHON'
import glob, json, sys
folder, pairs = sys.argv[1], int(sys.argv[2])
said = {name: int(value) for name, value in (line.split() for line in open(folder + "/said.txt"))}
ledger = json.load(open(folder + "/ledger.json"))
report = json.load(open(folder + "/report.json"))

for name in ("orphan_frees", "inferred", "repaired", "censored", "lost", "damaged_places", "bad_references"):
    assert ledger[name] == 0, (name, ledger[name])
assert ledger["adds_up"] and said["allocations"] == said["frees"], (said, ledger)
site = max(report["sites_allocated"], key=lambda s: s["value"]["blocks"])
assert site["function"] == "produce", site
assert site["allocated"] == {"blocks": said["allocations"], "bytes": said["bytes"]}, (site, said)
assert site["leaked"] == {"blocks": 0, "bytes": 0}, site

stored = {thread["tid"]: thread["stored"] for thread in ledger["threads"]}
producer_of, consumer_of = {}, {}
for number in range(pairs):
    producer_of[number], consumer_of[number] = said[f"producer.{number}"], said[f"consumer.{number}"]
    for tid in (producer_of[number], consumer_of[number]):
        assert stored[tid] == said[f"count.{number}"], (tid, stored, said)

rows, addresses = 0, set()
for path in glob.glob(folder + "/sample.*.json"):
    sample = json.load(open(path))["allocations"]
    for row in sample:
        number = row["size"] // 16 % 8
        if row["thread"] not in producer_of.values():
            continue  # the loader's, for a thread
        assert row["thread"] == producer_of[number], row
        assert row["deallocation"]["thread"] == consumer_of[number], row
        rows += 1
    addresses |= {row["address"] for row in sample}
print(f"{pairs} + {pairs} threads: {said['allocations']} blocks, all paired; {rows} looked at, at {len(addresses)} addresses")
assert rows > 1000 and len(addresses) < rows * 0.8, "addresses do not come back"
PYTHON
}
