#!/bin/bash
# redis-server, which links jemalloc, under redis-benchmark: the allocator that is found behind the recorder is not glibc's.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
need redis-benchmark redis-cli redis-check-rdb
# The server is the same file as redis-check-rdb and looks at the name that it is called by.
ln -s "$(command -v redis-check-rdb)" "$T/redis-server"
door=$T/redis.socket # no port: two runs at a time would meet there

answers() {
	[ "$(redis-cli -s "$door" ping 2>/dev/null)" = PONG ]
}

# Work from outside, and what can be seen from there: the same every time.
workload() {
	wait_for 20 "redis-server to answer" answers
	redis-benchmark -s "$door" -q -n 5000 -c 10 -t set,get,incr,lpush,lpop,sadd,hset,mset >"$T/benchmark.txt"
	redis-cli -s "$door" eval 'for i = 1, 2000 do redis.call("set", "key:" .. i, string.rep("v", i % 100)) end return 1' 0
	redis-cli -s "$door" get key:1999
	redis-cli -s "$door" dbsize
	redis-cli -s "$door" shutdown nosave
}

serve() {
	"$@" "$T/redis-server" --port 0 --unixsocket "$door" --save '' --appendonly no --loglevel warning --dir "$T" \
		--hz 10 --activedefrag no >"$T/server.out" 2>&1 &
	server_pid=$!
}

served() {
	local status=0
	wait $server_pid || status=$?
	echo "$status" >"$T/$1.status"
}

serve env
workload >"$T/native.out" 2>"$T/native.err"
served native

start_collector
export COUNTING_OUTPUT=$T/counts
LD_PRELOAD=$COUNTING serve "$AGENT" run --policy block --announce --interface lo --quiet --
workload >"$T/recorded.out" 2>"$T/recorded.err"
served recorded
wait_collector

same_behaviour
check_ledger
check_counts "$(executable_of redis-check-rdb)"
ask report last >"$T/report.txt"
real_names redis
