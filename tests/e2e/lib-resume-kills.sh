# What resume-kills and its fellows do, with $kills kills while programs of $events events run, which pause $pause us a lot.
#   begin_quiet                 the collector that nothing disturbs, "quiet"
#   begin_killed                the other, "killed", in the background
#   begin_agent one|two CMD...
begin_quiet
begin_agent one "$BUILD/tests/e2e-paced" "$events" "$pause" "$T/end"
begin_agent two "$BUILD/tests/e2e-paced" "$events" "$pause" "$T/end"
streaming=0
for ((i = 0; i < kills; i++)); do
	begin_killed
	sleep "0.$((RANDOM % 6 + 1))$((RANDOM % 10))"
	kill_gather killed
	[ -s "$T/one.out" ] || streaming=$((streaming + 1))
	[ $((i % 3)) != 0 ] || sleep 0.3
done
begin_killed
wait_for 60 "both programs to be done" eval 'grep -q done "$T/one.out" && grep -q done "$T/two.out"'
wait_for 20 "the killed collector to go on" eval '[ "$(grep -c "goes on\|began" "$T/killed.log")" -ge 2 ]'
touch "$T/end"
wait_idle quiet 2
wait_idle killed 2
wait_agent one
wait_agent two
stop_gather quiet
stop_gather killed
same_columns quiet killed
balances killed
for stream in $(streams killed); do
	assert_eq "events lost" 0 "$(ledger_number killed "$stream" lost)"
	[ "$(ledger_number killed "$stream" stored)" -ge $((events * 995 / 1000)) ] || fail "too few events in $stream"
done
[ "$streaming" -ge $((kills / 2)) ] || fail "only $streaming of $kills kills were while the programs ran"
echo "$kills kills, $streaming of them while the programs ran; $(grep -c 'half-written' "$T/killed.err" || true) half-written frames cut off"
