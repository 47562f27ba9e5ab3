#!/bin/bash
# Programs that do what makes recorders stumble. Of each, every allocation is known in advance, with its exact call
# chain from the outermost frame to the call site. Each is on record as often as it happened.
. "$(dirname "$0")/lib.sh"
need python3
chains=$BUILD/targets/chains
ulimit -c 0

check_chains() {
	local what=$1 recording=$2
	shift 2
	"$COLLECTOR" ledger --json "$recording" >"$T/ledger.json" || fail "$what: the ledger does not balance"
	assert_contains "$what: the ledger" "$T/ledger.json" '"lost":0,' '"stacks_cut":0,' '"orphan_frees":0,'
	"$COLLECTOR" export --format json --with-stacks "$recording" >"$T/export.json"
	python3 "$TEST_SOURCE/chains.py" "$T/native.out" "$T/export.json" "$@" >&3 ||
		fail "$what: the recording is not what has happened"
}

# hostile STATUS PROGRAM [ARG...]: natively it tells the truth; recorded it ends the same, and the recording is that truth.
hostile() {
	local expected=$1 program=$2 status=0
	shift 2
	if [ ! -x "$program" ]; then
		missing="$missing ${program##*/}"
		return
	fi
	{ "$program" "$@" >"$T/native.out" 2>"$T/native.err" || status=$?; } 2>/dev/null # bash tells of deaths
	assert_eq "native exit status of ${program##*/} $*" "$expected" "$status"
	rm -f "$T/recording"
	status=0
	timeout 30 "$AGENT" run --quiet --output "$T/recording" $OPTIONS -- "$program" "$@" \
		>"$T/recorded.out" 2>"$T/recorded.err" || status=$?
	assert_eq "exit status of ${program##*/} $*" "$expected" "$status"
	cmp "$T/native.out" "$T/recorded.out" || fail "$program $*: other output"
	cmp "$T/native.err" "$T/recorded.err" || fail "$program $*: other errors"
	check_chains "${program##*/} $*" "$T/recording" "$program" "$@"
}

all_hostile() {
	hostile 18 "$chains/blocks"
	hostile 8 "$chains/callers"
	for frames in plain none small record untold; do hostile 17 "$chains/frames_$frames"; done
	hostile 11 "$chains/threads"
	hostile 10 "$chains/fork"
	hostile 9 "$chains/vfork"
	hostile 9 "$chains/exec"
	hostile 0 "$chains/dlopen" "$chains/alpha.so" "$chains/beta.so"
	hostile 12 "$chains/throw"
	hostile 13 "$chains/longjmp"
	hostile 14 "$chains/signals"
	hostile 14 "$chains/signals" alt
	hostile 15 "$chains/coroutine"
	hostile 16 "$chains/tls" "$chains/tls_plugin.so"
	hostile 5 "$chains/end" none
	hostile 7 "$chains/end" _exit
	hostile 134 "$chains/end" abort
	hostile 137 "$chains/end" kill
	hostile 139 "$chains/end" segv
	hostile 6 "$chains/end" thread
	hostile 14 "$T/a path with a space/signals" alt
}

mkdir "$T/a path with a space"
cp "$chains/signals" "$T/a path with a space/"
missing=
OPTIONS= all_hostile
OPTIONS=--full-walk all_hostile
[ -z "$missing" ] || skip "all but these, which are not built here:$missing"
