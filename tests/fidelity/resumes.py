#!/usr/bin/env python3
"""What a resume does with the state, run with the frameworks that this Python has: the rows of the trainers' tables
(lib/dialect/frameworks) that say so without "read, not run".

    resumes.py [--beside FOLDER] [ROW...]    exit 0: every row that can run here does what the table says

FOLDER: releases in folders of their own, as resumes_beside.txt lists them. Each row runs in a process of its own.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
from types import SimpleNamespace

KEPT = {"scale": 4096.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 7}


def trained():
    """A model, its optimizer, and a scaler that has moved."""
    import torch

    model = torch.nn.Linear(2, 2)
    scaler = torch.amp.GradScaler("cpu")
    scaler.load_state_dict(KEPT)
    return model, torch.optim.SGD(model.parameters(), 0.1), scaler


def jmp_minimum():
    """jmp: min_loss_scale is 1 again after any tree_map."""
    import jax
    import jax.numpy as jnp
    import jmp

    made = jmp.DynamicLossScale(jnp.float32(1024), period=3, factor=2, min_loss_scale=jnp.float32(64))
    mapped = jax.tree_util.tree_map(lambda leaf: leaf, made)
    lowest = mapped
    for _ in range(12):
        lowest = lowest.adjust(jnp.array(False))
    return float(made.min_loss_scale) == 64 and float(mapped.min_loss_scale) == 1 and float(lowest.loss_scale) == 1


def lightning_key():
    """Lightning: a release finds the state under its own key and an old one, and starts anew under any other."""
    import pytorch_lightning as lightning
    import torch
    from pytorch_lightning.plugins.precision import MixedPrecision

    def resumed(key):
        scaler = torch.amp.GradScaler("cpu")
        plugin = MixedPrecision("16-mixed", "cpu", scaler)
        trainer = lightning.Trainer(accelerator="cpu", plugins=[plugin], logger=False, enable_progress_bar=False,
                                    enable_model_summary=False, enable_checkpointing=False)
        connector = trainer._checkpoint_connector
        connector._loaded_checkpoint = {key: dict(KEPT)}
        connector.restore_precision_plugin_state()
        return scaler.state_dict()["scale"]

    return (resumed("MixedPrecision"), resumed("native_amp_scaling_state"), resumed("MixedPrecisionPlugin")) == (
        4096.0, 4096.0, 65536.0)


def accelerate_fsdp2():
    """accelerate: loading the optimizer of FSDP2 advances the scaler that load_state() has restored."""
    import accelerate
    import torch
    from accelerate.utils.fsdp_utils import load_fsdp_optimizer, save_fsdp_optimizer
    from torch.distributed.fsdp.fully_sharded_data_parallel import StateDictType

    torch.distributed.init_process_group("gloo")
    accelerate.Accelerator(cpu=True)
    plugin = SimpleNamespace(fsdp_version=2, state_dict_type=StateDictType.SHARDED_STATE_DICT, state_dict_config=None)
    alone = SimpleNamespace(wait_for_everyone=lambda: None, process_index=0)

    def made():
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=1)
        model = torch.nn.Linear(4, 4)
        optimizer = torch.optim.AdamW(model.parameters())
        return scaler, model, accelerate.optimizer.AcceleratedOptimizer(optimizer, scaler=scaler)

    scaler, model, optimizer = made()
    scaler.scale(model(torch.ones(1, 4)).sum()).backward()
    optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        save_fsdp_optimizer(plugin, alone, optimizer, model, folder)
        scaler, model, optimizer = made()
        scaler._lazy_init_scale_growth_tracker(torch.device("cpu"))  # as load_state() does before
        restored = scaler.state_dict()
        load_fsdp_optimizer(plugin, alone, optimizer, model, folder)
        advanced = scaler.state_dict()["scale"]
        scaler.load_state_dict(restored)
    torch.distributed.destroy_process_group()
    return (restored["scale"], advanced, scaler.state_dict()["scale"]) == (1024.0, 2048.0, 1024.0)


def ultralytics_release():
    """ultralytics: 8.3.202 and earlier save no scaler, later ones do."""
    import io

    import torch
    import ultralytics
    from ultralytics.engine.trainer import BaseTrainer

    trainer = object.__new__(BaseTrainer)
    kept = {}
    path = SimpleNamespace(write_bytes=lambda contents: kept.update(file=contents), parent=pathlib.Path("."))
    model = torch.nn.Linear(2, 2)
    trainer.__dict__.update(
        epoch=0, best_fitness=0.0, fitness=0.5, model=model, optimizer=torch.optim.SGD(model.parameters(), 0.1),
        ema=SimpleNamespace(ema=model, updates=1), scaler=torch.amp.GradScaler("cpu"), args=SimpleNamespace(amp=True),
        metrics={}, last=path, best=path, save_period=-1, wdir=pathlib.Path("."), read_results_csv=lambda: {}, csv=path)
    trainer.save_model()
    loaded = torch.load(io.BytesIO(kept["file"]), weights_only=False)
    release = tuple(int(part) for part in ultralytics.__version__.split(".")[:3])
    return loaded["version"] == ultralytics.__version__ and ("scaler" in loaded) == (release > (8, 3, 202))


def lightning_apex():
    """Lightning: with apex a resumed run of 1.8 and 1.9 stops at its first step."""
    from pytorch_lightning.plugins.precision.apex_amp import ApexMixedPrecisionPlugin

    plugin = object.__new__(ApexMixedPrecisionPlugin)  # making one needs apex
    plugin._state_dict_loaded = False
    plugin.load_state_dict({"loss_scaler0": {"loss_scale": 4096.0, "unskipped": 7}})
    try:
        plugin.optimizer_step(trained()[1], model=None, optimizer_idx=0, closure=lambda: None)
    except RuntimeError as error:
        return "Resuming training with APEX is currently not supported" in str(error)
    return False


def catalyst_callback():
    """Catalyst: what its checkpoint callback saves has no scaler, and one in a checkpoint is not looked for."""
    import torch
    from catalyst.callbacks.checkpoint import CheckpointCallback
    from catalyst.utils.torch import unpack_checkpoint

    model, optimizer, scaler = trained()
    engine = SimpleNamespace(scaler=scaler, is_main_process=True, save=torch.save)
    runner = SimpleNamespace(model=model, criterion=None, optimizer=optimizer, scheduler=None, epoch_step=1,
                             batch_step=2, sample_step=3, engine=engine)
    with tempfile.TemporaryDirectory() as folder:
        CheckpointCallback(folder, mode="runner", save_best=False)._handle_epoch(runner, 0.0)
        saved = torch.load(pathlib.Path(folder) / "runner.last.pth", weights_only=False)
    unpack_checkpoint({**saved, "scaler": dict(KEPT, scale=8.0)}, model=model, optimizer=optimizer)
    return set(saved) == {"model_state_dict", "optimizer_state_dict", "epoch_step", "batch_step", "sample_step"} and (
        scaler.state_dict() == KEPT)


def deepspeed_autocast():
    """DeepSpeed: torch_autocast in fp16 trains with a scaler that no checkpoint holds."""
    import deepspeed
    import torch
    from deepspeed.accelerator.cpu_accelerator import CPU_Accelerator

    CPU_Accelerator.is_fp16_supported = lambda self: True
    CPU_Accelerator.supported_dtypes = lambda self: [torch.float, torch.half, torch.bfloat16]
    deepspeed.init_distributed(dist_backend="gloo")
    config = {"train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": True,
              "zero_force_ds_cpu_optimizer": False, "zero_optimization": {"stage": 1},
              "torch_autocast": {"enabled": True, "dtype": "float16"}}

    def engine():
        model, optimizer, _ = trained()
        return deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]

    first = engine()
    first.optimizer.torch_autocast_gradscaler.load_state_dict(KEPT)
    with tempfile.TemporaryDirectory() as folder:
        first.save_checkpoint(folder)
        stored = torch.load(next(pathlib.Path(folder).rglob("*optim_states.pt")), weights_only=False)
        second = engine()
        second.load_checkpoint(folder)
    scales = [one.optimizer.torch_autocast_gradscaler.state_dict()["scale"] for one in (first, second)]
    return (*scales, stored["optimizer_state_dict"]["loss_scaler"].cur_scale) == (4096.0, 65536.0, 1.0)


def determined_trial():
    """Determined: a checkpoint without `scaler_state_dict` is gone on with, one that is put there is loaded."""
    import torch
    from determined.pytorch._pytorch_trial import _PyTorchTrialController

    scaler = torch.amp.GradScaler("cpu", init_scale=512.0)
    trial = object.__new__(_PyTorchTrialController)
    trial.callbacks = {}
    trial.context = SimpleNamespace(models=[], optimizers=[], lr_schedulers=[], _scaler=scaler, _use_apex=False)
    scales = []
    with tempfile.TemporaryDirectory() as folder:
        for more in ({}, {"scaler_state_dict": KEPT}):
            saved = {"models_state_dict": [], "optimizers_state_dict": [], "lr_schedulers_state_dict": [], **more}
            torch.save(saved, pathlib.Path(folder) / "state_dict.pth")
            trial._load(pathlib.Path(folder))
            scales.append(scaler.state_dict()["scale"])
    return scales == [512.0, 4096.0]


def eole_optimizer():
    """Eole: its optimizer's state has no scaler, although it steps with one."""
    from eole.utils.optimizers import Optimizer

    _, optimizer, scaler = trained()
    wrapped = Optimizer(optimizer, 0.1)
    wrapped._scaler = scaler
    saved = wrapped.state_dict()
    wrapped.load_state_dict(saved)
    return list(saved) == ["training_step", "decay_step", "optimizer"] and scaler.state_dict() == KEPT


