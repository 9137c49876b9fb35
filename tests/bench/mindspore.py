#!/usr/bin/env python3
"""Time the command on a large MindSpore checkpoint, beside mindspore.load_checkpoint, and print a table with ratios.

    mindspore.py --tare BUILD/tools/tare [--mindspore PYTHON] [--records 2000] [--pairs 50] [--folder DIR]

Whole processes are timed, in pairs that take turns with /bin/true: the figure is the median of the differences. The
checkpoint is written as MindSpore writes one (protobuf records, one a parameter): 2,000 parameters of
1 MB that are holes, and the scaler of a TrainOneStepWithLossScaleCell behind them. MindSpore loads all of it: it has no
way to load less. Edits are timed where fsync costs nothing.
"""
import pathlib
import struct
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# This file has the name of the package that it measures.
sys.path[:] = [str(HERE), *(p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE)]

from processes import checkpoint_rows, framework_ms, framework_rows, parser

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
    ask = parser(__doc__)
    ask.add_argument("--mindspore", help="a Python that has mindspore")
    ask.add_argument("--records", type=int, default=2000)
    options = ask.parse_args()

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        big = pathlib.Path(folder) / "net-1_6.ckpt"
        write(big, options.records)
        title = f"MindSpore checkpoint of {options.records:,} records, {big.stat().st_size / 1e9:.1f} GB"
        inspect_ms = checkpoint_rows(options, title, big, framework="MindSpore")
        if options.mindspore:
            version, imported, taken = framework_ms(options.mindspore, MINDSPORE, big)
            framework_rows(f"mindspore.load_checkpoint, {version}", imported, taken, inspect_ms)


if __name__ == "__main__":
    main()
