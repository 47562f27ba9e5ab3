#!/bin/bash
# machines with --full: amd64-6.1 arm64 armhf mips64el arm64-64k
# What tests/e2e/hostile.sh asks, on other kernels and processors: programs whose allocations and call chains are known.
. "$(dirname "$0")/lib.sh"
need python3

programs=(blocks callers coroutine end fork longjmp signals threads)
[ "$arch" != amd64 ] || programs+=(throw) # sysroots have no libstdc++
for frames in plain none small record untold signed arm; do
	[ ! -x "$(built "targets/chains/frames_$frames")" ] || programs+=("frames_$frames")
done
files=()
for program in "${programs[@]}"; do files+=("$(built "targets/chains/$program")"); done

cat >script <<'END'
try() {
	name=$1
	shift
	./"$@" >out/$name.truth 2>&1
	echo $? >out/$name.native
	./agent run --quiet --output out/$name.recording -- ./"$@" >out/$name.out 2>out/$name.err
	echo $? >out/$name.status
}
END
for program in "${programs[@]}"; do
	case $program in
	end) echo "try $program $program none" ;;
	*) echo "try $program $program" ;;
	esac
done >>script
echo "try signals_alt signals alt" >>script
in_machine 0 script "$(built bin/agent)" "$(built lib/libheapcast.so)" "${files[@]}"

mkdir data
"$COLLECTOR" symbols add --data "$T/data" "${files[@]}" >&3
wrong=
for program in "${programs[@]}" signals_alt; do
	assert_eq "exit status of $program" "$(cat "out/$program.native")" "$(cat "out/$program.status")"
	cmp "out/$program.truth" "out/$program.out" || fail "$program: other output"
	"$COLLECTOR" ledger --json "out/$program.recording" >"$T/ledger.json" || fail "$program: the ledger does not balance"
	assert_contains "$program: the ledger" "$T/ledger.json" '"lost":0,' '"stacks_cut":0,'
	"$COLLECTOR" export --symbols "$T/data/symbols" --format json --with-stacks "out/$program.recording" >"$T/export.json"
	sed -i 's/"__start"/"_start"/g' "$T/export.json" # MIPS
	python3 "$TEST_SOURCE/chains.py" "out/$program.truth" "$T/export.json" "/test/${program%_alt}" >&3 ||
		wrong="$wrong $program"
done
[ -z "$wrong" ] || fail "the recordings are not what has happened:$wrong"