def funasr_resume():
    """FunASR: a checkpoint without `scaler_state` is loaded, and nothing is said."""
    import torch
    from funasr.train_utils.trainer import Trainer

    scales = []
    with tempfile.TemporaryDirectory() as folder:
        for more in ({}, {"scaler_state": KEPT}):
            model, optimizer, _ = trained()
            scaler = torch.amp.GradScaler("cpu")
            scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer)
            torch.save({"epoch": 1, "state_dict": model.state_dict(), "optimizer": optimizer.state_dict(),
                        "scheduler": scheduler.state_dict(), "saved_ckpts": {}, "train_acc_avg": 0.0, **more},
                       pathlib.Path(folder) / "model.pt")
            trainer = object.__new__(Trainer)
            trainer.__dict__.update(resume=True, output_dir=folder, avg_keep_nbest_models_type="loss", device="cpu",
                                    use_ddp=False, use_fsdp=False)
            trainer.resume_checkpoint(model, optimizer, scheduler, scaler)
            scales.append(scaler.state_dict()["scale"])
    return scales == [65536.0, 4096.0]


def lerobot_state():
    """lerobot: releases before pull 4652 write no scaler into a step's training state."""
    import torch
    from lerobot.utils.train_utils import save_training_state

    _, optimizer, _ = trained()
    with tempfile.TemporaryDirectory() as folder:
        save_training_state(pathlib.Path(folder), 100, optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0))
        names = {path.name for path in pathlib.Path(folder, "training_state").iterdir()}
    return "training_step.json" in names and not any("scaler" in name for name in names)


