"""Either side of a session, said wrong to a true peer."""
import hmac, select, socket, struct, subprocess, threading, time

from record import UDP, identities
from wire import spoilt_raw, split_frames, unpack_frame
from world import *

def secret(purpose, data=b""):
    return hmac.digest(hmac.digest(KEY, b"heapcast " + purpose, "sha256"), data, "sha256")


class Tunnel:
    """A connection by TLS, by somebody who has the key."""

    def __init__(self, port):
        near, far = socket.socketpair()
        self.socket = near
        self.process = subprocess.Popen(["openssl", "s_client", "-quiet", "-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256",
                                         "-psk_identity", secret(b"name", b"heapcast")[:8].hex(), "-psk", secret(b"tls").hex(),
                                         "-connect", "127.0.0.1:%d" % port], stdin=far, stdout=far, stderr=subprocess.DEVNULL)
        far.close()

    def close(self):
        self.socket.close()
        self.process.kill()
        self.process.wait()


class Line:
    """One end of a session: says frames, and hears what comes meanwhile."""

    def __init__(self, r, to):
        self.r, self.heard, self.ended, self.tunnel = r, bytearray(), False, None
        if isinstance(to, socket.socket):
            self.socket = to
        elif isinstance(to, Tunnel):
            self.tunnel, self.socket = to, to.socket
        else:
            self.socket = socket.socket()
            self.socket.bind(("127.0.%d.%d" % (r.randrange(1, 250), r.randrange(1, 250)), 0))
            self.socket.settimeout(10)
            self.socket.connect(("127.0.0.1", to))
        self.socket.setblocking(False)

    def hear(self, seconds, until=None):
        end = time.monotonic() + seconds
        while not self.ended and not (until and until(self.heard)) and (left := end - time.monotonic()) > 0:
            if not select.select([self.socket], [], [], left)[0]:
                return
            self.take()

    def take(self):
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.ended |= not data
        if len(self.heard) < 1 << 22: # what comes after that is only taken
            self.heard += data

    def say(self, data, seconds=10):
        end, step = time.monotonic() + seconds, self.r.choice((1 << 20, 1 << 20, 4096, 100, 7))
        data = memoryview(data)
        while len(data) and not self.ended and time.monotonic() < end and not over.is_set():
            readable, writable, _ = select.select([self.socket], [self.socket], [], 1)
            if readable:
                self.take()
            if writable and not self.ended:
                try:
                    data = data[self.socket.send(data[:step if step > 4000 or self.r.randrange(4) == 0 else 4000]):]
                except OSError:
                    self.ended = True

    def frames(self, message):
        for f in split_frames(bytes(self.heard))[0]:
            yield mutator.schema.open(message, mutator.element(unpack_frame(f)))

    def close(self):
        how = self.r.randrange(4)
        try:
            if how == 0 and not self.tunnel:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif how == 1:
                self.socket.shutdown(socket.SHUT_WR)
                self.hear(0.5)
        except OSError:
            pass
        (self.tunnel or self.socket).close()


def renamed(contents, names):
    out = []
    for c in contents:
        for old, new in names.items():
            c = c.replace(old, new)
        out.append(c)
    return out


def foreign_of(r, sessions, side, names):
    """Elements of another session; of this stream, or of its own."""
    other = r.choice(sessions)
    contents = r.choice(other.connections)[side]
    return renamed(contents, {old: r.choice(list(names.values())) for old in other.ids}) if r.randrange(2) and names else contents


def asked_for(line):
    """(stream, incarnation, next) of what the collector has subscribed to."""
    wanted = []
    try:
        for fields in line.frames("Order"):
            for number, _, value in fields:
                if number == 2 and isinstance(value, list):
                    got = {n: v for n, _, v in value}
                    wanted.append((got.get(1), got.get(2, 0), got.get(3, 0)))
    except (ValueError, IndexError, AssertionError) as e:
        fail("a collector says what nobody understands:", repr(e))
    return wanted


def batch_place(content):
    try:
        got = {n: v for n, _, v in mutator.schema.open("Batch", mutator.element(content))}
    except (ValueError, IndexError):
        return None
    return (got.get(1), got.get(2, 0), got.get(3, 0))


def play_agent(r, sessions, connect, true_stream=None):
    """As an agent, to a true collector. `true_stream`: of somebody else, who is connected."""
    session = r.choice(sessions)
    names = {old: r.randbytes(16) for old in session.ids}
    first = r.randrange(len(session.connections)) if r.randrange(4) else 0
    whole = r.choice(session.connections[first:])
    keep = 0
    if true_stream:
        stolen = r.choice(sorted(identities("Batch", session.connections[0][0][-1]) & session.ids) or sorted(session.ids))
        names[stolen] = true_stream
        keep = 2
    connections = [whole] if r.randrange(5) else session.connections
    for agent, _ in connections:
        if over.is_set():
            return
        contents = renamed(agent, names)
        frames = mutator.direction(r, "Batch", contents, renamed(foreign_of(r, sessions, 0, names), names), keep)
        if not frames:
            continue
        remember("agent %s" % session.name, b"".join(frames))
        line = Line(r, connect())
        line.say(frames[0])
        if r.randrange(4): # as agents do, it waits until it is asked, and goes on from there
            line.hear(2, lambda heard: asked_for(line))
            wanted = asked_for(line)
            for stream, incarnation, number in wanted if r.randrange(3) else ():
                at = [i for i, c in enumerate(contents) if batch_place(c) == (stream, incarnation, number)]
                if at and at[0] < len(frames):
                    frames = frames[:1] + frames[at[0]:]
        line.say(b"".join(frames[1:]))
        line.hear(r.choice((0, 0.05, 0.3, 1.2)))
        counts["heard by agents"] += len(line.heard)
        line.close()
    counts["agents"] += 1


