# What the tests of keys and certificates share:   . "$(dirname "$0")/lib.sh"; . "$TEST_SOURCE/lib-secure.sh"
#
#   make_key NAME                      a key file NAME.key
#   meets NAME AGENT... -- COLLECTOR... a program is recorded by an agent with these options, and a collector with those stores it whole;
#                                      both ways: the collector dials, the agent dials
#   refused NAME AGENT... -- COLLECTOR...   they don't come together: nothing is stored; each way. What they say is in NAME-WAY.agent.err
#                                      and NAME-WAY.collector, WAY being collector-dials or agent-dials
#   says FILE TEXT                     one line of it holds the text (an extended regular expression)
. "$TEST_SOURCE/lib-resume.sh"
need openssl
way_port=8101
program=("$BUILD/tests/e2e-pairs" 20000)

grep -q -e --key <("$AGENT" run --help) || skip "this build has no --key"

make_key() {
	(umask 077 && openssl rand -hex 32 >"$T/$1.key")
}

says() {
	grep -Eq -e "$2" "$1" || { head -n 40 "$1" >&3; fail "$1 does not say \"$2\""; }
}

# WAY NAME LINGER AGENT... -- COLLECTOR...: leaves both running.
start_both() {
	local way=$1 name=$2 linger=$3 agent_options=() listen=off
	shift 3
	while [ "$1" != -- ]; do
		agent_options+=("$1")
		shift
	done
	shift
	rm -rf "$T/$name-$way" "$T/$name-$way".*
	way_port=$((way_port + 1))
	if [ "$way" = collector-dials ]; then
		set -- "$@" "127.0.0.1:$way_port"
		agent_options+=(--listen "127.0.0.1:$way_port")
	else
		listen=127.0.0.1:$way_port
		agent_options+=(--collector "127.0.0.1:$way_port")
	fi
	"$COLLECTOR" gather --data "$T/$name-$way" --no-discovery --listen "$listen" "$@" \
		>"$T/$name-$way.out" 2>"$T/$name-$way.collector.err" &
	gatherer[$name]=$!
	if [ "$way" = agent-dials ]; then
		wait_for 10 "the collector to listen" grep -q "listening on" "$T/$name-$way.out"
	fi
	"$AGENT" run --log info --linger "$linger" "${agent_options[@]}" -- \
		"${program[@]}" >/dev/null 2>"$T/$name-$way.agent.err" &
	agent_pid[$name]=$!
}

end_both() {
	local status=0
	wait "${agent_pid[$1]}" || status=$?
	assert_eq "exit status of the program" 5 "$status"
	stop_gather "$1"
}

meets() {
	local name=$1 way
	shift
	for way in collector-dials agent-dials; do
		start_both $way "$name" 30s "$@"
		wait_for 10 "the stream ($name, $way)" grep -q " ended " "$T/$name-$way.out"
		end_both "$name"
		balances "$name-$way"
		assert_eq "streams" 1 "$(streams "$name-$way" | wc -l)"
	done
}

refused() {
	local name=$1 way
	shift
	for way in collector-dials agent-dials; do
		start_both $way "$name" 3s "$@"
		end_both "$name"
		assert_eq "streams ($name, $way)" "" "$(ls "$T/$name-$way/streams" 2>/dev/null)"
		ls "$T"/heapcast_e2e-pairs_* >/dev/null || fail "the agent has not kept what nobody could take"
		rm -f "$T"/heapcast_e2e-pairs_*
		if grep -q "connected to\|began" "$T/$name-$way.out"; then fail "$name, $way: they came together"; fi
	done
}
