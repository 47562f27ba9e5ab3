#!/bin/bash
# machines with --full: armhf mips64el-16k arm64-64k
# The agent's memory is the number that the user gave, with pages of 16 and 64 KiB, too: what the kernel says of each of its mappings is
# within the limit while it records some programs. `agent ctl status` says the same, although these machines
# run from their initramfs, where the kernel counts code as shared memory. With pages of 64 KiB an agent that is attached to a program
# is within its least limit, the kernel's maps and programs included. What it reads of a process is what its mappings add up to.
. "$(dirname "$0")/lib.sh"
need python3

small=2560
[ "$machine" != arm64-64k ] || small=4096 # of which pages of 64 KiB take what a second program would have
echo "limits='$small:1 8192:4'" >script # the agent's limit in KiB, and how many programs there are
cat >>script <<'END'
./unit.base.proc_maps || exit 3
export HEAPCAST_CONFIG=
for limit in $limits; do
	count=${limit#*:} limit=${limit%:*}
	./agent serve --socket /tmp/socket --memory-limit ${limit}K --announce --policy count 2>out/agent.err &
	agent=$!
	until grep -q "programs ask" out/agent.err; do
		kill -0 $agent || { cat out/agent.err; exit 1; }
		sleep 1
	done
	programs=
	for n in $(seq $count); do
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
files=()
if [ "$machine" = arm64-64k ]; then
	files+=("$(built targets/attached)")
	cat >>script <<'END'
./agent attach -p $$ --memory-limit 3M 2>out/least.err
least=$(sed -n 's/.*the least is \([0-9.]*\) MiB.*/\1/p' out/least.err | awk '{ print int($1 * 1024) + 11 }') # two digits of it
[ "${least:-9999}" -lt 7168 ] || { cat out/least.err; exit 4; }
./attached /tmp/go 3 100 /tmp/done &
target=$!
sleep 1
./agent attach -p $target --memory-limit ${least}K --output /tmp/attached 2>out/attach.err &
agent=$!
until grep -q "attached to" out/attach.err; do
	kill -0 $agent || { cat out/attach.err; exit 5; }
	sleep 1
done
touch /tmp/go
until [ -e /tmp/done ]; do sleep 1; done
own=$(awk '/^Anonymous:/ { print $2 }' /proc/$agent/smaps_rollup)
kernel=$(awk '/^memlock:/ { sum += $2 / 1024 } END { print sum }' /proc/$agent/fdinfo/* 2>/dev/null)
echo "attached with $least KiB: $own of the agent's own, $kernel in the kernel"
[ "$kernel" -gt 500 ] && [ $((own + kernel)) -le "$least" ] || exit 6
kill -KILL $target
wait
END
fi
in_machine 0 script "$(built bin/agent)" "${files[@]}" "$(built lib/libheapcast.so)" "$(built tests/e2e-fleet)" "$(built tests/unit.base.proc_maps)"

python3 - out $small <<'PYTHON'
import glob, json, re, sys
for limit, count in (int(sys.argv[2]), 1), (8192, 4):
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
        assert a["agent"]["memory_limit"] == limit * 1024 and a["agent"]["programs"] == count <= a["agent"]["places"], a
        assert kib <= limit and told <= limit, (limit, kib, told)
        # Rings begin and end on pages. What a program's ring was granted is told before the program has touched it.
        assert kib - 64 * count <= told <= kib + 128 * count, (limit, kib, told)
        most = max(most, kib)
    assert sum(p["events"] > 1000 for p in a["programs"]) == count, a
    print(f"limit {limit} KiB, {count} programs: at most {most} KiB")
PYTHON
