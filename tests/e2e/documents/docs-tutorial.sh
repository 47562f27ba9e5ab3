g++ -std=c++17 -O2 -o ../board/metricd docs/tutorial/metricd.cc
../board/metricd 5 & # it grows
