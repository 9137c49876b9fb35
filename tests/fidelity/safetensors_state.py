#!/usr/bin/env python3
"""Changes TransformerEngine's state in files of the real safetensors library and reads them with it: what is asked for
comes true, and every other tensor is as it was.

    safetensors_state.py --tare TARE --corpus CORPUS
"""
import functools
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file

from judge import Task, asking, judge, require

KEY = "_extra_state"
LAYERS = 60


def model_of(corpus):
    """Layers as Hugging Face keeps them, with states of two real files."""
    states = [v for case in ("te2.18_delayed", "te2.20_delayed")
              for k, v in torch.load(corpus / "transformer_engine" / case / "model.pt").items() if k.endswith(KEY)]
    model = {}
    for layer in range(LAYERS):
        model[f"layers.{layer}.weight"] = torch.full((8, 8), float(layer), dtype=torch.bfloat16)
        model[f"layers.{layer}.scale"] = torch.full((3,), float(layer))
        model[f"layers.{layer}.{KEY}"] = states[layer % len(states)].clone()
    return model


def sharded(model, folder):
    """As transformers and accelerate write it: tensors in several files, and an index beside them."""
    names, shards = list(model), 3
    weight_map = {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        own = {k: model[k] for i, k in enumerate(names) if i * shards // len(names) == shard}
        save_file(own, folder / file, metadata={"format": "pt"})
        weight_map.update(dict.fromkeys(own, file))
    total = sum(t.numel() * t.element_size() for t in model.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")


def single(model, folder):
    save_file(model, folder / "model.safetensors", metadata={"format": "pt"})


def loaded(folder):
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        found = load_file(file)
        require(not set(found) & set(tensors), "a tensor is in two shards")
        tensors.update(found)
    index = folder / "model.safetensors.index.json"
    if index.exists():
        told = json.loads(index.read_text())
        require(set(told["weight_map"]) == set(tensors), "the index names other tensors than there are")
        total = sum(t.numel() * t.element_size() for t in tensors.values())
        require(told["metadata"]["total_size"] == total, "the index counts", told["metadata"]["total_size"], "of", total)
    return tensors


def histories(tare, folder):
    answer = subprocess.run([tare, "inspect", folder, "--json", "--histories"], capture_output=True, check=False)
    return {s["path"]: len(s["fields"]["amax_history_fwd"]) for s in json.loads(answer.stdout)["scalers"]}


CHANGES = {
    "strip": (["strip"], lambda state: state.numel() == 0),
    "strip --remove": (["strip", "--remove"], None),
    "strip --remove of some": (["strip", "--remove", "--layer", "*layers.1*"], None),
    "resize to 4": (["resize", "--history", "4"], 4),
    "resize to 4096": (["resize", "--history", "4096"], 4096),
    "reset to 32": (["reset", "--history", "32"], 32),
    "recompute": (["recompute"], ...),
}


def check(tare, save, verb, wanted, model):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "model"
        folder.mkdir()
        save(model, folder)
        target = folder if save is sharded else folder / "model.safetensors"
        before = {file.name: file.read_bytes() for file in folder.iterdir()}
        done = subprocess.run([tare, "fp8", *verb, target, "--yes"], capture_output=True, check=False)
        if done.returncode == 4:
            require(before == {f.name: f.read_bytes() for f in folder.iterdir() if f.is_file()}, "refused, and changed")
            return "refused: " + done.stderr.decode().splitlines()[0][-150:]
        require(done.returncode == 0, done.stderr.decode())
        after = loaded(folder)
        gone = {k for k in model if wanted is None and k.endswith(KEY) and (len(verb) == 2 or "layers.1" in k)}
        require(set(after) == set(model) - gone, "has other tensors")
        for name, tensor in after.items():
            is_kept = not name.endswith(KEY) or wanted is None
            require(not is_kept or torch.equal(tensor, model[name]), name, "changed")
            require(is_kept or not callable(wanted) or wanted(tensor), name, "is not as asked for")
        if isinstance(wanted, int):
            lengths = set(histories(tare, target).values())
            require(lengths == {wanted}, "histories of", lengths)
        size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
        undone = subprocess.run([tare, "undo", target, "--yes"], capture_output=True, check=False)
        require(undone.returncode == 0, undone.stderr.decode())
        require(before == {f.name: f.read_bytes() for f in folder.iterdir() if f.is_file()}, "undo left something")
        return f"{len(after)} of {len(model)} tensors, {sum(map(len, before.values()))} bytes become {size}, and back"


def main():
    options = asking(__doc__).parse_args()
    model = model_of(options.corpus)
    tasks = [Task(f"{save.__name__}, {name}", functools.partial(check, options.tare, save, verb, wanted, model))
             for save in (single, sharded) for name, (verb, wanted) in CHANGES.items()]
    return judge("safetensors", tasks, lambda task: [task.run()])


if __name__ == "__main__":
    sys.exit(main())
