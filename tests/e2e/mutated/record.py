"""What agents and collectors truly say to each other: sessions through a proxy, and datagrams."""
import collections, glob, os, select, socket, threading, time

from wire import split_frames, unpack_frame
from world import *

class Proxy(threading.Thread):
    """Between a collector that dials and an agent: keeps what each says; ends the first connection after so many bytes of the agent."""

    def __init__(self, port, agent_port, cut=None):
        super().__init__(daemon=True)
        self.to, self.cut, self.connections = agent_port, cut, []
        self.socket = socket.create_server(("127.0.0.1", port))
        self.start()

    def run(self):
        while True:
            try:
                near, _ = self.socket.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.to), 5)
            except OSError:
                near.close()
                continue
            heard = {near: bytearray(), far: bytearray()}
            self.connections.append((heard[far], heard[near]))
            self.pass_on(near, far, heard)
            near.close()
            far.close()

    def pass_on(self, near, far, heard):
        while True:
            for s in select.select([near, far], [], [])[0]:
                try:
                    data = s.recv(65536)
                    (far if s is near else near).sendall(data)
                except OSError:
                    return
                heard[s] += data
                if not data:
                    return
                if self.cut and s is far and len(heard[far]) > self.cut:
                    self.cut = None
                    return

    def close(self):
        self.socket.close()


class Session:
    """Contents of frames, of each connection: what the agent says and what the collector does."""

    def __init__(self, name, connections):
        self.name, self.connections, self.raw = name, [], connections
        self.ids = set()
        for agent, collector in connections:
            both = [[unpack_frame(f) for f in split_frames(bytes(data))[0]] for data in (agent, collector)]
            if all(both):
                self.connections.append(both)
        for agent, collector in self.connections:
            for message, contents in (("Batch", agent), ("Order", collector)):
                for c in contents:
                    mutator.learn(message, c)
                    self.ids |= identities(message, c)


def identities(message, content):
    """What names agents, collectors and streams: 16 bytes."""
    try:
        fields = mutator.schema.open(message, mutator.element(content))
    except (ValueError, IndexError):
        return set()
    return {row[i][2] for row, i, _, name, kind in mutator.schema.sites(message, fields, [])
            if kind == "bytes" and name in ("stream", "id", "agent", "parent_stream") and len(row[i][2]) == 16}


SCENES = {
    "pairs": ([], ["pairs", "2000"]),
    "maps": (["--gather-maps", "--maps-interval", "100ms", "--figures-interval", "100ms", "--allocator-figures"], ["rolling", "100", "500"]),
    "sampled": (["--mode", "sample=4K"], ["branches"]),
    "culled": (["--short-lived", "10ms"], ["branches"]),
    "flight": (["--flight", "200ms"], ["rolling", "50", "300"]),
    "family": (["--follow"], None),
    "lossy": (["--memory-limit", "2M", "--policy", "count"], ["paced", "400000", "0"]),
    "resumed": ([], ["rolling", "300", "200"]),
    "fetched": (["--send-symbols", "yes"], None),
    "secret": (["--key", T + "/key"], ["pairs", "2000"]),
}


def record(number, name, options, program):
    folder, end = "%s/true.%s" % (T, name), "%s/true.%s.end" % (T, name)
    port, key = 8300 + 2 * number, ["--key", T + "/key"] if name == "secret" else []
    waits = program and program[0] in ("rolling", "paced") or name == "fetched"
    command = [PROGRAMS + program[0], *program[1:], *([end] if waits else [])] if program else \
        ["sh", "-c", '"$0"; "$0"; "$0" & wait', PROGRAMS + "kinds"]
    agent = [AGENT, "run", "--listen", "127.0.0.1:%d" % port, "--quiet", *options, "--"]
    if name == "fetched": # a program that only the agent sees
        os.makedirs(folder + ".hidden")
        agent = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$1" && cp "$2" "$1/app" && shift 2 && exec "$@"', "apart", folder + ".hidden",
                 PROGRAMS + "rolling"] + agent
        command = [folder + ".hidden/app", "20", "2000", end]
    proxy = Proxy(port + 1, port, 6000 if name == "resumed" else None)
    recorded = start("true-agent-" + name, *agent, *command)
    collector = start("true-collector-" + name, COLLECTOR, "gather", "--data", folder, "--no-discovery", "--listen", "off", *key,
                      *(["--fetch-symbols"] if name == "fetched" else []), "127.0.0.1:%d" % (port + 1))
    if waits:
        wait_for("the stream of " + name, lambda: "began" in said("true-collector-" + name) or recorded.poll() is not None)
        wait_for("what it brings", lambda: glob.glob(folder + "/streams/*/recording.heapcast") or recorded.poll() is not None)
        if name in ("maps", "flight"):
            for order in (["mark", "a mark"], ["snapshot"], ["stop"], ["start"], ["mode", "sample=16K"], ["mode", "full"]):
                question("ctl", "ctl", "--data", folder, "last", *order)
                time.sleep(0.1)
        if name == "fetched":
            time.sleep(3)
        if name == "resumed":
            wait_for("the second connection", lambda: len(proxy.connections) > 1 and len(proxy.connections[1][0]) > 8000)
        open(end, "w").close()
    status = end_of(recorded, "true-agent-" + name, None)
    need(status in (0, 5) or name == "fetched", name, "ended with", status, said("true-agent-" + name))
    if status in (0, 5):
        wait_for("the end of " + name, lambda: " ended " in said("true-collector-" + name))
    collector.terminate()
    end_of(collector, "true-collector-" + name)
    proxy.close()
    return Session(name, proxy.connections) if name != "secret" else proxy.connections


class Eavesdropper(threading.Thread):
    """Beacons and probes of whoever is there."""

    def __init__(self):
        super().__init__(daemon=True)
        self.heard = collections.deque(maxlen=200)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("", DISCOVERY[1]))
        self.start()

    def run(self):
        while True:
            data, source = self.socket.recvfrom(2048)
            if source[0] == "127.0.0.1" and source[1] != UDP.getsockname()[1]: # not what is said wrong here
                self.heard.append((data, source))


UDP = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
UDP.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
UDP.bind(("", 0))
