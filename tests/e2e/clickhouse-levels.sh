#!/bin/bash
# Streams that grow are sent piece by piece: what was in use at any minute is told from the shared store as from the recordings, byte for
# byte, whether a full hour was sent with what came before it or long after; in the end the store has what it has if all is sent at once.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
need python3 cmp
clickhouse_one
at=clickhouse://default@$(clickhouse_hosts)
"$BUILD/tests/made-fleet" "$T/whole" 5 250 64 7 build >"$T/made"
"$BUILD/tests/made-fleet" "$T/whole" 2 40 64 9 "" 1 0 gw 4096 >"$T/made"
mkdir -p "$T/data"

# Copies the first COUNT batches of each recording (all: it has ended), and holds the lock of their writer until a line comes.
cat >"$T/grow.py" <<'END'
import fcntl, glob, os, struct, sys
count, held = int(sys.argv[2]), []
for path in glob.glob(f"{sys.argv[1]}/whole/streams/*/recording.heapcast"):
    data = open(path, "rb").read()
    begins = [i for i in range(len(data)) if data[i:i + 4] == b"\x04\x22\x4d\x18"] + [len(data)]
    copy = path.replace("/whole/", "/data/")
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    file = open(copy, "ab")
    file.write(data[os.path.getsize(copy):begins[min(count, len(begins) - 1)]])
    file.flush()
    fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
    held.append(file)
print(max(os.path.getsize(f.name) for f in held), flush=True)
sys.stdin.readline()
END
grow() { # COUNT
	mkfifo "$T/done"
	python3 "$T/grow.py" "$T" "$1" <"$T/done" >"$T/grown" &
	grower=$!
	exec 7>"$T/done"
	rm "$T/done"
	wait_for 10 "the recordings to grow" test -s "$T/grown"
}
leave() {
	exec 7>&-
	wait $grower
	rm "$T/grown"
}
answer() { # QUESTION...
	"$COLLECTOR" fleet "$@" --count 1000 --json 2>&1 || true
}
same_answers() { # DATABASE END
	local minute at_minute
	# Before, at and behind each hour, and in its middle.
	for ((minute = $(date +%s) / 60 - 253; minute <= $2; minute += minute % 60 % 59 == 0 ? 1 : minute % 60 < 30 ? 30 - minute % 60 : 59 - minute % 60)); do
		at_minute=@$((minute * 60))
		answer --data "$T/data" --top backtrace --at $at_minute >"$T/recordings.json"
		answer --store "$at/$1" --top backtrace --at $at_minute >"$T/shared.json"
		cmp "$T/recordings.json" "$T/shared.json" || fail "minute $minute: something else than the recordings"
	done
}
contents() { # DATABASE
	local table
	for table in sums levels; do
		clickhouse_sql 1 "SELECT count(), sum(cityHash64(stream, minute, stack, a, b, n, v)) FROM
			(SELECT stream, minute, stack, sum(allocations) AS a, sum(blocks) AS b, sum(bytes) AS n, sum(variance) AS v FROM $1.$table
			GROUP BY stream, minute, stack HAVING a != 0 OR b != 0 OR n != 0 OR v != 0)"
	done
}

"$COLLECTOR" share --data "$T/whole" --store "$at/whole" >"$T/shared"
for count in 1 2 3 4; do
	grow $count
	"$COLLECTOR" share --data "$T/data" --store "$at/grown" >>"$T/shared"
	"$COLLECTOR" list --data "$T/data" >"$T/list"
	if [ $count = 1 ]; then assert_contains "the streams" "$T/list" live; fi
	sent=$(clickhouse_sql 1 "SELECT min(sent_to) FROM grown.streams FINAL WHERE done = 0")
	levels=$(clickhouse_sql 1 "SELECT uniqExact(minute), count() FROM grown.levels" | tr '\t' ' ')
	echo "$count: sent up to $sent; levels $levels"
	[ "$sent" = 0 ] || same_answers grown "$sent"
	leave
done
grow 100
leave
"$COLLECTOR" share --data "$T/data" --store "$at/grown" >>"$T/shared"
same_answers grown $(($(date +%s) / 60))
assert_eq "what is there in the end" "$(contents whole)" "$(contents grown)"

# That is what answers are from: another level, another answer.
hour=$(clickhouse_sql 1 "SELECT max(minute) FROM grown.levels")
answer --store "$at/grown" --top backtrace --at @$((hour * 60)) >"$T/right.json"
clickhouse_sql 1 "INSERT INTO grown.levels_local SELECT day, batch, collector, stream, minute, stack, allocations, allocated, blocks, bytes, base, variance
	FROM grown.levels_local WHERE minute = $hour AND bytes > 0 LIMIT 1"
answer --store "$at/grown" --top backtrace --at @$((hour * 60)) >"$T/wrong.json"
! cmp -s "$T/right.json" "$T/wrong.json" || fail "levels are not asked"

# A data base of before levels: they are made for what is sent from now on, and answers are the same.
clickhouse_sql 1 "DROP TABLE grown.levels_local"
clickhouse_sql 1 "DROP TABLE grown.levels"
clickhouse_sql 1 "CREATE TABLE grown.versions AS grown.schema_versions ENGINE = MergeTree ORDER BY version"
clickhouse_sql 1 "INSERT INTO grown.versions SELECT * FROM grown.schema_versions WHERE version < 4"
clickhouse_sql 1 "DROP TABLE grown.schema_versions"
clickhouse_sql 1 "RENAME TABLE grown.versions TO grown.schema_versions"
status=0
"$COLLECTOR" fleet --store "$at/grown" --top function >"$T/old" 2>&1 || status=$?
assert_contains "an old schema" "$T/old" "are of an older heapcast"
"$COLLECTOR" share --data "$T/data" --store "$at/grown" >>"$T/shared"
assert_eq "levels of what was sent before" 0 "$(clickhouse_sql 1 "SELECT count() FROM grown.levels")"
same_answers grown $(($(date +%s) / 60))
