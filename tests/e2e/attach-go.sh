#!/bin/bash
# A Go program with parts in C: it comes to no harm, its own heap is not seen, and of C's allocations each call is counted: as lost, for
# returns can't be probed there. `agent attach --check` says so beforehand.
. "$(dirname "$0")/lib-attach.sh"
need go gcc
ROUNDS=500
export GOCACHE="$T/cache" GOPATH="$T/go" GOFLAGS= GO111MODULE=off CGO_ENABLED=1
go build -o program "$TEST_SOURCE/data/cgo.go" >build.out 2>&1 || skip "go can't build a program with C in it: $(tail -n 1 build.out)"

./program go $ROUNDS 3>&- &
target=$!
wait_for 10 "the program's libc" grep -q libc /proc/$target/maps
"$AGENT" attach --check -p $target >check || fail "$(cat check)"
tr -s ' \n' ' ' <check >words
assert_contains "what --check says" words "malloc entry, no result: counted as lost" "its main program is Go's, whose own heap is not seen" \
	"allocations are counted as lost" "memory that is mapped without libc"
attach -p $target --output go.heapcast
touch go
status=0
wait $target || status=$?
assert_eq "exit status of the program" 0 $status
attached_ended
assert_eq "blocks on record" 0 "$(sql go.heapcast 'select count(*) from allocations')"
assert_eq "lost calls in each round" 1 "$(($(ledger_value go.heapcast lost) / ROUNDS))"
assert_eq "frees of unrecorded blocks in each round" 1 "$(($(ledger_value go.heapcast orphan_frees) / ROUNDS))"
assert_contains "the reason" <("$COLLECTOR" ledger go.heapcast) "no result"
