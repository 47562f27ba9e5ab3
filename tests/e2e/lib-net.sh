# For tests over a network of their own, hosts joined by a bridge:   . "$(dirname "$0")/lib.sh"; . "$TEST_SOURCE/lib-net.sh"
#
#   net_host NAME NUMBER   a host with the address 10.77.0.NUMBER, its end of the cable eth0
#   on NAME CMD...         there
#   net_cut NAME, net_join NAME       its cable is pulled out and put back: the host itself sees nothing
#   net_loss NAME PERCENT             of what it receives is lost
#   net_lost NAME                     so many packets, so far
#   net_rate NAME RATE                it sends no faster: 64kbit
#   serve_on NAME OPTION... -- CMD... `agent run` there, listening at port 8100; NAME.out, NAME.err
#   gather_on NAME HOST... ARG...     `collector gather` there
. "$TEST_SOURCE/lib-resume.sh"
declare -A net_pid

[ "$inside" = namespace ] || skip "network namespaces can't be made here"
ip link add bridge type bridge 2>/dev/null || skip "a network bridge can't be made here"
ip link set bridge up

net_host() {
	unshare --net -- sleep 1000 &
	net_pid[$1]=$!
	wait_for 5 "the namespace of $1" eval "[ \"\$(readlink /proc/$!/ns/net)\" != \"\$(readlink /proc/self/ns/net)\" ]"
	ip link add "to-$1" type veth peer name eth0 netns "${net_pid[$1]}" || skip "a pair of network devices can't be made here"
	ip link set "to-$1" master bridge up
	on "$1" ip address add "10.77.0.$2/24" broadcast + dev eth0
	# Packets as on a cable, not 64 KB at a time: what is lost or delayed is one of 1,500 bytes.
	on "$1" ip link set eth0 gso_max_segs 1 2>/dev/null || true
	on "$1" ip link set eth0 up
	on "$1" ip link set lo up
}

on() {
	local name=$1
	shift
	nsenter --net="/proc/${net_pid[$name]}/ns/net" -- "$@"
}

net_cut() {
	ip link set "to-$1" nomaster
}

net_join() {
	ip link set "to-$1" master bridge
}

net_loss() {
	need nft
	on "$1" nft add table inet lossy 2>/dev/null || skip "nftables can't be used here"
	on "$1" nft add chain inet lossy input '{ type filter hook input priority 0; }'
	on "$1" nft add rule inet lossy input iifname eth0 numgen random mod 100 '<' "$2" counter drop 2>/dev/null ||
		skip "this kernel's nftables has no random numbers"
}

# Packets that were lost on their way to NAME.
net_lost() {
	on "$1" nft list chain inet lossy input | sed -nE 's/.*counter packets ([0-9]+).*/\1/p'
}

net_rate() {
	need tc
	on "$1" tc qdisc add dev eth0 root tbf rate "$2" burst 3200 latency 500ms 2>/dev/null ||
		skip "this kernel has no tbf (token bucket filter)"
}

serve_on() {
	local name=$1
	shift
	nsenter --net="/proc/${net_pid[$name]}/ns/net" -- "$AGENT" run --policy block --listen 0.0.0.0:8100 --quiet --log info "$@" >"$T/$name.out" 2>>"$T/$name.err" &
	agent_pid[$name]=$!
}

gather_on() {
	local name=$1
	shift
	nsenter --net="/proc/${net_pid[$name]}/ns/net" -- "$COLLECTOR" gather --data "$T/$name" --no-discovery --listen off \
		"$@" >>"$T/$name.log" 2>>"$T/$name.err" &
	gatherer[$name]=$!
}

# Whole and without a loss; prints how long it took since $1 (of $SECONDS) and how much was stored.
whole() {
	local name=$1 stream
	balances "$name"
	for stream in $(streams "$name"); do
		assert_eq "events lost" 0 "$(ledger_number "$name" "$stream" lost)"
		assert_eq "events missed" 0 "$(ledger_number "$name" "$stream" missed)"
		assert_eq "events before the collector joined" 0 "$(ledger_number "$name" "$stream" before_join)"
	done
}
