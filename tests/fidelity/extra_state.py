#!/usr/bin/env python3
"""Loads FP8 state that tare stripped, resized, renamed, re-encoded and injected with TransformerEngine's own code, and
prints what came of it.

TransformerEngine needs a GPU to be imported as a whole. Its set_extra_state and get_extra_state are taken from the
source of the release itself, as are its recipes and its scan of pickles; what they call of the module is a stand-in
with the tensors that init_fp8_meta_tensors makes. Megatron-core's reader is taken from its source in the same way.

    extra_state.py --tare TARE --corpus CORPUS --releases FOLDER      with FOLDER/<release>/transformer_engine
"""
import ast
import functools
import importlib
import importlib.util
import io
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import types

import torch

from judge import Task, asking, judge, require

# case, what is done to it, the releases that load it, and the length of the history then
TASKS = [
    ("te2.18_delayed", ["resize", "--history", "64"], ["2.3.0", "2.20.2"], 64),
    ("te2.20_delayed", ["resize", "--history", "16"], ["2.3.0", "2.20.2"], 16),
    ("te2.20_two_gemms", ["resize", "--history", "1024"], ["2.20.2"], 1024),
    ("te1.13_4layers", ["resize", "--history", "100"], ["1.13.0"], 100),
    ("te1.7_length1", ["resize", "--history", "8"], ["1.13.0"], 8),
    ("te2.18_delayed", ["reset", "--history", "48"], ["2.20.2"], 48),
    ("te1.0_plain", ["reencode", "--for", "2.20"], ["2.3.0", "2.20.2"], 16),
    ("te1.13_4layers", ["reencode", "--for", "2.20"], ["2.3.0", "2.20.2"], 16),
    ("te1.7_length1", ["reencode", "--for", "2.0"], ["2.3.0", "2.20.2"], 1),
    ("te2.20_two_gemms", ["reencode", "--for", "1.13"], ["1.13.0"], 4),
    ("te2.0_4layers", ["reencode", "--for", "1.13"], ["1.13.0"], 16),
    ("te2.18_delayed", ["strip"], ["2.20.2"], None),
    ("te2.0_4layers", ["strip", "--for", "2.3"], ["1.13.0", "2.3.0", "2.20.2"], None),
    ("te1.13_4layers", ["strip"], ["1.13.0"], None),
    ("te2.20_delayed", ["inject"], ["2.3.0", "2.20.2"], 1024),
    ("te1.13_4layers", ["inject", "--for", "1.13"], ["1.13.0"], 16),
    ("te2.20_two_gemms", ["rename", "--from", "layers.0", "--to", "blocks.0"], ["2.20.2"], 4),
]
MEGATRON_TASKS = [
    ("te1.13_4layers", ["reencode", "--for", "2.20"]),
    ("te2.18_delayed", ["resize", "--history", "64"]),
]


def package(name, folder):
    """A package whose __init__, which loads the native library, does not run."""
    module = types.ModuleType(name)
    module.__path__ = [str(folder)]
    sys.modules[name] = module


def source_of(tree, name):
    return next(node for node in ast.walk(tree) if getattr(node, "name", None) == name)


def methods_of(source, class_name, names, scope):
    """The functions of a class, compiled from the release's file as they stand there."""
    tree = ast.parse(source.read_text())
    found = [node for node in source_of(tree, class_name).body if getattr(node, "name", None) in names]
    module = ast.Module([ast.parse("from __future__ import annotations").body[0], *found], type_ignores=[])
    exec(compile(ast.fix_missing_locations(module), str(source), "exec"), scope)
    return {name: scope[name] for name in names}


class Release:
    """What one release of TransformerEngine does with extra state."""

    def __init__(self, folder, release):
        root = folder / release / "transformer_engine"
        require(root.is_dir(), root, "is not there: see extra_state.txt")
        for name in ("transformer_engine", "transformer_engine.common", "transformer_engine.pytorch"):
            package(name, root / "/".join(name.split(".")[1:]))
        self.recipes = importlib.import_module("transformer_engine.common.recipe")
        scope = {"torch": torch, "io": io, "pickle": pickle, "DelayedScaling": self.recipes.DelayedScaling,
                 "is_in_onnx_export_mode": lambda: False,
                 "_has_delayed_scaling_state": lambda meta: "scaling_fwd" in meta and "scaling_bwd" in meta}
        if (root / "pytorch/_extra_state.py").exists():
            scope.update(vars(importlib.import_module("transformer_engine.pytorch._extra_state")))
        methods = methods_of(root / "pytorch/module/base.py", "TransformerEngineBaseModule",
                             ["get_extra_state", "set_extra_state"], scope)
        self.module = type("Module", (StandIn,), methods)

    def load(self, state, products):
        module = self.module(self.recipes.DelayedScaling(), products)
        module.set_extra_state(state)
        return module


class StandIn:
    fp8 = False
    fp8_calibration = False

    def __init__(self, recipe, products):
        self.products = products
        self.fp8_meta = {"fp8_checkpoint": False, "recipe": recipe}

    def init_fp8_meta_tensors(self, recipe=None):
        length = (recipe or self.fp8_meta["recipe"]).amax_history_len
        for name, count in ("scaling_fwd", 3 * self.products), ("scaling_bwd", 2 * self.products):
            self.fp8_meta[name] = types.SimpleNamespace(
                scale=torch.ones(count), scale_inv=torch.ones(count), amax_history=torch.zeros(length, count))


