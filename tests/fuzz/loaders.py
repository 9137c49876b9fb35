#!/usr/bin/env python3
"""`tare attest` against the unpicklers of the Python that runs this, the one in C and the one in Python: a file with
which one of them would come to an import or a call may not pass as data. A text may where no module can be called as it
says (`other_nature`): JSON after a stray "c" is the import of "{", which ends every loader with ModuleNotFoundError.

    loaders.py --tare TARE --corpus CORPUS [--count N] [--seed N] [--keep FOLDER]

Files of all kinds are made and mutated, N of them, and put into folders beside a real checkpoint; nothing that they
name is imported. Exit 1 where attest passes over one; it is kept in FOLDER.
"""
import argparse
import collections
import io
import json
import os
import pathlib
import pickle
import random
import re
import resource
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from command import Tare  # noqa: E402

BATCH = 500
REAL = "torch/train-t2.15/checkpoint.pth"
SEEDS = ("numpy/json_sidecar/trainer_state.json", "flax/jmp_npz/state.npz", "flax/to_bytes_fresh/state.msgpack",
         "numpy/pickle_protocol4/state.pkl", REAL, "hostile/call-plain-pickle/evil.pkl")
ENDINGS = (".pt", ".bin", ".pkl", ".txt", ".json", ".md", ".msgpack", ".safetensors", ".log", ".npy", "")
CALLS = (b"cos\ngetcwd\n)R.", b"(ios\ngetcwd\n.", b"(cos\ngetcwd\no.", b"cos\ngetcwd\n)\x81.",
         b"\x8c\x02os\x8c\x06getcwd\x93)R.", b"Vos\nVgetcwd\n\x93)R.", b"U\x02osU\x06getcwd\x93)R.",
         b"X\x02\0\0\0osp1\n0g1\nX\x06\0\0\0getcwd\x93)R.", b"cos\ngetcwdX", b"(ios\ngetcwdX")
ALLOWED = {("collections", "OrderedDict"): collections.OrderedDict}
MODULE = re.compile(r"[A-Za-z0-9_./\-\x80-\U0010ffff]+")
MOST_MEMORY = 3 << 30  # a memo number may ask for tens of gigabytes


class Reached(BaseException):
    """Of neither kind that an unpickler catches."""

    def __init__(self, module, name):
        super().__init__(f"{module}.{name}")
        self.module = module


def watched(unpickler):
    class Watched(unpickler):
        def find_class(self, module, name):
            if (module, name) in ALLOWED:
                return ALLOWED[module, name]
            raise Reached(module, name)

    return Watched


UNPICKLERS = {"C": watched(pickle.Unpickler), "Python": watched(pickle._Unpickler)}


def is_text(data):
    try:
        return all(c.isprintable() or c in "\t\n\r\f" for c in data.decode())
    except UnicodeDecodeError:
        return False


def reached(path):
    """Which unpickler comes to an import, and which; None where none does. Several pickles are loaded one by one."""
    data = path.read_bytes()
    for name, unpickler in UNPICKLERS.items():
        for opened in (open(path, "rb"), io.BytesIO(data)):
            with opened:
                try:
                    for _ in range(3):
                        unpickler(opened).load()
                except Reached as what:
                    if is_text(data) and not MODULE.fullmatch(what.module):
                        continue
                    return f"{name}, {type(opened).__name__}: {what}"
                except Exception:  # as many kinds as there are ways to be no pickle
                    pass
    return None


def text_line(rng):
    return bytes(rng.choice(b"abcos 0123456789.:-_\"'") for _ in range(rng.randrange(12))) + b"\n"


def opcode(rng):
    """One opcode with an argument that mostly fits."""
    n = rng.randrange(6)
    word = bytes(rng.randrange(256) for _ in range(n))
    return rng.choice((
        lambda: bytes([rng.choice(b"N])}\x88\x89\x8f(0120ltdaesu\x85\x86\x87\x90\x91\x94b.")]),
        lambda: b"K" + bytes([n]), lambda: b"M" + struct.pack("<H", n), lambda: b"J" + struct.pack("<i", -n),
        lambda: b"G" + bytes(8), lambda: b"I%d\n" % n, lambda: b"L%dL\n" % n, lambda: b"F%d.5\n" % n,
        lambda: b"S'x'\n", lambda: b"V" + text_line(rng), lambda: b"U" + bytes([n]) + b"x" * n,
        lambda: b"C" + bytes([n]) + word, lambda: b"X" + struct.pack("<I", n) + b"x" * n,
        lambda: b"B" + struct.pack("<I", n) + word, lambda: b"\x8c" + bytes([n]) + b"y" * n,
        lambda: b"\x8a" + bytes([n]) + word, lambda: b"\x96" + struct.pack("<Q", n) + word,
        lambda: b"q" + bytes([n]), lambda: b"h" + bytes([n]), lambda: b"p%d\n" % n, lambda: b"g%d\n" % n,
        lambda: b"r" + struct.pack("<I", n), lambda: b"j" + struct.pack("<I", n),
        lambda: b"\x80" + bytes([n]), lambda: b"\x95" + struct.pack("<Q", rng.choice((0, 1, 2, n, 40, 1 << 20))),
        lambda: b"ccollections\nOrderedDict\n", lambda: b")R",
        lambda: bytes([rng.randrange(256)]),
    ))()


