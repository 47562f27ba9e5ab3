g++ -std=c++17 -g -O2 -o metricd docs/tutorial/metricd.cc
echo leak:known_leak >lsan.supp
echo 'my_*' >my.rules
