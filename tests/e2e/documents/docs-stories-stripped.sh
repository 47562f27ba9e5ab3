mkdir build
g++ -std=c++17 -g -O2 -o build/metricd docs/tutorial/metricd.cc
strip -o metricd build/metricd
heapcast run -q -o metricd.heapcast -- ./metricd 2 >/dev/null
