#!/usr/bin/env python3
"""Resumes real DeepSpeed engines, one process a rank, from edited copies of checkpoints, and takes a training step.

    engine.py --tare BINARY --corpus FOLDER

On every rank the engine must come up with the edited scale, and, with clean gradients, still have it after the step.
CPU, gloo. One case at a time: ZeRO 1, 2 and 3, and a universal checkpoint.
"""
import argparse
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from command import Tare
from corpus import cases_of, copied

# case: (ZeRO stage, ranks, is it a universal checkpoint)
CASES = {"deepspeed/zero1_1rank": (1, 1, False), "deepspeed/zero1_2ranks": (1, 2, False),
         "deepspeed/zero2_int_scale": (2, 1, False), "deepspeed/zero2_2ranks": (2, 2, False),
         "deepspeed/zero2_4ranks_tags": (2, 4, False), "deepspeed/zero3_2ranks": (3, 2, False),
         "deepspeed/zero1_universal": (1, 2, True)}
SCALE = 4096
WIDTH = 4


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def be_a_rank(folder, stage, universal):
    """Prints the scale that this rank resumes with, and the one that it has after a step."""
    import deepspeed
    import torch
    from deepspeed.accelerator.cpu_accelerator import CPU_Accelerator

    CPU_Accelerator.is_fp16_supported = lambda self: True  # it is, for networks this small
    CPU_Accelerator.supported_dtypes = lambda self: [torch.float, torch.half, torch.bfloat16]
    torch.set_num_threads(1)
    deepspeed.init_distributed(dist_backend="gloo")
    # The network that wrote the cases, untrained, under a scaler that starts elsewhere.
    model = torch.nn.Sequential(torch.nn.Linear(WIDTH, 2 * WIDTH), torch.nn.ReLU(), torch.nn.Linear(2 * WIDTH, 2))
    config = {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 1, "zero_allow_untested_optimizer": True,
              "zero_force_ds_cpu_optimizer": False, "fp16": {"enabled": True, "initial_scale_power": 5},
              "checkpoint": {"load_universal": universal},
              "zero_optimization": {"stage": stage, "reduce_bucket_size": 4096, "stage3_prefetch_bucket_size": 4096,
                                    "stage3_param_persistence_threshold": 0}}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    engine = deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]
    engine.load_checkpoint(folder)
    resumed = engine.optimizer.loss_scaler.cur_scale
    engine.backward(engine(torch.full((2, WIDTH), 0.01, dtype=torch.half)).float().mean())
    engine.step()
    print(f"rank {os.environ['RANK']}: {resumed} {engine.optimizer.loss_scaler.cur_scale}", flush=True)
    torch.distributed.barrier()


def resume(folder, stage, ranks, universal):
    """-> what the ranks printed, and the text of what went wrong."""
    common = {**os.environ, "WORLD_SIZE": str(ranks), "LOCAL_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
              "MASTER_PORT": free_port(), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "DS_ACCELERATOR": "cpu",
              "DS_BUILD_OPS": "0", "DS_IGNORE_CUDA_DETECTION": "1"}
    command = [sys.executable, __file__, "--rank-of", str(folder), str(stage), str(int(universal))]
    workers = [subprocess.Popen(command, env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(ranks)]
    answers = [worker.communicate(timeout=300) for worker in workers]
    printed = re.findall(r"^rank \d+: (\S+) (\S+)$", "\n".join(out for out, _ in answers), re.MULTILINE)
    return printed, "" if len(printed) == ranks else answers[0][1][-2000:]


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare")
    ask.add_argument("--corpus", type=pathlib.Path)
    ask.add_argument("--rank-of", nargs=3, help=argparse.SUPPRESS)
    options = ask.parse_args()
    if options.rank_of:
        folder, stage, universal = options.rank_of
        be_a_rank(folder, int(stage), universal == "1")
        return 0
    wrong = 0
    for case in cases_of(options.corpus, "deepspeed/*"):
        if case.name not in CASES:
            continue
        stage, ranks, universal = CASES[case.name]
        with tempfile.TemporaryDirectory() as scratch:
            case = copied(case, scratch)
            answer = Tare(options.tare)("edit", case.target, f"scale={SCALE}", "--yes")
            printed, problem = resume(case.target.parent, stage, ranks, universal)
        scales = {float(scale) for pair in printed for scale in pair}
        right = answer.code == 0 and len(printed) == ranks and scales == {SCALE}
        wrong += not right
        print(f"{'' if right else 'WRONG '}{case.name}, {ranks} rank{'' if ranks == 1 else 's'}: was "
              f"{case.scalers[0]['roles']['scale']}; resumed with, and after a step: {printed} {problem}", flush=True)
    print(f"{len(CASES)} checkpoints, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
