#!/usr/bin/env python3
"""Writes new scaler files with `tare migrate` and loads them with the real framework.

    new_files.py --tare BINARY

Run it in a Python with torch (DeepSpeed and Megatron too, where they are installed), MindSpore, Paddle, or flax and jmp: it
writes the files of the frameworks that are there, each from two states, and holds what the framework's own loader then has against
what tare said that it wrote.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.update(CUDA_VISIBLE_DEVICES="")
sys.dont_write_bytecode = True

STATES = [
    {"policy": "torch", "params": {"growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 500},
     "fields": {"scale": 4096.0, "_growth_tracker": 42}},
    {"policy": "megatron", "params": {"growth_interval": 1000, "hysteresis": 2},
     "fields": {"scale": 131072.0, "growth_tracker": 7, "hysteresis_tracker": 1}},
]


def torch_values(path):
    import torch
    state = torch.load(path, weights_only=True)
    scaler = torch.amp.GradScaler("cpu", enabled=True)
    scaler._lazy_init_scale_growth_tracker(torch.device("cpu"))
    scaler.load_state_dict(state)
    return {"scale": scaler.get_scale(), "_growth_tracker": scaler._get_growth_tracker(),
            "growth_interval": scaler.get_growth_interval(), "growth_factor": scaler.get_growth_factor(),
            "backoff_factor": scaler.get_backoff_factor()}


def torch_mapped(path):
    """As torch_values, through mmap: torch takes the records' offsets from the file."""
    import torch
    return torch.load(path, weights_only=True, mmap=True)


def megatron_values(path):
    import torch
    from megatron.core.optimizer.grad_scaler import DynamicGradScaler
    torch.cuda.current_device = lambda: 0  # it puts its scale on the GPU; a CPU will do here
    torch.Tensor.cuda = lambda self, *_, **__: self
    scaler = DynamicGradScaler.__new__(DynamicGradScaler)
    scaler.load_state_dict(torch.load(path, weights_only=True)["optimizer"]["grad_scaler"])
    return {"scale": scaler.scale.item(), "growth_tracker": scaler._growth_tracker,
            "hysteresis_tracker": scaler._hysteresis_tracker}


def deepspeed_values(path):
    import torch
    scaler = torch.load(path, weights_only=False)["optimizer_state_dict"]["loss_scaler"]
    values = {name: getattr(scaler, name) for name in (
        "cur_scale", "cur_iter", "last_overflow_iter", "scale_factor", "scale_window", "min_scale", "delayed_shift",
        "cur_hysteresis", "consecutive_hysteresis", "raise_error_at_min_scale")}
    scaler.update_scale(False)  # it works
    return values


def paddle_values(path):
    import paddle
    state = paddle.load(str(path), return_numpy=True)
    return {name: value.item() if hasattr(value, "item") else value for name, value in state.items()}


def mindspore_values(path):
    import mindspore
    return {name: parameter.asnumpy().item() for name, parameter in mindspore.load_checkpoint(str(path)).items()}


def flax_values(path):
    from flax import serialization
    from flax.training.dynamic_scale import DynamicScale
    scale = serialization.from_bytes({"dynamic_scale": DynamicScale()}, path.read_bytes())["dynamic_scale"]
    return {"fin_steps": int(scale.fin_steps), "scale": float(scale.scale)}


def stepped_by_jmp(arrays):
    """The values of a jmp scaler that is made of them and works."""
    import jmp
    import numpy
    scaler = jmp.DynamicLossScale(**{name.rsplit("/", 1)[-1]: value for name, value in arrays.items()})
    values = {"loss_scale": scaler.loss_scale.item(), "counter": scaler.counter.item()}
    after = scaler.adjust(numpy.bool_(False))
    assert float(after.loss_scale) == values["loss_scale"] / 2 and int(after.counter) == 0
    return values


def jmp_npz_values(path):
    import numpy
    return stepped_by_jmp(numpy.load(path))


def jmp_msgpack_values(path):
    from flax import serialization
    return stepped_by_jmp(serialization.msgpack_restore(path.read_bytes())["loss_scale"])


# (module that must be there, --to, file, loader)
LOADERS = [
    ("torch", "torch", "scaler.pt", torch_values),
    ("torch", "torch", "mapped.pt", torch_mapped),
    ("megatron", "megatron", "grad_scaler.pt", megatron_values),
    ("deepspeed", "deepspeed zero", "zero.pt", deepspeed_values),
    ("paddle", "paddle", "scaler.pdparams", paddle_values),
    ("mindspore", "mindspore", "net.ckpt", mindspore_values),
    ("mindspore", "mindspore_amp", "state.ckpt", mindspore_values),
    ("flax", "flax", "state.msgpack", flax_values),
    ("jmp", "jmp", "state.npz", jmp_npz_values),
    ("jmp", "jmp", "state.msgpack", jmp_msgpack_values),
]


def written(tare, source, framework, path):
    """-> {native name: value} that tare says it wrote"""
    done = subprocess.run([tare, "migrate", str(source), "--to", framework, "-o", str(path), "--yes", "--json"],
                          capture_output=True, text=True, check=True)
    return {value["key"].split(".", 1)[1]: value["after"] for value in json.loads(done.stdout)["values"]
            if value["fate"] != "lost"}


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    tare = str(pathlib.Path(ask.parse_args().tare).resolve())
    tried = wrong = 0
    for module, framework, name, load in LOADERS:
        if importlib.util.find_spec(module) is None:
            continue
        for state in STATES:
            with tempfile.TemporaryDirectory() as folder:
                source, path = pathlib.Path(folder) / "state.json", pathlib.Path(folder) / name
                source.write_text(json.dumps({"schema": "tare.state/1", **state}))
                said, loaded = written(tare, source, framework, path), load(path)
            unlike = {key: (said.get(key), value) for key, value in loaded.items() if said.get(key) != value}
            is_wrong = bool(unlike) or not loaded
            tried, wrong = tried + 1, wrong + is_wrong
            print(f"{'wrong' if is_wrong else 'loads'}  {state['policy']} to {framework} ({name}): {unlike or loaded}")
    print(f"{tried} new files loaded, {wrong} of them wrong")
    return 1 if wrong or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
