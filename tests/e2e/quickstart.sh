#!/bin/bash
# ctest: LABELS full TIMEOUT 300
# deploy/quickstart is never silent for long, ends with the page, which has answered, and leaves nothing running. Its
# steps are the true ones, except those that install and compile. Stand-ins for these take some seconds, and put in
# place what was built here.
. "$(dirname "$0")/lib.sh"
need python3 setsid pgrep
sqlite3=$(command -v sqlite3) || skip "sqlite3 is not installed"
[ "$inside" = namespace ] || skip "it listens on the loopback interface of this machine"

tree=$T/tree
mkdir -p "$tree/docs" "$T/fake"
cp -r "$ROOT/deploy" "$tree/deploy"

stand_in() { # PATH, and the script on standard input
	cat >"$1"
	chmod +x "$1"
}
# A bare system: nothing is there but what apt-get has installed. The page needs packages, too.
sed -i 's/^page .*/page one-of-the-page/' "$tree/deploy/packages"
stand_in "$T/fake/dpkg-query" <<END
#!/bin/sh
shift 3
for name; do grep -qx "\$name" $T/installed && echo "\$name installed"; done
END
stand_in "$T/fake/apt-get" <<END
#!/bin/sh
[ "\$1" = install ] || exit 0
echo "0 upgraded, 5 newly installed, 0 to remove and 1 not upgraded."
for n in 1 2 3 4 5; do echo "Get:\$n http://archive package-\$n"; sleep 0.1; done
echo "Unpacking package-1 (1.0) ..."
echo "Setting up package-1 (1.0) ..." # which the next one needs
echo "Unpacking package-2 (1.0) ..."
[ -s $T/installed ] || sleep 4
shift 3
printf '%s\n' "\$@" >>$T/installed
END
stand_in "$T/fake/cmake" <<END
#!/bin/sh
mkdir -p build/release
echo "-- Found libuv"
touch build/release/build.ninja
for option; do
	case \$option in
	-DHEAPCAST_PAGE=*)
		echo "HEAPCAST_PAGE:STRING=\${option#*=}" >build/release/CMakeCache.txt
		echo "\${option#*=}, \$(grep -c page $T/installed) of the page" >>$T/configured
		;;
	esac
done
END
stand_in "$T/fake/ninja" <<END
#!/bin/sh
[ -e "$T/slow" ] && seconds=1.1 || seconds=0
for n in 1 2 3 4 5 6; do echo "[\$n/6] Building C object \$n"; sleep \$seconds; done
ln -sfn $BUILD/bin build/release/bin
ln -sfn $BUILD/lib build/release/lib
END
stand_in "$tree/deploy/build-sqlite3" <<END
#!/bin/sh
[ ! -x "\$1/sqlite3" ] || exit 0
echo "compiling"
[ ! -e "$T/slow" ] || sleep 22
mkdir -p "\$1"
ln -s $sqlite3 "\$1/sqlite3"
END
cat >"$T/timed.py" <<'END'
# Runs a command with its output in a pipe: prints the output, and at last the longest silence in seconds.
import subprocess, sys, time
run = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
last, longest = time.time(), 0
while chunk := run.stdout.read(65536):
    longest, last = max(longest, time.time() - last), time.time()
    sys.stdout.buffer.write(chunk)
print("\nlongest silence: %d s" % longest)
sys.exit(run.wait())
END
cat >"$T/typed.py" <<'END'
# Runs a command on a terminal: typed.py ANSWER CMD... types ANSWER at the question, and Ctrl-C once the page is served.
import os, pty, sys
answer, argv = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if not pid:
    os.environ["TERM"] = "xterm"
    os.execvp(argv[0], argv)
seen, asked, served = b"", False, False
while True:
    try:
        chunk = os.read(terminal, 65536)
    except OSError:
        break
    if not chunk:
        break
    seen += chunk
    if not asked and b"[Y/n]" in seen:
        asked = True
        os.write(terminal, answer.encode() + b"\n")
    if asked and not served and b"Ctrl-C ends." in seen:
        served = True
        os.write(terminal, b"\x03")
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
quickstart() {
	env -u HEAPCAST_KEYS -u HEAPCAST_PAIRS -u HEAPCAST_DATA PATH="$T/fake:$PATH" "$@" "$tree/deploy/quickstart"
}
nothing_runs() {
	! pgrep -f "$tree|$T/fake|heapcast gather|heapcast page" >"$T/left" || fail "left running: $(xargs -n1 ps -o pid,args -p <"$T/left")"
}

