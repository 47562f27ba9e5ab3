#!/bin/bash
# machines: amd64-5.10
# machines with --full: amd64-6.1 arm64 mips64el arm64-64k
# ctest: TIMEOUT 1200
# Programs of known allocations are attached to on other kernels and processors: every call counted, all stacks whole; samples within
# their error, and a killed program's last events; an agent that lets go, and a killed one, leave the code as it was.
# On amd64 the first of these alone, but for the scale of a release: e2e.attach has them all there.
full=${HEAPCAST_TEST_FULL:-} # lib.sh takes such variables away
. "$(dirname "$0")/lib.sh"
ROUNDS=100
SAMPLED_ROUNDS=400
machine_seconds=1100
[ "$arch" != amd64 ] || [ -n "$full" ] || short=1

cat >script <<END
ROUNDS=$ROUNDS SAMPLED_ROUNDS=$SAMPLED_ROUNDS short=${short:-}
END
cat >>script <<'END'
fails() {
	echo "$*"
	cat out/*.err
	exit 1
}

# libc's code, as it is in a process' memory. A program that has just been started may not have loaded it yet.
code_of() {
	local range start end
	until range=$(grep -m1 'r-xp.*/libc[.-]' /proc/$1/maps); do sleep 0.2; done
	range=${range%% *}
	start=$((0x${range%-*})) end=$((0x${range#*-}))
	dd if=/proc/$1/mem bs=4096 skip=$((start / 4096)) count=$(((end - start) / 4096)) 2>/dev/null | sha256sum
}

# The verifier takes its time under an emulator.
attach() { # NAME OPTION...
	local name=$1
	shift
	./agent attach "$@" 2>out/$name.err &
	agent=$!
	until grep -q 'attached to' out/$name.err; do
		kill -0 $agent 2>/dev/null || fails "the agent has ended"
		sleep 0.2
	done
}

ended() { # PID STATUS WHAT
	wait $1
	[ $? = $2 ] || fails "$3 has ended otherwise"
}

echo "every call counted; let go, it is as it was"
./attached go 2 $ROUNDS done &
whole=$!
sleep 1
code_of $whole >before
attach whole -p $whole --mode full --output out/whole
code_of $whole >during
cmp -s before during && fails "no probe is to be seen"
touch go
until [ -e done ]; do sleep 0.2; done
kill -INT $agent
ended $agent 0 "the agent"
code_of $whole >after
cmp -s before after || fails "the code is not what it was"
[ -z "$short" ] || exit 0

if [ -e attached_lld ]; then
	echo "linked by lld: segments share pages of the file"
	./attached_lld begin 1 $ROUNDS done-lld &
	lld=$!
	attach lld -p $lld --mode full --output out/lld
	grep attached_lld /proc/$lld/maps
	touch begin
	until [ -e done-lld ]; do sleep 0.2; done
	kill -KILL $lld
	ended $lld 137 "the program that lld has linked"
	ended $agent 0 "its agent"
fi

echo "samples; the program is killed"
./attached again 1 $SAMPLED_ROUNDS done-again &
sampled=$!
attach sampled -p $sampled --mode sample=4K --output out/sampled
touch again
until [ -e done-again ]; do sleep 0.2; done
kill -KILL $sampled
ended $sampled 137 "the program that was killed"
ended $agent 0 "the agent of the killed program"

echo "the agent is killed"
./attached later 0 1 &
left=$!
sleep 1
code_of $left >before
attach killed -p $left --output out/killed
kill -KILL $agent
ended $agent 137 "the agent that was killed"
# The kernel takes the probes out when it has closed the agent's files.
for i in $(seq 300); do
	code_of $left >after
	cmp -s before after && break
	sleep 0.2
done
cmp -s before after || fails "the code is not what it was"
touch later
ended $left 7 "the program"
END
lld=$(built targets)/attached_lld # where there was an ld.lld
[ -x "$lld" ] || lld=
in_machine 0 script "$(built bin/agent)" "$(built targets/attached)" ${lld:+"$lld"}

value() { node -p "JSON.parse(require('fs').readFileSync('ledger.json'))['$1']"; }
balances() { # RECORDING
	"$COLLECTOR" ledger --json "$T/out/$1" >ledger.json || fail "the account of $1 does not balance"
	assert_eq "lost events of $1" 0 "$(value lost)"
	assert_eq "frees of unrecorded blocks of $1" 0 "$(value orphan_frees)"
}
sql() { # RECORDING SELECT
	"$COLLECTOR" sql --csv "$T/out/$1" "$2" | sed '/^# /d' | tail -n +2 | tr -d '\r'
}
# One round of targets/attached: 21 events.
BYTES=$((64 + 60 + 100 + 128 + 200 + 330 + 850 + 20 + 30))

rounds=$((3 * ROUNDS))
balances whole
assert_eq "events" $((21 * rounds)) "$(value produced)"
assert_eq "inferred ends" 0 "$(value inferred)"
assert_eq "blocks and bytes" "$((11 * rounds)),$((BYTES * rounds)),0" \
	"$(sql whole 'select count(*), sum(size), sum(leaked) from allocations')"
# From the call site to the root: deep() is 1 to 20 frames and main's or the thread's.
assert_eq "stacks that were cut" 0 "$(sql whole 'select count(*) from allocations where depth < 3')"
"$COLLECTOR" top --by backtrace --count 1000 --symbols "$(built targets)" "$T/out/whole" >top.txt
assert_contains "stacks" top.txt "by deep" "by work" "by main" "_start"
! grep -q '\[truncated\]' top.txt || fail "a stack is not whole"

[ -z "${short:-}" ] || exit 0
if [ -n "$lld" ]; then
	balances lld
	assert_eq "events of what lld has linked" $((21 * 2 * ROUNDS)) "$(value produced)"
	assert_eq "its stacks that were cut" 0 "$(sql lld 'select count(*) from allocations where depth < 3')"
	"$COLLECTOR" top --by backtrace --count 1000 --symbols "$(built targets)" "$T/out/lld" >top.txt
	assert_contains "its stacks" top.txt "by deep" "by work" "by main" "_start"
	! grep -q '\[truncated\]' top.txt || fail "one of its stacks is not whole"
fi
balances sampled
# What fails and is no sample is counted where calls are not followed to their ends (docs/ebpf.md): one malloc of a round.
assert_eq "sampled blocks in use at the end" 0 "$(sql sampled 'select coalesce(sum(leaked), 0) from allocations')"
[ "$(value produced)" -ge $((2 * SAMPLED_ROUNDS * 21)) ] && [ "$(value produced)" -le $((2 * SAMPLED_ROUNDS * 22)) ] ||
	fail "$(value produced) events"
"$COLLECTOR" top "$T/out/sampled" --by site --value allocated --json >sampled.json
# The error that is stated is 1.96 standard errors; by chance one in some million runs is five off.
node -e "
	const total = JSON.parse(require('fs').readFileSync('sampled.json')).total;
	const off = 1.96 * (total.bytes - $((2 * SAMPLED_ROUNDS * BYTES))) / total.bytes_error;
	console.log(Math.round(total.bytes), 'bytes,', off.toFixed(2), 'standard errors off');
	process.exit(Math.abs(off) <= 5 ? 0 : 1);" || fail "samples are too far off"
