#!/bin/bash
# `collector strip`: the recording gets smaller, and every total stays what it was, by call site, backtrace, size and
# lifetime, for each thread, and in the account. The recordings are of programs of several threads, with reallocations,
# with exec, sampled, culled already, with losses, taken up by another agent, cut and damaged.
# ctest: LABELS full TIMEOUT 600
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup.sh"
need perl python3 taskset

# What commands have to say besides, of a recording that is cut for instance, is not asked for.
asked() {
	exec 4>&2 2>"$1.notes"
	"$COLLECTOR" ledger --json "$1" >"$1.ledger" || echo "status $?" >>"$1.ledger.status"
	"$COLLECTOR" report --json --count 1000 "$1" >"$1.report"
	"$COLLECTOR" histogram --json "$1" >"$1.histogram"
	"$COLLECTOR" top --json --count 1000 --by backtrace "$1" >"$1.top"
	"$COLLECTOR" top --json --count 1000 --value temporary "$1" >"$1.temporary"
	"$COLLECTOR" leaks --json --count 1000 "$1" >"$1.leaks"
	"$COLLECTOR" timeline --json "$1" >"$1.timeline"
	local value
	for value in allocated temporary leaked; do
		"$COLLECTOR" export --format collapsed --value $value "$1" >"$1.flat-$value"
	done
	exec 2>&4 4>&-
}

# stripped NAME OPTION...: $T/NAME.s is $T/NAME stripped, and says all that it says.
stripped() {
	local name=$1 value
	shift
	"$COLLECTOR" strip --json --force -o "$T/$name.s" "$@" "$T/$name" >"$T/$name.s.json" || fail "$name: strip ended with $?"
	[ "$(stat -c %a "$T/$name.s")" = 600 ] || fail "$name.s can be read by others"
	[ -e "$T/$name.ledger" ] || asked "$T/$name"
	asked "$T/$name.s"
	for value in allocated temporary leaked; do
		cmp "$T/$name.flat-$value" "$T/$name.s.flat-$value" || fail "$name: what is $value"
	done
	python3 - "$T/$name" "$T/$name.s" <<-'PYTHON' >&3 || fail "$name: the stripped recording says something else"
		import json, os, sys
		kinds = ("report", "histogram", "ledger", "top", "temporary", "leaks", "timeline")
		plain, small = ({k: json.load(open(p + "." + k)) if k != "ledger" else json.loads(open(p + ".ledger").readline())
		                 for k in kinds} for p in sys.argv[1:])
		said = json.load(open(sys.argv[2] + ".json"))
		wrong = []
		# Estimates are sums of fractions, and the order of the sum is another one.
		def rounded(x):
		    if isinstance(x, float):
		        return float(f"{x:.9g}")
		    if isinstance(x, dict):
		        return {k: rounded(v) for k, v in x.items()}
		    return [rounded(v) for v in x] if isinstance(x, (list, tuple)) else x
		def same(what, a, b):
		    if rounded(a) != rounded(b):
		        wrong.append(f"{what}: {str(a)[:300]} before, {str(b)[:300]} after")
		for key in ("allocated", "temporary", "leaked", "frees", "distinct_backtraces", "failed"):
		    same(key, plain["report"][key], small["report"][key])
		def sites(answer):
		    return sorted((g["function"] or "", g["module"] or "", *(json.dumps(rounded(g[k])) for k in ("value", "allocated", "temporary")), g["min_size"], g["max_size"]) for g in answer["groups"])
		same("backtraces", sites(plain["top"]), sites(small["top"]))
		same("temporary", sites(plain["temporary"]), sites(small["temporary"]))
		# How long others of a call site have lived at most is known to the class; what counts as young follows from that.
		def leaks(answer):
		    return [{k: v for k, v in g.items() if k not in ("suspect_bytes", "old", "young", "longest_lifetime_ns")}
		        for g in sorted(answer["groups"], key=lambda g: (g["backtrace_id"]))]
		same("leaks", leaks(plain["leaks"]), leaks(small["leaks"]))
		same("sizes", plain["histogram"]["sizes"], small["histogram"]["sizes"])
		same("lifetimes", plain["histogram"]["lifetimes"], small["histogram"]["lifetimes"])
		a, b = plain["ledger"], small["ledger"]
		for key in ("produced", "not_sampled", "lost", "pending", "before_join", "adds_up", "orphan_frees", "inherited_frees",
		            "inferred", "censored", "failed", "bad_references", "missed", "gaps", "states", "end", "cut_bytes"):
		    if key != "cut_bytes":
		        same(key, a.get(key), b.get(key))
		same("accounted for", a["delivered"] + a["culled"], b["delivered"] + b["culled"])
		same("threads", [(t["number"], t["name"], t["produced"], t["lost"], t["delivered"] + t["culled"]) for t in a["threads"]],
		     [(t["number"], t["name"], t["produced"], t["lost"], t["delivered"] + t["culled"]) for t in b["threads"]])
		same("delivered and stored", [t["delivered"] for t in b["threads"]] if a["adds_up"] and not a["before_join"] else 0,
		     [t["stored"] for t in b["threads"]] if a["adds_up"] and not a["before_join"] else 0)
		same("events as strip says", (a["stored"], b["stored"]), (said["events_before"], said["events_after"]))
		same("bytes as strip says", os.path.getsize(sys.argv[2]), said["bytes_after"])
		same("blocks as strip says", b["culled"] - a["culled"],
		     a["stored"] - b["stored"])
		if wrong:
		    sys.exit("\n".join(wrong))
		if not said["blocks"]:
		    sys.exit("nothing was stripped")
		print(f"{os.path.basename(sys.argv[1])}: {said['blocks']} blocks in sums, {said['events_after']} of {said['events_before']} events, "
		      f"{said['bytes_before']} bytes to {said['bytes_after']}: {said['ratio']:.1f} times smaller")
	PYTHON
}