# 1. The first run, its output in a pipe.
touch "$T/slow"
quickstart python3 "$T/timed.py" >"$T/first.txt" || { cat "$T/first.txt"; fail "quickstart failed"; }
for line in "unpacking 2 of 5 packages" "building heapcast \\[[1-6]/6\\], sqlite3: compiling" "sqlite3: compiling"; do
	grep -qE "^  $line, [1-9] s$" "$T/first.txt" || { cat "$T/first.txt"; fail "no progress \"$line\""; }
done
assert_contains "quickstart" "$T/first.txt" "    ./agent pair " "\$ heapcast agent pair --interface lo " "paired with" "The account adds up" "Open it: file://" \
	"docs/pictures/overview.png" "It answered at http://127.0.0.1:8080/ ("
if grep -q $'\r\|\e' "$T/first.txt"; then fail "what is for a terminal goes into a pipe"; fi
silence=$(sed -n 's/^longest silence: \([0-9]*\) s$/\1/p' "$T/first.txt")
[ "$silence" -le 10 ] || fail "it was silent for $silence s"
assert_eq "the last line" "    build/release/bin/heapcast page --data build/quickstart/data" \
	"$(grep -v -e '^longest' -e '^$' "$T/first.txt" | tail -n 1)"
nothing_runs
# The build began before what the page needs was there, and had the page at last.
assert_eq "configured" "OFF, 0 of the page
AUTO, 1 of the page" "$(cat "$T/configured")"

# 2. Again: nothing to build. On a terminal the page is offered; Ctrl-C ends it, and that is no failure.
rm "$T/slow"
quickstart python3 "$T/typed.py" "" >"$T/served.txt" || { cat "$T/served.txt"; fail "quickstart on a terminal failed"; }
assert_contains "quickstart on a terminal" "$T/served.txt" "[Y/n]" "Serving http://127.0.0.1:8080/#token=" "Ctrl-C ends."
assert_eq "configured again" 2 "$(wc -l <"$T/configured")"
if grep -q "  building heapcast .*s$" "$T/served.txt"; then fail "lines of progress are left on a terminal"; fi
nothing_runs

# 3. There, progress is one line that is rewritten, and gone at the end. Nobody has to look at the page.
touch "$T/slow"
rm -rf "$tree/build"
quickstart python3 "$T/typed.py" n >"$T/fresh.txt" || { cat "$T/fresh.txt"; fail "a fresh quickstart on a terminal failed"; }
[ "$(grep -o $'\r\e\[K  building heapcast \[[1-6]/6\], sqlite3: compiling, [0-9]* s' "$T/fresh.txt" | wc -l)" -gt 10 ] ||
	fail "no progress on a terminal: $(head -c 3000 "$T/fresh.txt" | cat -v)"
if grep -q "Serving" "$T/fresh.txt"; then fail "the page was served, though nobody wanted it"; fi
python3 - "$T/fresh.txt" <<'END'
import re, sys
shown = []
for line in open(sys.argv[1], newline="\n").read().replace("\r\n", "\n").split("\n"):
    shown.append(re.split("\r\x1b\\[K", line)[-1])  # what is left of it on the screen
assert not [line for line in shown if re.match("  (building|sqlite3: compiling|configuring)", line)], shown
END
nothing_runs

# 4. Killed while it builds: nothing of it goes on.
rm -rf "$tree/build"
(PATH="$T/fake:$PATH" exec "$tree/deploy/quickstart") >"$T/killed.txt" 2>&1 &
started=$!
wait_for 20 "the build" grep -q "Building C object" "$tree/build/quickstart/build.log"
kill -TERM "$started"
assert_status 143 wait "$started"
wait_for 5 "everything to end" eval '! pgrep -f "$tree|$T/fake" >/dev/null'
