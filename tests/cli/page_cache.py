#!/usr/bin/env python3
"""Of a large checkpoint no more comes into memory than what is read of it: the kernel reads nothing ahead.

    page_cache.py --tare TARE

The pages of a file that the kernel holds are counted after `inspect`, `get` and `edit`. Exit 1 if there are more than the parts
that were asked for lie in; 77 (skipped) where the file system keeps all of every file in memory.
"""
import argparse
import ctypes
import json
import math
import mmap
import os
import pathlib
import struct
import sys
import tempfile

from command import Tare

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import make_scale

MODULES = 2000
SIDE = 256
TENSORS = 8192
PAGE = mmap.PAGESIZE


def held(path):
    """Bytes of the file in the kernel's memory."""
    size = path.stat().st_size
    with open(path, "rb") as file, mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as whole:
        pages = (ctypes.c_ubyte * math.ceil(size / PAGE))()
        start = ctypes.c_char.from_buffer(whole)
        failed = ctypes.CDLL(None, use_errno=True).mincore(ctypes.byref(start), ctypes.c_size_t(size), pages)
        del start
    if failed:
        raise OSError(ctypes.get_errno(), "mincore")
    return sum(page & 1 for page in pages) * PAGE


def forget(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def scales_between_weights(path):
    header, offset = {}, 0
    for i in range(MODULES):
        for name, kind, shape, size in (("weight", "F8_E4M3", [SIDE, SIDE], SIDE * SIDE), ("weight_scale_inv", "F32", [4, 4], 64)):
            header[f"model.layers.{i}.{name}"] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + size]}
            offset += size
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _ in range(MODULES):
            file.seek(SIDE * SIDE, os.SEEK_CUR)
            file.write(struct.pack("<16f", *[0.5] * 16))


def zip_of_tensors(path):
    make_scale.zip_of_tensors(path, TENSORS)


CHECKPOINTS = (  # name, how it is made, the most of it that may be in memory, after what
    # The header, and a scale of 64 bytes lies in two pages at most.
    ("scales_between_weights.safetensors", scales_between_weights, (512 << 10) + MODULES * 2 * PAGE, [["inspect"]]),
    # The pickle, and the directory.
    ("zip_of_tensors.pt", zip_of_tensors, 2 << 20, [["inspect"], ["edit", "scale=8.0", "--yes"]]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tare", required=True)
    tare = Tare(parser.parse_args().tare)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, make, most, verbs in CHECKPOINTS:
            path = pathlib.Path(folder) / name
            make(path)
            forget(path)
            if held(path):
                print("this file system keeps files in memory")
                return 77
            for verb, *values in verbs:
                forget(path)
                answer = tare(verb, path, *values)
                if answer.code != 0:
                    failures.append(str(answer))
                elif not 0 < held(path) <= most:
                    failures.append(f"{name}: {held(path)} of {path.stat().st_size} bytes are in memory after {verb}")
    print("\n".join(failures) or "ok")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
