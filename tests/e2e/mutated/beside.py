"""What must be as ever beside all that: a true program's recording, answers of what is in the store, memory."""
import glob, json, os, re, subprocess, threading

from ask_http import STATEMENTS
from world import *

TRUE = ["produced", "stored", "stored_allocations", "stored_frees", "lost", "missing_batches", "duplicate_batches", "damaged_places", "orphan_frees", "repaired",
        "bad_references"]


def account(data, stream):
    ledger = json.loads(question("ledger", "ledger", "--json", *(["--data", data] if data else []), stream, statuses=(0, 1)).stdout)
    return ledger, {name: ledger[name] for name in TRUE}


def stream_of(log, pid):
    m = re.search(r"^([0-9a-f]{12})  \S+ \(pid %d\)" % pid, log, re.M)
    return m and m[1]


class Beside:
    """A program whose recording must be what it would be alone: number by number."""

    def __init__(self):
        p = subprocess.run([AGENT, "run", "--quiet", "--output", T + "/alone.heapcast", "--", PROGRAMS + "paced", *self.program("alone")],
                           capture_output=True, env=environment("alone"), timeout=PATIENCE)
        reports()
        need(p.returncode == 0, "alone:", p.stderr)
        ledger, self.expected = account(None, T + "/alone.heapcast")
        need(ledger["complete"] and self.expected["lost"] == 0, "alone:", ledger)

    def program(self, name):
        end = "%s/%s.end" % (T, name)
        if name == "alone":
            open(end, "w").close()
        elif os.path.exists(end):
            os.remove(end)
        return ["24000", "20000", end]

    def run(self, name, port, data, log, options, streams):
        """One session, whole; who else may use its stream's name is told when it has its link."""
        end = self.program(name)[2]
        agent = start(name, AGENT, "run", "--policy", "block", "--listen", "127.0.0.1:%d" % port, "--announce", "--interface", "lo", "--orders", "no",
                      "--memory-limit", "32M", "--linger", "15s", "--log", "info", *options, "--", PROGRAMS + "paced", *self.program(name))
        wait_for("the program of " + name, lambda: "recording pid" in said(name))
        pid = int(re.findall(r"recording pid (\d+)", said(name))[-1])
        wait_for("the stream of " + name, lambda: stream_of(said(log), pid))
        begun = stream_of(said(log), pid)
        wait_for("its folder", lambda: any(s.startswith(begun) for s in streams_in(data)))
        stream = next(s for s in streams_in(data) if s.startswith(begun))
        streams.append(bytes.fromhex(stream))
        wait_for("the end of the program of " + name, lambda: re.search("^done$", said(name), re.M))
        open(end, "w").close()
        end_of(agent, name)
        streams.clear()
        wait_for("all of " + name, lambda: re.search(r"^%s  .*ended" % begun, said(log), re.M))
        ledger, got = account(data, stream)
        need(got == self.expected and ledger["complete"] and ledger["adds_up"], "the recording of", name, "was touched:\n", got, "\nand not\n", self.expected,
             "\n", ledger.get("incomplete"), ledger["reason"], "stream", stream)
        counts["true programs, whole"] += 1
        for path in glob.glob("%s/%s.*" % (T, name)):
            os.remove(path)


COMMANDS = [["report"], ["top"], ["leaks"], ["temporary"], ["timeline"], ["tree"], ["histogram"], ["ledger"], ["maps"], ["ledger", "--json"],
            ["top", "--json"], ["timeline", "--json"], ["maps", "--json"], ["export", "--format", "json"], ["export", "--format", "collapsed"],
            ["export", "--format", "pprof"], ["export", "--format", "massif"], ["export", "--format", "heaptrack"], ["export", "--format", "csv"],
            ["export", "--format", "replay"], ["flamegraph"], ["analyze"], ["sql"]]


def streams_in(data):
    try:
        return sorted(name for name in os.listdir(data + "/streams") if re.fullmatch("[0-9a-f]{32}", name))
    except FileNotFoundError:
        return []


def ask_command(r, data):
    streams = streams_in(data)
    if not streams or r.randrange(10) == 0:
        question("list", "list", "--data", data, *(["--json"] if r.randrange(2) else []))
        return
    command, stream = r.choice(COMMANDS), r.choice(streams)
    more = [r.choice(STATEMENTS[:3] + STATEMENTS[8:10])] if command[0] == "sql" else []
    remember("command %s %s" % (command, stream), b"")
    # Retention may have taken it meanwhile; what a statement of SQL may not do is a wrong use.
    p = question("command", *command, "--data", data, stream, *more, statuses=(0, 1, 2, 3))
    counts["answers, status %d" % p.returncode] += 1
    need(p.returncode in (0, 1) or p.stderr, "no word of why not:", command, stream)


class Memory(threading.Thread):
    """What is resident of a process, in MiB."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.pids, self.seen = pids, {name: [] for name in pids}
        self.start()

    def run(self):
        while not over.is_set():
            for name, pid in list(self.pids.items()):
                try:
                    anonymous = re.search(r"RssAnon:\s+(\d+)", open("/proc/%d/status" % pid).read())
                    self.seen[name].append(int(anonymous[1]) / 1024)
                except (OSError, TypeError):
                    pass
            over.wait(0.5)

    def check(self):
        for name, seen in self.seen.items():
            if not seen:
                continue
            quarter = max(1, len(seen) // 4)
            early, late = (sorted(part)[len(part) // 2] for part in (seen[quarter:2 * quarter] or seen, seen[-quarter:]))
            print("  %s: private memory %d MiB at most, %d in the second quarter, %d in the last" % (name, max(seen), early, late))
            need(max(seen) < 1024, name, "has used", max(seen), "MiB")
            need(len(seen) < 600 or late < 1.5 * early + 64, name, "grows from", early, "to", late, "MiB")