def megatron_first_step():
    """Megatron: its distributed optimizer cannot be saved before a step was taken, and can after one."""
    import torch
    from megatron.core.optimizer.distrib_optimizer import DistributedOptimizer

    model = torch.nn.Linear(2, 2)
    wrapped = object.__new__(DistributedOptimizer)
    wrapped.optimizer = torch.optim.Adam(model.parameters())
    wrapped.grad_scaler = SimpleNamespace(state_dict=lambda: {"scale": 4096.0})
    try:
        wrapped.state_dict()
        return False
    except AssertionError:
        pass
    model(torch.ones(1, 2)).sum().backward()
    wrapped.optimizer.step()
    saved = wrapped.state_dict()
    return saved["optimizer"]["param_groups"][0]["step"] == 1 and saved["grad_scaler"] == {"scale": 4096.0}


def mmcv_hook():
    """mmcv: 1.3.5 and earlier save no scaler of Fp16OptimizerHook."""
    import logging

    import mmcv
    import torch
    from mmcv.runner import EpochBasedRunner, Fp16OptimizerHook

    class Model(torch.nn.Linear):
        def train_step(self):
            pass

    model = Model(2, 2)
    with tempfile.TemporaryDirectory() as folder:
        runner = EpochBasedRunner(model, optimizer=torch.optim.SGD(model.parameters(), 0.1), work_dir=folder,
                                  logger=logging.getLogger("mmcv"), meta={})
        hook = Fp16OptimizerHook(loss_scale="dynamic")
        hook.before_run(runner)
        runner.outputs = {"loss": model(torch.ones(1, 2)).sum()}
        hook.after_train_iter(runner)
        runner.save_checkpoint(folder, create_symlink=False)
        saved = torch.load(pathlib.Path(folder) / "epoch_1.pth", weights_only=False)
    return mmcv.__version__ == "1.3.5" and "fp16" not in saved["meta"] and saved["meta"]["mmcv_version"] == "1.3.5"


