#!/bin/bash
# machines with --full: mips64el
# From the tarball to the report, as the README has it: a board that has nothing but its libc, the tarball with the static agent, and a
# program; `tar`, `start PROGRAM` there, `collector gather` here. Every block is on record, under its exact call chain.
# ctest: TIMEOUT 700
. "$(dirname "$0")/lib.sh"
need python3 ip
GATE=10.77.0.1
program=$(built targets/chains/callers)
static=$boards/$arch-static/bin/agent

[ "$inside" = namespace ] || skip "network namespaces can't be made here"
[ -x "$static" ] || skip "no static agent is built for $arch (cmake --workflow --preset $arch-static)"
ip tuntap add board mode tap 2>/dev/null || skip "tap devices can't be made here (root?)"
ip address add $GATE/24 broadcast + dev board
ip link set board up

mkdir -p from/bin from/lib
ln -s "$static" from/bin/agent
ln -s "$(built lib/libheapcast.so)" from/lib/libheapcast.so
"$ROOT/deploy/board" --into . --from from "$arch" >&3 || fail "no tarball for $arch"

# A program waits for a second at most until the agent has answered: on a host that is busy with something else it is begun again.
cat >script <<END
tar -xz <heapcast-$arch.tar.gz || exit 1
grep -q "nothing: it is static" heapcast-$arch/README.txt || exit 2
export HEAPCAST_POLICY=block
./callers >out/truth
echo \$? >out/native
until grep " ended: " heapcast-$arch/agent.log >out/ended; do
	heapcast-$arch/start ./callers >out/said
	echo \$? >out/status
	cp heapcast-$arch/agent.log out/
	sleep 3
done
heapcast-$arch/start --stop
END
"$COLLECTOR" gather --once --data "$T/data" >gather.out 2>gather.err &
gather=$!
status=0
env TMPDIR="$T" "${machine_folders[@]}" "$MACHINES_SOURCE/run" --seconds 600 --out "$T/out" --network board 10.77.0.2/24 "$machine" \
	script "heapcast-$arch.tar.gz" "$program" >said 2>machine.err || status=$?
[ "$status" != 77 ] || skip "$(tail -n 1 machine.err)"
assert_eq "exit status in the machine" 0 "$status"
wait $gather || fail "collector gather: $(tail -n 5 gather.err)"
assert_contains "what gather says" gather.out "found an agent"
assert_eq "exit status of the program" "$(cat out/native)" "$(cat out/status)"
cmp out/truth out/said || fail "other output"

"$COLLECTOR" ledger --data "$T/data" --json last >ledger.json || fail "the ledger does not balance"
assert_contains "the ledger" ledger.json '"lost":0,' '"stacks_cut":0,'
"$COLLECTOR" export --data "$T/data" --symbols "$(dirname "$program")" --format json --with-stacks last >export.json
sed -i 's/"__start"/"_start"/g' export.json # MIPS
python3 "$TEST_SOURCE/chains.py" out/truth export.json /test/callers >&3 || fail "the recording is not what has happened"
