#!/bin/bash
# Orders from the collector. Of eight programs on four agents, one is stopped, started and sampled while the others go
# on. The recording says when and by whom, and its account balances. Then come snapshot, mark, orders to all, and what
# is refused.
. "$(dirname "$0")/lib-serve.sh"
need python3 unshare
ROLLING=$BUILD/tests/e2e-rolling
declare -A program

# board N OPTION...: an agent, on a host of its own name where that can be
board() {
	local n=$1 own=()
	shift
	! unshare --uts true 2>/dev/null || own=(unshare --uts bash -c 'echo "$0" >/proc/sys/kernel/hostname; exec "$@"' "board$n")
	"${own[@]}" "$AGENT" serve --config "" --socket "$T/socket$n" --listen "127.0.0.1:810$n" "$@" 2>"$T/board$n.err" &
	served[board$n]=$!
	wait_for 10 "agent serve" serving "board$n"
}
launch() {
	HEAPCAST_SOCKET=$T/socket$2 LD_PRELOAD=$PRELOAD "$ROLLING" 200 3000 "$T/end$3" >"$T/said.$1" &
	program[$1]=$!
}
ctl() { "$COLLECTOR" ctl --data "$T/data" "$@"; }
id_of() { # the stream of a program
	"$COLLECTOR" list --data "$T/data" --json | python3 -c '
import json, sys
print(next(s["id"] for s in json.load(sys.stdin)["streams"] if s["pid"] == int(sys.argv[1])))' "${program[$1]}"
}
stored_state() { # STREAM STATE COUNT: so many such marks are stored
	ask ledger "$1" --json >"$T/state.json"
	python3 -c '
import json, sys
sys.exit(sum(s["state"] == sys.argv[1] for s in json.load(open(sys.argv[3]))["states"]) < int(sys.argv[2]))' "$2" "$3" "$T/state.json"
}
events_of() { ask ledger "$1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["stored"])'; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }

for n in 1 2 3 4; do board $n; done
"$COLLECTOR" gather --data "$T/data" --no-discovery --listen off 127.0.0.1:810{1,2,3,4,5} >"$T/gather.out" 2>"$T/gather.err" &
gather=$!
wait_for 20 "four agents" eval '[ "$(grep -c ^connected "$T/gather.out")" = 4 ]'
for n in 1 2 3 4; do
	launch "a$n" $n 1
	launch "b$n" $n 1
done
wait_for 20 "eight streams" eval '[ "$(grep -c began "$T/gather.out")" = 8 ]'
wait_for 20 "eight recordings" eval '"$COLLECTOR" list --data "$T/data" --json | python3 -c "import json, sys; sys.exit(sum(s[\"events\"] > 20 for s in json.load(sys.stdin)[\"streams\"]) < 8)"'

# ---- one of eight ----
one=$(id_of b3)
best=100000
order() { # STATE COUNT ACTION...: how long from the command to the stored recording
	local state=$1 count=$2 since took
	shift 2
	since=$(now_ms)
	ctl "${one:0:12}" "$@" >"$T/ctl.out" || fail "collector ctl $*: $(cat "$T/ctl.out")"
	took=$(($(now_ms) - since))
	wait_for 4 "its effect" stored_state "$one" "$state" "$count"
	echo "$*: answered after $took ms, stored after $(($(now_ms) - since)) ms"
	took=$(($(now_ms) - since))
	[ $took -ge $best ] || best=$took
	date +%s%N >>"$T/times"
}
sleep 1
before=$(events_of "$(id_of a1)")
order stopped 1 stop
assert_contains "what ctl says" "$T/ctl.out" "done at" "mode off"
sleep 1.5
order started 1 start
assert_contains "what ctl says" "$T/ctl.out" "mode full"
sleep 1
order mode 1 mode sample=16K
assert_contains "what ctl says" "$T/ctl.out" "mode sample=16K"
sleep 1
order mode 2 mode full
[ $best -lt 1000 ] || fail "no order was stored within a second"

# ---- a snapshot, a mark, all, one host ----
ctl "$one" snapshot --json >"$T/snapshot.json"
python3 -c 'import json, sys; s = json.load(sys.stdin)["streams"]; assert len(s) == 1 and s[0]["done"] and s[0]["snapshot"] == 1, s' <"$T/snapshot.json"
ctl "$one" mark "$(printf 'grün\tund \xff<b>')" >"$T/ctl.out"
ctl --all mark "everybody" --json >"$T/all.json"
python3 -c 'import json, sys; a = json.load(sys.stdin); assert a["done"] == 8 and a["refused"] == 0, a' <"$T/all.json"
if unshare --uts true 2>/dev/null; then
	ctl --host board2 mark "second board" --json >"$T/host.json"
	python3 -c 'import json, sys; a = json.load(sys.stdin); assert a["done"] == 2, a' <"$T/host.json"
fi
assert_status 1 ctl --host nobody stop 2>"$T/nobody.txt"
[ "$(events_of "$(id_of a1)")" -gt "$before" ] || fail "another program was disturbed"

# ---- what is refused ----
board 5 --orders no
launch c5 5 2
wait_for 20 "the ninth stream" eval '[ "$(grep -c began "$T/gather.out")" = 9 ]'
wait_for 20 "its recording" id_of c5
closed=$(id_of c5)
assert_status 1 ctl "$closed" stop >"$T/refused.txt"
assert_contains "an agent that takes none" "$T/refused.txt" "refused" "--orders no"
"$AGENT" ctl --socket "$T/socket5" mark "from here" >"$T/local.txt"
touch "$T/end2"
wait "${program[c5]}"
wait_for 20 "its end" grep -q "rolling .*ended" "$T/gather.out"
assert_status 1 ctl "$closed" stop >"$T/refused.txt"
assert_contains "a program that has ended" "$T/refused.txt" "has ended"
for wrong in "" "last" "last fly" "last stop now" "last mode" "last mode sometimes" "last mark" "stop" "--all last stop"; do
	# shellcheck disable=SC2086
	assert_status 2 ctl $wrong 2>"$T/usage.txt"
	grep -q "collector ctl" "$T/usage.txt" || fail "no sentence for '$wrong'"
done
assert_status 2 ctl ffffffff stop 2>"$T/usage.txt"
assert_status 3 "$COLLECTOR" ctl --data "$T/nowhere" --all stop 2>"$T/fault.txt"

# ---- an agent that is gone, with the program going on ----
# (Of programs without an agent the last events are lost: it is a ninth, whose account is not looked at.)
launch d5 5 3
wait_for 20 "the tenth stream" eval '[ "$(grep -c began "$T/gather.out")" = 10 ]'
wait_for 20 "its recording" id_of d5
orphan=$(id_of d5)
kill -KILL "${served[board5]}"
wait "${served[board5]}" 2>/dev/null || true
wait_for 20 "the link to break" grep -q "rolling .*left" "$T/gather.out"
assert_status 1 ctl "$orphan" stop >"$T/refused.txt"
assert_contains "an agent that is gone" "$T/refused.txt" "not connected"
touch "$T/end3"
wait "${program[d5]}"

# ---- the end, and what is stored ----
touch "$T/end1"
for name in a1 b1 a2 b2 a3 b3 a4 b4; do wait "${program[$name]}"; done
wait_for 30 "all to end" eval '[ "$(grep -c "rolling .* ended " "$T/gather.out")" -ge 9 ]'
for n in 1 2 3 4; do
	stop_serve board$n
	assert_eq "exit status of agent $n" 0 "$status"
done
kill -TERM "$gather"
wait "$gather"
assert_status 3 ctl --all stop 2>"$T/fault.txt"
assert_contains "no collector" "$T/fault.txt" "collector gather"

for name in a1 b1 a2 b2 a3 b3 a4 b4; do
	stream=$(id_of $name)
	ask ledger "$stream" --json >"$T/ledger.$name.json" || fail "the account of $name does not balance"
	ask export --format json --with-stacks "$stream" >"$T/rows.$name.json" 2>"$T/export.err"
	echo "$name $(cat "$T/said.$name")"
done >"$T/counts"
ask ledger "$one" >"$T/ledger.txt"
assert_contains "the ledger" "$T/ledger.txt" "recording of new blocks was stopped" "recording went on: every event" "one allocation in 16.0 KiB" \
	"snapshot 1" "by collector $(uname -n) (127.0.0.1:"
python3 - "$T" <<'PYTHON'
import json, sys
T = sys.argv[1]
FIRST = 1000
counts = dict(line.split() for line in open(T + "/counts"))
for name, count in counts.items():
    count = int(count)
    ledger = json.load(open(f"{T}/ledger.{name}.json"))
    assert ledger["adds_up"] and ledger["complete"] and ledger["lost"] == 0 and ledger["missed"] == 0, (name, ledger)
    rows = [json.loads(line) for line in open(f"{T}/rows.{name}.json")]
    blocks = {r["size"] - FIRST: r for r in rows if any(f.get("function") == "take" for f in r["backtrace"])}
    assert all(r["end"] == "freed" for r in blocks.values()), (name, [r for r in blocks.values() if r["end"] != "freed"][:3])
    states = {}
    for s in ledger["states"]:
        states.setdefault(s["state"], []).append(s)
    texts = [s["text"] for s in states.get("text", [])]
    if name != "b3":
        assert sorted(blocks) == list(range(count)), (name, len(blocks), count)
        assert set(states) == {"text"}, (name, states)
        assert texts == ["everybody"] + (["second board"] if name[1] == "2" and len(texts) > 1 else []), (name, texts)
        continue
    stop, start, (sampled, full) = states["stopped"][0], states["started"][0], states["mode"]
    assert [s["value"] for s in (start, sampled, full)] == [0, 16384, 0], states
    assert all(s["by"].startswith("collector ") and s["thread"] == 0 for k in states for s in states[k]), states
    assert texts == ["gr\u00fcn und \ufffd<b>", "everybody"], texts
    times = [s["time_ns"] for s in (stop, start, sampled, full)]
    assert times == sorted(times), times
    # Each thread sees an order at its next event: here a block every 3 ms.
    def born(a, b):
        return sorted(n for n, r in blocks.items() if a <= r["time_ns"] < b)
    slack = 50_000_000
    one, none, two, some, three = (born(a, b) for a, b in zip([0] + times, times + [1 << 62]))
    assert one == list(range(len(one))) and len(one) > 100, (len(one), one[-3:])
    assert all(blocks[n]["time_ns"] < stop["time_ns"] + slack for n in none), none
    assert two == list(range(two[0], two[-1] + 1)) and three == list(range(three[0], count)), (two[0], two[-1], three[0], count)
    whole = three[0] - two[-1] - 1
    sample = [n for n in some if "weight" in blocks[n] and blocks[n]["weight"] > blocks[n]["size"]]
    assert 5 < len(sample) < whole / 2, (len(sample), whole)
    # While it was stopped it went on taking blocks, about as fast as before.
    pace = (len(one) - 1) / (blocks[one[-1]]["time_ns"] - blocks[one[0]]["time_ns"])
    assert two[0] - one[-1] > pace * (start["time_ns"] - stop["time_ns"]) / 3, (one[-1], two[0], pace)
    late = [n for n in one if blocks[n]["deallocation"]["time_ns"] > stop["time_ns"] + slack]
    assert len(late) > 100, late
    print(f"{count} blocks: {len(one)} recorded, {two[0] - one[-1] - 1 - len(none)} not, {len(two)} recorded, "
          f"{len(sample)} sampled of {whole}, {len(three)} recorded; {len(late)} freed after the stop")
PYTHON
