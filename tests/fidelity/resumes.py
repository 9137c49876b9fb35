#!/usr/bin/env python3
"""What a resume does with the state, run with the frameworks that this Python has: the rows of the trainers' tables
(lib/dialect/frameworks) that say so without "read, not run".

    resumes.py          exit 0: every row that can run here does what the table says
"""
import sys


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

    kept = {"scale": 4096.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 7}

    def resumed(key):
        scaler = torch.amp.GradScaler("cpu")
        plugin = MixedPrecision("16-mixed", "cpu", scaler)
        trainer = lightning.Trainer(accelerator="cpu", plugins=[plugin], logger=False, enable_progress_bar=False,
                                    enable_model_summary=False, enable_checkpointing=False)
        connector = trainer._checkpoint_connector
        connector._loaded_checkpoint = {key: dict(kept)}
        connector.restore_precision_plugin_state()
        return scaler.state_dict()["scale"]

    return (resumed("MixedPrecision"), resumed("native_amp_scaling_state"), resumed("MixedPrecisionPlugin")) == (
        4096.0, 4096.0, 65536.0)


def accelerate_fsdp2():
    """accelerate: loading the optimizer of FSDP2 advances the scaler that load_state() has restored."""
    import os
    import tempfile
    from types import SimpleNamespace

    import accelerate
    import torch
    from accelerate.utils.fsdp_utils import load_fsdp_optimizer, save_fsdp_optimizer
    from torch.distributed.fsdp.fully_sharded_data_parallel import StateDictType

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", RANK="0", WORLD_SIZE="1")
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
    import pathlib
    from types import SimpleNamespace

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


def main():
    status = ran = 0
    for row in (jmp_minimum, lightning_key, accelerate_fsdp2, ultralytics_release):
        try:
            holds = row()
        except ImportError as error:
            print(f"not here  {row.__name__}: {error}")
            continue
        ran += 1
        status |= not holds
        print(f"{'holds' if holds else 'DIFFERS'}  {row.__doc__}")
    return status if ran else 2


if __name__ == "__main__":
    sys.exit(main())
