#!/usr/bin/env python3
"""Edits copies of TensorFlow's and Orbax's checkpoints and loads them with the real framework.

    arrays.py --tare BINARY --corpus FOLDER [--only GLOB] [--times N]

Run it in a Python with tensorflow, or with orbax-checkpoint and flax; it takes the cases that that Python can load
(tensorflow.txt and orbax.txt list what to install). After each edit the framework reads every variable, so that it
verifies every checksum; the edited fields must be as intended and all others as they were. Then `tare undo`, as often.
"""
import argparse
import fnmatch
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", JAX_PLATFORMS="cpu")
sys.dont_write_bytecode = True


def tensorflow_values(target):
    """-> {dotted name: value} of all variables, by TensorFlow's own reader."""
    import numpy
    import tensorflow as tf
    if target.is_dir():
        variables = target / "variables" / "variables"
        prefix = str(variables) if variables.with_suffix(".index").exists() else tf.train.latest_checkpoint(str(target))
    else:
        prefix = str(target.with_suffix(""))
    reader = tf.train.load_checkpoint(prefix)
    values = {}
    for name in reader.get_variable_to_shape_map():
        value = reader.get_tensor(name)
        if isinstance(value, (numpy.ndarray, numpy.generic)):
            values[name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE").replace("/", ".")] = numpy.asarray(value).tolist()
        elif not isinstance(value, bytes):
            values[name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE").replace("/", ".")] = value
    return values


def orbax_values(target):
    """-> {dotted name: value} of all leaves of the newest step, by Orbax."""
    import numpy
    import orbax.checkpoint as ocp
    newest = max((folder for folder in target.iterdir() if folder.name.isdigit()), key=lambda f: int(f.name))
    values = {}

    def walk(node, path):
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, (list, tuple)) else None
        if items is None:
            values[path] = numpy.asarray(node).tolist()
            return
        for key, value in items:
            walk(value, f"{path}.{key}" if path else str(key))

    walk(ocp.PyTreeCheckpointer().restore((newest / "default").absolute()), "")
    return values


def loader(truth):
    """What loads that case, if this Python can."""
    wanted = {"tensor_bundle": ("tensorflow", tensorflow_values), "ocdbt": ("orbax", orbax_values),
              "zarr": ("orbax", orbax_values)}.get(truth["container"])
    return wanted[1] if wanted and importlib.util.find_spec(wanted[0]) else None


def run(tare, *arguments):
    done = subprocess.run([tare, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"tare {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr}")


def check(tare, original, truth, load, times):
    scaler = truth["scalers"][0]
    place = f"{scaler['path']}." if scaler["path"] else ""
    native = {role: next(name for name, value in scaler["fields"].items() if value == stored)
              for role, stored in scaler["roles"].items() if role in ("scale", "growth_tracker")}
    with tempfile.TemporaryDirectory() as scratch:
        case = pathlib.Path(scratch) / "case"
        shutil.copytree(original, case)
        target = case / truth["target"]
        expected = load(target)
        first = dict(expected)
        edits = [("scale", float(2 ** (8 + i % 12))) for i in range(times)] + [("growth_tracker", 7)]
        for role, value in edits:
            run(tare, "edit", target, f"{role}={value:g}", "--yes")
            expected[place + native[role]] = value
            loaded = load(target)
            wrong = {name: (loaded.get(name), wanted) for name, wanted in expected.items() if loaded.get(name) != wanted}
            if wrong or set(loaded) != set(expected):
                raise SystemExit(f"{original}: after {role}={value}: {wrong}")
        for _ in edits:
            run(tare, "undo", target, "--yes")
        if load(target) != first:
            raise SystemExit(f"{original}: undo does not bring the old values back")
        return f"{len(expected)} values read after each of {len(edits)} edits; scale {edits[0][1]:g} ... as intended"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    ask.add_argument("--only", default="*")
    ask.add_argument("--times", type=int, default=2, help="edits of the scale, one after the other")
    options = ask.parse_args()
    loaded = 0
    for path in sorted(options.corpus.rglob("truth.json")):
        name = str(path.parent.relative_to(options.corpus))
        truth = json.loads(path.read_text())
        if "expect" in truth or not fnmatch.fnmatch(name, options.only):
            continue
        has_scale = any(s["kind"] == "loss_scale" and "scale" in s["roles"] for s in truth["scalers"])
        load = loader(truth) if has_scale else None
        if load is None:
            continue
        print(f"{name:36} {check(options.tare, path.parent, truth, load, options.times)}", flush=True)
        loaded += 1
    versions = [module.__version__ for module in map(sys.modules.get, ("tensorflow", "orbax.checkpoint")) if module]
    print(f"{loaded} checkpoints loaded by {' '.join(versions)}")
    return 0 if loaded else 1


if __name__ == "__main__":
    sys.exit(main())
