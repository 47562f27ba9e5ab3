#!/bin/bash
# machines with --full: amd64-6.1 amd64-5.10 arm64 mips64el arm64-64k
# ctest: TIMEOUT 1000
# The walk of stacks in the kernel: other verifiers take it, and it says there what the engine in the process says.
. "$(dirname "$0")/lib.sh"

[ -x "$(built tests/unit.ebpf.walk)" ] || skip "this build has no eBPF"
cat >script <<'END'
mkdir unwind-shapes
mv *.so unwind-shapes
VERBOSE=1 ./unit.ebpf.walk >out/walk 2>&1
echo $? >out/status
END
machine_seconds=900
libraries=()
for name in gcc together separate pac; do # the last one where the processor signs return addresses
	[ ! -e "$(built tests/unwind-shapes/$name.so)" ] || libraries+=("$(built tests/unwind-shapes/$name.so)")
done
in_machine 0 script "$(built tests/unit.ebpf.walk)" "${libraries[@]}"
tail -n 40 out/walk
assert_eq "exit status of unit.ebpf.walk" 0 "$(cat out/status)"
grep -qF '[  PASSED  ] 7 test(s).' out/walk || fail "not all of it was run"
[ "$arch" != arm64 ] || grep -q "signs return addresses" out/walk || fail "the processor does not sign return addresses"
