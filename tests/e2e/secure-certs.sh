#!/bin/bash
# Certificates: whoever has one of the CA gets the stream, whoever dials. An expired one, one that is not valid yet, one of another CA, a
# key in place of it: nothing is stored, and both say why.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-secure.sh"
umask 077

# docs/security.md shows these commands.
make_ca() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/CN=heapcast $1" \
		-keyout "$T/$1-ca.key" -out "$T/$1-ca.pem" 2>/dev/null
}

# CA NAME [OPTION...]
make_certificate() {
	local ca=$1 name=$2
	shift 2
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" \
		-keyout "$T/$name.key" -out "$T/$name.csr" 2>/dev/null
	openssl x509 -req -in "$T/$name.csr" -CA "$T/$ca-ca.pem" -CAkey "$T/$ca-ca.key" -CAcreateserial \
		-out "$T/$name.pem" "$@" 2>/dev/null
}

# openssl x509 knows no date of beginning before version 3.4: `openssl ca` does.
make_dated() {
	local name=$1 from=$2 to=$3
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" \
		-keyout "$T/$name.key" -out "$T/$name.csr" 2>/dev/null
	printf '[ca]\ndefault_ca = own\n[own]\ndatabase = %s/index\nserial = %s/serial\nnew_certs_dir = %s\npolicy = any\n[any]\ncommonName = supplied\n' \
		"$T" "$T" "$T" >"$T/ca.conf"
	: >"$T/index"
	echo 1000 >"$T/serial"
	openssl ca -batch -notext -config "$T/ca.conf" -md sha256 -cert "$T/our-ca.pem" -keyfile "$T/our-ca.key" \
		-startdate "$from" -enddate "$to" -in "$T/$name.csr" -out "$T/$name.pem" 2>"$T/ca.out" || { cat "$T/ca.out" >&3; false; }
}

with() {
	echo "--cert $T/$1.pem --cert-key $T/$1.key --ca $T/${2:-our}-ca.pem"
}

make_ca our
make_ca their
make_certificate our board -days 365
make_certificate our desk -days 365
make_certificate their stranger -days 365
make_dated expired 20200101000000Z 20210101000000Z
make_dated early 20900101000000Z 20910101000000Z
make_key some

# shellcheck disable=SC2046
{
	meets certificates $(with board) -- $(with desk)
	echo "certificates of one CA: stored whole, both ways"
	gather announced --interface lo --once $(with desk)
	wait_for 10 "the collector to listen" grep -q "listening on" "$T/announced.log"
	assert_status 5 "$AGENT" run --policy block --announce --interface lo --quiet $(with board) -- "${program[@]}" >/dev/null
	wait "${gatherer[announced]}"
	balances announced
	echo "and when the agent was found by its beacon"

	refused other-ca $(with board) -- $(with stranger their)
	says other-ca-collector-dials.collector.err "can't use the agent at .*: its certificate is not signed by our CA"
	says other-ca-collector-dials.agent.err "refused .*: it says that our certificate is not signed by its CA"
	says other-ca-agent-dials.agent.err "can't use the collector at .*: its certificate is not signed by our CA"
	# It trusts us, we don't trust it.
	refused stranger $(with board) -- $(with stranger our)
	says stranger-collector-dials.agent.err "refused .*: its certificate is not signed by our CA"
	says stranger-collector-dials.collector.err "it says that our certificate is not signed by its CA"
	says stranger-agent-dials.agent.err "can't use the collector at .*: its certificate is not signed by our CA"

	refused key-and-certificate $(with board) -- --key "$T/some.key"
	says key-and-certificate-collector-dials.agent.err "refused .*: .*certificate|refused .*: .*handshake"
	echo "another CA, or a key in place of a certificate: nothing stored, and both say why"

	# One's own certificate is looked at when one starts.
	for old in expired:"has expired on 2021-01-01" early:"is valid only from 2090-01-01"; do
		assert_status 2 "$AGENT" run $(with ${old%%:*}) -- true 2>"$T/dates.err"
		says dates.err "the certificate $T/${old%%:*}.pem ${old#*:}"
		assert_status 2 "$COLLECTOR" gather --data "$T/dates" $(with ${old%%:*}) 2>"$T/dates.err"
		says dates.err "the certificate $T/${old%%:*}.pem ${old#*:}"
	done
	chmod 0640 "$T/board.key"
	assert_status 2 "$AGENT" run $(with board) -- true 2>"$T/dates.err"
	says dates.err "can be used by others \(mode 0640\)"
	chmod 0600 "$T/board.key"
	assert_status 2 "$AGENT" run --cert "$T/board.pem" --ca "$T/our-ca.pem" -- true 2>"$T/dates.err"
	says dates.err "--cert-key is missing"
	assert_status 2 "$AGENT" run --cert "$T/board.pem" --cert-key "$T/desk.key" --ca "$T/our-ca.pem" -- true 2>"$T/dates.err"
	says dates.err "is not the key of the certificate"
}

# The other side's certificate expires while it runs.
soon=$(date -u -d '+7 seconds' +%Y%m%d%H%M%SZ)
make_dated brief 20200101000000Z "$soon"
sleep_until=$(($(date +%s) + 9))
# shellcheck disable=SC2046
{
	"$COLLECTOR" gather --data "$T/brief" --no-discovery --listen 127.0.0.1:8290 $(with brief) 127.0.0.1:8291 \
		>"$T/brief.out" 2>"$T/brief.collector.err" &
	gatherer[brief]=$!
	wait_for 10 "the collector to listen" grep -q "listening on" "$T/brief.out"
	while [ "$(date +%s)" -lt $sleep_until ]; do sleep 0.2; done
	for way in "--collector 127.0.0.1:8290" "--listen 127.0.0.1:8291"; do
		status=0
		"$AGENT" run --log info --linger 60s $way $(with board) -- "$BUILD/tests/e2e-plain" \
			>"$T/brief.agent.out" 2>"$T/brief.agent.err" &
		agent=$!
		wait_for 20 "the agent to say why" grep -Eq \
			"(can't use the collector at|refused) 127.0.0.1:[0-9]+: its certificate has expired on 20" "$T/brief.agent.err"
		wait_for 20 "the program's end" grep -q done "$T/brief.agent.out"
		sleep 0.3
		kill -TERM $agent
		wait $agent || status=$?
		assert_eq "exit status of the program" 5 "$status"
	done
	stop_gather brief
	says brief.collector.err "it says that our certificate is not in date"
	assert_eq "streams" "" "$(ls "$T/brief/streams" 2>/dev/null)"
	echo "one that has expired meanwhile: nothing stored, and both say why"

	# A board whose clock was never set records, and says what is wrong.
	status=0
	LD_PRELOAD=$BUILD/tests/libnoclock.so "$AGENT" run --log info --linger 1s --listen 127.0.0.1:8292 $(with board) -- \
		"$BUILD/tests/e2e-pairs" 2000 >/dev/null 2>"$T/noclock.err" || status=$?
	assert_eq "exit status of the program" 5 "$status"
	says noclock.err "the clock of this machine says 1970-01-01 .*: set the clock"
	echo "a clock that was never set is named as the reason"
}
