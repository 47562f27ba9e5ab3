# What net-loss and net-loss-full do: every host loses 30 % of the packets that come to it; $events events of a program arrive.
net_host board 2
net_host desk 3
net_loss board 30
net_loss desk 30
since=$SECONDS
gather_on desk 10.77.0.2
serve_on board --linger 120s -- "$BUILD/tests/e2e-paced" "$events" 20000 "$T/end"
wait_for 60 "the program to be done" grep -q "done" "$T/board.out"
touch "$T/end"
wait_idle desk 1
wait_agent board
took=$((SECONDS - since))
stop_gather desk
whole desk
lost=$(($(net_lost board) + $(net_lost desk)))
[ "$lost" -gt 3 ] || fail "only $lost packets were lost"
[ $took -le 120 ] || fail "it took $took s"
echo "30 % of the packets lost, $lost: $(($(stat -c %s "$T"/desk/streams/*/recording.heapcast) / 1000)) KB in $took s"
