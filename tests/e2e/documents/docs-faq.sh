metricd metricd
echo leak:known_leak >lsan.supp
echo 'my_*' >my.rules
