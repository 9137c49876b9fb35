#!/usr/bin/env python3
"""Data-parallel training with torchrun, on the CPU with gloo, whose optimizer is sharded: each rank looks at its share of
the gradients alone, unscales it and steps its share of the weights, as ZeRO's first stage does. A rank that did not
overflow would step while others skip, and clip by a norm of its own, if the scaler knew of its own share alone; with a
comm the scale, the skipped steps and the clipped norm are those of the whole model.

    torchrun --nproc-per-node 4 train.py [STEPS]

Any number of processes trains alike: the batch is the same, shared among them. Gradients are rounded to float16, as a
backward pass in float16 rounds them. Needs torch, and libtare where the loader finds it.
"""
import sys

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

import tare

BATCH, WIDTH, RATE, NORM = 32, 64, 0.1, 1.0


def owned_by(rank, ranks, parameters):
    return [parameter for i, parameter in enumerate(parameters) if i % ranks == rank]


def batch_of(step):
    source = torch.Generator().manual_seed(step)
    inputs = torch.randn(BATCH, WIDTH, generator=source)
    return inputs, torch.sin(inputs.cumsum(1) / 4)


def train(steps):
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    torch.manual_seed(0)
    plain = torch.nn.Sequential(torch.nn.Linear(WIDTH, 128), torch.nn.Tanh(), torch.nn.Linear(128, WIDTH))
    model, parameters = DistributedDataParallel(plain), list(plain.parameters())
    mine = owned_by(rank, ranks, parameters)
    updates = [torch.zeros_like(parameter) for parameter in mine]
    scaler = tare.Scaler("torch", initial_scale=2.0**24, growth_interval=20)
    scaler.set_comm(tare.Comm.of_torch())
    total = torch.zeros(())
    history = []
    for step in range(steps):
        inputs, wanted = (part.chunk(ranks)[rank] for part in batch_of(step))
        model.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), wanted)
        (loss * scaler.scale).backward()
        grads = scaler.grads([parameter.grad.copy_(parameter.grad.half()) for parameter in mine])
        grads.write(updates, clip_norm=NORM)
        if not grads.found_inf:
            with torch.no_grad():
                for parameter, update in zip(mine, updates):
                    parameter -= RATE * update
        for owner in range(ranks):
            for parameter in owned_by(owner, ranks, parameters):
                distributed.broadcast(parameter.data, owner)
        scaler.update()
        distributed.all_reduce(total.copy_(loss.detach()))
        history.append((scaler.scale, grads.found_inf, total.item() / ranks))
    return scaler, history


def main():
    distributed.init_process_group("gloo")
    scaler, history = train(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    scales = torch.tensor([scale for scale, *_ in history])
    everybody = [torch.empty_like(scales) for _ in range(distributed.get_world_size())]
    distributed.all_gather(everybody, scales)
    assert all(torch.equal(scales, those) for those in everybody), "the ranks' scales differ"
    if distributed.get_rank() == 0:
        told = scaler.statistics()
        losses = [loss for *_, loss in history]
        print(f"{len(everybody)} processes: {told.steps} steps, {told.skipped} skipped, scale {scaler.scale:g}, "
              f"loss {losses[0]:.4f} to {losses[-1]:.4f}")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
