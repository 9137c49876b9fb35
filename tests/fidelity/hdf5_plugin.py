#!/usr/bin/env python3
"""Opens a compressed state of tare's with a reader that never heard of tare: h5py and h5dump, by hdf5plugin's zstd filter.

    hdf5_plugin.py LIBTARE REPOSITORY

h5dump is left out where it is not installed. Exit 0: every value as written.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy

library, root = sys.argv[1:]
ROWS, COLUMNS = 64, 1024
ZSTD = 32015
# In a process of its own: tare makes its filter known to the process that it is loaded into.
WRITE = """
import json, sys
import tare
tare.open_library(sys.argv[1])
text = {"policy": "delayed_scaling", "fields": {"amax_history": json.load(sys.stdin)}}
tare.State.from_json(json.dumps(text)).write(sys.argv[2], '{"compression":"zstd"}')
"""


def history():
    return (numpy.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS) % 977) * 0.375


def by_h5py(path):
    import h5py
    import hdf5plugin  # noqa: F401  its import registers the filters

    with h5py.File(path, "r") as file:
        dataset = file["fields/amax_history"]
        creation = dataset.id.get_create_plist()
        filters = [creation.get_filter(i)[0] for i in range(creation.get_nfilters())]
        assert ZSTD in filters, filters
        return f"h5py {h5py.__version__}, hdf5plugin {hdf5plugin.version}", dataset[()]


def by_h5dump(path):
    import hdf5plugin

    out = path.with_suffix(".raw")
    environment = {**os.environ, "HDF5_PLUGIN_PATH": hdf5plugin.PLUGIN_PATH}
    subprocess.run(["h5dump", "-d", "/fields/amax_history", "-b", "LE", "-o", out, path], check=True,
                   capture_output=True, env=environment)
    version = subprocess.run(["h5dump", "--version"], capture_output=True, text=True).stdout.strip()
    return version, numpy.fromfile(out, "<f8").reshape(ROWS, COLUMNS)


def main():
    different = 0
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch, "state.h5")
        subprocess.run([sys.executable, "-c", WRITE, library, path], input=json.dumps(history().tolist()), text=True,
                       check=True, env={**os.environ, "PYTHONPATH": f"{root}/capi/examples"})
        readers = [by_h5py] + ([by_h5dump] if shutil.which("h5dump") else [])
        for read in readers:
            name, values = read(path)
            is_same = numpy.array_equal(values, history())
            different += not is_same
            print(f"{name}: {'every value as written' if is_same else 'OTHER VALUES'}")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
