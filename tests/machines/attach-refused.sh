#!/bin/bash
# machines with --full: armhf
# Where the kernel accepts probes of Thumb code that never fire, attaching is refused, and says why; the program goes on.
. "$(dirname "$0")/lib.sh"

cat >script <<'END'
./attached go 1 10 &
target=$!
./agent attach -p $target --output out/recording 2>out/refused.err
echo $? >out/status
./agent attach --check 2>out/check.err
echo $? >out/check.status
touch go
wait $target
[ $? = 7 ] && [ ! -e out/recording ]
END
in_machine 0 script "$(built bin/agent)" "$(built targets/attached)"
for name in refused check; do
	assert_contains "the message" out/$name.err "32-bit ARM" "Thumb" "agent run can"
done
assert_eq "exit statuses" "3 3" "$(cat out/status out/check.status | xargs)"
