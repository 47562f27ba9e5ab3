g++ -std=c++17 -g -O2 -o metricd docs/tutorial/metricd.cc
./metricd 60 >/dev/null &
