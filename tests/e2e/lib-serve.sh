# What the tests of `agent serve` share:   . "$(dirname "$0")/lib-serve.sh"
#
#   serve NAME ARG...      a daemon in the background; its log is $T/NAME.err, its pid ${served[NAME]}
#   stop_serve NAME        ended by SIGTERM; its exit status is in $status
#   hold NAME ENV... --    a program in the background that has allocated, then waits; its pid is ${held[NAME]}
#   release NAME           lets it end; its exit status must be 0
#   plain ENV...           a short program; its exit status must be its own
#   recorded PATTERN       how many files that match $T/PATTERN hold a recording whose ledger balances
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
declare -A served held holder

serving() {
	kill -0 "${served[$1]}" 2>/dev/null || fail "agent serve ended: $(cat "$T/$1.err")"
	grep -q "programs ask at" "$T/$1.err"
}

serve() {
	local name=$1
	shift
	"$AGENT" serve "$@" 2>"$T/$name.err" >"$T/$name.out" &
	served[$name]=$!
	wait_for 10 "agent serve" serving "$name"
}

stop_serve() {
	status=0
	kill -TERM "${served[$1]}"
	wait "${served[$1]}" || status=$?
}

hold() {
	local name=$1
	shift
	mkfifo "$T/$name.fifo"
	sleep 600 >"$T/$name.fifo" &
	holder[$name]=$!
	env LD_PRELOAD="$PRELOAD" "$@" "$TARGETS/waiting" 1 <"$T/$name.fifo" >"$T/$name.said" &
	held[$name]=$!
	wait_for 20 "the program" grep -q ready "$T/$name.said"
}

release() {
	local result=0
	kill "${holder[$1]}"
	wait "${holder[$1]}" || true
	wait "${held[$1]}" || result=$?
	assert_eq "exit status of the program $1" 0 "$result"
}

plain() {
	local result=0
	env "$@" LD_PRELOAD="$PRELOAD" "$BUILD/tests/e2e-plain" >"$T/plain.said" 2>&1 || result=$?
	assert_eq "exit status of the program" 5 "$result"
	assert_eq "what the program says" "done" "$(cat "$T/plain.said")"
}

recorded() {
	local file count=0
	for file in "$T"/$1; do
		[ -s "$file" ] || continue
		adds_up "$file" >"$T/ledger.txt" || fail "the ledger of $file: $(cat "$T/ledger.txt")"
		count=$((count + 1))
	done
	echo "$count"
}