recorded() {
	local name=$1
	shift
	"$AGENT" run --quiet --output "$T/$name" "$@" >"$T/$name.out" 2>"$T/$name.err" || [ $? = 6 ] || [ $? = 8 ] ||
		fail "$name: $(cat "$T/$name.err")"
}

ratio_of() { python3 -c 'import json, sys; print(int(json.load(open(sys.argv[1]))["ratio"]))' "$T/$1.s.json"; }

# ---- several threads: all that was freed lived short ----
churn=("$TARGETS/churn" 40000 3 5 200)
recorded churn -- "${churn[@]}"
stripped churn --threshold 2ms
stripped churn
[ "$(ratio_of churn)" -ge 20 ] || fail "only $(ratio_of churn) times smaller"
assert_eq "what is left" "$(grep -o '"leaked":{[^}]*"blocks":[0-9]*' "$T/churn.report" | head -1 | grep -o '[0-9]*$')" \
	"$(grep -o '"stored_allocations":[0-9]*' "$T/churn.s.ledger" | grep -o '[0-9]*$')"
"$COLLECTOR" report "$T/churn.s" | tr -s "\n " "  " >"$T/flat"
assert_contains "the report" "$T/flat" "blocks that lived less than 10.00 s are in totals"

# ---- what is in use at the end is what it was ----
python3 - "$T/churn.timeline" "$T/churn.s.timeline" <<'PYTHON'
import json, sys
plain, small = (json.load(open(p)) for p in sys.argv[1:])
for key in ("allocated_size_last", "allocated_count_last"):
    assert plain[key][-1] == small[key][-1], (key, plain[key][-1], small[key][-1])
PYTHON

# ---- reallocations; exec; sampled; culled by the agent ----
export PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0
recorded strings -- perl -e 'my $s = ""; for (1 .. 3000) { $s .= "x" x 50; my @a = map { "y" x $_ } 1 .. 20; $h{$_} = [@a] if $_ % 100 == 0 }'
stripped strings
stripped strings --threshold 300us
recorded images -- sh -c 'for i in 1 2 3; do x=$x$i; done; exec "$0" -e "for (1 .. 60) { my @a = map { [1 .. 20] } 1 .. 500 } exec @ARGV" "$1" 3' perl "$TARGETS/exec_self"
stripped images --threshold all
recorded sampled --mode sample=2K -- "${churn[@]}"
stripped sampled --threshold 1ms
recorded culled --short-lived 10us -- "${churn[@]}"
stripped culled
# Once more: nothing is left to do, and nothing is changed.
"$COLLECTOR" strip --json -o "$T/again" "$T/churn.s" >"$T/again.json" && assert_contains "stripped again" "$T/again.json" '"blocks":0'
assert_eq "stripped again" "$("$COLLECTOR" report --json "$T/churn.s" | md5sum)" "$("$COLLECTOR" report --json "$T/again" | md5sum)"

