#!/usr/bin/env python3
"""Resumes a real DeepSpeed engine from edited copies of one-rank checkpoints, and takes a training step.

    engine.py --tare BINARY --corpus FOLDER

The engine must come up with the edited scale, and, with clean gradients, still have it after the step. CPU, gloo.
"""
import argparse
import os
import pathlib
import socket
import sys
import tempfile

os.environ.update(DS_ACCELERATOR="cpu", DS_BUILD_OPS="0", DS_IGNORE_CUDA_DETECTION="1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

import deepspeed
import torch
from deepspeed.accelerator import get_accelerator

from command import Tare
from corpus import cases_of, copied

STAGES = {"deepspeed/zero1_1rank": 1, "deepspeed/zero2_int_scale": 2}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def engine_of(stage):
    """The network that wrote the cases, untrained, under a scaler that starts elsewhere."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    config = {"train_batch_size": 4, "zero_optimization": {"stage": stage}, "zero_allow_untested_optimizer": True,
              "zero_force_ds_cpu_optimizer": False, "fp16": {"enabled": True, "initial_scale_power": 5}}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port())
    get_accelerator().is_fp16_supported = lambda: True  # it is, for networks this small
    deepspeed.init_distributed(dist_backend="gloo")

    wrong = 0
    for case in cases_of(options.corpus, "deepspeed/*"):
        if case.name not in STAGES:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            case = copied(case, scratch)
            answer = Tare(options.tare)("edit", case.target, "scale=4096", "--yes")
            engine = engine_of(STAGES[case.name])
            engine.load_checkpoint(str(case.target.parent))
            resumed = engine.optimizer.cur_scale
            loss = engine(torch.ones(4, 4, dtype=torch.float16)).float().mean()
            engine.backward(loss)
            engine.step()
            stepped = engine.optimizer.cur_scale
        right = answer.code == 0 and resumed == stepped == 4096
        wrong += not right
        print(f"{'' if right else 'WRONG '}{case.name}: was {case.scalers[0]['roles']['scale']}; "
              f"engine resumed with {resumed}, has {stepped} after a step", flush=True)
    print(f"deepspeed {deepspeed.__version__}: {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
