#!/bin/bash
# Processes that the agent finds by name, by control group, or all. It records those that start later, too, as many as
# there are places, and never an agent or its collector. It leaves a process that another agent has to that agent.
. "$(dirname "$0")/lib-attach.sh"
. "$TEST_SOURCE/lib-cgroup.sh"

ln -s "$TARGETS/attached" heapcast-many
ln -s "$TARGETS/attached" heapcast-other
targets=()

start_target() { # PROGRAM
	"$@" 3>&- &
	targets+=($!)
	target=$!
}

watch_for() { # OPTION...
	: >attach.err
	mkdir -p found
	"$AGENT" attach --log info --output 'found/%p' "$@" 2>attach.err 3>&- &
	agent_pid=$!
	wait_for 60 "the agent" grep -q "^heapcast: \(attached to\|waiting for\)" attach.err
}

is_attached() { grep -q "attached to pid $1 " attach.err; }

ended() {
	local pid status
	for pid in "${targets[@]}"; do
		status=0
		wait "$pid" || status=$?
		assert_eq "exit status of pid $pid" 7 "$status"
	done
	targets=()
	kill -INT "$agent_pid"
	attached_ended
	rm -f go
}

# There are so few that the smallest ring holds them all, if need be without their stacks: on a busy machine the agent may come later.
exact() { # FILE ROUNDS
	[ "$(ledger_value "$1" lost)" = 0 ] || fail "events of $1 were lost: $("$COLLECTOR" ledger "$1") $(cat attach.err)"
	assert_eq "events of $1" $((21 * $2)) "$(ledger_value "$1" produced)"
}

echo "by name"
start_target ./heapcast-many go 0 4
first=$target
start_target ./heapcast-other go 0 4
other=$target
watch_for --comm heapcast-many
wait_for 30 "the first" is_attached $first
start_target ./heapcast-many go 0 6
second=$target
wait_for 30 "one that starts later" is_attached $second
# A shell that becomes such a program.
start_target bash -c 'exec ./heapcast-many go 0 8'
third=$target
wait_for 30 "one that becomes such a program" is_attached $third
touch go
ended
exact found/$first 4
exact found/$second 6
exact found/$third 8
assert_eq "recordings" 3 "$(find found -type f | wc -l)"
rm -r found

echo "by control group"
v2=$(awk '{ for (i = 6; $i != "-"; i++); if ($(i + 1) == "cgroup2") { print $5; exit } }' /proc/self/mountinfo)
by_group() { # FOLDER
	local group=$1 inside outside later
	start_target ./heapcast-many go 0 4
	inside=$target
	start_target ./heapcast-other go 0 4
	outside=$target
	start_target ./heapcast-other go 0 6
	later=$target
	mkdir "$group/below"
	echo $inside >"$group/below/cgroup.procs" || return 1
	watch_for --cgroup "$group"
	wait_for 30 "the one that is there" is_attached $inside
	echo $later >"$group/cgroup.procs"
	wait_for 30 "the one that has come" is_attached $later
	if is_attached $outside; then fail "pid $outside is not in the group"; fi
	touch go
	ended
	rmdir "$group/below"
	exact found/$inside 4
	exact found/$later 6
	assert_eq "recordings" 2 "$(find found -type f | wc -l)"
	rm -r found
}
tried=
if [ -n "$v2" ] && mkdir "$v2/heapcast-test.$$" 2>/dev/null; then
	trap 'rmdir "$v2/heapcast-test.$$"/below "$v2/heapcast-test.$$" 2>/dev/null; at_end' EXIT
	by_group "$v2/heapcast-test.$$"
	rmdir "$v2/heapcast-test.$$"
	tried=yes
fi
if grep -q ' - cgroup .*memory' /proc/self/mountinfo; then
	folder=$(cgroup_parent)/heapcast-test-v1.$$
	if mkdir "$folder" 2>/dev/null; then
		trap 'rmdir "$folder"/below "$folder" 2>/dev/null; at_end' EXIT
		by_group "$folder"
		rmdir "$folder"
		tried=yes
	fi
fi
[ -n "$tried" ] || echo "no control group can be made here: not tried"
trap at_end EXIT

echo "another agent has it"
start_target ./heapcast-many go 0 30
attach -p $target --output one.heapcast
assert_status 3 "$AGENT" attach -p $target --output two.heapcast 2>second.err
assert_contains "the second agent" second.err "pid $target is recorded by another agent already (pid $agent_pid)"
[ ! -e two.heapcast ] || fail "there are two recordings"
kill -INT "$agent_pid"
attached_ended
attach -p $target --output three.heapcast # it is free again
touch go
wait $target || true
attached_ended
exact three.heapcast 30
targets=()
rm -f go

echo "all, as far as there are places"
"$COLLECTOR" gather --data all-data --interface lo --for 300s >collector.out 2>collector.err 3>&- &
collector=$!
for i in 1 2 3 4 5 6 7 8; do
	start_target ./heapcast-many go 0 $((10 * i))
done
watch_for --all --memory-limit 8M
wait_for 30 "as many as there are places" grep -q "there is no place" attach.err
assert_eq "times that this was said" 1 "$(grep -c "there is no place" attach.err)"
for pid in $collector $agent_pid; do
	if is_attached $pid; then fail "an agent or collector is recorded"; fi
done
touch go
ended
kill $collector
wait $collector || true
n=$(find found -type f | wc -l)
[ "$n" -ge 2 ] || fail "$n recordings"
for file in found/*; do
	adds_up "$file" >ledger.txt || fail "$file does not add up: $(cat ledger.txt)" # in the smallest rings some are lost
done

echo "what is not attached to"
sleep 300 3>&- &
sleeper=$!
"$AGENT" attach -p $sleeper --output x.heapcast 3>&- 2>own.err &
own=$!
wait_for 60 "an agent" grep -q "attached to" own.err
assert_status 2 "$AGENT" attach -p $own 2>err
assert_contains "the message" err "is an agent or a collector of ours"
kill -INT $own
wait $own || true
kill $sleeper
wait $sleeper 2>/dev/null || true
