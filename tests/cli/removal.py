#!/usr/bin/env python3
"""Takes FP8 state out of pickles that Python itself wrote, of every protocol, and loads what is left with Python: the
keys are gone, all else is equal and shared as before, undo brings back every byte.

    removal.py --tare BINARY --corpus FOLDER [--rounds N] [--seed N]
"""
import argparse
import collections
import io
import pathlib
import pickle
import random
import sys
import tempfile
import unittest.mock
import zipfile

from command import Tare
from corpus import Short, require

KEY = "._extra_state"


def real_state(corpus):
    """A stream of TransformerEngine 1.13, as it stands in a real file."""
    kept = []

    class Stubs(pickle.Unpickler):
        def find_class(self, module, name):
            return io.BytesIO if name == "BytesIO" else getattr(__import__(module), name) if module == "_codecs" else \
                collections.OrderedDict if name == "OrderedDict" else lambda *_: None

        def persistent_load(self, _):
            return None

    archive = zipfile.ZipFile(corpus / "transformer_engine" / "te1.13_4layers" / "model.pt")
    name = next(n for n in archive.namelist() if n.endswith("data.pkl"))
    tree = [Stubs(io.BytesIO(archive.read(name))).load()]
    while tree and not kept:
        value = tree.pop()
        if isinstance(value, dict):
            tree.extend(value.values())
        elif isinstance(value, io.BytesIO):
            kept.append(value.getvalue())
    return kept[0]


class Maker:
    """Values that share parts with each other, and with what is taken out."""

    def __init__(self, chance, state):
        self.chance, self.state, self.shared, self.layers = chance, state, [], 0

    def value(self, depth):
        kind = self.chance.randrange(11 if depth else 6)
        if kind == 0 and self.shared:
            return self.chance.choice(self.shared)
        made = [lambda: self.chance.randrange(1 << 40), lambda: self.chance.random(), self.text,
                lambda: bytes(self.chance.choice([3, 300, 30000, 70000])), lambda: None, self.text, lambda: self.list(depth - 1),
                lambda: tuple(self.list(depth - 1)), lambda: self.map(depth - 1), lambda: self.map(depth - 1),
                lambda: collections.OrderedDict(self.map(depth - 1))][kind]()
        if self.chance.random() < 0.4:
            self.shared.append(made)
        return made

    def text(self):
        return "t" * self.chance.choice([1, 3, 300]) + str(self.chance.randrange(1000))

    def list(self, depth):
        return [self.value(depth) for _ in range(self.chance.randrange(5))]

    def stream(self):
        """A state with attributes of its own, which others may have as well."""
        stream = io.BytesIO(self.state)
        stream.seek(0, 2)
        if self.chance.random() < 0.7:
            stream.note = self.value(2)
        return stream

    def map(self, depth):
        items = [(self.text(), self.value(depth)) for _ in range(self.chance.randrange(6))]
        for _ in range(self.chance.choice([0, 0, 1, 2])):
            self.layers += 1
            items.append((f"layer{self.layers}{KEY}", self.stream()))
        self.chance.shuffle(items)
        return dict(items)


def shape(value, seen, without):
    """What a value is made of, with the number of every part that was there before; `without`: what is to go is left
    out, wherever it stands."""
    if isinstance(value, (dict, list, tuple, io.BytesIO)):
        if id(value) in seen:
            return ("again", seen[id(value)][0])
        seen[id(value)] = (len(seen), value)
    if isinstance(value, io.BytesIO):
        return ("stream", value.getvalue(), shape(vars(value), seen, without))
    if isinstance(value, dict):
        return (type(value).__name__, [(key, shape(item, seen, without)) for key, item in value.items()
                                       if not (without and str(key).endswith(KEY))])
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [shape(item, seen, without) for item in value])
    return value


def has_key(value, seen):
    if id(value) in seen:
        return False
    seen[id(value)] = value
    if isinstance(value, dict):
        return any(str(key).endswith(KEY) or has_key(item, seen) for key, item in value.items())
    return isinstance(value, (list, tuple)) and any(has_key(item, seen) for item in value)


def written(value, protocol, frame):
    """Frames of 64 KiB, as Python writes them; or smaller ones, so that many begin inside of what is to go."""
    to = io.BytesIO()
    if frame is None:
        pickle.Pickler(to, protocol).dump(value)
    else:
        with unittest.mock.patch.object(pickle._Framer, "_FRAME_SIZE_TARGET", frame):
            pickle._Pickler(to, protocol).dump(value)
    return to.getvalue()


def check(tare, chance, state, folder):
    maker = Maker(chance, state)
    model = {"epoch": 1, "model": maker.map(4), "layers.0" + KEY: maker.stream(), "more": maker.list(3)}
    protocol, frame = chance.choice([2, 3, 4, 4, 4, 5]), chance.choice([None, None, 20, 300, 5000])
    text = written(model, protocol, frame)
    file = folder / "model.pkl"
    file.write_bytes(text)
    done = tare("fp8", "strip", file, "--remove", "--yes")
    about = f"protocol {protocol}, {len(text)} bytes, frames of {frame}"
    if done.code == 4 and "share" in done.reason:
        # One stream in two places, or, where slots have names, a list that others have as well.
        require(file.read_bytes() == text, about, "was refused, and changed")
        return 0
    require(done.code == 0, about, done)
    for load in (pickle.loads, lambda text: pickle._Unpickler(io.BytesIO(text)).load()):
        after = load(file.read_bytes())
        require(not has_key(after, {}), about, "has such keys still")
        require(shape(after, {}, True) == shape(model, {}, True), about, "is another value")
    require(tare("inspect", file).code in (0, 1), about, "cannot be read any more")
    require(tare("undo", file, "--yes").code == 0 and file.read_bytes() == text, about, "is not as it was")
    return 1


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True, type=pathlib.Path)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    ask.add_argument("--rounds", type=int, default=40)
    ask.add_argument("--seed", type=int, default=1)
    options = ask.parse_args()
    tare, state, done = Tare(options.tare), real_state(options.corpus), 0
    for seed in range(options.seed, options.seed + options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            try:
                done += check(tare, random.Random(seed), state, pathlib.Path(folder))
            except Short as short:
                print("falls short: seed", seed, short)
                return 1
    print(f"{done} of {options.rounds} changed, the others refused")
    return 0 if done > options.rounds // 3 else 1


if __name__ == "__main__":
    sys.exit(main())
