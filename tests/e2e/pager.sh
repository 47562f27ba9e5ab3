#!/bin/bash
# Long answers on a terminal go through a pager: who is asked for one, what it gets, and where there is none. The exit status is the
# command's, whatever the pager does.
. "$(dirname "$0")/lib.sh"
need python3
H=$BUILD/bin/heapcast
"$H" run -q -o sort.heapcast -- sort /etc/passwd >/dev/null
"$H" report sort.heapcast >piped
rows=$(wc -l <piped)
[ "$rows" -gt 12 ] || fail "the report is too short for this test: $rows lines"

cat >on.py <<'END'
# on.py [ROWS=N] [KEYS=TEXT] [NAME=VALUE...] CMD...: runs CMD on a terminal of so many rows, types KEYS one by one when it has been quiet
# for half a second, prints what was on the terminal, and ends as CMD did. "|" in CMD's place: standard output of what precedes is a file.
import fcntl, os, pty, select, struct, sys, termios
rows, keys, argv = 10, [], sys.argv[1:]
os.environ["TERM"] = "xterm"
while "=" in argv[0]:
    name, value = argv.pop(0).split("=", 1)
    if name == "ROWS":
        rows = int(value)
    elif name == "KEYS":
        keys = list(value.encode().decode("unicode_escape"))
    else:
        os.environ[name] = value
pid, terminal = pty.fork()
if not pid:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))
    if os.environ.get("TO"):
        os.dup2(os.open(os.environ["TO"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    os.execvp(argv[0], argv)
seen = b""
while True:
    ready, _, _ = select.select([terminal], [], [], 0.5 if keys else 60)
    if ready:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    elif keys:
        os.write(terminal, keys.pop(0).encode())
    else:
        os.kill(pid, 9)
        print("it does not end")
        break
sys.stdout.buffer.write(seen.replace(b"\r\n", b"\n"))
status = os.waitpid(pid, 0)[1]
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 200)
END
# A pager that keeps what it gets, and says that it was there.
printf '#!/bin/sh\necho "$@" >"%s/asked"\ncat >"%s/got"\necho left\n' "$T" "$T" >keep
chmod +x keep
on() {
	rm -f asked got
	python3 on.py "$@" >seen
}
paged() { # the pager was there, and has got what a pipe gets, with colours
	[ -e got ] || { cat seen; fail "$1: no pager was started"; }
	grep -q $'\e\[1m' got || fail "$1: the pager got no colours"
	sed 's/\x1b\[[0-9;]*m//g' got | grep "^Most in use at the peak" >/dev/null || fail "$1: the pager got: $(head -n 5 got)"
}
unpaged() { # nothing but the answer was on the terminal
	[ ! -e got ] || fail "$1: a pager was started"
	grep -q "Most in use at the peak" seen || fail "$1: the terminal shows: $(cat seen)"
}

# What is set for answers is no mistake for the agent, and --report shows its report without stopping.
on ROWS=10 HEAPCAST_PAGER="$T/keep" "$H" run --report -o other.heapcast -- sort /etc/passwd && unpaged "run --report"
! grep -q "there is no setting" seen || fail "the agent does not know the setting: $(cat seen)"

# Who is asked.
on HEAPCAST_PAGER="$T/keep a b" PAGER=false "$H" report sort.heapcast && paged HEAPCAST_PAGER
assert_eq "arguments of the pager" "a b" "$(cat asked)"
assert_eq "on the terminal" left "$(cat seen)"
on PAGER="$T/keep" "$H" report sort.heapcast && paged PAGER
on PAGER=false "$H" report --pager "$T/keep" sort.heapcast && paged --pager
on PAGER="X=1 $T/keep | cat" "$H" report sort.heapcast && paged "a line of shell"
# Widths are those of the terminal, not of a pipe.
on PAGER="$T/keep" "$H" top --full-names sort.heapcast
[ "$(sed 's/\x1b\[[0-9;]*m//g' got | wc -L)" -le 100 ] || fail "the pager got lines that are wider than the terminal"

# Where there is none.
on PAGER="$T/keep" "$H" report --no-pager sort.heapcast && unpaged --no-pager
on PAGER="$T/keep" HEAPCAST_NO_PAGER=1 "$H" report sort.heapcast && unpaged HEAPCAST_NO_PAGER
on PAGER="$T/keep" TERM=dumb "$H" report sort.heapcast && unpaged TERM=dumb
on HEAPCAST_PAGER= PAGER="$T/keep" "$H" report sort.heapcast && unpaged "an empty HEAPCAST_PAGER"
on PAGER=cat "$H" report sort.heapcast && unpaged cat
on ROWS=$((2 * rows)) PAGER="$T/keep" "$H" report sort.heapcast && unpaged "a screen that is large enough"
on ROWS=200 PAGER="$T/keep" "$H" report sort.heapcast && unpaged "a large screen"
on TO="$T/file" PAGER="$T/keep" "$H" report sort.heapcast
[ ! -e got ] || fail "a pager was started for a file"
cmp file piped
on PAGER="$T/keep" sh -c '"$0" report sort.heapcast | cat >piped.again' "$H"
[ ! -e got ] || fail "a pager was started for a pipe"
cmp piped.again piped
on PAGER=/nowhere/pager "$H" report sort.heapcast && unpaged "a pager that is not there"
assert_contains "a pager that is not there" seen "the pager '/nowhere/pager' can't be started: No such file or directory"

# The exit status is the command's, and what it says on standard error comes behind the answer.
status=0
on PAGER="$T/keep" "$H" report sort.heapcast --fail-if 'peak_bytes > 0' || status=$?
assert_eq "exit status with a pager" 1 "$status"
assert_contains "the end of the answer" <(tail -n 3 got) "it is true that peak_bytes > 0"
for pager in false true "head -n 1"; do # it leaves before the end
	status=0
	on PAGER="$pager" "$H" report sort.heapcast --fail-if 'peak_bytes > 0' || status=$?
	assert_eq "exit status with $pager" 1 "$status"
	on PAGER="$pager" "$H" sql sort.heapcast "with recursive n(x) as (select 1 union all select x + 1 from n where x < 60000) select x from n" ||
		fail "$pager makes it end with $?: $(cat seen)"
done
on ROWS=100 PAGER="$T/keep" "$H" report sort.heapcast --fail-if 'peak_bytes > 0' || true
[ "$(grep -n 'it is true that' seen | cut -d: -f1)" -gt "$(grep -n 'Most in use at the peak' seen | cut -d: -f1)" ] ||
	fail "a short answer is in disorder: $(cat seen)"

# less, as it is: a page, Ctrl-C that does not end it, the next page, the end. No escapes are shown as text.
command -v less >/dev/null || exit 0
on KEYS=' \x03 q' "$H" report sort.heapcast || fail "less: status $?"
grep -q "Most allocated" seen || fail "less shows: $(cat -v seen)"
grep -qF $'\e[1m' seen || fail "less shows no colours: $(cat -v seen)"
! grep -q 'ESC\[' seen || fail "less shows escapes as text"
[ "$(grep -c "^ \|^$\|Most" seen)" -lt "$rows" ] || fail "less has shown all at once"
