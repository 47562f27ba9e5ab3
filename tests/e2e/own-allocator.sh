#!/bin/bash
# ctest: LABELS full
# Allocators that are linked into the program itself: jemalloc and tcmalloc in place of malloc, and a small one under
# the names of others. Several compilers link them in several ways. Every block is on record with its call chain, once.
# If a function can't be hooked, that is said, and the program runs as ever.
. "$(dirname "$0")/lib.sh"
need python3 gcc g++ strip
[ "$(uname -m)" = x86_64 ] || skip "functions are patched on x86-64 only"
own=$ROOT/tests/targets/own
chains=$ROOT/tests/targets/chains
flags="-g -D_GNU_SOURCE -fno-builtin -fno-optimize-sibling-calls -fomit-frame-pointer -I$ROOT"
lib=$(dirname "$(gcc -print-file-name=libc.so)")
missing=
ulimit -c 0

# Runs it natively and recorded: same end, same output, nothing said of it.
run_both() {
	local expected=$1 program=$2
	shift 2
	assert_status "$expected" "$program" >"$T/native.out" 2>"$T/native.err"
	rm -f "$T/recording"
	assert_status "$expected" timeout 30 "$AGENT" run --quiet --output "$T/recording" "$@" -- "$program" \
		>"$T/recorded.out" 2>"$T/recorded.err"
	cmp "$T/native.out" "$T/recorded.out" || fail "$program: other output"
	cmp "$T/native.err" "$T/recorded.err" || fail "$program: other errors"
	"$COLLECTOR" ledger --json "$T/recording" >"$T/ledger.json" || fail "$program: the ledger does not balance"
	assert_contains "$program: the ledger" "$T/ledger.json" '"lost":0,' '"stacks_cut":0,' '"orphan_frees":0,'
	"$COLLECTOR" export --format json --with-stacks "$T/recording" >"$T/export.json"
}

# What constructors of the allocator make is not the program's; an exception's own block is made inside of a hook, without a stack.
check() {
	run_both "$@"
	python3 "$TEST_SOURCE/chains.py" --but '^$|_GLOBAL__' "$T/native.out" "$T/export.json" "${2##*/}" "$2" >&3 ||
		fail "$2: the recording is not what has happened"
}

# Without symbols there are no names in the chains, but all blocks: as many of each size as the truth says in all.
check_numbers() {
	run_both "$@"
	python3 - "$T/native.out" "$T/export.json" >&3 <<'EOF' || fail "$2: other blocks than there were"
import json, sys
truth = [line.split() for line in open(sys.argv[1])]
blocks = [json.loads(line) for line in open(sys.argv[2])]
mine = [b for b in blocks if b["size"] in (40, 64, 150, 4000, 512, 200, 24, 112)]
want = [sum(int(line[i]) for line in truth if line[0] == "site") for i in (2, 3)]
got = [len(mine), sum(b["size"] for b in mine)]
freed = sum(1 for b in mine if "deallocation" in b)
if got != want or freed != want[0]:
    sys.exit("%s blocks and bytes expected, all freed; %s on record, %d freed" % (want, got, freed))
EOF
}

# Those that take malloc's place.
build_with() { # NAME LIBRARY SOURCE OPTION...
	local name=$1 library=$2 source=$3
	shift 3
	[ -f "$lib/$library" ] || { missing="$missing $library"; return 1; }
	# shellcheck disable=SC2086
	case $source in
	*.cc) g++ $flags "$@" -c -o "$T/$name.o" "$source" ;;
	*) gcc $flags "$@" -c -o "$T/$name.o" "$source" ;;
	esac
	g++ "$@" -o "$T/$name" "$T/$name.o" -Wl,--whole-archive "$lib/$library" -Wl,--no-whole-archive -lpthread -ldl
}

for library in libjemalloc.a libjemalloc_pic.a libtcmalloc_minimal.a; do
	pie=-pie
	[ $library != libjemalloc.a ] || pie=-no-pie
	if build_with "${library%.a}" $library "$own/family.c" -O2 $pie; then
		check 21 "$T/${library%.a}"
		strip -o "$T/stripped" "$T/${library%.a}"
		check_numbers 21 "$T/stripped"
	fi
	if [ $library != libjemalloc_pic.a ] && build_with "new_${library%.a}" $library "$own/operators.cc" -O2 -pie; then
		check 22 "$T/new_${library%.a}"
	fi
