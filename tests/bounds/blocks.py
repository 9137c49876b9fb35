"""What bombs are made of: the table of their shapes, and pieces of the formats. All deterministic, Python's standard
library alone."""

import io
import pickle
import struct
import zipfile

PROTO = b"\x80\x04"
STATE = {"scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 1}
SCALER = pickle.dumps(STATE, 2)[2:-1]

#: Functions of the size, by the name of the file, or of the folder. Those of folders give {name in it: bytes}.
shapes = {}


def shape(name):
    """Adds a function of the size to the table, under the name of its file or folder."""
    def add(function):
        shapes[name] = function
        return function
    return add


# ---- building blocks

def times(unit, size):
    return unit * max(1, size // len(unit))


def unpacked(size):
    """What a deflated record of a file of that size can unpack to, and may."""
    return min(16 << 20, 1000 * size) - 200


def many(make, size):
    """make(0) + make(1) + ... of about `size` bytes."""
    parts, length, i = [], 0, 0
    while length < size:
        parts.append(make(i))
        length += len(parts[-1])
        i += 1
    return b"".join(parts)


def listed(items):
    return PROTO + b"(" + items + b"l."


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return b"X" + struct.pack("<I", len(value)) + value


def put(i):
    return b"r" + struct.pack("<I", i)


def get(i):
    return b"j" + struct.pack("<I", i)


def archive(members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, body in members:
            z.writestr(zipfile.ZipInfo(name), body, method)
    return out.getvalue()


def safetensors(header, data=b""):
    header = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(header)) + header + data


def commas(make, size):
    return many(lambda i: (b"," if i else b"") + make(i), size)


def crc32c(data, _table=[]):
    if not _table:
        for i in range(256):
            for _ in range(8):
                i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
            _table.append(i)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _table[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def zstd_of(byte, count):
    """A Zstandard frame of one byte again and again: blocks of 128 KiB in four bytes each."""
    block = 128 << 10
    sizes = [block] * (count // block) + [count % block]
    blocks = b"".join(struct.pack("<I", size << 3 | 2 | (i == len(sizes) - 1))[:3] + byte
                      for i, size in enumerate(sizes))
    return b"\x28\xb5\x2f\xfd\x00\x38" + blocks


def zstd_runs(parts):
    """As zstd_of, of several (bytes, times) in a row: what is there once is stored, a byte that is repeated is a run."""
    limit = 128 << 10
    rows = []
    for data, times_there in parts:
        if times_there == 1:
            rows += [(0, data[i:i + limit], len(data[i:i + limit])) for i in range(0, len(data), limit)]
        else:
            rows += [(1, data, min(limit, times_there - i)) for i in range(0, times_there, limit)]
    return b"\x28\xb5\x2f\xfd\x00\x38" + b"".join(
        struct.pack("<I", size << 3 | kind << 1 | (i == len(rows) - 1))[:3] + data
        for i, (kind, data, size) in enumerate(rows))
