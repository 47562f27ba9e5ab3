mkdir old new
metricd new/metricd
patch -s -o old/metricd.cc docs/tutorial/metricd.cc docs/tutorial/fix.patch
(cd old && g++ -std=c++17 -g -O2 -o metricd metricd.cc)
for build in old new; do
	mv $build/metricd $build/app # which ends by itself
done
echo './old/app=./old/app 2' >>"$WORDS"
echo './new/app=./new/app 2' >>"$WORDS"
echo leak:known_leak >lsan.supp