done
for pair in threads=11 fork=10 longjmp=13 signals=14; do
	build_with ${pair%=*} libjemalloc_pic.a "$chains/${pair%=*}.c" -O2 -pie || continue
	check ${pair#*=} "$T/${pair%=*}"
done
if build_with throw libtcmalloc_minimal.a "$chains/throw.cc" -O2 -pie; then
	check 12 "$T/throw"
fi

# Under names of their own: COMPILER PREFIX OPTION...
while read -r compiler prefix options; do
	command -v $compiler >/dev/null || { echo "without $compiler $options"; continue; }
	# shellcheck disable=SC2086
	$compiler $flags -DPREFIX=$prefix $options -o "$T/small" "$own/family.c" "$own/allocator.c" -lpthread
	check 21 "$T/small"
	case $options in
	*-rdynamic*) # then the dynamic symbols stay
		strip -o "$T/stripped" "$T/small"
		check_numbers 21 "$T/stripped"
		;;
	esac
done <<EOF
gcc je_ -O2 -pie -rdynamic
gcc _rjem_ -O0 -no-pie
gcc mi_ -O3 -no-pie -fcf-protection=full
gcc tc_ -Os -pie -fno-omit-frame-pointer
gcc jemalloc_ -O1 -pie -fpatchable-function-entry=2
clang _rjem_ -O2 -pie
clang je_ -O0 -no-pie
clang mi_ -O3 -pie -rdynamic -fcf-protection=full
EOF
check 21 "$T/small" --mode full --full-walk

# In a large file, which the agent asks for time to read.
cp "$T/small" "$T/large"
truncate -s 64M "$T/large"
check 21 "$T/large"

# In one piece with the program, where the compiler takes liberties with the registers.
cat "$own/family.c" "$own/allocator.c" >"$T/one.c"
# shellcheck disable=SC2086
gcc $flags -DPREFIX=je_ -O2 -fno-inline -fno-partial-inlining -fno-ipa-cp -o "$T/one" "$T/one.c" -lpthread
check 21 "$T/one"

# In front of one another.
# shellcheck disable=SC2086
gcc $flags -O2 -o "$T/wrapped" "$own/wrapped.c"
run_both 7 "$T/wrapped"
assert_eq "blocks of a malloc in front of another" 100 "$(grep '"size":40,' "$T/export.json" | grep -c deallocation)"
assert_contains "events of it" "$T/ledger.json" '"stored_allocations":100,' '"stored_frees":100,'

# Some functions can't be patched: which is said, allocators of which all can be are recorded, and nothing else happens.
# shellcheck disable=SC2086
gcc $flags -O2 -fno-optimize-sibling-calls -o "$T/odd" "$own/odd.c"
assert_status 23 "$T/odd" >"$T/odd.native"
assert_contains "unrecorded" "$T/odd.native" "mi_malloc own" "writable code none"
rm -f "$T/recording"
assert_status 23 "$AGENT" run --quiet --output "$T/recording" -- "$T/odd" >"$T/odd.out" 2>"$T/odd.err"
assert_contains "recorded" "$T/odd.out" "mi_malloc jump" "je_malloc own" "writable code none"
assert_contains "what is said" "$T/odd.err" "has an allocator linked into it of which not all is recorded" " and 5 more can't be hooked ("
assert_eq "lines of it" 1 "$(wc -l <"$T/odd.err")"
"$COLLECTOR" export --format json --with-stacks "$T/recording" >"$T/export.json"
assert_eq "blocks of mi_malloc" 50 "$(grep -c '"size":80,' "$T/export.json")"
assert_eq "blocks of jemalloc_malloc" 50 "$(grep '"size":96,' "$T/export.json" | grep -c deallocation)"
assert_eq "blocks of others" 0 "$(grep -cE '"size":(32|48|64),' "$T/export.json" || true)"
HEAPCAST_OFF=1 LD_PRELOAD=$PRELOAD "$T/odd" >"$T/odd.out" || true
cmp "$T/odd.native" "$T/odd.out" || fail "HEAPCAST_OFF=1: something was changed"

# Programs without any: nothing is said.
for program in /bin/true /bin/bash "$BUILD/tests/e2e-plain"; do
	"$AGENT" run --quiet --output "$T/other" -- "$program" </dev/null >/dev/null 2>"$T/other.err" || true
	assert_eq "notices about $program" "" "$(cat "$T/other.err")"
done

# The library alone, with the agent that it starts.
(cd "$T" && HEAPCAST_OUTPUT=$T/alone LD_PRELOAD=$PRELOAD "$T/odd" >"$T/odd.out") || assert_eq "exit status" 23 $?
assert_contains "preloaded alone" "$T/odd.out" "mi_malloc jump"

# Where /proc can't be written to, or is not there: said, and the program runs on.
if unshare --mount true 2>/dev/null; then
	assert_status 23 "$AGENT" run --quiet --output "$T/bare" -- \
		unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$1"' sh "$T/odd" >"$T/odd.out" 2>"$T/bare.err"
	assert_contains "without /proc" "$T/odd.out" "mi_malloc own"
	assert_contains "without /proc" "$T/bare.err" "4 of its 4 functions could not be hooked"
else
	missing="$missing a-mount-namespace"
fi
[ -z "$missing" ] || skip "all but what needs these:$missing"
