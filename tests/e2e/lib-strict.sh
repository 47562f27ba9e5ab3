# What the tests of programs that forbid themselves system calls share (tests/targets/strict.c). After lib.sh, or
# lib-serve.sh:
#
#   alone WHAT HOW WHO...        runs the program without us: what it says is in $T/alone.out; skips where it can't forbid itself that
#   lives RECORDING CMD...       runs the recorder of a program: its exit status and what it says are as alone
#   counted RECORDING [exact]    every call of the program is in the account, and no other; exact: all are stored
#   lived RECORDING STATUS       what lives found out, of a program that has ended with that status
#
# The program does not tell what threads take for themselves. So that is taken from the first RECORDING of each WHO that
# is counted, which is of `strict none`.
declare -A of_libc

alone() {
	local status=0
	who=${3:-main}
	"$TARGETS/strict" "$@" >"$T/alone.out" || status=$?
	[ "$status" != 77 ] || skip "$* can't be had here"
	assert_eq "exit status of strict $*, alone" 9 "$status"
}

lived() {
	assert_eq "exit status for $1" 9 "$2"
	assert_eq "what the program says for $1" "$(cat "$T/alone.out")" "$(cat "$T/recorded.out")"
}

lives() {
	local recording=$1 status=0
	shift
	"$@" >"$T/recorded.out" 2>"$T/recorded.err" || status=$?
	lived "$recording" "$status"
}

counted() {
	local recording=$1 exact=${2:-} said
	said=$(awk '$1 == "events" { print $2 }' "$T/alone.out")
	"$COLLECTOR" ledger --json "$recording" >"$T/ledger.json" || true # it is not complete
	python3 - "$T/ledger.json" "$said" "${of_libc[$who]:--1}" "$exact" >"$T/verdict.txt" <<'END' || fail "$recording: $(cat "$T/verdict.txt")"
import json, sys
ledger, said, of_libc, exact = json.load(open(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
more = ledger["produced"] - said
if of_libc >= 0 and more != of_libc or more < 0:
    sys.exit(print(f"{ledger['produced']} events are in the account, of {said} and {of_libc} of libc") or 1)
if ledger["stored"] + ledger["lost"] + ledger["not_sampled"] != ledger["produced"]:
    sys.exit(print(f"{ledger['stored']} stored and {ledger['lost']} lost are not {ledger['produced']}") or 1)
if ledger["lost"] != sum(g["events"] for g in ledger["gaps"]):
    sys.exit(print("not each loss is a gap") or 1)
if exact and ledger["lost"]:
    sys.exit(print(f"{ledger['lost']} are lost: {ledger['gaps']}") or 1)
print(more)
END
	of_libc[$who]=$(cat "$T/verdict.txt")
}
