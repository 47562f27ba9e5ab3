# Every stack of programs as it was recorded, against a walk in full: included by stacks.check.sh and stacks.check-full.sh.
# PROGRAMS: which; PER_PROGRAM: stacks of each, at least; TOTAL: of all that are installed; LEAST: so many have to be.
total=0 seen=0
printf '%-10s %10s %8s %12s %10s\n' program compared depth differences truncated
for program in $PROGRAMS; do
	stacks_run "$CHECK" $program "$PER_PROGRAM" || { echo "$program is not installed"; continue; }
	printf '%-10s %10s %8s %12s %10s\n' $program "$(found $program compared)" \
		$(($(found $program frames) / $(found $program compared))) "$(found $program differences)" "$(found $program truncated)"
	sed -n 's/^class /           /p' "$T/$program.found"
	stacks_sound $program
	# Only node's own machine code, which has no tables, may end a stack early.
	[ $(($(found $program truncated) * 1000)) -le "$(found $program compared)" ] || fail "$program: stacks are truncated"
	# Of 40 stacks 32 can have a number.
	[ $program != rise ] || [ "$(found $program numbered)" -gt $(($(found $program compared) / 3)) ] ||
		fail "$program: only $(found $program numbered) stacks were recorded as a number"
	total=$((total + $(found $program compared))) seen=$((seen + 1))
done
echo "$total stacks of $seen programs"
[ "$seen" -ge "$LEAST" ] || skip "fewer than $LEAST of the programs are installed"
[ "$total" -ge "$TOTAL" ] || fail "that is not enough to say anything"
