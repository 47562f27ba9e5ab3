#!/bin/bash
# ctest: LABELS full
# More processes begin at the same time than the agent can hear at once, or has places for. Each has a recording, or the
# log names it as one that has none: nobody is left out in silence. The ledgers count processes that have none, not how
# often these asked. A child that is turned away asks again when it has become another program.
. "$(dirname "$0")/lib.sh"

cat >"$T/crowd" <<'EOF'
#!/bin/bash
for ((i = 0; i < 300; i++)); do
	/bin/ls /usr/bin >/dev/null &
	echo $!
done
wait
EOF
some_began() { [ "$(wc -l <"$T/children")" -gt 50 ]; }
# As on a busy machine, the agent does not get to run. When it does, the program and all of its children have ended.
stand_still() { # AGENT
	wait_for 10 "the first children" some_began
	kill -STOP "$1"
	wait_for 20 "the end of the program" eval "! pgrep -f '^bash $T/crowd' >/dev/null"
	kill -CONT "$1"
}
for run in 1 2; do
	rm -rf "$T/rec"
	mkdir "$T/rec"
	"$AGENT" run --follow --log info --output "$T/rec/%p" -- bash "$T/crowd" >"$T/children" 2>"$T/crowd.err" &
	agent=$!
	[ $run = 1 ] || stand_still $agent
	wait $agent
	assert_eq "children" 300 "$(wc -l <"$T/children")"
	{ ls "$T/rec"; sed -n 's/.* pid \([0-9]*\) ask[se][d ]*to be recorded.*/\1/p' "$T/crowd.err"; } | sort -u >"$T/known"
	sort "$T/children" | comm -23 - "$T/known" >"$T/unknown"
	echo "$(ls "$T/rec" | wc -l) recordings; $(wc -l <"$T/unknown") of 300 processes are neither recorded nor told of"
	[ ! -s "$T/unknown" ] || fail "nobody knows of $(wc -l <"$T/unknown") processes"
	sed -n 's/.* pid \([0-9]*\) ask[se][d ]*to be recorded.*/\1/p' "$T/crowd.err" >"$T/asked"
	turned_away=$(sort -u "$T/asked" | wc -l)
	counted=$(for file in "$T/rec"/*; do
		"$COLLECTOR" ledger --json "$file" || true # it is not complete
	done | sed -n 's/.*"unrecorded": *\([0-9]*\).*/\1/p' | awk '{ sum += $1 } END { print sum }')
	echo "$turned_away processes were turned away, $(wc -l <"$T/asked") times; the ledgers count $counted"
	assert_eq "unrecorded" "$turned_away" "$counted"
	summed=$(sed -n 's/^heapcast: \([0-9]*\) processes \(were not recorded, or\|ended before the agent\).*/\1/p' "$T/crowd.err" | awk '{ sum += $1 } END { print sum + 0 }')
	assert_eq "the summary" "$turned_away" "$summed"
done
