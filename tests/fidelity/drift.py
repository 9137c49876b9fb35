#!/usr/bin/env python3
"""Writes a small checkpoint with each framework that this Python has, in its own code; tare inspects and edits it, and the
framework loads it again. Prints one line a framework, and what differs from the last lines that were kept.

    drift.py --tare BINARY [--against FILE] [FRAMEWORK...]      exit 1: an edited file does not load as edited

Each framework runs in a process of its own.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version

WRITTEN, EDITED = 4096.0, 512.0
CANNOT_RUN = 3


def torch_parts(scale=WRITTEN):
    """A model, its optimizer, a scaler with that scale."""
    import torch

    model = torch.nn.Linear(2, 2)
    scaler = torch.amp.GradScaler("cpu")
    scaler.load_state_dict({**torch.amp.GradScaler("cpu").state_dict(), "scale": scale})
    return model, torch.optim.SGD(model.parameters(), 0.1), scaler


def scale_of(scaler):
    return scaler.state_dict()["scale"]


# ---- a framework: write(folder) -> what to inspect; load(that) -> the scale that it has then

class Torch:
    package = "torch"

    def write(self, folder):
        import torch

        model, optimizer, scaler = torch_parts()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()},
                   folder / "checkpoint.pt")
        return folder / "checkpoint.pt"

    def load(self, path):
        import torch

        scaler = torch_parts(1.0)[2]
        scaler.load_state_dict(torch.load(path)["scaler"])
        return scale_of(scaler)


class Lightning:
    package = "lightning"

    def trainer(self, scaler):
        import lightning
        from lightning.pytorch.plugins.precision import MixedPrecision

        return lightning.Trainer(accelerator="cpu", plugins=[MixedPrecision("16-mixed", "cpu", scaler)], logger=False,
                                 enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False)

    def write(self, folder):
        import lightning

        class Model(lightning.LightningModule):
            def configure_optimizers(self):
                return None

        trainer = self.trainer(torch_parts()[2])
        trainer.strategy.connect(Model())
        trainer.save_checkpoint(folder / "last.ckpt")
        return folder / "last.ckpt"

    def load(self, path):
        import torch

        scaler = torch_parts(1.0)[2]
        connector = self.trainer(scaler)._checkpoint_connector
        connector._loaded_checkpoint = torch.load(path, weights_only=False)
        connector.restore_precision_plugin_state()
        return scale_of(scaler)


class Accelerate:
    package = "accelerate"

    def prepared(self, scale):
        import accelerate

        accelerator = accelerate.Accelerator(cpu=True)
        model, optimizer, accelerator.scaler = torch_parts(scale)
        accelerator.prepare(model, optimizer)
        return accelerator

    def write(self, folder):
        self.prepared(WRITTEN).save_state(str(folder / "state"))
        return folder / "state"

    def load(self, path):
        accelerator = self.prepared(1.0)
        accelerator.load_state(str(path))
        return scale_of(accelerator.scaler)


class Transformers:
    package = "transformers"

    def trainer(self, scale):
        from types import SimpleNamespace

        from transformers.trainer import Trainer

        trainer = object.__new__(Trainer)
        trainer.accelerator = SimpleNamespace(scaler=torch_parts(scale)[2])
        trainer.args = SimpleNamespace(should_save=True, device="cpu", world_size=1)
        return trainer

    def write(self, folder):
        step = folder / "checkpoint-10"
        step.mkdir()
        self.trainer(WRITTEN)._save_scaler(str(step))
        return step

    def load(self, path):
        trainer = self.trainer(1.0)
        trainer._load_scaler(str(path))
        return scale_of(trainer.accelerator.scaler)


class Timm:
    package = "timm"

    def parts(self, scale):
        from timm.utils import NativeScaler

        model, optimizer, scaler = torch_parts(scale)
        wrapped = NativeScaler(device="cpu")
        wrapped._scaler = scaler
        return model, optimizer, wrapped

    def write(self, folder):
        from timm.utils import CheckpointSaver

        model, optimizer, scaler = self.parts(WRITTEN)
        saver = CheckpointSaver(model, optimizer, argparse.Namespace(model="linear"), amp_scaler=scaler,
                                checkpoint_dir=str(folder), recovery_dir=str(folder))
        saver.save_checkpoint(0)
        # A link to the numbered one, where an edit would change both, which tare refuses: as a copy of the run has it.
        return pathlib.Path(shutil.copy(folder / "last.pth.tar", folder / "copy.pth.tar"))

    def load(self, path):
        from timm.models import resume_checkpoint

        model, optimizer, scaler = self.parts(1.0)
        resume_checkpoint(model, str(path), optimizer=optimizer, loss_scaler=scaler)
        return scale_of(scaler._scaler)


class Mmengine:
    package = "mmengine"

    def wrapper(self, scale):
        from mmengine.optim import AmpOptimWrapper

        wrapper = object.__new__(AmpOptimWrapper)  # making one needs a GPU
        _, wrapper.optimizer, wrapper.loss_scaler = torch_parts(scale)
        wrapper.base_param_settings = None
        return wrapper

    def write(self, folder):
        import torch

        torch.save({"meta": {}, "state_dict": {}, "optimizer": self.wrapper(WRITTEN).state_dict()}, folder / "epoch_1.pth")
        return folder / "epoch_1.pth"

    def load(self, path):
        import torch

        wrapper = self.wrapper(1.0)
        wrapper.load_state_dict(torch.load(path, weights_only=False)["optimizer"])
        return scale_of(wrapper.loss_scaler)


class Ignite:
    package = "pytorch-ignite"

    def objects(self, scale):
        model, optimizer, scaler = torch_parts(scale)
        return {"model": model, "optimizer": optimizer, "scaler": scaler}

    def write(self, folder):
        from ignite.engine import Engine
        from ignite.handlers import Checkpoint, DiskSaver

        Checkpoint(self.objects(WRITTEN), DiskSaver(str(folder)))(Engine(lambda *_: None))
        return next(folder.iterdir())

    def load(self, path):
        from ignite.handlers import Checkpoint

        objects = self.objects(1.0)
        Checkpoint.load_objects(objects, str(path))
        return scale_of(objects["scaler"])


class PfnExtras:
    package = "pytorch-pfn-extras"

    def manager(self, folder, scale):
        import pytorch_pfn_extras

        model, optimizer, scaler = torch_parts(scale)
        return pytorch_pfn_extras.training.ExtensionsManager(
            {"main": model}, {"main": optimizer}, 1, iters_per_epoch=1, extensions=[], out_dir=str(folder / "out"),
            state_objects={"scaler": scaler}), scaler

    def write(self, folder):
        import torch

        torch.save(self.manager(folder, WRITTEN)[0].state_dict(), folder / "snapshot_iter_0")
        return folder / "snapshot_iter_0"

    def load(self, path):
        import torch

        manager, scaler = self.manager(path.parent, 1.0)
        manager.load_state_dict(torch.load(path, weights_only=False))
        return scale_of(scaler)


class Deepspeed:
    package = "deepspeed"

    def engine(self):
        import deepspeed
        import torch
        from deepspeed.accelerator.cpu_accelerator import CPU_Accelerator

        CPU_Accelerator.is_fp16_supported = lambda self: True  # it is, for networks this small
        CPU_Accelerator.supported_dtypes = lambda self: [torch.float, torch.half, torch.bfloat16]
        deepspeed.init_distributed(dist_backend="gloo")
        model, optimizer, _ = torch_parts()
        config = {"train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": True,
                  "zero_force_ds_cpu_optimizer": False, "zero_optimization": {"stage": 1},
                  "fp16": {"enabled": True, "initial_scale_power": 12}}
        return deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]

    def write(self, folder):
        self.engine().save_checkpoint(str(folder))
        return folder

    def load(self, path):
        engine = self.engine()
        engine.load_checkpoint(str(path))
        return engine.optimizer.loss_scaler.cur_scale


class Megatron:
    package = "megatron-core"

    def scaler(self):
        import torch
        from megatron.core.optimizer.grad_scaler import DynamicGradScaler

        torch.cuda.current_device = lambda: "cpu"  # it puts its scale on the GPU; a CPU will do here
        made, torch.tensor = torch.tensor, lambda value, dtype=None, device=None: made(value, dtype=dtype)
        torch.Tensor.cuda = lambda self, *_, **__: self
        scaler = DynamicGradScaler(WRITTEN, 1.0, 2.0, 0.5, 1000, 2)
        torch.tensor = made
        return scaler

    def write(self, folder):
        import torch

        torch.save({"checkpoint_version": 3.0, "optimizer": {"optimizer": {}, "grad_scaler": self.scaler().state_dict()}},
                   folder / "model_optim_rng.pt")
        return folder / "model_optim_rng.pt"

    def load(self, path):
        import torch

        scaler = self.scaler()
        scaler.load_state_dict(torch.load(path, weights_only=False)["optimizer"]["grad_scaler"])
        return scaler.scale.item()


class Flax:
    package = "flax"

    def state(self, scale):
        import jax.numpy as jnp
        from flax.training.dynamic_scale import DynamicScale

        return {"step": jnp.int32(3), "dynamic_scale": DynamicScale(scale=scale)}

    def write(self, folder):
        from flax import serialization

        (folder / "checkpoint_3").write_bytes(serialization.to_bytes(self.state(WRITTEN)))
        return folder / "checkpoint_3"

    def load(self, path):
        from flax import serialization

        return float(serialization.from_bytes(self.state(1.0), path.read_bytes())["dynamic_scale"].scale)


class Orbax(Flax):
    package = "orbax-checkpoint"

    def write(self, folder):
        import jax.numpy as jnp
        import orbax.checkpoint

        with orbax.checkpoint.CheckpointManager(folder / "run") as manager:
            manager.save(3, args=orbax.checkpoint.args.StandardSave(self.state(jnp.float32(WRITTEN))))
            manager.wait_until_finished()
        return folder / "run"

    def load(self, path):
        import jax.numpy as jnp
        import orbax.checkpoint

        with orbax.checkpoint.CheckpointManager(path) as manager:
            restored = manager.restore(3, args=orbax.checkpoint.args.StandardRestore(self.state(jnp.float32(1.0))))
        return float(restored["dynamic_scale"].scale)


class Keras:
    package = "keras"

    def write(self, folder):
        import keras

        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=WRITTEN)
        model.compile(optimizer=optimizer, loss="mse")
        optimizer.build(model.trainable_variables)
        model.save(folder / "model.keras")
        return folder / "model.keras"

    def load(self, path):
        import keras

        return float(keras.models.load_model(path).optimizer.dynamic_scale.numpy())


class Paddle:
    package = "paddlepaddle"

    def scaler(self):
        import unittest.mock
        from types import SimpleNamespace

        import paddle

        tracer = SimpleNamespace(_expected_place=SimpleNamespace(is_gpu_place=lambda: True))  # it refuses a CPU
        with unittest.mock.patch.object(paddle.amp.grad_scaler, "_dygraph_tracer", lambda: tracer):
            return paddle.amp.GradScaler(init_loss_scaling=WRITTEN)

    def write(self, folder):
        import paddle

        paddle.save(self.scaler().state_dict(), str(folder / "scaler.pdparams"))
        return folder / "scaler.pdparams"

    def load(self, path):
        import paddle

        scaler = self.scaler()
        scaler.load_state_dict(paddle.load(str(path)))
        return float(scaler.state_dict()["scale"][0])


FRAMEWORKS = {one.package: one for one in (Torch, Lightning, Accelerate, Transformers, Timm, Mmengine, Ignite,
                                           PfnExtras, Deepspeed, Megatron, Flax, Orbax, Keras, Paddle)}


# ---- one framework, and all of them

def answer(tare, *arguments):
    done = subprocess.run([tare, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr.strip()


def line_of(framework, tare, folder):
    """-> package, what is inspected, dialect, path, place, and what a load has after the edit."""
    target = framework.write(folder)
    name = target.name if target != folder else "."
    code, out, error = answer(tare, "inspect", target, "--json")
    scalers = json.loads(out)["scalers"] if out else []
    if len(scalers) != 1:
        return [framework.package, name, "not read", f"exit {code}, {len(scalers)} scalers", "", error[:80]]
    found = scalers[0]
    shown = [framework.package, name, found["dialect"], found["path"] or "(the whole file)", found.get("place", "")]
    if found["roles"]["scale"] != WRITTEN:
        return [*shown, f"scale {found['roles']['scale']} is read, and not {WRITTEN}"]
    code, _, error = answer(tare, "edit", target, f"scale={EDITED}", "--yes")
    if code != 0:
        return [*shown, f"not edited: {error[:80]}"]
    loaded = framework.load(target)
    return [*shown, "loads as edited" if loaded == EDITED else f"loads {loaded}, and not {EDITED}"]


def run_one(package, tare):
    with tempfile.TemporaryDirectory() as folder:
        try:
            line = line_of(FRAMEWORKS[package](), tare, pathlib.Path(folder))
        except ImportError as error:
            print(error)
            return CANNOT_RUN
    print("\t".join(line))
    return 0


def run_apart(package, tare):
    environment = {**os.environ, "DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": "", "RANK": "0", "LOCAL_RANK": "0",
                   "WORLD_SIZE": "1", "LOCAL_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29512",
                   "DS_BUILD_OPS": "0", "DS_IGNORE_CUDA_DETECTION": "1", "KERAS_BACKEND": "jax"}
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--tare", tare, "--here", package], env=environment,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    last = (done.stdout.strip().splitlines() or [""])[-1]
    if done.returncode == 0:
        return last.split("\t")
    problem = (done.stderr.strip().splitlines() or [last])[-1]
    return None if done.returncode == CANNOT_RUN else [package, "", "", "", "", f"fails: {problem[:120]}"]


def kept_lines(path):
    """{package: (release, the rest)} of an earlier run's output."""
    if path is None:
        return {}
    rows = [line.split(" | ") for line in path.read_text().splitlines() if line.count(" | ") == 6]
    return {row[0]: (row[1], row[2:]) for row in rows}


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--against", type=pathlib.Path)
    ask.add_argument("--here", help=argparse.SUPPRESS)
    ask.add_argument("frameworks", nargs="*", metavar="FRAMEWORK")
    options = ask.parse_args()
    tare = str(pathlib.Path(options.tare).resolve())
    if options.here:
        return run_one(options.here, tare)
    before, changed, bad = kept_lines(options.against), [], 0
    print("framework | release | checkpoint | dialect | path | kept there by | after an edit")
    for package in options.frameworks or FRAMEWORKS:
        try:
            release = version(package)
        except PackageNotFoundError:
            print(f"{package}: not here")
            continue
        line = run_apart(package, tare)
        if line is None:
            print(f"{package} {release}: cannot be imported here")
            continue
        print(" | ".join([package, release, *line[1:]]), flush=True)
        bad += line[-1] != "loads as edited"
        known = before.get(package)
        if known is None:
            changed.append(f"{package}: new here, {release}")
        elif known != (release, line[1:]):
            changed.append(f"{package}: {known[0]} -> {release}: " + ("nothing else" if known[1] == line[1:] else
                                                                     f"{known[1]} -> {line[1:]}"))
    print("\nchanged since then:" if options.against else "\nthe first of its kind:")
    print("\n".join(changed) or "nothing")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
