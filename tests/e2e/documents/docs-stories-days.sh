g++ -std=c++17 -g -O2 -o ../board/metricd docs/tutorial/metricd.cc
