#!/usr/bin/env python3
"""Write a checkpoint of any number of parts, for scale.py.

    make_scale.py KIND PATH COUNT      KIND: a function below; PATH: the file or folder; COUNT: modules, tensors, ranks ...
"""
import io
import json
import pathlib
import pickle
import struct
import subprocess
import sys
import zlib

from make_checkpoint import SCALER, Archive

HERE = pathlib.Path(__file__).resolve().parent


def run(script, *arguments):
    subprocess.run([sys.executable, HERE / script, *map(str, arguments)], check=True)


def fp8_modules(path, count, history=16):
    run("make_fp8.py", path, "--layers", count, "--history", history)


def fp8_long_histories(path, count):
    fp8_modules(path, count, 1024)


def zip_of_tensors(path, count):
    run("make_checkpoint.py", path, "--parameters", max(1, count // 3), "--bytes", 8192 * count)


def distributed(path, count):
    run("make_distributed.py", path, "--items", count)


def safetensors(path, count):
    """Half of the tensors are weights in FP8, half their scales; no bytes on disk but the header's."""
    header, offset = {}, 0
    for i in range(count // 2):
        for suffix, kind, shape, size in (("weight", "F8_E4M3", [128, 128], 16384), ("weight_scale_inv", "F32", [1, 1], 4)):
            name = f"model.layers.{i // 64}.mlp.experts.{i % 64}.{suffix}"
            header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + size]}
            offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + offset)


def rank_file(path, scale):
    data = io.BytesIO()
    pickle.dump({"scaler": dict(SCALER, scale=float(scale))}, data, 2)
    with open(path, "wb") as file:
        archive = Archive(file, "archive")
        archive.add("data.pkl", data.getvalue())
        archive.add("byteorder", b"little")
        archive.add("version", b"3\n")
        archive.close()


def rank_files(path, count, different=1):
    path.mkdir()
    for rank in range(count):
        rank_file(path / f"rank{rank}.pt", 1 + rank % different)


def ranks_that_differ(path, count):
    rank_files(path, count, count)


def npy(kind, value):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': (), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + value


def npz(path, count):
    rows = []
    with open(path, "wb") as file:
        def add(name, content):
            name, at, crc = name.encode(), file.tell(), zlib.crc32(content)
            common = struct.pack("<5H3I2H", 20, 0, 0, 0, 33, crc, len(content), len(content), len(name), 0)
            file.write(b"PK\3\4" + common + name + content)
            rows.append(b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<3H2I", 0, 0, 0, 0, at) + name)

        weight = npy("<f4", bytes(4))
        for i in range(count):
            add(f"params.layer{i}.kernel.npy", weight)
        for name, value in SCALER.items():
            real = isinstance(value, float)
            add(f"scaler.{name}.npy", npy("<f8" if real else "<i8", struct.pack("<d" if real else "<q", value)))
        start, body = file.tell(), b"".join(rows)
        shown = min(len(rows), 0xFFFF)
        wide = b"" if len(rows) < 0xFFFF else (
            struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, len(rows), len(rows), len(body), start) +
            struct.pack("<IIQI", 0x07064B50, 0, start + len(body), 1))
        file.write(body + wide + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, shown, shown, len(body), start, 0))


if __name__ == "__main__":
    globals()[sys.argv[1]](pathlib.Path(sys.argv[2]), int(sys.argv[3]))
