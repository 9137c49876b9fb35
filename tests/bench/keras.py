#!/usr/bin/env python3
"""Time the command on a large `.keras`, beside h5py, and print a table with ratios.

    keras.py --tare BUILD/tools/tare --h5py PYTHON [--gib 2] [--layers 200] [--pairs 50] [--folder DIR]

Whole processes are timed, in pairs that take turns with /bin/true: the figure is the median of the differences. The
archive holds `gib` GiB of weights, nearly all of them holes, in `layers` layers, and an Adam under LossScaleOptimizer.
h5py reads the two scalars of the scaler out of the weights file that is in it; and all of that, as Keras does.
"""
import pathlib
import subprocess
import tempfile

from processes import checkpoint_rows, framework_ms, framework_rows, parser

WRITE = """
import os, struct, sys, zlib
import h5py, numpy as np
archive, gib, layers = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
weights = archive + ".h5"
columns = int(gib * 2**30 / 4 / 3 / layers / 1024)
with h5py.File(weights, "w") as f:
    def variable(group, number, shape, dtype="float32", value=None):
        made = group.create_dataset(str(number), shape, dtype)
        if value is not None:
            made[()] = value
        else:
            made[(0,) * len(shape)] = 0.5  # allocates all, and fills nothing
    for layer in range(layers):
        variable(f.require_group(f"layers/dense_{layer}/vars"), 0, (1024, columns))
    inner = f.create_group("optimizer/inner_optimizer/vars")
    own = f.create_group("optimizer/vars")
    for number, (dtype, value) in enumerate((("int64", 9), ("float32", 0.0), ("int64", 3), ("float32", 4096.0))):
        variable(own, number, (), dtype, value)
    for number in range(2 * layers):
        variable(inner, number, (1024, columns))
        own[str(number + 4)] = inner[str(number)]
size, crc = os.path.getsize(weights), 0
members = [(b"metadata.json", b"{}"), (b"config.json", b"{}"), (b"model.weights.h5", None)]
with open(archive, "wb") as out, open(weights, "rb") as source:
    rows = b""
    for name, data in members:
        at = out.tell()
        length = size if data is None else len(data)
        extra = struct.pack("<HHQQ", 1, 16, length, length)
        header = lambda crc: struct.pack("<IHHHHHIIIHH", 0x04034b50, 45, 0, 0, 0, 0x21, crc, 2**32 - 1, 2**32 - 1, len(name), len(extra)) + name + extra
        out.write(header(0))
        if data is None:
            start, crc = out.tell(), 0
            while piece := source.read(1 << 16):
                crc = zlib.crc32(piece, crc)
                out.seek(len(piece), 1) if piece.count(0) == len(piece) else out.write(piece)
            out.truncate(start + size)
            out.seek(start + size)
        else:
            crc = zlib.crc32(data)
            out.write(data)
        end = out.tell()
        out.seek(at), out.write(header(crc)), out.seek(end)
        rows += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 45, 45, 0, 0, 0, 0x21, crc, 2**32 - 1, 2**32 - 1, len(name), len(extra), 0, 0, 0, 0, at) + name + extra
    at = out.tell()
    out.write(rows + struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, len(members), len(members), len(rows), at, 0))
os.unlink(weights)
"""

READ = """
import sys, time, zipfile
begin = time.perf_counter()
import h5py
imported = time.perf_counter() - begin
begin = time.perf_counter()
with zipfile.ZipFile(sys.argv[1]) as archive, archive.open("model.weights.h5") as member, h5py.File(member, "r") as f:
    assert f["optimizer/vars/2"][()] == 3 and f["optimizer/vars/3"][()] > 0
    if sys.argv[2] == "all":
        f.visititems(lambda name, item: item[()] if isinstance(item, h5py.Dataset) else None)
print(h5py.__version__, imported * 1e3, (time.perf_counter() - begin) * 1e3)
"""


def main():
    ask = parser(__doc__)
    ask.add_argument("--h5py", required=True, help="a Python that has h5py, which writes the archive, too")
    ask.add_argument("--gib", type=float, default=2)
    ask.add_argument("--layers", type=int, default=200)
    options = ask.parse_args()

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        big = pathlib.Path(folder) / "model.keras"
        subprocess.run([options.h5py, "-c", WRITE, str(big), str(options.gib), str(options.layers)], check=True)
        title = f".keras of {big.stat().st_size:,} bytes, {3 * options.layers + 4} variables"
        inspect_ms = checkpoint_rows(options, title, big, framework="h5py")
        for what, words in (("scaler", "the scaler by h5py {}, through zipfile"),
                            ("all", "all variables by h5py {}, as Keras loads them")):
            version, imported, taken = framework_ms(options.h5py, READ, big, what)
            framework_rows(words.format(version), imported, taken, inspect_ms)


if __name__ == "__main__":
    main()
