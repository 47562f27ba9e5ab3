#!/bin/bash
# Orders on the board itself. `agent ctl` asks and orders a daemon, an `agent run`, and the agent that the library
# starts. Checks who may order, what is refused, and what the recordings say. A program that has stopped itself stays
# so.
. "$(dirname "$0")/lib-serve.sh"
need python3
ROLLING=$BUILD/tests/e2e-rolling
actl() { "$AGENT" ctl --socket "$T/socket" "$@"; }
holds() { python3 -c 'import json, sys; a = json.load(open(sys.argv[1])); assert eval(sys.argv[2]), a' "$1" "$2"; }
states() { # of a recording: "STATE/VALUE/BY"
	"$COLLECTOR" ledger --json "$1" | python3 -c '
import json, sys
for s in json.load(sys.stdin)["states"]:
    print(s["state"], s["value"], s.get("text", "-"), s.get("by", "-"), sep="/")'
}
chmod 755 "$T"

# ---- a daemon with two programs ----
serve d --config "" --socket "$T/socket" --output "$T/%e_%p.heapcast"
actl status >"$T/empty.txt"
assert_contains "no program" "$T/empty.txt" "0 of " " places" "Nothing of yours"
declare -A program
for name in one two; do
	HEAPCAST_SOCKET=$T/socket LD_PRELOAD=$PRELOAD "$ROLLING" 100 3000 "$T/end" >"$T/said.$name" &
	program[$name]=$!
done
wait_for 20 "both programs" eval 'actl status --json >"$T/status.json" && holds "$T/status.json" "[p[\"events\"] > 50 for p in a[\"programs\"]] == [True, True]"'
actl status >"$T/status.txt"
assert_contains "the table" "$T/status.txt" "2 of " " places" "PROGRAM" "e2e-rolling" "full" "${program[one]}"
[ "$(wc -L <"$T/status.txt")" -le 80 ] || fail "the table is wider than 80 columns: $(cat "$T/status.txt")"
holds "$T/status.json" 'a["agent"]["memory"] <= a["agent"]["memory_limit"] and all(p["lost"] == 0 and not p["ended"] for p in a["programs"])'

actl stop "${program[one]}" >"$T/out"
assert_contains "stop" "$T/out" "${program[one]}: done at" "mode off"
actl stop "${program[one]}" >"$T/out"
assert_contains "stopped twice" "$T/out" "it was so already"
actl status --json >"$T/status.json"
holds "$T/status.json" "{p['pid']: p['mode'] for p in a['programs']} == {${program[one]}: 'off', ${program[two]}: 'full'}"
sleep 1
actl start --json "${program[one]}" >"$T/out" 2>&1 && fail "an option between order and process is taken"
actl start "${program[one]}" --json >"$T/out"
holds "$T/out" "[(p['pid'], p['done'], p['mode']) for p in a['programs']] == [(${program[one]}, True, 'full')]"
actl mode sample=64K >"$T/out"
[ "$(grep -c "mode sample=64K" "$T/out")" = 2 ] || fail "not both: $(cat "$T/out")"
actl snapshot >"$T/out"
[ "$(grep -c "snapshot 1" "$T/out")" = 2 ] || fail "not both: $(cat "$T/out")"
actl mark "$(printf 'two\nlines \xe2')" "${program[two]}" >"$T/out"
actl mode full "${program[one]}" >"$T/out"
sleep 0.5

# ---- what is refused ----
assert_status 1 actl stop 1 2>"$T/err.txt"
assert_contains "a process that is not recorded" "$T/err.txt" "no program of yours"
for wrong in "" fly "stop now" "stop 0" "stop -1" "stop 99999999999" "mode" "mode sometimes" "mode sample=0" "mode full 1 2" mark "status 1" "--sockt x status"; do
	# shellcheck disable=SC2086
	assert_status 2 actl $wrong 2>"$T/err.txt"
	grep -q "^agent: " "$T/err.txt" || fail "no sentence for '$wrong'"
done
assert_status 2 actl mark "$(printf 'x%.0s' {1..1025})" 2>"$T/err.txt"
assert_status 3 "$AGENT" ctl --socket "$T/nowhere" status 2>"$T/err.txt"
assert_contains "no agent" "$T/err.txt" "no agent answers" "agent serve"

