#!/bin/bash
# ctest: LABELS full TIMEOUT 300
# The page: a flame graph of 200,000 frames keeps the page's own thread free.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
need curl python3
# Bushy as a real program's: 20,000 functions, each at some ten places.
cat >"$T/bush.py" <<'PYTHON'
import random

random.seed(25)
paths = [[f"lib{i % 7}.so`start_{i}"] for i in range(20)]
while len(paths) < 200000:
    near = 0 if random.random() < 0.3 else max(0, len(paths) - 400)
    path = paths[random.randrange(near, len(paths))]
    if len(path) <= 60:
        n = random.randrange(20000)
        paths.append(path + [f"module_{n % 40}::function_{n}"])
for path in paths:
    print(";".join(path), int(random.paretovariate(0.8) * 100) % 10000000)
PYTHON
python3 "$T/bush.py" >"$T/bush.folded"
"$COLLECTOR" import --output "$T/bush.heapcast" "$T/bush.folded" >"$T/said"
rm "$T/bush.folded"
serve_page "$T/bush.heapcast"
play speed "$(curl -s "$page/list" | sed -n 's/.*"id":"\([0-9a-f]*\)".*/\1/p')"
