#!/bin/bash
# More processes begin at the same time than the agent can hear at once, or has places for. Each has a recording, or the log names it
# as one that has none: nobody is left out in silence.
. "$(dirname "$0")/lib.sh"

cat >"$T/crowd" <<'EOF'
#!/bin/bash
for ((i = 0; i < 300; i++)); do
	/bin/ls /usr/bin >/dev/null &
	echo $!
done
wait
EOF
for run in 1 2; do
	rm -rf "$T/rec"
	mkdir "$T/rec"
	"$AGENT" run --follow --log info --output "$T/rec/%p" -- bash "$T/crowd" >"$T/children" 2>"$T/crowd.err"
	assert_eq "children" 300 "$(wc -l <"$T/children")"
	{ ls "$T/rec"; sed -n 's/.* pid \([0-9]*\) asks to be recorded.*/\1/p' "$T/crowd.err"; } | sort -u >"$T/known"
	sort "$T/children" | comm -23 - "$T/known" >"$T/unknown"
	echo "$(ls "$T/rec" | wc -l) recordings; $(wc -l <"$T/unknown") of 300 processes are neither recorded nor told of"
	[ ! -s "$T/unknown" ] || fail "nobody knows of $(wc -l <"$T/unknown") processes"
done
