"""Plays a terminal for top --live: starts it, presses keys, and knows what is on the screen."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

COLLECTOR, PYTHON = sys.argv[1:3]
SEQUENCE = re.compile(rb"\x1b\[([?0-9;]*)([A-Za-z])")


class Terminal:
    def __init__(self, command, rows=24, columns=80):
        self.ours, self.theirs = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.theirs)
        self.modes = set()
        self.program = subprocess.Popen(command, stdin=self.theirs, stdout=self.theirs, stderr=self.theirs,
                                        start_new_session=True, preexec_fn=self.own)
        self.rest = b""

    @staticmethod
    def own():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, rows, columns):
        self.rows, self.columns, self.row, self.column = rows, columns, 0, 0
        self.lines = [[" "] * columns for _ in range(rows)]
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def obey(self, argument, letter):
        if letter == b"H":
            self.row = self.column = 0
        elif letter == b"J" and argument == b"2":
            self.lines = [[" "] * self.columns for _ in range(self.rows)]
        elif letter == b"J":
            for line in range(self.row, self.rows):
                self.lines[line] = [" "] * self.columns
        elif letter == b"K":
            self.lines[self.row][self.column:] = [" "] * (self.columns - self.column)
        elif letter == b"h":
            self.modes.add(argument)
        elif letter == b"l":
            self.modes.discard(argument)
        elif letter != b"m":
            raise SystemExit(f"a sequence that nobody expects: {argument} {letter}")

    def put(self, data):
        data, self.rest = self.rest + data, b""
        while data:
            found = SEQUENCE.match(data)
            if found:
                self.obey(*found.groups())
                data = data[found.end():]
            elif data[0] == 0x1b:
                self.rest = data
                return
            elif data[:1] == b"\r":
                self.column, data = 0, data[1:]
            elif data[:1] == b"\n":
                self.row, data = min(self.row + 1, self.rows - 1), data[1:]
            else:
                if data[0] < 0x20:
                    raise SystemExit(f"a control character: {data[0]:#x}")
                length = 1 if data[0] < 0x80 else 2 if data[0] < 0xe0 else 3
                if len(data) < length:
                    self.rest = data
                    return
                self.lines[self.row][min(self.column, self.columns - 1)] = data[:length].decode(errors="replace")
                self.column, data = self.column + 1, data[length:]

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.lines)

    def read(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.ours], [], [], 0.05)[0]:
                self.put(os.read(self.ours, 65536))

    def until(self, pattern, seconds=40):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text()):
            if time.monotonic() > end:
                raise SystemExit(f"not on the screen: {pattern}\n{self.text()}")
            self.read(0.1)

    def press(self, keys):
        os.write(self.ours, keys)

    def ends(self, status):
        end = time.monotonic() + 20
        while self.program.poll() is None and time.monotonic() < end:
            self.read(0.1)
        self.read(0.2)
        if self.program.poll() != status:
            raise SystemExit(f"exit status {self.program.poll()}, not {status}\n{self.text()}")
        if termios.tcgetattr(self.theirs) != self.before:
            raise SystemExit("the terminal is not as it was")
        if b"?1049" in self.modes or b"?25" not in self.modes or b"?7" not in self.modes:
            raise SystemExit(f"the screen is not as it was: {self.modes}")


def start(steps):
    return Terminal([COLLECTOR, "top", "--live", "--", PYTHON, "program.py", str(steps)])


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


t = start(2000)
t.until(r"in use +[0-9.]+ [KM]iB in [0-9,]+ blocks")
t.until(r"\[1 in use\]")
t.until(r"BYTES +% +BLOCKS  CALL SITE")
t.press(b"2")
t.until(r"\[2 rate\]")
t.until(r"BYTES/S")
t.press(b"\x1b[B")
t.until(r"(?m)^ .*\n>")
t.press(b"\x1b[A")
t.press(b"\r")
t.until(r"the heaviest backtrace")
t.press(b"\x1b")
t.press(b"?")
t.until(r"Any key goes back")
t.press(b"x/nowhere-at-all\r")
t.until(r"no call site has this text")
t.press(b"\x1b")
t.until(r"\n>")
t.press(b" ")
t.until(r"paused")
t.press(b" ")
t.until(r"live")
t.resize(50, 200)
t.until(r"q quit.*\d+ of \d+$")
print(t.text())
began, used = time.monotonic(), cpu_seconds(t.program.pid)
t.read(10)
share = (cpu_seconds(t.program.pid) - used) / (time.monotonic() - began)
print(f"{100 * share:.2f} % of a processor")
if share > 0.02:
    raise SystemExit("it costs more than 2 %")
t.press(b"q")
t.ends(0)

t = start(2000)
t.until(r"\[1 in use\]")
t.press(b"\x03")
t.ends(0)

t = start(2000)
t.until(r"\[1 in use\]")
t.program.send_signal(signal.SIGTERM)
t.ends(128 + signal.SIGTERM)

# The same program again, in the data folder.
if len(sys.argv) > 3:
    t = Terminal([COLLECTOR, "top", "--live", "--data", sys.argv[3]])
    t.until(r"ended: ")
    first = re.search(r"pid (\d+)", t.text()).group(1)
    open("again", "w").close()
    t.until(rf"pid (?!{first})\d+ ")
    t.press(b"q")
    t.ends(0)

t = start(40)
t.until(r"ended: ")
t.until(r"not freed")
print(t.text())
t.press(b"q")
t.until(r"next: collector report '")
t.ends(0)