def pfn_extras_manager():
    """pytorch-pfn-extras: a snapshot holds a scaler only where the manager was given it as a state object."""
    import pytorch_pfn_extras

    model, optimizer, scaler = trained()

    def snapshot(**given):
        with tempfile.TemporaryDirectory() as folder:
            manager = pytorch_pfn_extras.training.ExtensionsManager(
                {"main": model}, {"main": optimizer}, 1, iters_per_epoch=1, extensions=[], out_dir=folder, **given)
            return manager.state_dict()

    alone, given = snapshot(), snapshot(state_objects={"scaler": scaler})
    return alone["state_objects"] == {} and "grad_scaler" not in str(alone) and given["state_objects"] == {"scaler": KEPT}


def timm_resume():
    """timm: a checkpoint without `amp_scaler` is loaded, and nothing is said."""
    import torch
    from timm.models import resume_checkpoint
    from timm.utils import NativeScaler

    scales = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "last.pth.tar"
        for more in ({}, {"amp_scaler": KEPT}):
            model, optimizer, _ = trained()
            scaler = NativeScaler(device="cpu")
            torch.save({"epoch": 1, "arch": "linear", "version": 2, "state_dict": model.state_dict(),
                        "optimizer": optimizer.state_dict(), **more}, path)
            resume_checkpoint(model, str(path), optimizer=optimizer, loss_scaler=scaler)
            scales.append(scaler.state_dict()["scale"])
    return scales == [65536.0, 4096.0]


def yolox_trainer():
    """YOLOX: what its trainer saves has no scaler, although it steps with one."""
    import torch
    from yolox.core.trainer import Trainer

    model, optimizer, scaler = trained()
    trainer = object.__new__(Trainer)
    with tempfile.TemporaryDirectory() as folder:
        trainer.__dict__.update(rank=0, use_model_ema=False, model=model, file_name=folder, epoch=0, optimizer=optimizer,
                                best_ap=0.0, scaler=scaler, args=SimpleNamespace(logger="none"))
        trainer.save_ckpt("latest")
        saved = torch.load(pathlib.Path(folder) / "latest_ckpt.pth", weights_only=False)
    return set(saved) == {"start_epoch", "model", "optimizer", "best_ap"}


def bmtrain_manager():
    """BMTrain: what its OptimManager saves has no count of clean steps, and a resumed window begins at 0."""
    from bmtrain.optim import OptimManager

    first, second = (OptimManager(loss_scale=1024.0, grad_scale=1) for _ in range(2))
    first.loss_scale, first.steps_since_last_scale = 4096.0, 7
    saved = first.state_dict()
    second.load_state_dict(saved)
    return set(saved) == {"optimizers", "lr_schedulers", "loss_scale", "loss_scale_enabled"} and (
        (second.loss_scale, second.steps_since_last_scale) == (4096.0, 0))


def composer_fit():
    """Composer: 0.8 and earlier begin a fit with a scaler of their own, whatever a checkpoint has restored."""
    import torch
    import torch.cuda.amp.grad_scaler as moved

    moved._refresh_per_optimizer_state = torch.amp.grad_scaler._refresh_per_optimizer_state  # where 0.8 looks for it
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    from composer.trainer.trainer import Trainer

    class Reached(Exception):
        pass

    def stop(*_):
        raise Reached

    restored = trained()[2]
    trainer = object.__new__(Trainer)
    trainer.state = SimpleNamespace(scaler=restored, precision="amp", algorithms=[], dataloader=[])
    trainer.logger = SimpleNamespace(data_fit=lambda _: None)
    trainer.engine = SimpleNamespace(run_event=lambda _: None)
    trainer._train_data_spec = trainer
    trainer._use_closures = lambda: False
    trainer._use_grad_scaling = stop
    try:
        trainer._train_loop()
    except Reached:
        return trainer.state.scaler.get_scale() == 65536.0 and restored.state_dict() == KEPT
    return False


