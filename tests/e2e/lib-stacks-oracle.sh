# Every stack of programs, and of a target that does all that is hard to unwind, against libunwind's: included by
# stacks.oracle.sh and stacks.oracle-full.sh.
# PROGRAMS: which; LEAST: so many have to be installed; PER_PROGRAM: stacks of each that are compared, at least. One in HEAPCAST_ORACLE_EVERY is.
[ -e "$ORACLE" ] || skip "libunwind-dev was not there at build time"
total=0 seen=0
printf '%-10s %10s %10s %10s %10s\n' program compared equal different busy
for program in $PROGRAMS; do
	stacks_run "$ORACLE" $program "$PER_PROGRAM" || { echo "$program is not installed"; continue; }
	compared=$(found $program oracle) different=$(found $program oracle_different)
	printf '%-10s %10s %10s %10s %10s\n' $program "$compared" "$(found $program oracle_equal)" "$different" "$(found $program oracle_busy)"
	sed -n 's/^class /           /p' "$T/$program.found"
	stacks_sound $program
	[ $((different * 10000)) -le "$compared" ] || { cat "$T/$program.found" >&3; fail "$program: more than one in 10,000 differs"; }
	total=$((total + compared)) seen=$((seen + 1))
done
echo "$total stacks of $seen programs"
[ "$seen" -ge "$LEAST" ] || skip "fewer than $LEAST of the programs are installed"
