#!/usr/bin/python3
"""Writes states as other programs leave them: made by h5py, changed by it, or written anew by h5repack.

    make_states.py LIBTARE            writes into states/ beside this file; needs h5py and h5repack

All hold the same values, but for `changed.h5`, whose scale is 2048.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "capi/examples"))
import tare

ZSTD = 32015
HISTORY = (numpy.arange(750, dtype=numpy.float32).reshape(30, 25) % 97) * numpy.float32(0.25)
NAMES = ["layer.0", "größer", ""]
PARAMETERS = {f"parameter_{i}": i / 4 for i in range(12)}
STATE = {
    "policy": "tomorrow",
    "fields": {"scale": 1024.0, "growth_tracker": 3, "history": HISTORY.tolist(), "names": NAMES, "narrow": [0.5, -2.0]},
    "params": {"flag": True, "nothing": None, "note": {"a": [1, "b"]}, "text": "grün", **PARAMETERS},
}


def by_h5py(path, packed, **how):
    """As somebody writes it who knows the groups and the names; types are those that h5py takes by itself."""
    with h5py.File(path, "w", **how) as file:
        file.attrs.update(schema="tare.state/1", policy="tomorrow")
        fields, params = file.create_group("fields"), file.create_group("params")
        fields["scale"] = numpy.array(1024.0, ">f8")
        fields["growth_tracker"] = numpy.int32(3)
        fields.create_dataset("history", data=HISTORY, **packed)
        fields.create_dataset("names", data=NAMES, dtype=h5py.string_dtype())
        fields["narrow"] = numpy.array([0.5, -2.0], numpy.float16)
        params["flag"] = True
        params["nothing"] = h5py.Empty("f4")
        params["note"] = json.dumps(STATE["params"]["note"])
        params["note"].attrs["kind"] = "json"
        params["text"] = "grün"
        for name, value in PARAMETERS.items():
            params[name] = value


def by_tare(path):
    tare.State.from_json(json.dumps(STATE)).write(str(path), json.dumps({"compression": "none"}))


def changed(path):
    by_tare(path)
    with h5py.File(path, "r+") as file:
        file["fields/scale"][()] = 2048.0


def replaced(path):
    by_tare(path)
    with h5py.File(path, "r+") as file:
        del file["fields/history"]
        file["fields"].create_dataset("history", data=HISTORY, chunks=(7, 25), compression=ZSTD, compression_opts=(1,))


def repacked(path, *options):
    with tempfile.TemporaryDirectory() as scratch:
        by_tare(pathlib.Path(scratch, "state.h5"))
        subprocess.run(["h5repack", *options, pathlib.Path(scratch, "state.h5"), path], check=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    tare.open_library(sys.argv[1])
    to = HERE / "states"
    to.mkdir(exist_ok=True)
    by_tare(to / "tare.h5")  # also makes zstd known to this process's HDF5
    by_h5py(to / "h5py.h5", {"chunks": (16, 16), "compression": "gzip"})
    by_h5py(to / "h5py_latest.h5", {"chunks": (16, 16), "compression": "gzip", "shuffle": True, "fletcher32": True}, libver="latest")
    by_h5py(to / "h5py_single.h5", {"chunks": (30, 25), "compression": "gzip"}, libver="latest")
    by_h5py(to / "h5py_plain.h5", {"chunks": (16, 25)}, libver="latest")
    by_h5py(to / "h5py_growing.h5", {"chunks": (16, 25), "maxshape": (None, None), "shuffle": True, "compression": ZSTD, "compression_opts": (1,)}, libver="latest")
    by_h5py(to / "user_block.h5", {}, userblock_size=512)
    changed(to / "changed.h5")
    replaced(to / "replaced.h5")
    repacked(to / "repacked.h5", "-f", "SHUF", "-f", "GZIP=6", "-l", "fields/history:CHUNK=12x10")
    repacked(to / "repacked_latest.h5", "-L", "-f", "GZIP=1")


if __name__ == "__main__":
    main()
