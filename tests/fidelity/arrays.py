#!/usr/bin/env python3
"""Edits copies of checkpoints of TensorFlow, Orbax, Keras, flax, NumPy and joblib; loads them with the real framework.

    arrays.py --tare BINARY --corpus FOLDER [--only GLOB] [--times N]

Run it in a Python with some of them; it takes the cases that that Python can load (tensorflow.txt, orbax.txt and
keras.txt list what to install). After each edit the framework reads every variable, so that it
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


def dotted(name):
    """A stored array's name as a path; the suffix is that of TensorFlow's object graph."""
    return name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE").replace("/", ".")


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
            values[dotted(name)] = numpy.asarray(value).tolist()
        elif not isinstance(value, bytes):
            values[dotted(name)] = value
    return values


def leaves(root):
    """-> {dotted name: value} of nested dicts, lists and objects."""
    import numpy
    values = {}

    def walk(node, path):
        if isinstance(node, (dict, list, tuple)):
            for key, value in node.items() if isinstance(node, dict) else enumerate(node):
                walk(value, f"{path}.{key}" if path else str(key))
        elif type(node).__module__.startswith("jmp."):
            walk(vars(node), path)
        else:
            values[path] = numpy.asarray(node).tolist()

    walk(root, "")
    return values


def orbax_values(target):
    """All leaves of the newest step, by Orbax."""
    import orbax.checkpoint as ocp
    newest = max((folder for folder in target.iterdir() if folder.name.isdigit()), key=lambda f: int(f.name))
    return leaves(ocp.PyTreeCheckpointer().restore((newest / "default").absolute()))


def h5_values(file):
    """All datasets, by h5py; what Keras stores as bytes, too."""
    import h5py
    values = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            value = item[()]
            values[name.replace("/", ".")] = value.tobytes().hex() if value.dtype.kind == "V" else value.tolist()

    with h5py.File(file, "r") as opened:
        opened.visititems(visit)
    return values


def hdf5_values(target):
    if target.suffix != ".json":
        return h5_values(target)
    shards = sorted({shard for names in json.loads(target.read_text())["weight_map"].values() for shard in names})
    return {name: value for shard in shards for name, value in h5_values(target.parent / shard).items()}


def keras_values(target):
    """The archive's weights by h5py; and Keras itself loads it, checks its zip, and has the same scaler."""
    import io
    import zipfile
    import keras
    archive = zipfile.ZipFile(target)
    if archive.testzip() is not None:
        raise SystemExit(f"{target}: the CRC-32 of {archive.testzip()} is wrong")
    values = h5_values(io.BytesIO(archive.read("model.weights.h5")))
    keras.config.set_dtype_policy("mixed_float16")  # under which compile() adds the scaler again
    optimizer = keras.saving.load_model(target).optimizer
    for place, name in (("optimizer.vars.2", "step_counter"), ("optimizer.vars.3", "dynamic_scale")):
        if float(getattr(optimizer, name).value) != values[place]:
            raise SystemExit(f"{target}: Keras loads {name} as {float(getattr(optimizer, name).value)}")
    return values


def msgpack_values(target):
    """By flax.serialization, which joins what is chunked."""
    from flax import serialization
    from flax.training import checkpoints
    if target.is_dir():
        return leaves(checkpoints.restore_checkpoint(str(target.absolute()), target=None))
    return leaves(serialization.msgpack_restore(target.read_bytes()))


def numpy_values(target):
    import numpy
    loaded = numpy.load(target, allow_pickle=True)
    if target.suffix == ".npy":
        return leaves(loaded.item())
    return {name.replace("/", "."): loaded[name].tolist() for name in loaded.files}


def pickle_values(target):
    import joblib
    return leaves(joblib.load(target))


def json_values(target):
    return leaves(json.loads(target.read_text()))


def loader(truth):
    """What loads that case, if this Python can."""
    wanted = {"tensor_bundle": ("tensorflow", tensorflow_values), "ocdbt": ("orbax", orbax_values),
              "zarr": ("orbax", orbax_values), "hdf5": ("h5py", hdf5_values), "keras": ("keras", keras_values),
              "msgpack": ("flax", msgpack_values), "npz": ("joblib", numpy_values), "npy": ("joblib", numpy_values),
              "json": ("joblib", json_values)}.get(truth["container"])
    if truth["container"] == "pickle" and truth["framework"] in ("numpy", "flax"):
        wanted = ("joblib", pickle_values)
    return wanted[1] if wanted and importlib.util.find_spec(wanted[0]) else None


def run(tare, *arguments):
    done = subprocess.run([tare, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"tare {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr}")


def check(tare, original, truth, load, times):
    scaler = next(s for s in truth["scalers"] if s["kind"] == "loss_scale")
    place = f"{scaler['path']}." if scaler["path"] else ""
    native = {role: min((name for name, value in scaler["fields"].items() if value == stored),
                        key=lambda name: not name.endswith(role))
              for role, stored in scaler["roles"].items() if role in ("scale", "growth_tracker")}
    at = scaler.get("at", {})
    stored_at = {role: dotted(at[name]) if name in at else place + name for role, name in native.items()}
    with tempfile.TemporaryDirectory() as scratch:
        case = pathlib.Path(scratch) / "case"
        shutil.copytree(original, case)
        target = case / truth["target"]
        expected = load(target)
        first = dict(expected)
        edits = [("scale", float(2 ** (8 + i % 12))) for i in range(times)]
        edits += [("growth_tracker", 7)] * ("growth_tracker" in native)
        edits = [edit for edit in edits if edit[1] != scaler["roles"][edit[0]]]
        for role, value in edits:
            run(tare, "edit", target, f"{role}={value:g}", "--yes")
            expected[stored_at[role]] = value
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
        try:
            load(path.parent / truth["target"])
        except Exception as problem:  # frameworks raise anything; Keras, for one, wants the backend that wrote it
            print(f"{name:36} does not load here unedited: {str(problem).splitlines()[-1][:100]}", flush=True)
            continue
        print(f"{name:36} {check(options.tare, path.parent, truth, load, options.times)}", flush=True)
        loaded += 1
    names = ("tensorflow", "orbax.checkpoint", "keras", "flax", "h5py", "numpy", "joblib")
    versions = [f"{name} {sys.modules[name].__version__}" for name in names if name in sys.modules]
    print(f"{loaded} checkpoints loaded by {', '.join(versions)}")
    return 0 if loaded else 1


if __name__ == "__main__":
    sys.exit(main())
