#!/bin/bash
# ctest: LABELS full TIMEOUT 1800 COST 300
# A million stacks. `collector analyze` agrees with the rules written in Python, which read the file three times, as the
# scripts do that they are taken from. It takes at most a tenth of their time, and its memory does not grow with the
# file.
. "$(dirname "$0")/lib.sh"
need python3
rules() { python3 "$TEST_SOURCE/lib-analyze.py" "$@"; }
for order in sorted shuffled; do
	rules make 1000000 big.collapsed ${order/sorted/}
	"$COLLECTOR" analyze big.collapsed --json >warm.json
	best=
	for _ in 1 2 3; do
		begun=$(date +%s%N)
		"$COLLECTOR" analyze big.collapsed --rules clickhouse --json >big.json
		took=$((($(date +%s%N) - begun) / 1000000))
		[ -n "$best" ] && [ "$best" -le "$took" ] || best=$took
	done
	rules check big.collapsed big.json >seconds.txt
	read -r first second third <seconds.txt
	python3 - "$best" "$first" "$second" "$third" "$order" <<'PYTHON' >&3
import os, sys
ours, parts = int(sys.argv[1]) / 1000, [float(x) for x in sys.argv[2:5]]
size = os.path.getsize("big.collapsed") / 2**20
print(f"{sys.argv[5]}: {size:.0f} MiB, a million stacks: ours {ours:.2f} s; in Python {' + '.join(f'{p:.1f}' for p in parts)} = "
      f"{sum(parts):.1f} s: 1/{sum(parts) / ours:.0f} of the sum, 1/{' 1/'.join(f'{p / ours:.0f}' for p in parts)} of each")
sys.exit(ours * 10 > sum(parts))
PYTHON
	(ulimit -v 600000 && "$COLLECTOR" analyze big.collapsed >out.txt) || fail "analyze needs more than 600 MB for $(stat -c %s big.collapsed) bytes"
done
