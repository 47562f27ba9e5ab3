#!/bin/bash
# As strict.sh, by the library alone and by a daemon.
. "$(dirname "$0")/lib-serve.sh"
. "$TEST_SOURCE/lib-strict.sh"
need python3
cases=("none prctl main" "futex prctl main" "gettid prctl main" "mode prctl main" "tsc prctl main" "open syscall main"
	"none prctl all" "futex syscall all" "none prctl new" "futex prctl new")

# The recording of one program more.
newest() {
	local file
	for file in "$T/$1"_*.heapcast; do
		[ -n "${seen[$file]:-}" ] || break
	done
	wait_for 20 "the recording of $1" bash -c "'$COLLECTOR' ledger --json '$file' | grep -q '\"kind\":\"exited\"'"
	seen[$file]=1
	recording=$file
}
there() {
	compgen -G "$1" >"$T/there.txt" || return 1
	[ "$(wc -l <"$T/there.txt")" = "$2" ]
}

declare -A seen
each() {
	local name=$1 number=0 case
	shift
	for case in "${cases[@]}"; do
		# shellcheck disable=SC2086 # three words
		alone $case
		# shellcheck disable=SC2086
		lives "$case" env LD_PRELOAD="$PRELOAD" "$@" "$TARGETS/strict" $case
		number=$((number + 1))
		wait_for 20 "a recording by $name" there "$T/${name}_*.heapcast" $number
		newest "$name"
		counted "$recording"
	done
}

each alone HEAPCAST_OUTPUT="$T/alone_%p.heapcast"
serve daemon --socket "$T/socket" --output "$T/daemon_%p.heapcast"
each daemon HEAPCAST_SOCKET="$T/socket"
stop_serve daemon
