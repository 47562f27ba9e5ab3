# What the tests of pairing share:   . "$(dirname "$0")/lib.sh"; . "$TEST_SOURCE/lib-resume.sh"; . "$TEST_SOURCE/lib-pairing.sh"
# Keys of agents are in $T/keys, those of collectors in $T/pairs, unless a variable says otherwise. `in_place` begins a command line
# that is to run elsewhere (a namespace).
#
#   pair_begin TAG ARG...     `collector pair` in the background; TAG.out, TAG.err, ${pairing[TAG]}, the code in ${code[TAG]}
#   pair_end TAG STATUS       until it has ended with that
#   join TAG STATUS CODE ARG...   `agent pair`, with this exit status; TAG.join
#   same_keys A B             the two files hold the same key
declare -A pairing code
export HEAPCAST_KEYS=$T/keys HEAPCAST_PAIRS=$T/pairs
in_place=()

"$AGENT" pair ABCDEFGHIJKLMNOPQRSTUVWXYA --keys '' >"$T/able" 2>&1 || true
! grep -q "needs TLS" "$T/able" || skip "this build has no TLS"

pair_begin() {
	local tag=$1
	shift
	rm -f "$T/$tag.out"
	"${in_place[@]}" "$COLLECTOR" pair "$@" >"$T/$tag.out" 2>"$T/$tag.err" &
	pairing[$tag]=$!
	wait_for 10 "the code of $tag" grep -q "^    [A-Z2-7]*@" "$T/$tag.out"
	code[$tag]=$(sed -nE 's/^ *agent pair ([A-Z2-7]{26})$/\1/p' "$T/$tag.out")
	[ "${#code[$tag]}" = 26 ] || fail "no code: $(cat "$T/$tag.out")"
}

pair_end() {
	local status=0
	wait "${pairing[$1]}" || status=$?
	assert_eq "exit status of collector pair ($1): $(tail -n 3 "$T/$1.err")" "$2" "$status"
}

join() {
	local tag=$1 expected=$2 given=$3 status=0
	shift 3
	"${in_place[@]}" "$AGENT" pair "$@" "$given" >"$T/$tag.join" 2>"$T/$tag.join.err" || status=$?
	assert_eq "exit status of agent pair ($tag): $(tail -n 3 "$T/$tag.join.err")" "$expected" "$status"
}

key_of() {
	sed -n 's/^pair://p' "$1"
}

same_keys() {
	[ -n "$(key_of "$1")" ] || fail "no key in $1"
	assert_eq "the key in $2" "$(key_of "$1")" "$(key_of "$2")"
}
