#!/bin/bash
# machines with --full: armhf mips64el-16k arm64-64k
# The agent's memory is the number that the user gave, with pages of 16 and 64 KiB, too: what the kernel says of each of its mappings is
# within the limit while it records as many programs as it has places for. `agent ctl status` says the same, although these machines
# run from their initramfs, where the kernel counts code as shared memory. What it reads of a process is what its mappings add up to.
. "$(dirname "$0")/lib.sh"
need python3

small=2560
[ "$machine" != arm64-64k ] || small=4096 # of which pages of 64 KiB take what a second program would have
echo "limits='$small:1 8192:4'" >script
cat >>script <<'END'
./unit.streamer.smaps || exit 3
export HEAPCAST_CONFIG=
for limit in $limits; do
	places=${limit#*:} limit=${limit%:*}
	./agent serve --socket /tmp/socket --memory-limit ${limit}K --announce --policy count 2>out/agent.err &
	agent=$!
	until grep -q "programs ask" out/agent.err; do
		kill -0 $agent || { cat out/agent.err; exit 1; }
		sleep 1
	done
	programs=
	for n in $(seq $places); do
		while :; do # on a busy host a program may not have waited for the agent
			HEAPCAST_SOCKET=/tmp/socket LD_PRELOAD=/test/libheapcast.so ./e2e-fleet 3000 /tmp >/tmp/said-$n &
			program=$!
			until grep -q ready /tmp/said-$n; do sleep 1; done
			./agent ctl --socket /tmp/socket status --json | grep -q "\"pid\":$program,[^}]*\"events\":[1-9]" && break
			kill -KILL $program
		done
		programs="$programs $program"
	done
	for n in 1 2 3; do
		sleep 1
		./agent ctl --socket /tmp/socket status --json >out/status-$limit-$n || exit 2
		cat /proc/$agent/smaps >out/smaps-$limit-$n
	done
	kill -KILL $programs
	kill $agent
	wait
done
END
in_machine 0 script "$(built bin/agent)" "$(built lib/libheapcast.so)" "$(built tests/e2e-fleet)" "$(built tests/unit.streamer.smaps)"

python3 - out $small <<'PYTHON'
import glob, json, re, sys
for limit, places in (int(sys.argv[2]), 1), (8192, 4):
    most = 0
    for n in range(1, 4):
        mapping, kib, events = "", 0, 0
        for line in open(f"{sys.argv[1]}/smaps-{limit}-{n}"):
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                mapping = line
            name, value = line.split(None, 1)
            if name == ("Rss:" if "memfd:" in mapping else "Anonymous:"):
                kib += int(value.split()[0])
        a = json.load(open(f"{sys.argv[1]}/status-{limit}-{n}"))
        told = a["agent"]["memory"] / 1024
        assert a["agent"]["memory_limit"] == limit * 1024 and a["agent"]["places"] == places, a
        assert kib <= limit and told <= limit, (limit, kib, told)
        # Rings begin and end on pages. The kernel's quick count would lag behind by up to 64 of them a thread.
        assert kib - 64 * places <= told <= kib, (limit, kib, told)
        most = max(most, kib)
    assert sum(p["events"] > 1000 for p in a["programs"]) == places, a
    print(f"limit {limit} KiB, {places} programs: at most {most} KiB")
PYTHON
