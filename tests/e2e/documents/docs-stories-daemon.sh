metricd metricd
./metricd 60 >/dev/null &
