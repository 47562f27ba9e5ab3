#!/bin/bash
# ctest: LABELS full
# top --live in a terminal of 80x24. Checks what is on the screen after keys, a resize and the end of the program, and
# what it costs. The terminal is as before after q, Ctrl-C and SIGTERM.
. "$(dirname "$0")/lib.sh"
need python3

export TERM=xterm TMPDIR="$T"
"$COLLECTOR" top --live </dev/null 2>none.err && fail "without a terminal it began"
assert_contains "the error" none.err "needs a terminal"
cat >program.py <<'EOF'
import sys, time
kept = []
for i in range(int(sys.argv[1])):
    kept.append([bytes(3000 + k) for k in range(20)])
    time.sleep(0.05)
EOF

# A stream of the data folder, and when the screen has been looked at, another one of the same program.
"$COLLECTOR" gather --data data --interface lo >gather.out 2>gather.err &
wait_for 10 "the collector" grep -q . gather.out gather.err
"$AGENT" run -q --announce --interface lo -- "$(type -P python3)" program.py 10 >/dev/null
(until [ -e again ]; do sleep 0.2; done; "$AGENT" run -q --announce --interface lo -- "$(type -P python3)" program.py 40 >/dev/null) &

python3 "$TEST_SOURCE/live/screen.py" "$COLLECTOR" "$(type -P python3)" data >screens 2>&1 || { cat screens >&3; fail "see above"; }
grep "of a processor" screens
