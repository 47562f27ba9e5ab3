"""Datagrams of discovery, for tests: lib-discovery.py COMMAND...

record FILE SECONDS     the datagrams that come to the shared port, one a line in hexadecimal: SOURCE HEX
replay FILE ADDRESS PORT SECONDS   sends them again, one after the other, to the shared port or to another one
garbage ADDRESS SECONDS SEED       noise, damaged beacons and probes
forge ADDRESS SECONDS RATE PORT [NETWORK]   beacons of agents that there are not, so many a second, each of another one, with this port; from our
                                   own address, or from any of the network ("10.77.0": raw sockets). At our own a socket listens there that
                                   never says anything, unless somebody listens there already
"""
import random, socket, struct, sys, time

PORT = 43513


def shared():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.bind(("", PORT))
    return s


def record(path, seconds):
    s, end, count = shared(), time.monotonic() + float(seconds), 0
    with open(path, "w") as out:
        while time.monotonic() < end:
            s.settimeout(max(0.01, end - time.monotonic()))
            try:
                data, source = s.recvfrom(2048)
            except socket.timeout:
                break
            out.write("%s %s\n" % (source[0], data.hex()))
            count += 1
    print(count, "datagrams")


def sender():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    return s


def replay(path, address, port, seconds):
    s, end, count = sender(), time.monotonic() + float(seconds), 0
    lines = [bytes.fromhex(line.split()[1]) for line in open(path)]
    while time.monotonic() < end:
        for data in lines:
            s.sendto(data, (address, int(port)))
            count += 1
            time.sleep(0.02)
    print(count, "sent again")


def noise(r):
    beacon = bytes.fromhex("08d4a68dc20410011a10") + r.randbytes(16) + bytes.fromhex("20a43f2801")
    probe = bytes.fromhex("08d0a68dc20410011a10") + r.randbytes(16) + b"\x22\x10" + r.randbytes(16) + b"\x3a\x7f" + bytes(127)
    data = bytearray(r.choice([beacon + b"\x3a\x08" + r.randbytes(8) + b"\x42\x20" + r.randbytes(32), probe, r.randbytes(r.randrange(600))]))
    for _ in range(r.randrange(3)):
        if data:
            data[r.randrange(len(data))] = r.randrange(256)
    return bytes(data)


def garbage(address, seconds, seed):
    s, end, count, r = sender(), time.monotonic() + float(seconds), 0, random.Random(int(seed))
    while time.monotonic() < end:
        for _ in range(20):
            try:
                s.sendto(noise(r), (address, PORT))
                count += 1
            except OSError:
                pass
        time.sleep(0.005)
    print(count, "datagrams of garbage")


def forged(r, port):
    varint = bytes([port & 0x7f | 0x80, port >> 7]) if port < 1 << 14 else bytes([port & 0x7f | 0x80, port >> 7 & 0x7f | 0x80, port >> 14])
    return bytes.fromhex("08d4a68dc20410011a10") + r.randbytes(16) + b"\x20" + varint + bytes.fromhex("2801")


def packet(data, source, to):
    udp = struct.pack("!HHHH", PORT, PORT, 8 + len(data), 0) + data
    address = lambda a: bytes(int(n) for n in a.split("."))
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + address(source) + address(to) + udp


def forge(address, seconds, rate, port, network=None):
    r, count, begin = random.Random(1), 0, time.monotonic()
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) if network else sender()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    deaf = socket.socket()
    try:
        deaf.bind(("", int(port)))
        deaf.listen(4096)
    except OSError:
        pass
    while time.monotonic() - begin < float(seconds):
        data = forged(r, int(port))
        s.sendto(packet(data, "%s.%d" % (network, r.randrange(20, 250)), address) if network else data, (address, PORT))
        count += 1
        time.sleep(max(0, begin + count / float(rate) - time.monotonic()))
    print(count, "forged beacons")


{"forge": forge, "record": record, "replay": replay, "garbage": garbage}[sys.argv[1]](*sys.argv[2:])
