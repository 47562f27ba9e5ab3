# For tests of how agents and collectors find each other:   . "$(dirname "$0")/lib.sh"; . "$TEST_SOURCE/lib-net.sh"; . "$TEST_SOURCE/lib-discovery.sh"
#
#   net_six NAME                      IPv6 works there at once, without a second for the detection of duplicates
#   net_four NAME                     no IPv6 there: for tests that ask which of its addresses an agent has
#   agent_on NAME TAG OPTION...       `agent serve --announce` there; TAG.err, process id in ${agent_pid[TAG]}
#   look_on NAME TAG ARG...           `collector gather` there; TAG.log has its lines behind the ms since its start, TAG.err
#   stop_look TAG                     in order
#   found TAG                         how many agents it has found, connected TAG: connected to
need python3

net_six() {
	on "$1" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad' 2>/dev/null || skip "this kernel has no IPv6"
	on "$1" ip link set eth0 down
	on "$1" ip link set eth0 up
	wait_for 5 "a link-local address of $1" eval "on $1 ip -6 address show dev eth0 scope link | grep -q 'inet6 fe80'"
	! grep -q tentative <(on "$1" ip -6 address show dev eth0) || wait_for 5 "an address that may be used" \
		eval "! on $1 ip -6 address show dev eth0 | grep -q tentative"
}

net_four() {
	on "$1" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6' 2>/dev/null || true
}

agent_on() {
	local name=$1 tag=$2
	shift 2
	nsenter --net="/proc/${net_pid[$name]}/ns/net" -- "$AGENT" serve --announce --memory-limit 4M --config "" --socket "@$tag" "$@" \
		2>>"$T/$tag.err" &
	agent_pid[$tag]=$!
	wait_for 10 "agent $tag to listen" grep -q "listening for collectors" "$T/$tag.err"
}

stop_agent() {
	kill -KILL "${agent_pid[$1]}"
	wait "${agent_pid[$1]}" 2>/dev/null || true
}

cat >"$T/stamp.py" <<'END'
import subprocess, signal, sys, time
begin = time.monotonic()
run = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
signal.signal(signal.SIGTERM, lambda *_: run.send_signal(signal.SIGTERM))
for line in run.stdout:
    print("%6.0f %s" % ((time.monotonic() - begin) * 1000, line.decode().rstrip()), flush=True)
sys.exit(run.wait())
END

look_on() {
	local name=$1 tag=$2
	shift 2
	nsenter --net="/proc/${net_pid[$name]}/ns/net" -- python3 "$T/stamp.py" "$COLLECTOR" gather --data "$T/$tag" "$@" \
		>>"$T/$tag.log" 2>>"$T/$tag.err" &
	gatherer[$tag]=$!
	wait_for 10 "collector $tag to listen" grep -q "listening on" "$T/$tag.log"
}

stop_look() {
	stop_gather "$1"
}

found() {
	grep -c "found an agent at" "$T/$1.log" || true
}

connected() {
	grep -c "connected to" "$T/$1.log" || true
}
has_connected() {
	[ "$(connected "$1")" -ge "$2" ]
}
