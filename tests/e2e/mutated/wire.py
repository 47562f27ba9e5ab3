"""What agents and collectors say to each other, taken apart, spoilt, and put together again (for the other files here).

A direction of a session is a list of elements: contents of frames, as proto/README.md has them. `Schema` reads heapcast.proto, so that a
field is spoilt as what it is: a number, a row of numbers, a text, a message with fields of its own. What was spoilt inside is packed with
lengths and checksums made right again, so that the other side has to find out by what it says.
"""
import copy, ctypes, re, struct

FRAME_MAX = 8 << 20
EDGES = [0, 1, 2, 3, 7, 15, 16, 127, 128, 255, 256, 4095, 4096, 65535, 65536, (1 << 20) - 1, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1,
         1 << 32, 1 << 53, (1 << 56) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


# ---- LZ4 frames ----

class _FrameInfo(ctypes.Structure):
    _fields_ = [("block_size", ctypes.c_int), ("independent", ctypes.c_int), ("checksum", ctypes.c_int), ("type", ctypes.c_int),
                ("content_size", ctypes.c_ulonglong), ("dictionary", ctypes.c_uint), ("block_checksum", ctypes.c_int)]


class _Preferences(ctypes.Structure):
    _fields_ = [("info", _FrameInfo), ("level", ctypes.c_int), ("flush", ctypes.c_uint), ("favour", ctypes.c_uint), ("reserved", ctypes.c_uint * 3)]


_lz4 = ctypes.CDLL("liblz4.so.1")
for _name in ("LZ4F_compressFrameBound", "LZ4F_compressFrame", "LZ4F_createDecompressionContext", "LZ4F_decompress"):
    getattr(_lz4, _name).restype = ctypes.c_size_t


def pack_frame(content, block_checksum=False):
    preferences = _Preferences(_FrameInfo(7, 1, 1, 0, len(content), 0, int(block_checksum)))
    size = _lz4.LZ4F_compressFrameBound(ctypes.c_size_t(len(content)), ctypes.byref(preferences))
    out = ctypes.create_string_buffer(size)
    n = _lz4.LZ4F_compressFrame(out, ctypes.c_size_t(size), content, ctypes.c_size_t(len(content)), ctypes.byref(preferences))
    assert n <= size
    return out.raw[:n]


def unpack_frame(frame):
    content = struct.unpack_from("<Q", frame, 6)[0]
    context, out = ctypes.c_void_p(), ctypes.create_string_buffer(max(1, content))
    _lz4.LZ4F_createDecompressionContext(ctypes.byref(context), ctypes.c_uint(100))
    size, used = ctypes.c_size_t(content), ctypes.c_size_t(len(frame))
    left = _lz4.LZ4F_decompress(context, out, ctypes.byref(size), frame, ctypes.byref(used), None)
    _lz4.LZ4F_freeDecompressionContext(context)
    assert left == 0 and size.value == content, (left, size.value, content)
    return out.raw[:content]


def split_frames(data):
    """Whole frames at its beginning, and what is left."""
    frames, at = [], 0
    while len(data) - at >= 15:
        end, flags = at + 15, data[at + 4]
        if data[at:at + 4] != b"\x04\x22\x4d\x18":
            break
        while True:
            if end + 4 > len(data):
                return frames, data[at:]
            block = struct.unpack_from("<I", data, end)[0] & 0x7fffffff
            end += 4
            if not block:
                break
            end += block + (4 if flags & 0x10 else 0)
        end += 4
        if end > len(data):
            break
        frames.append(bytes(data[at:end]))
        at = end
    return frames, data[at:]


def xxh32(data):
    """Of less than 16 bytes, as a frame's header has."""
    p2, p3, p4, p5, mask = 2246822519, 3266489917, 668265263, 374761393, 0xffffffff
    rotate = lambda x, n: (x << n | x >> 32 - n) & mask
    h, at = (p5 + len(data)) & mask, 0
    while at + 4 <= len(data):
        h = rotate((h + struct.unpack_from("<I", data, at)[0] * p3) & mask, 17) * p4 & mask
        at += 4
    for byte in data[at:]:
        h = rotate((h + byte * p5) & mask, 11) * 2654435761 & mask
    h = (h ^ h >> 15) * p2 & mask
    h = (h ^ h >> 13) * p3 & mask
    return h ^ h >> 16


def lying_frame(frame, size):
    """That says another size of its content; the header's checksum is right."""
    head = frame[4:6] + struct.pack("<Q", size & (1 << 64) - 1)
    return frame[:4] + head + bytes([xxh32(head) >> 8 & 0xff]) + frame[15:]


# ---- messages ----

def put_varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 0x7f:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def get_varint(data, at):
    n = shift = 0
    while True:
        byte = data[at]
        at += 1
        n |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return n & (1 << 64) - 1, at
        if shift > 63:
            raise ValueError("varint")


class Column(list):
    """A row of varints, and bytes behind them that are none."""
    tail = b""


class Schema:
    def __init__(self, path):
        self.messages = {}
        current = None
        for line in open(path):
            m = re.match(r"\s*message (\w+) \{", line)
            if m:
                current = self.messages.setdefault(m[1], {})
                continue
            if re.match(r"\s*enum \w+ \{", line) or re.match(r"\}", line):
                current = None
            m = re.match(r"\s*(repeated )?(\w+) (\w+) = (\d+)", line)
            if m and current is not None:
                current[int(m[4])] = (m[3], m[2], bool(m[1]))

    def kind(self, message, number):
        name, type_, repeated = self.messages.get(message, {}).get(number, (str(number), "unknown", False))
        if type_ in self.messages:
            return name, type_
        if type_ in ("bytes", "string", "unknown"):
            return name, "bytes"
        return name, "column" if repeated else "number"

    def open(self, message, data):
        """Fields as [number, wire type, value]; raises what is no message."""
        fields, at = [], 0
        while at < len(data):
            tag, at = get_varint(data, at)
            number, wire = tag >> 3, tag & 7
            if wire == 0:
                value, at = get_varint(data, at)
            elif wire == 2:
                length, at = get_varint(data, at)
                if length > len(data) - at:
                    raise ValueError("length")
                value, at = bytes(data[at:at + length]), at + length
                kind = self.kind(message, number)[1]
                if kind in self.messages:
                    value = self.open(kind, value)
                elif kind == "column":
                    value = self.column(value)
            elif wire in (1, 5):
                size = 8 if wire == 1 else 4
                value, at = bytes(data[at:at + size]), at + size
            else:
                raise ValueError("wire type")
            fields.append([number, wire, value])
        return fields

    def column(self, data):
        column, at = Column(), 0
        try:
            while at < len(data):
                value, at = get_varint(data, at)
                column.append(value)
        except (ValueError, IndexError):
            column.tail = data[at:]
        return column

    def close(self, fields):
        out = bytearray()
        for number, wire, value in fields:
            out += put_varint(number << 3 | wire)
            if isinstance(value, Column):
                value = b"".join(put_varint(v) for v in value) + value.tail
            elif isinstance(value, list):
                value = self.close(value)
            if wire == 0:
                out += put_varint(value)
            elif wire == 2:
                out += put_varint(len(value)) + value
            else:
                out += value
        return bytes(out)

    def sites(self, message, fields, out):
        """All fields of a message and of those in it: (row, place in it, message, name, kind)."""
        for i, (number, wire, value) in enumerate(fields):
            name, kind = self.kind(message, number)
            if isinstance(value, Column):
                kind = "column"
            elif isinstance(value, list):
                self.sites(kind, value, out)
                kind = "message"
            elif wire == 0:
                kind = "number"
            else:
                kind = "bytes"
            out.append((fields, i, message, name, kind))
        return out


# ---- what may be wrong ----

def spoilt_number(r, n, others):
    how = r.randrange(7)
    if how == 0:
        return r.choice(EDGES)
    if how == 1:
        return n ^ 1 << r.randrange(64)
    if how == 2:
        return n + r.choice((1, -1, 2, -2, n, -n * 2))
    if how == 3:
        return n ^ 1 << r.randrange(8)
    if how == 4 and others:
        return r.choice(others)
    if how == 5:
        return r.randrange(256)
    return r.getrandbits(r.choice((8, 16, 20, 32, 48, 63, 64)))


def spoilt_column(r, column, others):
    new = Column(column)
    new.tail = column.tail
    how = r.randrange(9)
    if how < 4 and new:
        for _ in range(r.choice((1, 1, 1, 3))):
            i = r.randrange(len(new))
            new[i] = spoilt_number(r, new[i], None)
    elif how == 4:
        new.insert(r.randrange(len(new) + 1), r.choice(EDGES))
    elif how == 5 and new:
        del new[r.randrange(len(new))]
    elif how == 6 and new:
        i = r.randrange(len(new))
        new[i:i] = new[i:i + r.randrange(1, 50)] * r.choice((1, 2, 40))
    elif how == 7:
        new.tail = r.choice((b"\x80", b"\xff" * 9, b"\xff" * 11, b"\x80\x80\x80\x00"))
    elif others:
        return r.choice(others)
    return new


def spoilt_bytes(r, data, others):
    how = r.randrange(8)
    if how == 0:
        return b""
    if how == 1 and others:
        return r.choice(others)
    if how == 2:
        return data * r.choice((2, 3, 70)) + b"x"
    if how == 3:
        return r.randbytes(r.choice((1, 4, 15, 16, 17, 32, 33, 255, 256, 1023, 1024, 4097, 70000)))
    if how == 4:
        return data[:r.randrange(len(data) + 1)]
    return spoilt_raw(r, data)


def spoilt_raw(r, data):
    """Bits flipped, bytes put in and taken out."""
    data = bytearray(data)
    for _ in range(r.choice((1, 1, 1, 2, 5))):
        at, how = r.randrange(len(data) + 1), r.randrange(5)
        if how < 3 and at < len(data):
            data[at] ^= 1 << r.randrange(8)
        elif how == 3:
            data[at:at] = r.randbytes(r.choice((1, 2, 4, 100)))
        else:
            del data[at:at + r.choice((1, 2, 4, 100))]
    return bytes(data)


class Mutator:
    def __init__(self, schema, pool=None):
        self.schema = schema
        self.pool = pool if pool is not None else {} # what other sessions say in the same field

    def learn(self, message, content):
        try:
            sites = self.schema.sites(message, self.schema.open(message, self.element(content)), [])
        except (ValueError, IndexError):
            return
        for row, i, m, name, kind in sites:
            row_of = self.pool.setdefault((m, name), [])
            if len(row_of) < 100:
                row_of.append(row[i][2])

    @staticmethod
    def element(content):
        length, at = get_varint(content, 1)
        return content[at:at + length]

    @staticmethod
    def wrapped(message):
        return b"\x0a" + put_varint(len(message)) + message

    def spoil_message(self, r, message, data):
        """Some fields of it are another."""
        fields = self.schema.open(message, data)
        for _ in range(r.choice((1, 1, 1, 2, 3))):
            sites = self.schema.sites(message, fields, [])
            if not sites:
                break
            # Fields of each kind and depth have their turn, however many of them there are.
            name = r.choice(sorted({(s[2], s[3]) for s in sites}))
            row, i, m, _, kind = r.choice([s for s in sites if (s[2], s[3]) == name])
            others = [v for v in self.pool.get(name, ()) if type(v) is type(row[i][2])]
            how = r.randrange(20)
            if how == 0:
                del row[i]
            elif how == 1:
                row.insert(r.randrange(len(row) + 1), copy.deepcopy(row[i]))
            elif how == 2:
                row[i] = [r.choice(sorted(self.schema.messages[m])) if m in self.schema.messages else r.randrange(1, 64), row[i][1], row[i][2]]
            elif how == 3:
                row[i:i] = [[i_ + 1, 0, 1] for i_ in range(64, 64 + r.randrange(1, 200))]
            elif how == 4 and kind == "message" and others:
                row[i:i] = [[row[i][0], 2, copy.deepcopy(r.choice(others))] for _ in range(r.choice((1, 3, 300)))]
            elif kind == "number":
                row[i] = [row[i][0], 0, spoilt_number(r, row[i][2], others)]
            elif kind == "column":
                row[i] = [row[i][0], 2, spoilt_column(r, row[i][2], others)]
            elif kind == "bytes":
                row[i] = [row[i][0], row[i][1], spoilt_bytes(r, row[i][2], others) if row[i][1] == 2 else row[i][2]]
            elif others:
                row[i] = [row[i][0], 2, copy.deepcopy(r.choice(others))]
        return self.schema.close(fields)

    def spoil_element(self, r, message, content):
        try:
            return self.wrapped(self.spoil_message(r, message, self.element(content)))
        except (ValueError, IndexError):
            return content

    def direction(self, r, message, contents, foreign, keep=0):
        """Raw frames of a direction of a session, most of them true. `foreign`: contents of others; the first `keep` stay as they are."""
        contents, count = list(contents), r.choice((0, 1, 1, 1, 1, 2, 2, 3, 8))
        raw = []
        for _ in range(count):
            if len(contents) <= keep:
                break
            i, how = r.randrange(keep, len(contents)), r.randrange(14)
            if how < 8:
                contents[i] = self.spoil_element(r, message, contents[i])
            elif how == 8:
                contents[i:i] = [contents[i]] * r.choice((1, 1, 2, 20))
            elif how == 9:
                del contents[i]
            elif how == 10:
                j = r.randrange(keep, len(contents))
                contents[i], contents[j] = contents[j], contents[i]
            elif how == 11 and foreign:
                contents.insert(i, r.choice(foreign))
            elif how == 12:
                contents[i] = r.choice((contents[i] + contents[i], b"\x0a" + put_varint(r.choice(EDGES)) + contents[i][2:], contents[i][:-1],
                                        b"\x12" + contents[i][1:], b"", spoilt_raw(r, contents[i])))
            else:
                raw.append(i)
        frames = [pack_frame(c, r.randrange(8) == 0) for c in contents if len(c) <= FRAME_MAX]
        for i in raw:
            if i >= len(frames):
                continue
            how = r.randrange(6)
            if how == 0:
                frames[i] = lying_frame(frames[i], r.choice((len(contents[i]) + 1, 0, FRAME_MAX, FRAME_MAX + 1, (1 << 64) - 1, r.randrange(1 << 20))))
            elif how == 1:
                frames[i] = frames[i][:r.randrange(len(frames[i]) + 1)]
            elif how == 2:
                frames[i] = r.randbytes(r.choice((1, 15, 100, 70000))) + frames[i]
            elif how == 3:
                frames[i:] = [frames[i][:r.randrange(len(frames[i]) + 1)]]
            else:
                frames[i] = spoilt_raw(r, frames[i])
        return frames