# Who does not keep to the rules does not disturb the others.
python3 - "$T/socket.ctl" <<'PYTHON'
import socket, sys
def ask(data, shut=False):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(10)
    s.connect(sys.argv[1])
    try:
        s.sendall(data)
        if shut:
            s.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := s.recv(65536):
            answer += piece
    except (BrokenPipeError, ConnectionResetError):
        answer = b""
    return answer
assert ask(b"status\n").endswith(b"\nok\n")
assert ask(b"dance 0\n").startswith(b"no "), ask(b"dance 0\n")
for bad in (b"status\nstatus\n", b"status\0\n", b"x" * 5000, b"mark 0 " + b"y" * 3000 + b"\n"):
    assert ask(bad) == b"", (bad[:20], ask(bad))
for bad in (b"mode 0 full extra\n", b"stop\n", b"stop x\n", b"mark 0 \n", b" status\n", b"\n", b"mode 0 sample=1e9\n", b"stop 4294967297\n"):
    assert ask(bad).startswith(b"no "), bad
assert ask(b"stat", True) == b""
idle = [socket.socket(socket.AF_UNIX) for _ in range(8)]
for s in idle:
    s.connect(sys.argv[1])
answers = [ask(b"snapshot 0\n")[-3:] for _ in range(3)]  # the idle ones are let go after two seconds
assert answers == [b"ok\n"] * 3, answers
# More than anybody gives: a limit, and no mark is lost in silence.
answers = [ask(b"mark 0 flood\n") for _ in range(120)]
refused = [a for a in answers if a.startswith(b"no too many")]
assert answers[0].endswith(b"ok\n") and refused, (len(refused), answers[-1])
print(f"{len(answers) - len(refused)} of {len(answers)} orders in a row were taken")
open("taken", "w").write(str(sum(a.endswith(b"ok\n") for a in answers)))
PYTHON

# ---- another user ----
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
	as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
	# The programs may lie where only their owner can go.
	mkdir -m 755 "$T/bin"
	cp "$AGENT" "$PRELOAD" "$ROLLING" "$T/bin/"
	status=0
	as_nobody "$T/bin/agent" ctl --socket "$T/socket" stop 2>"$T/err.txt" || status=$?
	assert_eq "exit status for another user" 3 "$status"
	assert_contains "another user" "$T/err.txt" "another user's"
	# Where others may be recorded, they may order their own programs, and see no others.
	serve open --config "" --socket "$T/open" --allow-user nobody --output "$T/open_%p.heapcast"
	HEAPCAST_SOCKET=$T/open LD_PRELOAD=$PRELOAD "$ROLLING" 100 3000 "$T/end" >"$T/said.root" &
	roots=$!
	setpriv --reuid 65534 --regid 65534 --clear-groups env HEAPCAST_SOCKET="$T/open" LD_PRELOAD="$T/bin/libheapcast.so" \
		"$T/bin/e2e-rolling" 100 3000 "$T/end" >"$T/said.nobody" &
	nobodys=$!
	wait_for 20 "both" eval '"$AGENT" ctl --socket "$T/open" status --json >"$T/status.json" && holds "$T/status.json" "len(a[\"programs\"]) == 2"'
	as_nobody "$T/bin/agent" ctl --socket "$T/open" status --json >"$T/theirs.json" || { # a socket of root's is trusted
		fail "nobody may not ask"
	}
	holds "$T/theirs.json" "[p['pid'] for p in a['programs']] == [$nobodys]"
	status=0
	as_nobody "$T/bin/agent" ctl --socket "$T/open" stop "$roots" 2>"$T/err.txt" || status=$?
	assert_eq "exit status for root's program" 1 "$status"
	as_nobody "$T/bin/agent" ctl --socket "$T/open" stop >"$T/out"
	assert_eq "programs that were stopped" 1 "$(grep -c "mode off" "$T/out")"
	"$AGENT" ctl --socket "$T/open" status --json >"$T/status.json"
	holds "$T/status.json" "{p['pid']: p['mode'] for p in a['programs']} == {$roots: 'full', $nobodys: 'off'}"
	# The agent that the library starts by itself is reached by its usual name.
	mkdir -m 700 "$T/runtime"
	chown 65534:65534 "$T/runtime"
	(
		cd "$T/runtime" && exec setpriv --reuid 65534 --regid 65534 --clear-groups env XDG_RUNTIME_DIR="$T/runtime" \
			HEAPCAST_OUTPUT="$T/runtime/alone.heapcast" LD_PRELOAD="$T/bin/libheapcast.so" "$T/bin/e2e-rolling" 100 3000 "$T/end"
	) >"$T/said.alone" &
	alone=$!
	wait_for 20 "the agent that the library starts" eval 'XDG_RUNTIME_DIR=$T/runtime as_nobody "$T/bin/agent" ctl mark "found" | grep -q done'