def program(rng):
    return b"".join(opcode(rng) for _ in range(rng.randrange(8))) + rng.choice(CALLS) + text_line(rng) * rng.randrange(2)


def swallowed(rng):
    """The opcodes whose argument takes what stands before a call: headers of other formats."""
    size = rng.randrange(200)
    head = bytes(rng.choice(b"{}\"[]:, abc\xa5\xcb\0") for _ in range(size))
    begin = rng.choice((b"\x8a" + bytes([size]), b"C" + bytes([size]), b"B" + struct.pack("<I", size),
                        b"\x8e" + struct.pack("<Q", size), b"\x8b" + struct.pack("<I", size)))
    return begin + head + rng.choice(CALLS)


def msgpack(rng):
    """A map of ten entries, the first key as long as LONG1's count: flax's format, and a pickle."""
    def text(t):
        return bytes([0xa0 | len(t)]) + t
    body = b"\x8a" + text(b"hello") + b"\xcb" + bytes(8)
    for i in range(8):
        body += text(b"k%d" % i) + b"\xcb" + bytes(8)
    body += text(b"zz") + b"\xc4"
    padding = bytes(167 - len(body) - 1 + rng.choice((0, 0, 0, 1, -1)))
    data = padding + rng.choice(CALLS)
    return body + bytes([len(data)]) + data


def safetensors(rng):
    """A header whose length is LONG1 and its count."""
    size = 0x8a | rng.randrange(20, 40) << 8
    call = rng.choice(CALLS).replace(b"\n", b" ") if rng.random() < 0.3 else rng.choice(CALLS)
    header = b'{"__metadata__":{"a":"' + b"x" * rng.randrange(30) + call + b'"}'
    header += b',"scale":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    return struct.pack("<Q", size) + header.ljust(size) + bytes(4)


def framed(rng):
    """A read that crosses the end of a frame, or the last byte that an unpickler reads ahead."""
    size = rng.choice((0, 1, 2, 5, 100, 8192 * 16 - 17, 8192 * 16))
    hidden = rng.choice(CALLS)
    count = len(hidden) + rng.randrange(8)
    return (b"\x80\x05NV" + b"a" * size + b"\n0(\x95" + struct.pack("<Q", rng.randrange(8)) + b"B" +
            struct.pack("<I", count + rng.randrange(3)) + hidden.ljust(count, b"N") + b"1." +
            (hidden if rng.random() < 0.5 else b""))


def mutated(rng, seeds):
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.randrange(1, 4)):
        at = rng.choice((0, 0, rng.randrange(len(data) + 1), len(data)))
        what = rng.choice((rng.choice(CALLS), opcode(rng), bytes([rng.randrange(256)]), b""))
        data[at:at + rng.choice((0, 0, 1, len(what)))] = what
    return bytes(data)


def stored(seed):
    return seed.read_bytes() if seed.exists() else b"{}"


def check(tare, corpus, paths, folder):
    """Files of `paths` that a loader would run, and attest passes."""
    answer = tare("attest", str(folder), "--json").json()
    if answer is None:
        return [(path, "attest gave no answer") for path in paths[:1]], 0
    told = {row["file"] for row in answer["unread"]}
    told |= {place["file"] for g in answer["globals"] if g["verdict"] != "allowed" for place in g["places"]}
    found = [(path, reached(path)) for path in paths]
    return ([(path, why) for path, why in found if why and path.name not in told],
            sum(why is not None for _, why in found))


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    ask.add_argument("--count", type=int, default=3000)
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--keep", type=pathlib.Path)
    options = ask.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    tare = Tare(options.tare)
    rng = random.Random(options.seed)
    seeds = [stored(options.corpus / name) for name in SEEDS]
    makers = (program, program, swallowed, msgpack, safetensors, framed, lambda r: mutated(r, seeds))
    passed, reaching = [], 0
    for first in range(0, options.count, BATCH):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copy(options.corpus / REAL, folder / "real.pth")
            paths = []
            for number in range(first, min(first + BATCH, options.count)):
                path = folder / f"f{number}{rng.choice(ENDINGS)}"
                path.write_bytes(rng.choice(makers)(rng))
                paths.append(path)
            wrong, count = check(tare, options.corpus, paths, folder)
            reaching += count
            for path, why in wrong:
                passed.append(f"{path.name}: {why}: {path.read_bytes()[:80]!r}")
                if options.keep:
                    os.makedirs(options.keep, exist_ok=True)
                    shutil.copy(path, options.keep)
    print("\n".join(passed))
    print(f"{options.count} files, {reaching} of which a loader comes to an import with; {len(passed)} passed as data")
    return 1 if passed or reaching < options.count // 10 else 0


if __name__ == "__main__":
    sys.exit(main())
