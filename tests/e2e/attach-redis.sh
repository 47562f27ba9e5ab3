#!/bin/bash
# redis-server, which has jemalloc in a library, attached to while it is under load: its call chains and numbers are those that
# libheapcast.so records.
. "$(dirname "$0")/lib-compare.sh"
need redis-benchmark redis-cli redis-check-rdb
# The server is the same file as redis-check-rdb and looks at the name that it is called by.
ln -s "$(command -v redis-check-rdb)" redis-server
door=$T/redis.socket # no port: two runs at a time would meet there
server=(./redis-server --port 0 --unixsocket "$door" --save '' --appendonly no --loglevel warning --dir "$T" --hz 1
	--activerehashing no --slowlog-log-slower-than -1 --logfile "$T/server.log")

waits_for_work() {
	[ "$(redis-cli -s "$door" ping 2>/dev/null)" = PONG ]
}

# One client at a time: how much is read at once would differ else.
begin_work() {
	exec 7>&-
	redis-benchmark -s "$door" -q -n 1500 -c 1 -t set,get,incr,lpush,lpop,sadd,hset,mset >benchmark.txt
	redis-cli -s "$door" eval 'for i = 1, 2000 do redis.call("set", "key:" .. i, string.rep("v", i % 100)) end return 1' 0 >load.txt
	redis-cli -s "$door" eval 'for i = 1, 500 do redis.call("zadd", "scores", i, "member " .. i) redis.call("rpush", "row", i) end return 1' 0 >>load.txt
	redis-cli -s "$door" shutdown nosave
}

# Its clock does some of the work, its clients come and go, and the 372 nodes of its skip list have random heights: two runs differ by
# 1.7 % in their bytes, as a standard deviation.
both 0 "${server[@]}"
compare full preloaded.heapcast attached.heapcast 0.08

once_attached sampled.heapcast 0 --mode sample=8K -- "${server[@]}"
compare sampled preloaded.heapcast 8192 sampled.heapcast