else
	echo "(another user: not tried, only root can become one)"
fi

# ---- agent run, and a program that has stopped itself ----
"$AGENT" run --quiet --control "$T/run" --output "$T/run.heapcast" -- env HEAPCAST_REGISTER_SIGUSR1=1 "$ROLLING" 100 3000 "$T/end" >"$T/said.run" 2>"$T/run.err" &
run=$!
wait_for 20 "agent run" eval '"$AGENT" ctl --socket "$T/run" status | grep -q e2e-rolling'
child=$("$AGENT" ctl --socket "$T/run" status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["programs"][0]["pid"])')
kill -USR1 "$child"
wait_for 20 "its mark" eval '"$AGENT" ctl --socket "$T/run" start "$child" | grep -q "has stopped recording by itself"'
kill -USR1 "$child"
"$AGENT" ctl --socket "$T/run" mark "over" >"$T/out"

# ---- the end ----
touch "$T/end"
for pid in "${program[@]}" "$run" ${roots:+"$roots" "$nobodys" "$alone"}; do wait "$pid"; done
[ ! -e "$T/run.ctl" ] || fail "agent run has left its socket"
[ -z "${roots-}" ] || stop_serve open
stop_serve d
assert_eq "exit status of the daemon" 0 "$status"
[ ! -e "$T/socket.ctl" ] || fail "the daemon has left its socket"
[ -z "${roots-}" ] || wait_for 20 "the file of the lone one" eval '"$COLLECTOR" ledger "$T/runtime/alone.heapcast" | grep -q found'
one=$T/e2e-rolling_${program[one]}.heapcast
two=$T/e2e-rolling_${program[two]}.heapcast
by="agent ctl uid $(id -u)"
states "$one" | grep -v /flood/ | grep -v ^snapshot >"$T/one.txt"
diff "$T/one.txt" - <<END || fail "the marks of one"
stopped/0/-/$by
started/0/-/$by
mode/65536/-/$by
mode/0/-/$by
END
states "$two" | grep -v /flood/ | grep -v ^snapshot >"$T/two.txt"
diff "$T/two.txt" - <<END || fail "the marks of two"
mode/65536/-/$by
text/0/two lines �/$by
END
assert_eq "marks of the flood" "$(cat "$T/taken")" "$(states "$two" | grep -c /flood/)"
assert_eq "snapshots" 4 "$(states "$two" | grep -c ^snapshot)"
states "$T/run.heapcast" >"$T/run.txt"
assert_contains "the program's own orders" "$T/run.txt" "stopped/0/-/-" "started/0/-/-" "text/0/over/$by"
assert_eq "recordings that balance" 2 "$(recorded 'e2e-rolling_*.heapcast')"
assert_eq "recordings that balance" 1 "$(recorded 'run.heapcast')"

# A program knows each of its blocks by its size.
"$COLLECTOR" export --format json --with-stacks "$one" 2>/dev/null | python3 -c '
import json, sys
count = int(open(sys.argv[1]).read())
rows = [r for r in map(json.loads, sys.stdin) if any(f.get("function") == "take" for f in r["backtrace"])]
assert len(rows) < count and all(r["end"] == "freed" for r in rows), (len(rows), count)
print(f"{len(rows)} of {count} blocks on record, all freed")' "$T/said.one"
