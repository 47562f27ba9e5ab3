heapcast export --format pprof -o heap.pb.gz last
heapcast gather >gather.out 2>&1 &
until grep -q ":A9F9 " /proc/net/udp; do sleep 0.1; done
heapcast run -q --announce -- ./app on >/dev/null 2>&1 &
until [ -s "$(echo heapcast-data/streams/*/recording.heapcast)" ]; do sleep 0.1; done
echo "BEGIN=heapcast serve" >>"$WORDS"
