g++ -std=c++17 -g -O2 -o metricd docs/tutorial/metricd.cc
heapcast run -q -o first.heapcast -- ./metricd 2 >/dev/null
mkdir -p ../colleague
for name in metricd shared whole; do ln -s ../desk/$name.heapcast ../colleague; done