def fairseq_optimizer():
    """fairseq: its FP16 optimizers save the scale alone, and count window and overflows from 0 when resumed."""
    import dataclasses

    import torch.distributed.tensor  # before its dataclass is another

    def hashed(kind=None, **more):
        if kind is None:
            return lambda kind: hashed(kind, **more)
        return plain(kind, **{"unsafe_hash": "__hash__" not in vars(kind), **more})

    plain = dataclasses.dataclass  # its configurations have defaults that Python 3.11 takes only where they have a hash
    dataclasses.dataclass = hashed
    from fairseq.optim.dynamic_loss_scaler import DynamicLossScaler
    from fairseq.optim.fp16_optimizer import MemoryEfficientFP16Optimizer

    def made():
        wrapped = object.__new__(MemoryEfficientFP16Optimizer)
        _, optimizer, _ = trained()
        inner = SimpleNamespace(state_dict=optimizer.state_dict, optimizer=optimizer,
                                load_state_dict=lambda state, _: optimizer.load_state_dict(state))
        wrapped.__dict__.update(wrapped_optimizer=inner, scaler=DynamicLossScaler(scale_window=10))
        return wrapped

    first, second = made(), made()
    first.scaler.__dict__.update(loss_scale=4096.0, _iter=7, _last_overflow_iter=3, _overflows_since_rescale=1)
    saved = first.state_dict()
    second.load_state_dict(saved)
    resumed = second.scaler
    return set(saved) == {"state", "param_groups", "loss_scale"} and (
        (resumed.loss_scale, resumed._iter, resumed._last_overflow_iter, resumed._overflows_since_rescale)
        == (4096.0, 0, -1, 0))


def open_clip_main():
    """open_clip: its training loads a checkpoint without `scaler`, and says nothing."""
    import logging

    import torch
    from open_clip_train import main as training

    class Reached(Exception):
        pass

    logged, scales, model = [], [], torch.nn.Linear(2, 2)

    def reach(*given, **_):
        scales.append(next(one for one in given if isinstance(one, torch.amp.GradScaler)).state_dict()["scale"])
        raise Reached

    training.create_model_and_transforms = lambda *_, **__: (model, None, None)
    training.get_data = lambda *_, **__: {"train": SimpleNamespace(dataloader=SimpleNamespace(num_batches=1))}
    training.train_one_epoch = reach
    training.get_tokenizer = lambda *_, **__: None
    training.random_seed = lambda *_: None
    logging.getLogger().addHandler(SimpleNamespace(level=0, handle=lambda record: logged.append(record.getMessage())))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "epoch_1.pt")
        for more in ({}, {"scaler": KEPT}):
            torch.save({"epoch": 1, "name": "run", "state_dict": model.state_dict(),
                        "optimizer": torch.optim.AdamW([{"params": [model.bias]}, {"params": [model.weight]}]).state_dict(),
                        **more}, path)
            try:
                training.main(["--dataset-type", "synthetic", "--precision", "amp", "--resume", path, "--logs",
                               folder, "--device", "cpu", "--model", "ViT-B-32", "--name", str(len(scales))])
            except Reached:
                pass
    return scales == [65536.0, 4096.0] and not any("scaler" in line for line in logged)


def transformers_trainer():
    """transformers: 4.5.1, the newest of before May 2021, saves no scaler of an fp16 run."""
    import types

    sys.modules["transformers.dependency_versions_check"] = types.ModuleType("unchecked")  # asks for tokenizers of 2021
    import torch
    import transformers
    from transformers.trainer import Trainer

    _, optimizer, scaler = trained()
    trainer = object.__new__(Trainer)
    scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer)
    with tempfile.TemporaryDirectory() as folder:
        trainer.__dict__.update(
            state=SimpleNamespace(global_step=1, save_to_json=lambda path: None), hp_search_backend=None, deepspeed=None,
            sharded_ddp=None, optimizer=optimizer, lr_scheduler=scheduler, scaler=scaler, use_amp=True,
            args=SimpleNamespace(output_dir=folder, save_total_limit=None), store_flos=lambda: None,
            save_model=lambda path: os.makedirs(path), is_world_process_zero=lambda: True)
        trainer._save_checkpoint(None, None)
        names = set(os.listdir(os.path.join(folder, "checkpoint-1")))
    return transformers.__version__ == "4.5.1" and names == {"optimizer.pt", "scheduler.pt"}


