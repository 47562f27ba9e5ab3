#!/bin/bash
# machines: arm64 armhf mips64el
# machines with --full: amd64-6.1 amd64-5.10 arm64-64k
# A real program, and one with four threads, under the recorder on another kernel and processor: the first does what it does natively
# there, and each recording's account balances and says what an independent library in the same process has counted.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"

# A fifth of the rows that e2e.real.sqlite3 has: an emulated MIPS is slow.
sed 's/i < 20000/i < 4000/' "$TEST_SOURCE/data/work.sql" >work.sql

cat >script <<'END'
./sqlite3 :memory: <work.sql >out/native.out 2>out/native.err
echo $? >out/native.status
LD_PRELOAD=/test/libcounting.so COUNTING_OUTPUT=out/counts \
	./agent run --quiet --output out/recording -- ./sqlite3 :memory: <work.sql >out/recorded.out 2>out/recorded.err
echo $? >out/recorded.status
export LD_PRELOAD=/test/libcounting.so COUNTING_OUTPUT=out/counts
exec ./agent run --quiet --output out/threads -- ./churn 2000 4 10
END
in_machine 0 script "$(built bin/agent)" "$(built lib/libheapcast.so)" "$(built tests/libcounting.so)" "$(program sqlite3)" \
	"$(built targets/churn)" work.sql
mv out/* .
assert_eq "exit status of the SQL error" 1 "$(cat native.status)"
same_behaviour
RECORDING=$T/recording
check_ledger
check_counts /test/sqlite3
ask report "$RECORDING" >report.txt
real_names sqlite3

RECORDING=$T/threads
check_ledger
check_counts /test/churn
