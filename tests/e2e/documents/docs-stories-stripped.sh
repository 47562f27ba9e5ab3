mkdir build
metricd build/metricd
strip -o metricd build/metricd
heapcast run -q -o metricd.heapcast -- ./metricd 2 >/dev/null
