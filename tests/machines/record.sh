#!/bin/bash
# machines: amd64-6.1 amd64-5.10 arm64 armhf mips64el
# A real program under the recorder on another kernel and processor: it does what it does natively there, and the recording's account
# balances and says what an independent library in the same process has counted.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"

# A fifth of the rows that e2e.real.sqlite3 has: an emulated MIPS is slow.
sed 's/i < 20000/i < 4000/' "$TEST_SOURCE/data/work.sql" >work.sql

cat >script <<'END'
./sqlite3 :memory: <work.sql >out/native.out 2>out/native.err
echo $? >out/native.status
LD_PRELOAD=/work/libcounting.so COUNTING_OUTPUT=out/counts \
	./agent run --quiet --output out/recording -- ./sqlite3 :memory: <work.sql >out/recorded.out 2>out/recorded.err
echo $? >out/recorded.status
END
in_machine 0 script "$(built bin/agent)" "$(built lib/libheapcast.so)" "$(built tests/libcounting.so)" "$(program sqlite3)" work.sql
mv out/* .
assert_eq "exit status of the SQL error" 1 "$(cat native.status)"
same_behaviour
RECORDING=$T/recording
check_ledger
check_counts /work/sqlite3
ask report "$RECORDING" >report.txt
real_names sqlite3
