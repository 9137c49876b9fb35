#!/usr/bin/env python3
"""The bombs' shapes, small, as seeds of the fuzz targets of tests/fuzz: each in the form that its target reads.

    tests/bounds/seeds.py TARGET FOLDER
"""
import pathlib
import struct
import sys

sys.dont_write_bytecode = True
import bombs
import folder_bombs

SIZE = 1500

#: What the shapes of a target that reads one file are called like; `edit` has the choice of a value behind it.
ONE_FILE = {"pickle": ("pickle_", "nested_"), "elided_text": ("pickle_",), "nested": ("nested_", "pickle_", "zip_"),
            "legacy": ("legacy_",), "zip": ("zip_", "npz_", "keras_config"), "msgpack": ("msgpack_",), "json": ("json_",),
            "npy": ("npy_",), "safetensors": ("st_",), "mindspore": ("mindspore_",), "torch_tar": ("tar_",),
            "hdf5": ("h5_",), "state": ("json_",), "state_hdf5": ("h5_",), "config": ("json_",),
            "edit": ("pickle_", "zip_", "msgpack_", "json_", "st_", "npz_", "mindspore_", "h5_")}
CHOICE = struct.pack("<HBb", 1, 2, 1)


def sized(part):
    return struct.pack("<H", min(len(part), 0xffff)) + part


def unwrapped(node):
    """What stands in an OCDBT envelope that is not compressed."""
    return node[14:-4] if node[13:14] == b"\0" else b""


def of_dcp(files):
    return sized(files[".metadata"]) + files["__0_0.distcp"]


def of_zarr(files):
    document = next(name for name in files if name.endswith("/.zarray"))
    return sized(files[document]) + files.get(document.replace(".zarray", "0"), b"")


def of_ocdbt(files):
    return sized(unwrapped(files["manifest.ocdbt"])) + sized(unwrapped(files["d/0"]))


def of_bundle(files):
    return sized(files["ckpt-1.index"]) + next(body for name, body in files.items() if ".data-" in name)


SEVERAL_FILES = {"dcp": ("dcp_", of_dcp), "zarr": ("zarr_", of_zarr), "ocdbt": ("ocdbt_", of_ocdbt),
                 "bundle": ("tf_", of_bundle)}


def seeds(target):
    """By name."""
    if target in SEVERAL_FILES:
        start, join = SEVERAL_FILES[target]
        folder_bombs.leveldb = folder_bombs.block  # the target puts the rest around it
        return {name: join(make(SIZE)) for name, make in bombs.shapes.items() if name.startswith(start)}
    if target == "paddle":
        return bombs.shapes["paddle_variables"](SIZE)
    end = CHOICE if target == "edit" else b""
    return {name: make(SIZE) + end for name, make in bombs.shapes.items()
            if name.startswith(ONE_FILE.get(target, ("no such",)))}


def main():
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, body in seeds(target).items():
        (folder / name).write_bytes(body)


if __name__ == "__main__":
    main()
