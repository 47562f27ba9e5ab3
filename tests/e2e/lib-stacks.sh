# Programs under the check build of the preload library. After lib.sh:   . "$TEST_SOURCE/lib-stacks.sh"
#
# That library reads back each record as the agent would, and compares the stack with a walk in full of the same moment
# (agent/preload/check). libheapcast-oracle.so compares with libunwind's, too. Both run under the real agent.
#
#   stacks_run LIBRARY PROGRAM EVENTS   runs PROGRAM, at least once, until EVENTS stacks were compared; what was found is in
#                                       $T/PROGRAM.found. 1: the program is not installed
#   found PROGRAM NAME                  one of its counts
#   stacks_sound PROGRAM                the walk in full never differed, and no record broke a rule
#
# A program is a function work_NAME that runs "$@" followed by a command of its own.
CHECK=$BUILD/lib/libheapcast-check.so
ORACLE=$BUILD/lib/libheapcast-oracle.so
SHOW=$BUILD/tests/check-show
DATA=$TEST_SOURCE/data
work_once= # not empty: the program is run only once, on less

work_cc1plus() {
	local program
	program=$(g++ -print-prog-name=cc1plus) && [ -x "$program" ] || return 77
	"$@" "$program" -quiet -O1 -ftemplate-depth=2000 "$DATA/heavy.cc" -o "$T/heavy.s"
}

work_clang() {
	"$@" clang -cc1 -ftemplate-depth 2000 ${work_once:+-fsyntax-only} -O1 -emit-obj "$DATA/heavy.cc" -o "$T/heavy.o"
}

work_python3() {
	PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1 "$@" python3 "$DATA/work.py"
}

work_perl() {
	"$@" perl -e 'my %h; for my $i (1 .. 20000) { my @w = split / /, "a b$i c d"; $h{$w[1]} = join(",", map { $_ x 2 } sort @w); }
		my @k = sort { $h{$a} cmp $h{$b} } keys %h; print scalar(@k), " ", length(join "", @k), "\n"'
}

work_gdb() {
	"$@" gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'info functions' -ex 'info types' "$BUILD/bin/agent"
}

# A history of some files, one more with each commit.
git_history() {
	local file
	[ ! -e "$T/history" ] || return 0
	mkdir "$T/history"
	(
		cd "$T/history"
		git init -q .
		for file in "$TEST_SOURCE"/*.sh "$ROOT"/collector/recording/*.c; do
			cp "$file" .
			cat "$file" >>all
			git add .
			git -c user.name=x -c user.email=x@localhost commit -q -m "add $(basename "$file")"
		done
	)
}

work_git() {
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
	git_history
	"$@" git --no-pager -C "$T/history" log -p --stat -M --patience
}

work_sqlite3() {
	"$@" sqlite3 :memory: ".read $DATA/work.sql"
}

work_lua5.4() {
	"$@" lua5.4 "$DATA/work.lua"
}

work_node() {
	"$@" node -e 'let m = new Map(); for (let i = 0; i < 100000; i++) m.set("k" + i, [i, {a: i}]);
		const t = JSON.stringify([...m]); console.log(m.size, JSON.parse(t).length, t.replace(/1\d+/g, "x").length)'
}

work_churn() {
	"$@" "$BUILD/targets/churn" 100000 4 30
}

# Stacks that change completely from event to event, and recur; or do not recur.
work_rise() {
	"$@" "$BUILD/tests/bench-rise" 300000 60 20
}

work_rise_new() {
	"$@" "$BUILD/tests/bench-rise" 100000 60 15000
}

# Exceptions, jumps, signals on both kinds of stack, libraries that come and go.
work_stress() {
	"$@" "$BUILD/targets/stress" 5 3 0
}

installed() {
	case $1 in
	cc1plus) command -v g++ ;;
	crossing) [ -x "$T/crossing" ] ;;
	churn | dlopener | stress) [ -x "$BUILD/targets/$1" ] ;;
	rise | rise_new) [ -x "$BUILD/tests/bench-rise" ] ;;
	*) command -v "$1" ;;
	esac >/dev/null
}

found() {
	awk -v name="$2" '$1 == name { print $2; found = 1 } END { exit !found }' "$T/$1.found"
}

# One of the counts that the program has printed.
value_of() {
	awk -v name="$1" '$1 == name { print $2; found = 1 } END { exit !found }' "$T/stacks.out"
}

# The agent with the command that follows, into a file that nobody keeps.
recording=$T/recording
recorded() {
	[ "$recording" = /dev/null ] || rm -f "$recording"
	HEAPCAST_PRELOAD=$stacks_library HEAPCAST_CHECK=$T/report.$stacks_program.$stacks_round \
		"$AGENT" run --quiet --output "$recording" -- "$@" >"$T/stacks.out" 2>"$T/stacks.err" </dev/null
}

stacks_round=0
stacks_run() {
	local events=$3 status
	stacks_library=$1 stacks_program=$2
	installed "$2" || return 1
	[ -e "$1" ] || fail "$1 is not built"
	rm -f "$T/report.$2".*
	while :; do
		stacks_round=$((stacks_round + 1)) status=0
		"work_$2" recorded || status=$?
		[ "$status" -lt 126 ] || { cat "$T/stacks.err" >&3; fail "$2 ended with status $status"; }
		"$SHOW" "$T/report.$2".* >"$T/$2.found"
		[ "$(found "$2" compared)" -gt 0 ] || fail "no stack of $2 was compared"
		[ "$(found "$2" compared)" -lt "$events" ] || return 0
	done
}

stacks_sound() {
	local name
	for name in differences unsound; do
		[ "$(found "$1" $name)" = 0 ] || { cat "$T/$1.found" >&3; fail "$1: $name is not 0"; }
	done
}
