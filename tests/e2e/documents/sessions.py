"""Shells in which the commands of a document are typed: one for each prompt, with a folder of its own.

Commands that wait for others (a collector, a server, an agent's daemon) go on beside the next ones. One ends when another one of
its kind begins in that shell, and all end with the document.
"""
import os
import re
import signal
import subprocess
import time

WAITS = re.compile(r"^(heapcast|collector|agent|\./agent|heapcast-agent) ")
READY = [  # what waits; what it prints, or None: what /proc/net/udp shows when it listens
    (re.compile(r"^\S+ (agent )?(serve|page)\b(?!.*--check-config)"), re.compile(r"Serving|http://|listening|LISTENING")),
    (re.compile(r"^(heapcast|collector) gather\b.*--http"), re.compile(r"http://")),
    (re.compile(r"^(heapcast|collector) gather\b(?!.*--(once|for))"), None),
    (re.compile(r"^(heapcast|collector) gather\b"), None),
    (re.compile(r"^(heapcast|collector) pair\b"), re.compile(r"[A-Z2-7]{26}")),
]
DISCOVERY = ":A9F9 "  # UDP 43513, as /proc/net/udp writes it


class Failed(Exception):
    pass


def waits(text):
    """The pattern of what a command prints when it is there, if it is one that waits; else False."""
    if not WAITS.match(text) or text.rstrip().endswith("&") or "--help" in text:
        return False
    for command, ready in READY:
        if command.search(text.split(" -- ")[0]):
            if re.match(r"^(\./agent|agent|heapcast agent|heapcast-agent) serve", text):
                return re.compile("")
            return ready
    return False


def kinds(text):
    """What can't be there twice: the collector, the page, the daemon."""
    found = {word for word in ("gather", "serve", "page", "pair") if re.match(rf"^\S+ {word}\b", text)}
    if "page" in found or "--http" in text:
        found.add("serve")
    return found or {"daemon"}


class Background:
    def __init__(self, text, process, out):
        self.text, self.process, self.out = text, process, out

    def printed(self):
        with open(self.out, encoding="utf-8", errors="replace") as f:
            return f.read()

    def end(self):
        """Ends it as Ctrl-C would. Fails if it has ended before, with a fault."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise Failed(f"'{self.text}' did not end when it was told to") from None
        if status not in (0, -signal.SIGTERM, 128 + signal.SIGTERM):
            raise Failed(f"'{self.text}' ended with {status}: {self.printed()[-800:]}")


class Shell:
    def __init__(self, name, folder, environment, work):
        self.name, self.folder, self.work, self.count = name, folder, work, 0
        os.makedirs(folder, exist_ok=True)
        os.makedirs(work, exist_ok=True)
        self.environment = dict(environment)
        self.backgrounds = []
        self.bash = subprocess.Popen(["bash", "--norc"], cwd=folder, env=self.environment, stdin=subprocess.PIPE, text=True,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def file(self, kind):
        return os.path.join(self.work, f"{self.name or 'desk'}-{self.count}.{kind}")

    def run(self, text, seconds):
        """Types a command; returns (exit status, output)."""
        self.count += 1
        script, out, status = self.file("sh"), self.file("out"), self.file("status")
        with open(script, "w", encoding="utf-8") as f:
            f.write(text + "\n")
        self.bash.stdin.write(f". '{script}' >'{out}' 2>&1 </dev/null; echo $? >'{status}.new'; mv '{status}.new' '{status}'\n")
        self.bash.stdin.flush()
        end = time.monotonic() + seconds
        while not os.path.exists(status):
            if self.bash.poll() is not None:
                raise Failed(f"the shell ended with {self.bash.returncode} at '{text}': {read(out)[-800:]}")
            if time.monotonic() > end:
                raise Failed(f"'{text}' takes longer than {seconds} s, and is none that waits: {read(out)[-800:]}")
            time.sleep(0.02)
        return int(read(status)), read(out)

    def start(self, text, ready, seconds):
        """Begins a command that waits, and returns when it is ready."""
        self.end_backgrounds(kinds(text))
        self.count += 1
        out = self.file("out")
        _, where = self.run("pwd; export -p", 10)
        cwd, exports = where.split("\n", 1)
        self.count += 1
        script = self.file("sh")
        with open(script, "w", encoding="utf-8") as f:
            f.write(exports + "\n" + ("exec " if simple(text) else "") + text + "\n")
        with open(out, "wb") as f:
            process = subprocess.Popen(["bash", "--norc", script], cwd=cwd, env=self.environment, stdin=subprocess.DEVNULL,
                                       stdout=f, stderr=f, start_new_session=True)
        background = Background(text, process, out)
        self.backgrounds.append(background)
        end = time.monotonic() + seconds
        while not is_ready(ready, background):
            if process.poll() is not None and process.returncode:
                raise Failed(f"'{text}' ended with {process.returncode}: {read(out)[-800:]}")
            if time.monotonic() > end:
                raise Failed(f"'{text}' was not ready after {seconds} s: {read(out)[-800:]}")
            time.sleep(0.05)
        return background

    def end_backgrounds(self, which=None):
        """Ends those of these kinds, or all."""
        ending = [b for b in self.backgrounds if which is None or kinds(b.text) & which]
        self.backgrounds = [b for b in self.backgrounds if b not in ending]
        for background in ending:
            background.end()

    def end(self):
        try:
            self.end_backgrounds()
        finally:
            self.bash.stdin.close()
            os.killpg(self.bash.pid, signal.SIGKILL)
            self.bash.wait()


def is_ready(ready, background):
    if ready is None:
        return DISCOVERY in read("/proc/net/udp")
    if not ready.pattern:
        time.sleep(0.7)
        return True
    return ready.search(background.printed()) is not None


def simple(text):
    return not re.search(r"[|;&(]", text) and "\n" not in text.replace("\\\n", "")


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()
