# What net-slow and net-slow-full do: a link of 64 kbit/s, and an agent that has 2 MiB. With each policy a recording of
# at least $kilobytes KB (else of any size) arrives in at most 60 s.
net_host board 2
net_host desk 3
net_rate board 64kbit

# slow_link POLICY EVENTS PAUSE OPTION...
slow_link() {
	local policy=$1 events=$2 pause=$3 since=$SECONDS size lost stream
	shift 3
	rm -rf "$T/desk" "$T/desk.log" "$T/end" "$T/board.out"
	gather_on desk 10.77.0.2
	serve_on board --memory-limit 2M --policy "$policy" "$@" -- "$BUILD/tests/e2e-paced" "$events" "$pause" "$T/end"
	wait_for 60 "the program to be done (policy $policy)" grep -q "done" "$T/board.out"
	done=$((SECONDS - since))
	touch "$T/end"
	wait_idle desk 1
	[ $((SECONDS - since)) -le 60 ] || fail "with the policy $policy it took $((SECONDS - since)) s"
	wait_agent board
	stop_gather desk
	balances desk
	stream=$(streams desk)
	size=$(($(stat -c %s "$T/desk/streams/$stream/recording.heapcast") / 1000))
	lost=$(ledger_number desk "$stream" lost)
	produced=$(ledger_number desk "$stream" produced)
	passed_over=$(ledger_number desk "$stream" not_sampled)
	echo "$policy: $size KB in $((SECONDS - since)) s, the program took $done s; of $produced events $lost lost, $passed_over passed over"
	[ "$size" -ge "${kilobytes:-1}" ] || fail "the recording has only $size KB"
	case $policy in
	block) assert_eq "events lost with the policy block" 0 "$lost" ;;
	count) [ "$lost" -gt 0 ] || fail "the policy count was not needed" ;;
	thin) [ "$passed_over" -gt 0 ] || fail "the policy thin was not needed" ;;
	esac
}
