# Sessions played wrong:   . "$(dirname "$0")/lib.sh"; . "$TEST_SOURCE/lib-mutated.sh"; mutated_for SEED SECONDS
# [PLAYERS]
#
# mutated/run.py records what agents and collectors say to each other: streams of all kinds, orders, symbol files,
# resumption, by TLS, beacons and probes. Then it plays either side of that to true agents and collectors, for so many
# seconds, and spoils it. It flips bits. It repeats, leaves out, exchanges and cuts frames. It alters fields, columns
# and counts inside frames whose lengths and checksums are right. It puts in parts of other sessions. Requests by HTTP
# and questions by commands go on meanwhile.
#
# Nothing may crash, hang, grow without end or be reported by a sanitizer. The recording of a true program beside that
# is what it is alone, number by number. The seed is printed; HEAPCAST_TEST_SEED gives it again.
need python3 openssl unshare

mutated_for() {
	local seed=${1:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
	shift
	[ "${inside:-}" = namespace ] || skip "network namespaces can't be made here"
	python3 -c 'import ctypes; ctypes.CDLL("liblz4.so.1")' 2>/dev/null || skip "liblz4.so.1 is not installed"
	mkdir "$T/mutated"
	echo "seed $seed"
	PYTHONDONTWRITEBYTECODE=1 python3 "$TEST_SOURCE/mutated/run.py" "$T/mutated" "$BUILD" "$seed" "$@" || fail "see above"
}
