#!/bin/bash
# Whatever takes longer than a second says on a terminal what it does and how far it is. This is one line, which is gone
# at the end. Nothing of it goes into pipes and files. The commands are stopped again and again for a while, so that
# they take long on every machine.
. "$(dirname "$0")/lib.sh"
need python3
H=$BUILD/bin/heapcast
"$H" run -q --policy block -o pairs.heapcast -- "$BUILD/tests/e2e-pairs" 200000 >/dev/null || assert_eq "exit status of the program" 5 $?

cat >slow.py <<'END'
# slow.py SEEN CMD...: runs CMD with standard error on a terminal (SEEN gets what was there), and stops it again and again until
# something was drawn there.
import os, pty, select, signal, sys, time
seen, argv = open(sys.argv[1], "wb"), sys.argv[2:]
ours, theirs = pty.openpty()
os.environ["TERM"] = "xterm"
pid = os.fork()
if not pid:
    os.setsid()
    os.dup2(theirs, 2)
    if os.environ.get("STDOUT") == "terminal":
        os.dup2(theirs, 1)
    os.close(ours)
    os.execvp(argv[0], argv)
os.close(theirs)
stopped, shown = False, 0
while True:
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended:
        break
    ready, _, _ = select.select([ours], [], [], 0.25 if stopped else 0.001)
    if ready:
        try:
            chunk = os.read(ours, 65536)
            shown += chunk.count(b"\r\x1b[K")
            seen.write(chunk)
        except OSError:
            pass
        continue
    if shown > 3 and not stopped and not os.environ.get("TO_THE_END"):
        continue
    stopped = not stopped
    os.kill(pid, signal.SIGSTOP if stopped else signal.SIGCONT)
while select.select([ours], [], [], 0)[0]:
    try:
        seen.write(os.read(ours, 65536))
    except OSError:
        break
sys.exit(os.waitstatus_to_exitcode(status))
END
cat >lines.py <<'END'
# lines.py SEEN: checks that lines of progress were there, and are gone; prints each kind of them once.
import re, sys
seen = open(sys.argv[1], newline="").read()
drawn = re.findall("\r\x1b\\[K([^\r\n\x1b]+)", seen)
kinds = {re.sub(" [0-9]+ %|, .*", "", line) for line in drawn}
assert drawn, "no progress: %r" % seen
for line in drawn:
    assert re.fullmatch("[a-z ]+( [0-9]+ %)?, [0-9]+ s(, about [0-9]+ s more)?", line), line
left = [re.split("\r\x1b\\[K", line)[-1] for line in seen.replace("\r\n", "\n").split("\n")]
assert not [line for line in left if line in drawn], left
print("; ".join(sorted(kinds)))
END
# shows CMD...: on a terminal it has progress, and the answer is the same as without.
shows() {
	local status=0
	python3 slow.py seen "$H" "$@" >answer || status=$?
	[ "$status" = 0 ] || { cat seen; fail "heapcast $* ends with $status"; }
	python3 lines.py seen >kinds || fail "heapcast $*: $(cat -v seen | head -c 2000)"
	echo "heapcast $1: $(cat kinds)"
}
for command in leaks tree timeline; do shows $command pairs.heapcast; done
# How far it is, and how long it takes: with more to look through.
"$H" run -q --policy block -o more.heapcast -- "$BUILD/tests/e2e-pairs" 800000 >/dev/null || true # ends with 5
for command in report timeline sql last; do
	[ "$command" != last ] || fail "no percents: $(cat -v seen)"
	arguments=()
	[ "$command" != sql ] || arguments=("select sum(size), count(distinct address) from allocations")
	TO_THE_END=1 shows "$command" more.heapcast "${arguments[@]}"
	! grep -qE "looking through the allocations [0-9]+ %, [0-9]+ s" seen || break
done
shows sql pairs.heapcast "select sum(size) from allocations"
shows ledger more.heapcast
shows flamegraph -o flame.svg pairs.heapcast
shows diff --base pairs.heapcast pairs.heapcast
shows export --format pprof -o pairs.pprof pairs.heapcast
shows strip -o stripped.heapcast more.heapcast
shows export --anonymise --format collapsed -o anonymous.collapsed more.heapcast
shows analyze pairs.heapcast
shows import --data imported more.heapcast

# The answer is what it is without a terminal, and a pipe gets nothing of it.
shows top --json pairs.heapcast
"$H" top --json pairs.heapcast >plain 2>plain.err
cmp answer plain
[ ! -s plain.err ] || fail "without a terminal: $(cat plain.err)"
STDOUT=terminal HEAPCAST_NO_PAGER=1 shows report pairs.heapcast
TERM=dumb STDOUT=terminal python3 - "$H" <<'END' || fail "something is drawn on a terminal that can only print"
import os, subprocess, sys
text = open("slow.py").read().replace('os.environ["TERM"] = "xterm"', "")
subprocess.run([sys.executable, "-c", text, "seen", sys.argv[1], "top", "pairs.heapcast"], check=True)
sys.exit(b"\r\x1b" in open("seen", "rb").read())
END
