#!/bin/bash
# machines with --full: arm64 armhf
# A board whose libc is musl, with the tarball that deploy/board makes: library for musl, agent without shared libraries, start. What
# programs that are known in advance have asked for is on record, with the exact call chains (tests/library/recorded.sh asks for
# more, under qemu-user).
. "$(dirname "$0")/lib.sh"
need python3
[ -x "$boards/$arch-static/bin/agent" ] || skip "no static agent is built for $arch (cmake --workflow --preset $arch-static)"
[ -e "$boards/$arch-musl/lib/libheapcast.so" ] || skip "nothing is built for $arch with musl (cmake --workflow --preset $arch-musl)"
chains=$boards/$arch-musl/targets/chains
programs=(blocks callers longjmp signals threads)
for frames in plain small untold signed arm; do
	[ ! -x "$chains/frames_$frames" ] || programs+=("frames_$frames")
done

mkdir -p from/bin from/lib
ln -s "$boards/$arch-static/bin/agent" from/bin/agent
ln -s "$boards/$arch-musl/lib/libheapcast.so" from/lib/libheapcast.so
"$ROOT/deploy/board" --from from --into . "$arch" musl >&3
tar -tzf "heapcast-$arch-musl.tar.gz" | sort >listed
printf "heapcast-$arch-musl/%s\n" "" LICENSE README.txt agent libheapcast.so start | sort | cmp - listed || fail "the tarball has other files"
tar -xzOf "heapcast-$arch-musl.tar.gz" "heapcast-$arch-musl/README.txt" >page
assert_contains "README.txt" page "$arch, musl" "shared library (musl)" "needs: nothing: it is static"

# A program waits a second at most until the agent has answered: on a busy host it is begun again.
{
	echo "board=heapcast-$arch-musl programs='${programs[*]}'"
	cat <<'END'
tar -xzf $board.tar.gz || exit 1
export HEAPCAST_POLICY=block HEAPCAST_BLOCK_MAX=60s HEAPCAST_OUTPUT=/test/out/%e.recording
for name in $programs; do
	./$name >out/$name.truth 2>&1
	echo $? >out/$name.alone
	for try in 1 2 3 4 5; do
		$board/start ./$name >out/$name.out 2>&1
		echo $? >out/$name.status
		sleep 1
		[ ! -e out/$name.recording ] || break
	done
done
$board/start --status
$board/start --stop
cp $board/agent.log out/
# Without `start`: by `agent run`, and by an agent that the library itself starts.
$board/agent run --quiet --output out/run.recording -- ./threads >out/run.out 2>&1
echo $? >out/run.status
HEAPCAST_OUTPUT=/test/out/preload.recording LD_PRELOAD=/test/$board/libheapcast.so ./threads >out/preload.out 2>&1
echo $? >out/preload.status
while pidof agent >/dev/null; do sleep 1; done
END
} >script
files=()
for program in "${programs[@]}"; do files+=("$chains/$program"); done
in_machine 0 script "heapcast-$arch-musl.tar.gz" "${files[@]}"

# musl's _start jumps to _start_c, of the program, which on AArch64 jumps into libc in turn.
start="_start_c;*"
[ "$arch" != arm64 ] || start="*"
mkdir data
"$COLLECTOR" symbols add --data "$T/data" "${files[@]}" >&3
wrong=
held() { # NAME PROGRAM
	local name=$1 program=$2
	assert_eq "$name: exit status" "$(cat "out/$program.alone")" "$(cat "out/$name.status")"
	cmp "out/$program.truth" "out/$name.out" || fail "$name: other output"
	[ -e "out/$name.recording" ] || fail "$name was not recorded: $(tail -n 5 out/agent.log)"
	"$COLLECTOR" ledger --json "out/$name.recording" >"$T/ledger.json" || fail "$name: the ledger does not balance"
	assert_contains "$name: the ledger" "$T/ledger.json" '"lost":0,' '"stacks_cut":0,' '"orphan_frees":0,'
	"$COLLECTOR" export --symbols "$T/data/symbols" --format json --with-stacks "out/$name.recording" >"$T/export.json"
	python3 "$TEST_SOURCE/chains.py" --start "$start" "out/$program.truth" "$T/export.json" "/test/$program" >&3 ||
		wrong="$wrong $name"
}
for program in "${programs[@]}"; do held "$program" "$program"; done
held run threads
held preload threads
[ -z "$wrong" ] || fail "the recordings are not what has happened:$wrong"
