#!/bin/bash
# deploy/board: the same bytes each time; what is in the tarball begins, records, says what it does and ends; what can't be done is said.
. "$(dirname "$0")/lib.sh"
need objcopy readelf strip
[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || skip "this system's programs are not for amd64"
BOARD=$ROOT/deploy/board

mkdir one two
"$BOARD" --into one --from "$BUILD" amd64 >said
(umask 077 && cd two && TMPDIR=$T/two "$BOARD" --into . --from "$BUILD" amd64 >/dev/null)
cmp one/heapcast-amd64.tar.gz two/heapcast-amd64.tar.gz || fail "two tarballs differ"
assert_contains "what it says" said "bytes  agent" "bytes  libheapcast.so" "one/heapcast-amd64.tar.gz" "heapcast gather"
"$BOARD" --help >said
assert_contains "its help" said "--into FOLDER" "--from FOLDER"
[ "$(wc -L <"$ROOT/deploy/on-board/README.txt")" -le 80 ] || fail "README.txt is wider than 80 columns"

wrong() { # STATUS TEXT ARG...
	local expected=$1 text=$2
	shift 2
	assert_status "$expected" "$BOARD" "$@" >out 2>said
	assert_contains "deploy/board $*" said "$text"
}
wrong 2 "deploy/board [OPTION...] ARCH"
wrong 2 "there is no processor vax" vax
wrong 2 "behind amd64 may come musl" amd64 uclibc
wrong 1 "nothing can be built for amd64 with musl yet" amd64 musl
wrong 2 "there is no option --fast" --fast amd64
wrong 1 "there is no $T/nowhere/bin/agent" --from "$T/nowhere" amd64

# What strip alone leaves of a MIPS program is not in a tarball.
mkdir -p like-mips/bin like-mips/lib
for file in bin/agent lib/libheapcast.so; do
	objcopy --add-section .pdr="$ROOT/LICENSE" "$BUILD/$file" "like-mips/$file"
done
"$BOARD" --into two --from like-mips amd64 >/dev/null
cmp one/heapcast-amd64.tar.gz two/heapcast-amd64.tar.gz || fail ".pdr is in a tarball"

tar -xzf one/heapcast-amd64.tar.gz
board=$T/heapcast-amd64
export HEAPCAST_SOCKET=$T/socket HEAPCAST_INTERFACE=lo
assert_status 1 "$board/start" --status >out 2>said
start_collector
assert_status 5 "$board/start" "$BUILD/tests/e2e-pairs" 2000 >out 2>said
"$board/start" >said
assert_contains "what start says" said "HEAPCAST_SOCKET=$T/socket LD_PRELOAD=$board/libheapcast.so PROGRAM"
"$board/start" --status >said
assert_contains "its status" said "of 8.00 MiB"
wait_collector
ask ledger last >/dev/null || fail "the account does not balance"
"$board/start" --stop
assert_status 1 "$board/start" --stop >out 2>said
HEAPCAST_MEMORY_LIMIT=1K assert_status 3 "$board/start" >out 2>said
assert_contains "an agent that can't begin" said "says why" "the least is"
