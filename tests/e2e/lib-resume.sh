# For tests of interruptions:   . "$(dirname "$0")/lib.sh"; . "$TEST_SOURCE/lib-resume.sh"
# Agents and collectors have names: agent NAME writes NAME.err and listens on a port of its own, collector NAME stores
# in NAME.
#
#   start_agent NAME PORT [OPTION...] -- CMD...   `agent run` in the background; output in NAME.out
#   wait_agent NAME                               its exit status must be 0
#   gather NAME ARG...                            `collector gather` in the background, its process id in ${gatherer[NAME]}
#   stop_gather NAME                              in order
#   wait_idle NAME COUNT                          until the collector has said that so many streams ended
#   streams NAME                                  ids of the streams in its folder
#   same_columns A B                              both collectors have the same streams, batch by batch
#   balances NAME                                 every ledger in it does
#   ledger_number NAME STREAM FIELD               of the ledger's JSON
declare -A gatherer agent_pid

start_agent() {
	local name=$1 port=$2
	shift 2
	"$AGENT" run --policy block --listen "127.0.0.1:$port" --quiet "$@" >"$T/$name.out" 2>>"$T/$name.err" &
	agent_pid[$name]=$!
}

wait_agent() {
	local status=0
	wait "${agent_pid[$1]}" || status=$?
	assert_eq "exit status of agent $1" 0 "$status"
}

gather() {
	local name=$1
	shift
	"$COLLECTOR" gather --data "$T/$name" "$@" >>"$T/$name.log" 2>>"$T/$name.err" &
	gatherer[$name]=$!
}

stop_gather() {
	local status=0
	kill -TERM "${gatherer[$1]}"
	wait "${gatherer[$1]}" || status=$?
	assert_eq "exit status of collector $1" 0 "$status"
}

kill_gather() {
	kill -KILL "${gatherer[$1]}"
	wait "${gatherer[$1]}" 2>/dev/null || true
}

has_ended() {
	[ "$(grep -c ' ended  \| is here already' "$T/$1.log")" -ge "$2" ]
}

wait_idle() {
	wait_for "${3:-60}" "collector $1 to have $2 streams whole" has_ended "$1" "$2"
}

streams() {
	ls "$T/$1/streams"
}

recording_of() {
	echo "$T/$1/streams/$2/recording.heapcast"
}

# What one has is what the other has: the frames are stored as they came, and columns are made of nothing else.
same_columns() {
	local stream
	assert_eq "streams of $2, as $1 has them," "$(streams "$1")" "$(streams "$2")"
	for stream in $(streams "$1"); do
		cmp "$(recording_of "$1" "$stream")" "$(recording_of "$2" "$stream")" >&3 ||
			fail "$1 and $2 have stored different things of $stream"
	done
}

balances() {
	local stream
	for stream in $(streams "$1"); do
		adds_up --data "$T/$1" "$stream" >"$T/ledger.txt" 2>&1 || {
			cat "$T/ledger.txt" >&3
			fail "the ledger of $stream in $1 does not balance"
		}
	done
}

ledger_number() {
	adds_up --data "$T/$1" --json "$2" | grep -o "\"$3\": *[0-9]*" | head -n 1 | grep -o '[0-9]*$'
}
