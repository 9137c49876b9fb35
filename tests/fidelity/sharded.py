#!/usr/bin/env python3
"""Saves a model sharded over two processes as accelerate does, edits the scaler beside it, and loads it on each rank.

    sharded.py --tare BINARY

FSDP 1 and 2, with a full state dict, distributed checkpoints and a file a rank; over gloo, without a GPU. accelerate
itself takes fp16 on a GPU only, so the scaler is handed to the functions that save and load it. Exit 0: every rank has
the new scale, and the model is what was saved.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import torch.distributed
import torch.multiprocessing
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

RANKS = 2
PORT = 29611
# name: (FSDP's version, how its state dict is, whether distributed checkpoints are written)
LAYOUTS = {
    "fsdp1_full": (1, "FULL_STATE_DICT", True),
    "fsdp1_sharded": (1, "SHARDED_STATE_DICT", True),
    "fsdp2_sharded": (2, "SHARDED_STATE_DICT", True),
    "fsdp2_file_a_rank": (2, "SHARDED_STATE_DICT", False),
}


def sharded(version, seed):
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 4))
    if version == 1:
        return FullyShardedDataParallel(model, device_id=torch.device("cpu"), use_orig_params=True)
    mesh = init_device_mesh("cpu", (RANKS,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def scaler_with(scale):
    scaler = ShardedGradScaler(device="cpu", init_scale=scale)
    scaler.scale(torch.tensor(1.0))  # only then is it made
    return scaler


def check(rank, accelerator, name, tare, folder):
    from accelerate.checkpointing import load_accelerator_state, save_accelerator_state
    from accelerate.utils import FullyShardedDataParallelPlugin
    from accelerate.utils.fsdp_utils import load_fsdp_model, save_fsdp_model

    version, state, use_dcp = LAYOUTS[name]
    plugin = FullyShardedDataParallelPlugin(fsdp_version=version, state_dict_type=state)
    model, example = sharded(version, seed=0), torch.ones(2, 8)
    wanted = model(example).detach().clone()
    save_fsdp_model(plugin, accelerator, model, folder, use_dcp=use_dcp)
    save_accelerator_state(folder, [], [], [], [], rank, 1, scaler_with(2048.0))
    torch.distributed.barrier()
    if rank == 0:
        subprocess.run([tare, "edit", folder, "scale=4096", "-y"], check=True, capture_output=True)
    torch.distributed.barrier()
    other, scaler = sharded(version, seed=1), scaler_with(1.0)
    load_fsdp_model(plugin, accelerator, other, folder, use_dcp=use_dcp)
    load_accelerator_state(folder, [], [], [], [], rank, scaler)
    is_same = torch.equal(other(example), wanted)
    print(f"{name}, rank {rank}: scale {scaler.get_scale()}, the model {'as saved' if is_same else 'CHANGED'}", flush=True)
    return scaler.get_scale() == 4096 and is_same


def run(rank, tare, scratch):
    warnings.simplefilter("ignore")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT), RANK=str(rank), LOCAL_RANK=str(rank),
                      WORLD_SIZE=str(RANKS), GLOO_SOCKET_IFNAME="lo")
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    held = [check(rank, accelerator, name, tare, str(pathlib.Path(scratch, name))) for name in LAYOUTS]
    torch.distributed.destroy_process_group()
    sys.exit(0 if all(held) else 1)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    tare = str(pathlib.Path(ask.parse_args().tare).resolve())
    with tempfile.TemporaryDirectory() as scratch:
        torch.multiprocessing.spawn(run, (tare, scratch), nprocs=RANKS)


if __name__ == "__main__":
    main()