def streams_told(line):
    found = []
    try:
        for fields in line.frames("Batch"):
            for row, i, message, name, kind in mutator.schema.sites("Batch", fields, []):
                if message == "StreamState" and name == "stream" and len(row[i][2]) == 16 and row[i][2] not in found:
                    found.append(row[i][2])
    except (ValueError, IndexError, AssertionError) as e:
        fail("an agent says what nobody understands:", repr(e))
    return found


def play_collector(r, sessions, connect):
    """As a collector, to a true agent."""
    session = r.choice(sessions)
    _, collector = r.choice(session.connections)
    names = {old: r.randbytes(16) for old in session.ids}
    line = Line(r, connect())
    greeting = mutator.direction(r, "Order", renamed(collector[:1], names), [], 1 if r.randrange(6) else 0)
    line.say(b"".join(greeting))
    line.hear(3, lambda heard: streams_told(line))
    live = streams_told(line)
    for old in session.ids if live and r.randrange(8) else ():
        names[old] = r.choice(live)
    rest = renamed(collector[1:], names)
    for fields in list(line.frames("Batch"))[:3] if r.randrange(3) == 0 else ():
        for row, i, message, name, _ in mutator.schema.sites("Batch", fields, []):
            if name == "build_id" and r.randrange(4) == 0 and row[i][2]:
                rest.append(mutator.wrapped(mutator.schema.close([[5, 2, [[1, 2, row[i][2]], [2, 0, 0]]]])))
    frames = mutator.direction(r, "Order", rest, foreign_of(r, sessions, 1, names)) if rest else []
    remember("collector %s" % session.name, b"".join(greeting + frames))
    for f in frames:
        line.say(f)
        line.hear(r.choice((0, 0, 0.02, 0.1)))
    line.hear(r.choice((0, 0.2, 1)))
    counts["heard by collectors"] += len(line.heard)
    line.close()
    counts["collectors"] += 1


def play_bytes(r, secret_raw, port, side):
    """What was said by TLS, spoilt, by somebody without the key."""
    data = r.choice(secret_raw)[side]
    data = spoilt_raw(r, bytes(data)) if r.randrange(3) else r.choice((b"\x16\x03\x01", bytes(data[:300]))) + r.randbytes(r.randrange(3000))
    remember("bytes", data)
    line = Line(r, port)
    line.say(data)
    line.hear(0.3)
    line.close()
    counts["by TLS, without the key"] += 1


class Bait(threading.Thread):
    """Where mutated beacons say that an agent listens: whoever dials gets a mutated one."""

    def __init__(self, r, sessions):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port, self.r, self.sessions = self.socket.getsockname()[1], r, sessions
        self.start()

    def run(self):
        self.socket.settimeout(0.3)
        while not over.is_set():
            try:
                near = self.socket.accept()[0]
            except OSError:
                continue
            counts["dialled by a collector"] += 1
            worker_once(lambda: play_agent(self.r, self.sessions, lambda: near))
        self.socket.close()


def say_datagram(r, eavesdropper, bait):
    heard = list(eavesdropper.heard)
    if not heard:
        return
    data, source = r.choice(heard)
    probe = data[:6] == bytes.fromhex("08d0a68dc204")
    message = "Probe" if probe else "Beacon"
    fields = mutator.schema.open(message, data)
    if not probe: # of a new agent: a true one's place can be forged where there is no key
        for f in fields:
            if f[0] == 3:
                f[2] = r.randbytes(16)
            if f[0] == 4 and r.randrange(4):
                f[2] = r.choice((bait.port, bait.port, bait.port, PLAIN, 0, 1, 65535, 65536, 1 << 31))
    data = mutator.schema.close(fields)
    how = r.randrange(6)
    if how < 2:
        data = mutator.spoil_message(r, message, data)
    elif how == 2:
        data = spoilt_raw(r, data)
    to = r.choice((DISCOVERY, DISCOVERY, ("127.0.0.1", DISCOVERY[1]), source))
    s = UDP
    try:
        if r.randrange(2):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            s.bind(("127.0.%d.%d" % (r.randrange(1, 5), r.randrange(1, 250)), 0))
        s.sendto(data, to)
        counts["datagrams"] += 1
    except OSError:
        counts["datagrams too long"] += 1
    if s is not UDP:
        s.close()
