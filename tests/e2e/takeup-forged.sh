#!/bin/bash
# Programs map something with the name of a ring that is none. A daemon that starts says so, or skips them, and serves
# all others.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup.sh"
need python3
need_takeup

cat >"$T/forge.py" <<'PYTHON'
import fcntl, mmap, os, random, sys
def ring(size, sealed, content=b""):
    fd = os.memfd_create("heapcast-ring", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    m = mmap.mmap(fd, size)
    m[:len(content)] = content
    if sealed:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return m
kept = [ring(4096, False), ring(1 << 20, False), ring(1 << 20, True)]
if len(sys.argv) > 1: # of the right size, and all but sensible
    header = bytearray(open(sys.argv[1], "rb").read())
    kept.append(ring(len(header), True, bytes(header)))
    random.seed(1)
    for at in random.sample(range(0, 1200), 8):
        damaged = bytearray(header)
        damaged[at] ^= 0xff
        kept.append(ring(len(header), True, bytes(damaged)))
print("ready", flush=True)
sys.stdin.read()
PYTHON

# A real one, as its program has it.
start_daemon --policy count --output "$T/first-%p.heapcast"
start_steady 1
sleep 0.3
kill_daemon
range=$(awk '/memfd:heapcast-ring/ { print $1; exit }' "/proc/$steady/maps")
cp "/proc/$steady/map_files/$range" "$T/ring"
mkfifo "$T/wait"
python3 "$T/forge.py" "$T/ring" <"$T/wait" >"$T/forge.out" 2>"$T/forge.err" &
exec 4>"$T/wait"
wait_for 10 "the forger" grep -q ready "$T/forge.out"
start_daemon --policy count --output "$T/second-%p.heapcast"
wait_for 10 "the program to be taken up" taken_up 1
sleep 0.5
assert_eq "rings taken up" 1 "$(grep -c "another agent had begun" "$T/serve.err")"
[ "$(grep -c "makes no sense\|another size" "$T/serve.err")" -ge 3 ] || fail "the forged ones were not named"
end_steady
wait_for 10 "its end" grep -q "pid $steady, ended" "$T/serve.err"
exec 4>&-

# Without the first file the second is a recording that began late; with it, it is the whole.
second="$T/second-$steady.2.heapcast"
ask_ledger "$second"
[ "$(ledger_value before_join)" -gt 0 ] || fail "nothing came before"
cat "$T/first-$steady.heapcast" "$second" >"$T/whole.heapcast"
ask_ledger "$T/whole.heapcast"
check_steady
assert_eq "before_join" 0 "$(ledger_value before_join)"
kill -TERM "$daemon"
wait "$daemon" || fail "agent serve ended with $?"