def on_the_cpu():
    """The release loads to the GPU, and waits for it: here is none."""
    load = torch.load
    torch.load = lambda *a, **k: load(*a, **{**k, "map_location": "cpu", "weights_only": False})
    torch.cuda.synchronize = lambda *a: None


def states_in(file):
    return {k: v for k, v in torch.load(file).items() if k.endswith("_extra_state")}


def told(tare, file):
    answer = subprocess.run([tare, "inspect", file, "--json", "--histories"], capture_output=True, check=False)
    return {s["path"]: s["fields"] for s in json.loads(answer.stdout)["scalers"]}


def close(tensor, values):
    def number(v):
        return [number(x) for x in v] if isinstance(v, list) else float(v)
    return torch.equal(tensor, torch.tensor(number(values)))


def check_loaded(release, state, fields, length):
    products = len(fields["scale_bwd"]) // 2
    module = release.load(state, products)
    meta = module.fp8_meta
    for suffix in ("fwd", "bwd"):
        held = meta["scaling_" + suffix]
        require(close(held.scale, fields["scale_" + suffix]), "scale_" + suffix, "is", held.scale)
        require(close(held.amax_history, fields["amax_history_" + suffix]), "the history is another")
        require(held.amax_history.shape[0] == length, "the history is of", held.amax_history.shape[0])
    require(meta["recipe"].amax_history_len == length, "the recipe says", meta["recipe"].amax_history_len)
    return f"{products} products, history {length}, {str(meta['recipe']) or 'recipe'}"


def check_empty(release, state):
    if state is not None:
        require(state.numel() == 0 or pickle.loads(bytes(state)) is None, "something is left")
    module = release.load(state, 1)
    require("scaling_fwd" not in module.fp8_meta, "something was loaded")
    return "nothing to load"


def saved(tare, file, scratch):
    state = scratch / "state.json"
    subprocess.run([tare, "inspect", file, "--save", state], capture_output=True, check=True)
    subprocess.run([tare, "fp8", "strip", file, "--yes"], capture_output=True, check=True)
    return state


def changed(tare, corpus, case, verb, scratch):
    file = pathlib.Path(shutil.copy(corpus / "transformer_engine" / case / "model.pt", scratch / "model.pt"))
    file.chmod(0o644)
    arguments = [saved(tare, file, scratch)] if verb[0] == "inject" else []
    done = subprocess.run([tare, "fp8", verb[0], file, *arguments, *verb[1:], "--yes"], capture_output=True, check=False)
    require(done.returncode == 0, done.stderr.decode())
    return file


def run_task(tare, corpus, release, case, verb, length):
    with tempfile.TemporaryDirectory() as folder:
        file = changed(tare, corpus, case, verb, pathlib.Path(folder))
        fields, states = told(tare, file), states_in(file)
        require(states, "no extra state is left")
        lines = {check_empty(release, state) if length is None else check_loaded(release, state, fields[path], length)
                 for path, state in states.items()}
        return f"{len(states)} layers: " + "; ".join(sorted(lines))


def megatron_decodes(tare, corpus, case, verb):
    """Megatron-core's reader of grouped layers' extra state, on a re-encoded file."""
    spec = importlib.util.find_spec("megatron.core")
    require(spec is not None, "megatron-core is not installed")
    source = pathlib.Path(spec.submodule_search_locations[0]) / "extensions/transformer_engine.py"
    scope = {"torch": torch, "io": io, "pickle": pickle, "is_te_min_version": lambda *_: True}
    decode = methods_of(source, "TEGroupedLinear", ["_decode_extra_state"], scope)["_decode_extra_state"]
    with tempfile.TemporaryDirectory() as folder:
        file = changed(tare, corpus, case, verb, pathlib.Path(folder))
        fields, states = told(tare, file), states_in(file)
        for path, state in states.items():
            decoded = decode(None, state)
            require(close(decoded["amax_history_fwd"], fields[path]["amax_history_fwd"]), case, path)
        return f"{len(states)} layers decoded"


def main():
    ask = asking(__doc__)
    ask.add_argument("--releases", required=True, type=pathlib.Path)
    ask.add_argument("--release", help="this one alone, in this process")
    options = ask.parse_args()
    os.environ["NVTE_ALLOW_UNSAFE_PICKLE_EXTRA_STATE"] = "1"  # from 2.18 on delayed scaling is refused without it
    if options.release is None:
        releases = sorted({release for task in TASKS for release in task[2]})
        # One process each: their classes have the same names.
        return max(subprocess.run([sys.executable, *sys.argv, "--release", release], check=False).returncode
                   for release in releases)
    on_the_cpu()
    release = Release(options.releases.resolve(), options.release)
    tasks = [Task(f"{case} after {' '.join(verb)}",
                  functools.partial(run_task, options.tare, options.corpus, release, case, verb, length))
             for case, verb, releases, length in TASKS if options.release in releases]
    if options.release.startswith("2.20"):
        tasks += [Task(f"{case} after {' '.join(verb)}, by Megatron-core",
                       functools.partial(megatron_decodes, options.tare, options.corpus, case, verb))
                  for case, verb in MEGATRON_TASKS]
    return judge(f"TransformerEngine {options.release}", tasks, lambda task: [task.run()])


if __name__ == "__main__":
    sys.exit(main())
