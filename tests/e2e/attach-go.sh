#!/bin/bash
# ctest: COST 60
# Programs of Go. One without C code has nothing to probe, and is told so. One with C code has the blocks of that
# recorded, by libc's functions and by those that are linked into it. It comes to no harm while its stacks grow, shrink
# and are walked: nothing in a file of Go's has a probe of a return.
. "$(dirname "$0")/lib-attach.sh"
need go gcc
ROUNDS=100

build() { # NAME SOURCE C? OPTION...
	local name=$1 source=$2 c=$3
	shift 3
	HOME=$T GOCACHE=$T/cache GOPATH=$T/path GO111MODULE=off GOPROXY=off GOTOOLCHAIN=local GOFLAGS='' CGO_ENABLED=$c \
		go build -o "$name" "$@" "$ROOT/tests/targets/go/$source" >build.err 2>&1
}

told() { # WHAT FILE TEXT: in words, however the lines are wrapped
	tr -s ' \n' ' ' <"$2" >words
	assert_contains "$1" words "$3"
}

echo "Go alone"
build pure pure.go 0 || skip "go can't build a program: $(tail -n 1 build.err)"
./pure &
target=$!
assert_status 3 "$AGENT" attach -p $target --output pure.heapcast 2>pure.err
told "the message" pure.err "pid $target is a Go program without C code"
assert_status 1 "$AGENT" attach --check -p $target >check.out
told "what --check says" check.out "its main program is Go's"
kill -0 $target || fail "it has ended"
kill -KILL $target
wait $target 2>/dev/null || true

with_c() { # NAME
	local status=0
	rm -f go
	"./$1" go $ROUNDS profile &
	target=$!
	sleep 0.2
	"$AGENT" attach --check -p $target >check.out || fail "it can't be attached to: $(cat check.out)"
	attach -p $target --output "$1.heapcast" --log debug
	assert_contains "what is said" attach.err "pid $target is a Go program: only blocks of its C code are recorded"
	! grep -q " at $T/$1+.*with return" attach.err || fail "a return is probed in Go's file"
	touch go
	wait $target || status=$?
	assert_eq "exit status of the program" 7 $status
	attached_ended
	assert_eq "blocks of C code" "$((20 * ROUNDS)),0" \
		"$(sql "$1.heapcast" 'select count(*), sum(leaked) from allocations where size = 777')"
	assert_eq "profile of Go's" 1 "$([ -s profile ] && echo 1)"
}

echo "with C code"
build cgo cgo.go 1 || skip "go can't build a program with C code: $(tail -n 1 build.err)"
with_c cgo
assert_contains "what --check says" check.out "result by its return" "libc.so"
assert_eq "lost events" 0 "$(ledger_value cgo.heapcast lost)"

echo "with C code and libc inside"
if build static cgo.go 1 -ldflags '-linkmode external -extldflags "-static"'; then
	with_c static
	! grep -q "result by its return" check.out || fail "a return is probed in Go's file"
fi
