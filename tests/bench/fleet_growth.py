"""tests/bench/fleet growth: what a collector takes as its fleet grows."""
import json
import os
import resource
import shutil
import statistics
import subprocess
import time
import urllib.request

LISTEN, HTTP = "127.0.0.1:20013", "127.0.0.1:20014"
WINDOW = 20  # seconds
AGENTS_A_SECOND = 100  # that come
PATIENCE = 180  # seconds until all have come and built up
HEAD = ("agents  events/s  resident    CPU player  disk KiB   snapshot  least    its CPU  collector   list  fleet   /list /fleet   load")


def ask(path):
    with urllib.request.urlopen(f"http://{HTTP}/{path}", timeout=300) as answer:
        return answer.read()


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def most_resident(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def timed(do):
    start = time.monotonic()
    do()
    return time.monotonic() - start


class Fleet:
    """A collector, and agents that play a recording to it."""

    def __init__(self, arguments, recording, agents, folder):
        self.build, self.agents, self.data = arguments.build, agents, f"{folder}/{agents}"
        self.collector = subprocess.Popen([f"{self.build}/bin/collector", "gather", "--quiet", "--data", self.data, "--no-discovery", "--listen", LISTEN,
                                           "--http", HTTP], stdout=subprocess.PIPE, text=True)
        self.collector.stdout.readline()
        self.player = subprocess.Popen([f"{self.build}/tests/bench-player", recording, "--agents", str(agents), "--dial", LISTEN, "--spread",
                                        str(agents / AGENTS_A_SECOND), "--stay"], stdout=subprocess.DEVNULL)

    def run(self, *command):
        return subprocess.run([f"{self.build}/bin/collector", *command, "--data", self.data], check=True, stdout=subprocess.PIPE, text=True).stdout

    def events(self):
        """Of all streams, as the collector has stored them, and how many streams there are."""
        streams = [s for s in json.loads(ask("list")) if s["state"] == "live"]
        return sum(s["events"] for s in streams), len(streams)

    def wait(self, blocks):
        end = time.monotonic() + PATIENCE
        while True:
            events, streams = self.events()
            if streams == self.agents and events >= blocks * streams:
                return
            if time.monotonic() > end:
                raise SystemExit(f"only {streams} of {self.agents} agents have come, with {events} events")
            time.sleep(1)

    def window(self):
        pids = self.collector.pid, self.player.pid
        start, events, cpu = time.monotonic(), self.events()[0], [cpu_seconds(pid) for pid in pids]
        time.sleep(WINDOW)
        took = time.monotonic() - start
        result = {"events_a_second": (self.events()[0] - events) / took}
        result["cpu"], result["player_cpu"] = ((cpu_seconds(pid) - before) / took for pid, before in zip(pids, cpu))
        disk = subprocess.run(["du", "-sk", self.data], check=False, stdout=subprocess.PIPE, text=True).stdout
        return result | {"resident_kib": most_resident(self.collector.pid), "disk_kib": int(disk.split()[0]) / self.agents}

    def snapshot(self):
        """How long it takes, its CPU time and that of the collector. All agents are in it, or this ends."""
        cpu, children = cpu_seconds(self.collector.pid), children_seconds()
        start = time.monotonic()
        told = json.loads(self.run("snapshot", "take", "one", "--json"))
        took = time.monotonic() - start, children_seconds() - children, cpu_seconds(self.collector.pid) - cpu
        if len(told["processes"]) != self.agents or told["missing"]:
            raise SystemExit(f"{len(told['processes'])} of {self.agents} agents are in the snapshot")
        self.run("snapshot", "remove", "one")
        return took

    def end(self):
        for process in self.player, self.collector:
            process.terminate()
            process.wait()
        shutil.rmtree(self.data)


def measure_one(arguments, recording, agents, folder):
    fleet = Fleet(arguments, recording, agents, folder)
    try:
        fleet.wait(arguments.blocks)
        result = {"agents": agents, "load": os.getloadavg()[0]} | fleet.window()
        taken = [fleet.snapshot() for _ in range(arguments.rounds)]
        for name, values in zip(("snapshot", "snapshot_cpu", "snapshot_collector_cpu"), zip(*taken)):
            result[name], result[name + "_all"] = statistics.median(values), values
        asked = {"list": lambda: fleet.run("list"), "http_list": lambda: ask("list"), "fleet": lambda: fleet.run("fleet"), "http_fleet": lambda: ask("fleet")}
        for name, do in asked.items():
            result[name] = statistics.median(timed(do) for _ in range(arguments.rounds if "list" in name else min(arguments.rounds, 3)))
    finally:
        fleet.end()
    return result


def line(r):
    return (f"{r['agents']:6d} {r['events_a_second']:9.0f} {r['resident_kib'] / 1024:5.0f} MiB {r['cpu']:6.2f} {r['player_cpu']:6.2f} {r['disk_kib']:9.0f} "
            f"{r['snapshot']:10.2f} {min(r['snapshot_all']):6.2f} {r['snapshot_cpu']:10.2f} {r['snapshot_collector_cpu']:10.2f} "
            f"{r['list']:6.2f} {r['fleet']:6.2f} {r['http_list']:7.2f} {r['http_fleet']:6.2f} {r['load']:6.1f}")


def measure(arguments, recording, counts, folder):
    results = []
    print(HEAD)
    for agents in counts:
        results.append(measure_one(arguments, recording, agents, folder))
        print(line(results[-1]), flush=True)
        if arguments.results:
            with open(arguments.results, "w") as file:
                json.dump(results, file, indent=1)
    return True
