metricd metricd
heapcast run -q -o first.heapcast -- ./metricd 2 >/dev/null
mkdir -p ../colleague
for name in metricd shared whole; do ln -s ../desk/$name.heapcast ../colleague; done