# ---- losses ----
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
taskset -c "$cpu" "$AGENT" run --quiet --memory-limit 2M --policy count --output "$T/lossy" -- "$BUILD/tests/e2e-witness" "$T/truth" 3 _exit 700 || [ $? = 8 ]
grep -q '"lost":0,"pending"' <("$COLLECTOR" ledger --json "$T/lossy") && echo "(nothing was lost)" >&3
stripped lossy

# ---- taken up by another agent, twice ----
if can_take_up; then
	start_collector
	start_daemon --announce --policy block
	start_steady 2
	for i in 1 2; do
		sleep 0.4
		kill_daemon
		start_daemon --announce --policy block
		wait_for 5 "the ring to be taken up" taken_up "$i"
	done
	sleep 0.5
	end_steady
	wait_collector
	cp "$(find "$T/data/streams" -name recording.heapcast)" "$T/takeup"
	stripped takeup
	kill_daemon
else
	echo "(rings can't be taken up here)" >&3
fi

# ---- as far as it goes ----
head -c $(($(wc -c <"$T/churn") * 2 / 3)) "$T/churn" >"$T/half"
stripped half

# ---- damage is left out, and the account says so; no file is half made ----
# (Of events: what else is in the middle of a recording, names of functions say, is no part of the account.)
for part in 2 3 4 5; do
	python3 - "$T/churn" "$T/damaged" $part <<'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) // int(sys.argv[3])] ^= 0x55
open(sys.argv[2], "wb").write(data)
PYTHON
	"$COLLECTOR" ledger "$T/damaged" >/dev/null 2>&1 || break
done
"$COLLECTOR" strip -o "$T/damaged.s" "$T/damaged" >/dev/null
assert_status 1 "$COLLECTOR" ledger "$T/damaged.s" >"$T/damaged.ledger"
assert_contains "the account" "$T/damaged.ledger" "DOES NOT add up"
assert_status 2 "$COLLECTOR" strip "$T/churn" 2>"$T/err"
assert_contains "usage" "$T/err" "--output FILE"
assert_status 2 "$COLLECTOR" strip --threshold soon -o "$T/x" "$T/churn" 2>"$T/err"
assert_contains "usage" "$T/err" "--threshold takes a time"
assert_status 2 "$COLLECTOR" strip -o "$T/x" "$T/churn.s.json" 2>/dev/null
echo text >"$T/text"
assert_status 2 "$COLLECTOR" strip -o "$T/x" "$T/text" 2>"$T/err"
assert_contains "no recording" "$T/err" "not a recording"
[ -z "$(ls "$T"/x* 2>/dev/null)" ] || fail "a half file was left: $(ls "$T"/x*)"
cp "$T/churn.s" "$T/there"
assert_status 2 "$COLLECTOR" strip -o "$T/there" "$T/churn" 2>"$T/err"
assert_contains "a file that is there" "$T/err" "--force"
cmp "$T/churn.s" "$T/there"
# Onto itself; to standard output.
cp "$T/churn" "$T/itself"
"$COLLECTOR" strip --force -o "$T/itself" "$T/itself" >"$T/out"
cmp "$T/itself" "$T/churn.s" || "$COLLECTOR" ledger "$T/itself" >/dev/null
assert_contains "what it says" "$T/out" "times smaller"
"$COLLECTOR" strip -o - "$T/churn" 2>/dev/null | cmp - "$T/itself"
# A pipe or a device stays what it is.
mkfifo "$T/pipe"
cat "$T/pipe" >"$T/piped" &
"$COLLECTOR" strip -o "$T/pipe" "$T/churn" >"$T/out"
wait $!
[ -p "$T/pipe" ] || fail "the pipe has become a file"
cmp "$T/piped" "$T/itself"
