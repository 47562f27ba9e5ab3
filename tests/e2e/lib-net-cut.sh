# What net-cut and net-cut-full do:
#   cut_for SECONDS EVENTS   a cable is out for so long while an agent streams to two collectors, of which one has another cable
net_host board 2
net_host far 3
net_host near 4

cut_for() {
	local cut=$1 events=$2 size since back
	rm -rf "$T"/{far,near} "$T"/{far,near}.log "$T"/{board,far,near}.err "$T/end"
	gather_on far 10.77.0.2
	gather_on near 10.77.0.2
	serve_on board --memory-limit 64M -- "$BUILD/tests/e2e-paced" "$events" 20000 "$T/end"
	wait_for 20 "both collectors to have something" eval '[ "$(cat "$T"/*/streams/*/recording.heapcast | wc -c)" -gt 100000 ]'
	net_cut far
	sleep "$cut"
	if [ "$cut" -gt 15 ]; then
		assert_contains "the collector's log" "$T/far.log" "disconnected from 10.77.0.2"
		assert_contains "the agent's log" "$T/board.err" "link to 10.77.0.3:" "Connection timed out"
	fi
	size=$(stat -c %s "$T"/far/streams/*/recording.heapcast)
	since=$(date +%s%N)
	net_join far
	wait_for 25 "the stream to go on" eval '[ "$(stat -c %s "$T"/far/streams/*/recording.heapcast)" -gt "$size" ]'
	back=$(((($(date +%s%N) - since)) / 1000000))
	wait_for 60 "the program to be done" grep -q "done" "$T/board.out"
	touch "$T/end"
	wait_idle near 1
	wait_idle far 1
	wait_agent board
	stop_gather far
	stop_gather near
	whole near
	whole far
	same_columns near far
	echo "cut for $cut s: the stream went on $back ms after the cable was back"
}
