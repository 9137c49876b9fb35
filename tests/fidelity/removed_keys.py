#!/usr/bin/env python3
"""Takes FP8 state with its keys out of distributed checkpoints and loads what is left with torch's own reader, and with
Megatron-core's: the keys are gone, all else is equal.

    removed_keys.py --tare TARE --corpus CORPUS
"""
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest.mock

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from torch.distributed.checkpoint.state_dict_loader import _load_state_dict

from judge import Task, Wrong, asking, judge, require

KEY = "_extra_state"
PORT = 29617


def on_the_cpu():
    """Objects in the corpus were saved from a GPU: here is none."""
    load = torch.load
    torch.load = lambda *a, **k: load(*a, **{**k, "map_location": "cpu", "weights_only": False})


def loaded(folder):
    """Everything that torch finds in a checkpoint, as DCP's own conversion to one file loads it."""
    state = {}
    _load_state_dict(state, storage_reader=dcp.FileSystemReader(folder), planner=_EmptyStateDictLoadPlanner(),
                     no_dist=True)
    return state


def equal(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and (repr(a) == repr(b) or a == b)


def without(value, goes):
    if isinstance(value, dict):
        return {k: without(v, goes) for k, v in value.items() if not goes(str(k))}
    return value


def keys_of(value):
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        yield str(key)
        yield from keys_of(item)


def strip(tare, folder, *arguments):
    done = subprocess.run([tare, "fp8", "strip", folder, "--remove", *arguments, "--yes"], capture_output=True,
                          check=False)
    require(done.returncode == 0, done.stderr.decode())


def check_left(folder, before, goes):
    after = loaded(folder)
    gone = [key for key in keys_of(before) if goes(key)]
    require(gone, "nothing was to go")
    require(equal(without(before, goes), after), "something else is left than was to be")
    return f"{len(gone)} keys gone, {sum(1 for _ in keys_of(after))} left, all equal"


def real(tare, corpus, case, scratch):
    shutil.copytree(corpus / "transformer_engine" / case / "ckpt", scratch / "ckpt", copy_function=shutil.copyfile)
    folder = next((scratch / "ckpt").rglob(".metadata")).parent
    before = loaded(folder)
    strip(tare, scratch / "ckpt")
    line = check_left(folder, before, lambda key: KEY in key)
    return line + ("; " + megatron(folder) if "megatron" in case else "")


def megatron(folder):
    """What Megatron-core finds by the metadata."""
    from megatron.core.dist_checkpointing.mapping import ShardedObject
    from megatron.core.dist_checkpointing.strategies.torch import TorchDistLoadShardedStrategy

    if not torch.distributed.is_initialized():
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT), RANK="0", WORLD_SIZE="1")
        torch.distributed.init_process_group("gloo")
    empty = torch.empty  # 0.16 hands it all properties that torch's metadata have, of which 2.15 knows one more
    with unittest.mock.patch.object(torch, "empty", lambda *a, strides=None, **k: empty(*a, **k)):
        found = TorchDistLoadShardedStrategy().load_sharded_metadata(folder)
    require(found and not any(KEY in key for key in found), "Megatron finds", [k for k in found if KEY in k][:2])
    objects = sum(isinstance(item, ShardedObject) for item in found.values())
    return f"Megatron-core finds {len(found)} keys ({objects} objects), none of them"


def many(tare, corpus, scratch):
    """Hundreds of layers, in a checkpoint that torch saves here: metadata of many frames. Some layers go."""
    state = torch.load(corpus / "transformer_engine" / "te2.18_delayed" / "model.pt")
    extra = next(v for k, v in state.items() if k.endswith(KEY))
    model = {}
    for layer in range(600):
        model[f"layers.{layer}.weight"] = torch.full((4, 4), float(layer))
        model[f"layers.{layer}.{KEY}"] = extra.clone()
    folder = scratch / "ckpt"
    dcp.save({"model": model, "step": 7, "groups": [{"lr": 0.5}, {"lr": 0.25}]}, checkpoint_id=folder, no_dist=True)
    size, before = (folder / ".metadata").stat().st_size, loaded(folder)
    strip(tare, folder, "--layer", "*layers.1*")
    line = check_left(folder, before, lambda key: key.startswith("layers.1") and KEY in key)
    target = {"model": {k: torch.zeros_like(v) for k, v in model.items() if not (k.startswith("layers.1") and KEY in k)}}
    dcp.load(target, checkpoint_id=folder, no_dist=True)
    require(all(torch.equal(v, model[k]) for k, v in target["model"].items()), "loads other values")
    return f"{line}; metadata of {size} bytes, now {(folder / '.metadata').stat().st_size}"


def in_scratch(task):
    with tempfile.TemporaryDirectory() as scratch:
        try:
            return [task.run(pathlib.Path(scratch))]
        except dcp.api.CheckpointException as problem:  # no Exception, but the framework's own answer
            raise Wrong(repr(problem)) from problem


def main():
    options = asking(__doc__).parse_args()
    on_the_cpu()
    tasks = [Task(case, functools.partial(real, options.tare, options.corpus, case))
             for case in ("te2.20_dcp", "te2.20_megatron_dist", "te1.13_megatron_dist")]
    tasks.append(Task("600 layers saved here", functools.partial(many, options.tare, options.corpus)))
    return judge(f"torch {torch.__version__}", tasks, in_scratch)


if __name__ == "__main__":
    sys.exit(main())
