"""tests/bench/fleet growth: what collectors take as their fleet grows."""
import concurrent.futures
import json
import os
import resource
import shutil
import statistics
import subprocess
import threading
import time
import urllib.request

from fleet_cluster import Cluster

LISTEN, HTTP = 19100, 19200  # the first ports; tests' servers take those above 20000
WINDOW = 20  # seconds
WINDOW_SHARED = 60  # sums are sent once a minute
AHEAD = 5  # seconds before a minute's end at which that begins
AGENTS_A_SECOND = 100  # that come
PATIENCE = 180  # seconds until all have come and built up; until sums are there
HEAD = "agents collectors   events/s  resident    CPU player  disk KiB   snapshot  least    its CPU  collector   list  fleet   /list /fleet   load"
HEAD_SHARED = "        sums: rows  bytes half all there    ClickHouse: CPU ZooKeeper  resident  disk KiB   snapshot there    top  snapshots  /shared"


def ask(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=300) as answer:
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


def until(what, done):
    end = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not within {PATIENCE} s")
        time.sleep(1)


class Collector:
    def __init__(self, build, number, data, options):
        self.program, self.data, self.listen, self.http = f"{build}/bin/collector", data, f"127.0.0.1:{LISTEN + number}", HTTP + number
        self.process = subprocess.Popen([self.program, "gather", "--quiet", "--data", data, "--no-discovery", "--listen", self.listen,
                                         "--http", f"127.0.0.1:{self.http}", *options], stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        if not self.process.stdout.readline():
            raise SystemExit(f"a collector did not start: it ended with {self.process.wait()}")

    def run(self, *command):
        return subprocess.run([self.program, *command, "--data", self.data], check=True, stdout=subprocess.PIPE, text=True).stdout

    def end(self):
        self.process.terminate()
        self.process.wait()


class Arrival(threading.Thread):
    """When the sums of a minute can be asked for: those of half of the streams, and of all. In seconds since the minute ended."""

    def __init__(self, cluster, minute, streams):
        super().__init__(daemon=True)
        self.cluster, self.minute, self.streams, self.half, self.all = cluster, minute, streams, None, None

    def run(self):
        end = 60 * (self.minute + 1)
        while self.all is None and time.time() < end + PATIENCE:
            time.sleep(max(0.5, end - time.time()))
            there, after = self.cluster.there(self.minute), time.time() - end
            if self.half is None and 2 * there >= self.streams:
                self.half = after
            if there >= self.streams:
                self.all = after


class Fleet:
    """Collectors, and agents that play a recording to them. More than one share a data base."""

    def __init__(self, build, agents, folder):
        self.build, self.agents, self.folder, self.all, self.cluster, self.player = build, agents, f"{folder}/{agents}", [], None, None
        os.mkdir(self.folder)

    def start(self, recording, count):
        if count > 1:
            self.cluster = Cluster(self.build, self.folder)
        for i in range(count):
            self.all.append(Collector(self.build, i, f"{self.folder}/{i}", ["--store", self.cluster.url] if self.cluster else []))
        self.player = subprocess.Popen([f"{self.build}/tests/bench-player", recording, "--agents", str(self.agents),
                                        "--dial", ",".join(c.listen for c in self.all), "--spread", str(self.agents / AGENTS_A_SECOND), "--stay"],
                                       stdout=subprocess.DEVNULL)

    def each(self, do):
        """The same of all collectors at once."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            return list(pool.map(do, self.all))

    def events(self):
        """Of all streams, as the collectors have stored them, and how many streams there are."""
        streams = [s for c in self.all for s in json.loads(ask(c.http, "list")) if s["state"] == "live"]
        return sum(s["events"] for s in streams), len(streams)

    def wait(self, blocks):
        def built_up():
            events, streams = self.events()
            return streams == self.agents and events >= blocks * streams

        until(f"{self.agents} agents to come and build up", built_up)

    def cpu(self):
        """Of the collectors, the player, the data base, its ZooKeeper."""
        groups = [[c.pid for c in self.all], [self.player.pid]]
        if self.cluster:
            groups += [self.cluster.servers, [self.cluster.zookeeper]]
        return [sum(map(cpu_seconds, pids)) for pids in groups]

    def window(self):
        arrival = None
        if self.cluster:
            minute = int(time.time() // 60) + 1  # nobody builds up in it
            arrival = Arrival(self.cluster, minute, self.agents)
            time.sleep(60 * (minute + 1) - AHEAD - time.time())
            arrival.start()
        start, events, cpu = time.monotonic(), self.events()[0], self.cpu()
        time.sleep(WINDOW_SHARED if self.cluster else WINDOW)
        took = time.monotonic() - start
        result = {"events_a_second": (self.events()[0] - events) / took}
        result |= {name: (after - before) / took
                   for name, after, before in zip(("cpu", "player_cpu", "clickhouse_cpu", "zookeeper_cpu"), self.cpu(), cpu)}
        disk = subprocess.run(["du", "-skc", *(c.data for c in self.all)], check=False, stdout=subprocess.PIPE, text=True).stdout
        result |= {"resident_kib": max(most_resident(c.pid) for c in self.all), "disk_kib": int(disk.splitlines()[-1].split()[0]) / self.agents}
        return result | (self.shared_window(arrival) if arrival else {})

    def shared_window(self, arrival):
        arrival.join()
        if arrival.all is None:
            raise SystemExit(f"the sums of {self.agents} agents: not within {PATIENCE} s")
        return {"sums_half_s": arrival.half, "sums_all_s": arrival.all, "sums_rows": self.cluster.rows(arrival.minute) / self.agents,
                "sums_row_bytes": self.cluster.row_bytes(), "clickhouse_kib": max(map(most_resident, self.cluster.servers)),
                "clickhouse_disk_kib": self.cluster.all_bytes() / 1024 / self.agents}

    def snapshot(self, name):
        """How long it takes, its CPU time and that of the collectors. All agents are in it, or this ends."""
        cpu, children = self.cpu()[0], children_seconds()
        start = time.monotonic()
        told = [json.loads(text) for text in self.each(lambda c: c.run("snapshot", "take", name, "--json"))]
        took = time.monotonic() - start, children_seconds() - children, self.cpu()[0] - cpu
        there = sum(len(t["processes"]) for t in told)
        if there != self.agents or any(t["missing"] for t in told):
            raise SystemExit(f"{there} of {self.agents} agents are in the snapshot")
        return took

    def snapshots(self, rounds):
        taken = []
        for i in range(rounds):
            taken.append(self.snapshot(f"s{i}"))
            if not self.cluster or i + 1 < rounds:
                self.each(lambda c, name=f"s{i}": c.run("snapshot", "remove", name))
        result = {}
        for name, values in zip(("snapshot", "snapshot_cpu", "snapshot_collector_cpu"), zip(*taken)):
            result |= {name: statistics.median(values), name + "_all": values}
        return result

    def ask_store(self, *command):
        return subprocess.run([self.all[0].program, *command, "--store", self.cluster.url], check=True, stdout=subprocess.PIPE, text=True).stdout

    def snapshots_there(self):
        """How long it takes until the data base has the snapshot of each collector."""
        last = f"snapshots of {len(self.all)} collectors in the data base"
        return timed(lambda: until(last, lambda: len(json.loads(self.ask_store("snapshot", "list", "--json"))["snapshots"]) >= len(self.all)))

    def questions(self):
        """What is asked, and how."""
        one, asked = self.all[0], {}
        asked["http_list"], asked["http_fleet"] = lambda: self.each(lambda c: ask(c.http, "list")), lambda: ask(one.http, "fleet")
        if not self.cluster:
            return asked | {"list": lambda: one.run("list"), "fleet": lambda: one.run("fleet")}
        return asked | {"list": lambda: self.ask_store("list"), "fleet": lambda: self.ask_store("fleet"),
                        "top": lambda: self.ask_store("fleet", "--top", "function"), "snapshot_list": lambda: self.ask_store("snapshot", "list"),
                        "http_shared": lambda: ask(one.http, "shared")}

    def end(self):
        if self.player:
            self.player.terminate()
            self.player.wait()
        for collector in self.all:
            collector.end()
        if self.cluster:
            self.cluster.end()
        shutil.rmtree(self.folder)


def measure_one(arguments, recording, agents, count, folder):
    fleet = Fleet(arguments.build, agents, folder)
    try:
        fleet.start(recording, count)
        fleet.wait(arguments.blocks)
        result = {"agents": agents, "collectors": count, "load": os.getloadavg()[0]} | fleet.window() | fleet.snapshots(arguments.rounds)
        if fleet.cluster:
            result |= {"snapshot_there_s": fleet.snapshots_there(), "store_rows": fleet.cluster.number("SELECT count() FROM sums")}
        for name, do in fleet.questions().items():
            result[name] = statistics.median(timed(do) for _ in range(arguments.rounds if "list" in name else min(arguments.rounds, 3)))
    finally:
        fleet.end()
    return result


def line(r):
    return (f"{r['agents']:6d} {r['collectors']:10d} {r['events_a_second']:10.0f} {r['resident_kib'] / 1024:5.0f} MiB {r['cpu']:6.2f} {r['player_cpu']:6.2f} "
            f"{r['disk_kib']:9.0f} {r['snapshot']:10.2f} {min(r['snapshot_all']):6.2f} {r['snapshot_cpu']:10.2f} {r['snapshot_collector_cpu']:10.2f} "
            f"{r['list']:6.2f} {r['fleet']:6.2f} {r['http_list']:7.2f} {r['http_fleet']:6.2f} {r['load']:6.1f}")


def line_shared(r):
    return (f"{r['sums_rows']:18.0f} {r['sums_row_bytes']:6.1f} {r['sums_half_s']:5.1f} {r['sums_all_s']:4.1f} s {r['clickhouse_cpu']:23.2f} "
            f"{r['zookeeper_cpu']:10.2f} {r['clickhouse_kib'] / 1024:5.0f} MiB {r['clickhouse_disk_kib']:9.0f} {r['snapshot_there_s']:15.1f} s "
            f"{r['top']:6.2f} {r['snapshot_list']:10.2f} {r['http_shared']:8.2f}")


def measure(arguments, recording, folder):
    results = []
    for count in arguments.collectors:
        print(HEAD)
        if count > 1:
            print(HEAD_SHARED)
        for agents in arguments.agents:
            results.append(measure_one(arguments, recording, agents, count, folder))
            print(line(results[-1]), flush=True)
            if count > 1:
                print(line_shared(results[-1]), flush=True)
            if arguments.results:
                with open(arguments.results, "w") as file:
                    json.dump(results, file, indent=1)
    return True
