#!/bin/bash
# Samples of a program that runs already, held against what it says of itself: each estimate within three of its standard errors in a few runs
# (30 with HEAPCAST_TEST_FULL=1; the seeds are the agent's own, so one in some hundred runs may be further off: one is forgiven).
full=${HEAPCAST_TEST_FULL:-} # lib.sh takes such variables away
. "$(dirname "$0")/lib-attach.sh"
need python3
runs=4
[ -z "$full" ] || runs=30

# Rounds of targets/attached: 11 blocks and so many bytes each.
ROUNDS=3000
BYTES=$((64 + 60 + 100 + 128 + 200 + 330 + 850 + 20 + 30))
for run in $(seq $runs); do
	rm -f go
	"$TARGETS/attached" go 1 $ROUNDS &
	target=$!
	attach -p $target --mode sample=16K --output $run.heapcast
	touch go
	status=0
	wait $target || status=$?
	assert_eq "exit status of the program" 7 $status
	attached_ended
	# What fails and is no sample is counted where calls are not followed to their ends (docs/ebpf.md): one malloc of a round.
	produced=$(ledger_value $run.heapcast produced)
	[ "$produced" -ge $((2 * ROUNDS * 21)) ] && [ "$produced" -le $((2 * ROUNDS * 22)) ] || fail "run $run: $produced events"
	assert_eq "lost events of run $run" 0 "$(ledger_value $run.heapcast lost)"
	assert_eq "frees of unrecorded blocks of run $run" 0 "$(ledger_value $run.heapcast orphan_frees)"
	assert_eq "blocks in use at the end of run $run" 0 "$(sql $run.heapcast 'select coalesce(sum(leaked), 0) from allocations')"
	"$COLLECTOR" top $run.heapcast --by site --value allocated --json >$run.json
done

python3 - $runs $((2 * ROUNDS * BYTES)) $((2 * ROUNDS * 11)) <<'END' >&3
import json, sys
runs, size, blocks = map(int, sys.argv[1:])
far = 0
for run in range(1, runs + 1):
    total = json.load(open("%d.json" % run))["total"]
    # The error that is stated is 1.96 standard errors.
    z = [1.96 * (total["bytes"] - size) / total["bytes_error"], 1.96 * (total["blocks"] - blocks) / total["blocks_error"]]
    print("run %d: %.0f of %d bytes, %.2f standard errors off; %.0f of %d blocks, %.2f" %
          (run, total["bytes"], size, z[0], total["blocks"], blocks, z[1]))
    far += max(map(abs, z)) > 3
assert far <= 1, "%d of %d runs are far off" % (far, runs)
END
