#!/bin/bash
# machines together: arm64 mips64el armhf amd64-6.1
# A fleet of boards: a machine of each processor on one bridge with this host, each with the tarball that deploy/board makes, an
# `agent serve` and two programs. The collector finds them all by broadcast; one snapshot has what all of them hold by their own word,
# under names from each processor's build and sysroot. Then one board's cable is out while it goes on: nothing is lost.
# ctest: TIMEOUT 1200 COST 400
. "$(dirname "$0")/lib.sh"
need python3 ip
PLANTED=3000
GATE=10.77.0.1

[ "$inside" = namespace ] || skip "network namespaces can't be made here"
ip link add bridge type bridge 2>/dev/null || skip "a network bridge can't be made here"
ip address add $GATE/24 broadcast + dev bridge
ip link set bridge up
ip tuntap add trial mode tap 2>/dev/null || skip "tap devices can't be made here (root?)"
ip link delete trial

declare -A boot
symbols=()
mkdir www
sed 's/i < 20000/i < 400/' "$TEST_SOURCE/data/work.sql" >work.sql

# What a board asks for by HTTP tells it how far the test is.
cat >script <<END
fetch() { wget -q -O "\$2" http://$GATE:8000/\$1 2>/dev/null; }
until fetch board-\$(cat name).tar.gz board.tar.gz; do sleep 1; done
tar -xzf board.tar.gz || exit 1
cd heapcast-*/ || exit 1
export HEAPCAST_POLICY=block # programs wait for an agent that is slow
./start >/test/out/start 2>&1 || { cat agent.log; exit 2; }
mkdir /tmp/files
# A program waits for a second at most until the agent has answered, and is recorded from then on: on a host that is busy with something else
# it is begun again until nothing came before.
record() { # SAYS CMD...
	while :; do
		: >/tmp/said-\$1
		"\$@" >/tmp/said-\$1 2>&1 &
		program=\$!
		until grep -q "^ready" /tmp/said-\$1; do sleep 1; done
		./agent ctl status --json | grep -q "\"pid\":\$program,[^}]*\"events\":[1-9][0-9]*,\"before_recording\":0," && return
		kill \$program
		wait \$program
	done
}
work() {
	cat /test/work.sql
	echo "select 'ready';"
	until [ -e /tmp/files/end ]; do sleep 1; done
}
sqlite3() {
	rm -f /tmp/sql
	mkfifo /tmp/sql
	work >/tmp/sql &
	exec ./start /test/sqlite3 :memory: </tmp/sql
}
fleet() {
	exec ./start /test/e2e-fleet \$(cat /test/blocks) /tmp/files
}
record sqlite3
record fleet
cat /tmp/said-fleet
until fetch grow /tmp/files/grow; do sleep 1; done
until grep "^grown" /tmp/said-fleet; do sleep 1; done
./start --status
until fetch end /tmp/files/end; do sleep 1; done
wait
until fetch off /dev/null; do sleep 1; done
cp agent.log /test/out/
END

number=2
for name in "${machines[@]}"; do
	on_machine "$name"
	mkdir "$name"
	echo "$arch" >"$name/name"
	echo $((number * 500)) >"$name/blocks"
	"$ROOT/deploy/board" --into . --from "$(if [ "$arch" = amd64 ]; then echo "$BUILD"; else echo "$boards/$arch"; fi)" "$arch" >/dev/null ||
		fail "no tarball for $arch"
	mv "heapcast-$arch.tar.gz" "www/board-$arch.tar.gz"
	ip tuntap add "to-$name" mode tap
	ip link set "to-$name" master bridge up
	env TMPDIR="$T" "${machine_folders[@]}" "$MACHINES_SOURCE/run" --seconds 1000 --out "$T/$name" --network "to-$name" "10.77.0.$number/24" "$name" \
		script "$name/name" "$name/blocks" work.sql "$(program sqlite3)" "$(built tests/e2e-fleet)" "$(built bin/agent)" >"$name.said" 2>"$name.err" &
	boot[$name]=$!
	symbols+=(--symbols "$(dirname "$(built tests/e2e-fleet)")")
	[ -z "$(sysroot)" ] || symbols+=(--symbols "$(sysroot)/usr/lib")
	number=$((number + 1))
done

runs() { # NAME: skipped if it can't
	local status=0
	kill -0 "${boot[$1]}" 2>/dev/null && return
	wait "${boot[$1]}" || status=$?
	[ "$status" != 77 ] || skip "$(tail -n 1 "$T/$1.err")"
	fail "$1 ended with $status: $(tail -n 20 "$T/$1.said" "$T/$1.err")"
}
say() { # WORD NAME...: until all of them have said it
	local word=$1 name
	shift
	for name; do wait_for 100 "$name to be $word" eval "runs $name; grep -q '^$word ' '$T/$name.said'"; done
}
truth() { # WORD NAME...: "BLOCKS BYTES" that these hold in all, by their own word
	local word=$1
	shift
	for name; do grep -m 1 "^$word " "$T/$name.said"; done | tr -d '\r' | awk '{ n += $2; b += $3 } END { print n, b }'
}
snapshot() { "$COLLECTOR" snapshot --data "$T/data" "$@"; }
is() {
	python3 -c 'import json, sys
a = json.load(open(sys.argv[1]))
assert eval(sys.argv[2]), (sys.argv[2], json.dumps(a)[:3000])' "$1" "$2"
}
has() {
	is "$1" "$2" || fail "$1 is not as it should be: $2"
}
held() { # STREAM OPTION...: what the functions hold and planted have
	"$COLLECTOR" top --data "$T/data" --value in-use --by function --count 1000 --json "${symbols[@]}" "$@" >top.json
	python3 -c 'import json, sys
g = [g for g in json.load(open(sys.argv[1]))["groups"] if g["function"] in ("hold", "planted")]
print(sum(g["value"]["blocks"] for g in g), sum(g["value"]["bytes"] for g in g))' top.json
}

python3 -m http.server --bind $GATE --directory www 8000 >http.out 2>http.log &
"$COLLECTOR" gather --data "$T/data" >gather.out 2>gather.err &
gather=$!
say ready "${machines[@]}"
count=${#machines[@]}
live() { # those that go on, and have something
	"$COLLECTOR" list --data "$T/data" --json >list.json
	is list.json "sum(s['state'] == 'live' and s['events'] > 100 for s in a['streams']) == 2 * $count"
}
wait_for 30 "all programs" live
assert_eq "agents found, by broadcast" "$count" "$(grep -c '^found an agent' gather.out)"

accounts() { # of all streams but snapshots: nothing is lost
	local stream
	"$COLLECTOR" list --data "$T/data" --json >list.json
	for stream in $(python3 -c 'import json; print(*(s["id"] for s in json.load(open("list.json"))["streams"] if "snapshot:" not in s["executable"]))'); do
		"$COLLECTOR" ledger --data "$T/data" --json "$stream" >ledger.json || fail "the account of $stream does not balance, or is not complete: $(cat ledger.json)"
		has ledger.json "a['lost'] == 0"
	done
}
accounts

# ---- one view of all ----
snapshot --timeout 1m take before --json >before.json || fail "a snapshot of all: $(cat before.json)"
has before.json "len(a['processes']) == 2 * $count and a['missing'] == []"
has before.json "len({p['build_id'] for p in a['processes']}) == 2 * $count"
assert_eq "what all hold, by their own word and in the snapshot," "$(truth ready "${machines[@]}")" "$(held snapshot:before)"
has list.json "len({s['architecture'] for s in a['streams']}) == $count"

# Names on each processor: of the program from its build, of libraries from the sysroot.
python3 - "$T" "$COLLECTOR" "${symbols[@]}" <<'PYTHON'
import json, subprocess, sys
T, collector, symbols = sys.argv[1], sys.argv[2], sys.argv[3:]
for s in json.load(open(T + "/list.json"))["streams"]:
    if s["state"] != "live":
        continue
    out = subprocess.run([collector, "top", "--data", T + "/data", "--json", "--by", "backtrace", "--count", "1000", *symbols, s["id"]],
                         check=True, capture_output=True).stdout
    stacks = [[f.get("function") or "" for f in g["backtrace"]] for g in json.loads(out)["groups"]]
    if s["executable"].endswith("/e2e-fleet"):
        like = ["hold", "main", "__libc_start"]
    else:
        like = ["sqlite3_step", "__libc_start"]
    found = []
    for stack in stacks:
        rest = iter(stack)
        if all(any(name.startswith(wanted) for name in rest) for wanted in like):
            found.append(stack)
    assert found, (s["architecture"], like, stacks[:8])
    print(s["architecture"], s["executable"], f"{len(found)} of {len(stacks)} stacks from {like[0]} to {like[-1]}")
PYTHON

# ---- a cable is out ----
cut=${machines[1]}
ip link set "to-$cut" down
others=()
for name in "${machines[@]}"; do [ "$name" = "$cut" ] || others+=("$name"); done
: >www/grow
say grown "${others[@]}"
sleep 15 # long enough for the link to be given up
ip link set "to-$cut" up
say grown "$cut"
snapshot --timeout 1m take after --json >after.json || fail "a snapshot after the cable was back: $(cat after.json)"
has after.json "len(a['processes']) == 2 * $count and a['missing'] == []"
assert_eq "what all hold, by their own word and in the snapshot," "$(truth grown "${machines[@]}")" "$(held snapshot:after)"
"$COLLECTOR" diff --data "$T/data" --by function --json "${symbols[@]}" --base snapshot:before snapshot:after >diff.json
has diff.json "a['groups'][0]['function'] == 'planted' and a['groups'][0]['blocks'] == $count * $PLANTED"

# ---- the end ----
: >www/end
ended() {
	"$COLLECTOR" list --data "$T/data" --json >list.json
	is list.json "not any(s['state'] == 'live' for s in a['streams'])"
}
wait_for 60 "all to end" ended
accounts
: >www/off
for name in "${machines[@]}"; do
	status=0
	wait "${boot[$name]}" || status=$?
	assert_eq "exit status in $name" 0 "$status"
	assert_contains "what $name says" "$name.said" "of 8.00 MiB"
done
kill -TERM "$gather"
wait "$gather"
