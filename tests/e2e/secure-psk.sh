#!/bin/bash
# Keys: who has the key gets the stream, whoever dials; with another key, or without one on either side, nothing is stored, and
# both say why. Key files that others can read are refused.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-secure.sh"
for name in ours theirs third; do make_key $name; done
ours=$T/ours.key theirs=$T/theirs.key

meets same --key "$ours" -- --key "$ours"
meets many --key "$ours" -- --key "$theirs" --key "$T/third.key" --key "$ours"
echo "with the same key: stored whole, both ways; so with the third of three keys"

refused wrong --key "$ours" -- --key "$theirs"
says wrong-collector-dials.agent.err "refused 127.0.0.1:[0-9]+: wrong key: it has another one"
says wrong-collector-dials.collector.err "can't use the agent at 127.0.0.1:[0-9]+: it does not have our key"
says wrong-agent-dials.agent.err "can't use the collector at 127.0.0.1:[0-9]+: it does not have our key"
says wrong-agent-dials.collector.err "refused 127.0.0.1:[0-9]+: wrong key: it has another one"

refused bare-collector --key "$ours" --
says bare-collector-collector-dials.agent.err "refused 127.0.0.1:[0-9]+: it speaks no TLS: give --key there, too"
says bare-collector-collector-dials.out "disconnected from 127.0.0.1:[0-9]+: it speaks TLS only: .collector pair. and .agent pair CODE. make a key, or give --key"
says bare-collector-agent-dials.agent.err "can't use the collector at 127.0.0.1:[0-9]+: it speaks no TLS: give --key there, too"
says bare-collector-agent-dials.out "disconnected from 127.0.0.1:[0-9]+: it speaks TLS only: .collector pair. and .agent pair CODE. make a key, or give --key"

refused bare-agent -- --key "$ours"
says bare-agent-collector-dials.agent.err "refused 127.0.0.1:[0-9]+: it speaks TLS, and this agent has no key: give --key here"
says bare-agent-collector-dials.collector.err "can't use the agent at 127.0.0.1:[0-9]+: it speaks no TLS"
says bare-agent-agent-dials.agent.err "link to 127.0.0.1:[0-9]+: it speaks TLS only: .collector pair. there and .agent pair CODE. here make a key, or give --key"
says bare-agent-agent-dials.collector.err "refused 127.0.0.1:[0-9]+: it speaks no TLS: give --key there, too"
echo "another key, or none on one side: nothing stored, and both say why"

# Somebody who shows a certificate in place of the key is not believed.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=nobody -days 1 -keyout "$T/nobody.pem" \
	-out "$T/nobody.crt" 2>/dev/null
openssl s_server -accept 127.0.0.1:8300 -cert "$T/nobody.crt" -key "$T/nobody.pem" -tls1_3 -www >"$T/impostor.out" 2>&1 &
wait_for 5 "the impostor" grep -q ACCEPT "$T/impostor.out"
status=0
"$AGENT" run --policy block --log info --linger 2s --collector 127.0.0.1:8300 --key "$ours" -- \
	"$BUILD/tests/e2e-pairs" 2000 >/dev/null 2>"$T/impostor.agent.err" || status=$?
assert_eq "exit status of the program" 5 "$status"
says impostor.agent.err "can't use the collector at 127.0.0.1:8300: it shows a certificate, and does not have our key"

# A key that others can read is no secret.
chmod 0640 "$ours"
for command in "run -- true" "serve" "serve --check-config"; do
	# shellcheck disable=SC2086
	set -- $command
	verb=$1
	shift
	assert_status 2 "$AGENT" "$verb" --key "$ours" "$@" >"$T/open.out" 2>"$T/open.err"
	says open.err "can be used by others \(mode 0640\)"
done
assert_status 2 "$COLLECTOR" gather --data "$T/open" --key "$ours" >"$T/open.out" 2>"$T/open.err"
says open.err "can be used by others \(mode 0640\)"
chmod 0600 "$ours"
assert_status 2 "$AGENT" run --key "$T/nothing" -- true 2>"$T/open.err"
says open.err "cannot open the key file"
assert_status 2 "$AGENT" run --key "$ours" --memory-limit 2M -- true 2>"$T/open.err"
says open.err "too little with TLS: the least is"
assert_status 2 "$AGENT" run --key "$ours" --ca "$ours" -- true 2>"$T/open.err"
says open.err "either a key"
echo "files: one that others can read is refused, by agent and collector"
