#!/usr/bin/env python3
"""Time the command on a large MindSpore checkpoint, beside mindspore.load_checkpoint, and print a table with ratios.

    mindspore.py --tare BUILD/tools/tare [--mindspore PYTHON] [--records 2000] [--pairs 50] [--folder DIR]

Whole processes are timed, in pairs that take turns with /bin/true: the figure is the median of the differences. The
checkpoint is written as MindSpore writes one (protobuf records, one a parameter): 2,000 parameters of
1 MB that are holes, and the scaler of a TrainOneStepWithLossScaleCell behind them. MindSpore loads all of it: it has no
way to load less. Edits are timed where fsync costs nothing.
"""
import argparse
import pathlib
import subprocess
import struct
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# This file has the name of the package that it measures.
sys.path[:] = [str(HERE), *(p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE)]

from checkpoint import above_true, alternating_edits, bytes_read, row, spread
from distributed import peak_mib

CONTENT = 1 << 20

MINDSPORE = """
import sys, time
begin = time.perf_counter()
import mindspore
imported = time.perf_counter() - begin
begin = time.perf_counter()
parameters = mindspore.load_checkpoint(sys.argv[1])
assert float(parameters["scale_sense"].asnumpy()) > 0
print(mindspore.__version__, imported * 1e3, (time.perf_counter() - begin) * 1e3)
"""


def varint(number):
    bytes_ = bytearray()
    while number >= 0x80:
        bytes_.append(0x80 | number & 0x7F)
        number >>= 7
    return bytes(bytes_ + bytes([number]))


def run(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def head(name, dims, kind, size):
    """All of a record but the content, which is `size` bytes behind it."""
    tensor = b"".join(varint(1 << 3) + varint(n) for n in dims) + run(2, kind) + varint(3 << 3 | 2) + varint(size)
    value = run(1, name) + varint(2 << 3 | 2) + varint(len(tensor) + size) + tensor
    return varint(1 << 3 | 2) + varint(len(value) + size) + value


def write(path, records):
    with open(path, "wb") as file:
        for number in range(records):
            file.write(head(b"backbone.layers.%d.feed_forward.weight" % number, (CONTENT // 4,), b"Float32", CONTENT))
            file.seek(CONTENT, 1)
        for name, kind, value in ((b"scale_sense", b"Float32", struct.pack("<f", 65536)),
                                  (b"current_iterator_step", b"Int32", struct.pack("<i", 7)),
                                  (b"last_overflow_iterator_step", b"Int32", struct.pack("<i", 3))):
            file.write(head(name, (), kind, len(value)) + value)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--mindspore", help="a Python that has mindspore")
    ask.add_argument("--records", type=int, default=2000)
    ask.add_argument("--pairs", type=int, default=50)
    ask.add_argument("--folder", default="/dev/shm", help="where fsync costs nothing")
    options = ask.parse_args()
    options.tare = str(pathlib.Path(options.tare).resolve())

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        big = pathlib.Path(folder) / "net-1_6.ckpt"
        write(big, options.records)
        inspect = [options.tare, "inspect", str(big)]
        subprocess.run(inspect, stdout=subprocess.DEVNULL, check=True)

        size = big.stat().st_size
        row(f"MindSpore checkpoint of {options.records:,} records, {size / 1e9:.1f} GB", "median (quartiles)",
            "MindSpore / tare")
        inspect_ms = above_true(inspect, options.pairs)
        row("tare inspect, above an empty process", spread(inspect_ms))
        row("  bytes read", f"{bytes_read(inspect):,}")
        row("  peak memory", f"{peak_mib(inspect):.0f} MiB")
        row("tare edit, where fsync costs nothing", spread(alternating_edits(options.tare, big, options.pairs)))
        if options.mindspore:
            done = subprocess.run([options.mindspore, "-c", MINDSPORE, str(big)], capture_output=True, text=True,
                                  check=True)
            version, imported, taken = done.stdout.split()[-3:]
            row(f"mindspore.load_checkpoint, {version}", f"{float(taken):.0f} ms",
                f"{float(taken) / inspect_ms[0]:.0f}x")
            whole = float(taken) + float(imported)
            row("  and its import", f"{float(imported):.0f} ms", f"{whole / inspect_ms[0]:.0f}x")


if __name__ == "__main__":
    main()