def verl_manager():
    """verl: what its FSDP workers save has no scaler; those of fp16 step with one that grows after 400 clean steps."""
    import torch
    from omegaconf import OmegaConf
    from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager
    from verl.workers.engine.fsdp import transformer_impl as engines

    class Reached(Exception):
        pass

    def stop(**_):
        raise Reached

    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    engines.get_fsdp_wrap_policy = stop  # behind the scaler
    engine = object.__new__(engines.FSDPEngine)
    engine.engine_config = SimpleNamespace(mixed_precision={"param_dtype": "fp16"}, wrap_policy=None)
    engine.model_config = SimpleNamespace(lora_rank=0)
    try:
        engine._build_fsdp_module(None)
    except Reached:
        pass
    model, optimizer, _ = trained()
    model.config = SimpleNamespace(save_pretrained=lambda _: None)
    model.can_generate = lambda: False
    torch.distributed.init_process_group("gloo")
    parts = ["model", "optimizer", "extra"]
    manager = FSDPCheckpointManager(model, optimizer, processing_class=None,
                                    checkpoint_config=OmegaConf.create({"save_contents": parts, "load_contents": parts}))
    with tempfile.TemporaryDirectory() as folder:
        manager.save_checkpoint(folder, global_step=1)
        saved = {path.name: torch.load(path, weights_only=False) for path in pathlib.Path(folder).glob("*.pt")}
    torch.distributed.destroy_process_group()
    end = "_world_size_1_rank_0.pt"
    return set(saved) == {kind + end for kind in ("model", "optim", "extra_state")} and (
        set(saved["extra_state" + end]) == {"lr_scheduler", "rng"}) and engine.scaler._growth_interval == 400


# A row, and the folder of its release where that is not the environment's.
ROWS = {jmp_minimum: None, lightning_key: None, lightning_apex: "lightning", accelerate_fsdp2: None,
        ultralytics_release: None, catalyst_callback: "catalyst", deepspeed_autocast: "deepspeed",
        determined_trial: "determined", eole_optimizer: "eole", funasr_resume: "funasr", lerobot_state: "lerobot",
        megatron_first_step: "megatron", mmcv_hook: "mmcv", pfn_extras_manager: "pfn_extras",
        timm_resume: "timm", yolox_trainer: "yolox", bmtrain_manager: "bmtrain", composer_fit: "composer",
        fairseq_optimizer: "fairseq",
        open_clip_main: "open_clip", transformers_trainer: "transformers", verl_manager: "verl"}
CANNOT_RUN = 3


def run_one(row):
    try:
        return 0 if row() else 1
    except ImportError as error:
        print(error)
        return CANNOT_RUN


def run_apart(row, folder):
    """-> the exit code of the row in a process of its own, and its last line."""
    paths = [str(folder), f"{folder}_needs"] if folder else []  # of what one folder cannot hold: other wheels
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": "",
                   "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
                   "MASTER_PORT": "29511", "DS_BUILD_OPS": "0", "DS_IGNORE_CUDA_DETECTION": "1"}
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--here", row.__name__], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, (done.stdout.strip().splitlines() or [""])[-1]


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--beside", type=pathlib.Path)
    ask.add_argument("--here", help=argparse.SUPPRESS)
    ask.add_argument("rows", nargs="*", metavar="ROW")
    options = ask.parse_args()
    by_name = {row.__name__: row for row in ROWS}
    if options.here:
        return run_one(by_name[options.here])
    status = ran = 0
    for name in options.rows or by_name:
        row = by_name[name]
        if ROWS[row] and options.beside is None:
            continue
        code, last = run_apart(row, ROWS[row] and options.beside / ROWS[row])
        if code == CANNOT_RUN:
            print(f"not here  {name}: {last}")
            continue
        ran += 1
        status |= code != 0
        print(f"{'holds' if code == 0 else 'DIFFERS'}  {row.__doc__}" + ("" if code == 0 else f"  ({last})"), flush=True)
    return status if ran else 2


if __name__ == "__main__":
    sys.exit(main())
