#!/usr/bin/env python3
"""What tare.torch.Monitor costs a training step, on the CPU or on a GPU.

    monitor.py [--rounds 32] [--width 256] [--depth 4] [--device cpu] [--row NAME ...]

A transformer is trained with tare.torch.GradScaler, unwatched and watched in several ways, by turns: a round is ten steps of
each, another one first each time, so that one of every ten is looked at. Told is the processor time of a step, all threads
of the process included: unlike the time on the clock it is not that of others on the machine. On a GPU it is the time on
the clock until all that was asked for is done: a monitor that made the host wait would show. The differences are the median
over windows of four rounds. Needs torch.
"""
import argparse
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "capi/python"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import torch
import underflow

import tare.torch

STEPS = 10


class Watched:
    """A model in training, and what watches it."""

    def __init__(self, given, **options):
        torch.manual_seed(0)
        self.device = torch.device(given.device)
        self.model = underflow.Transformer(given.width, given.depth).to(self.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4)
        self.scaler = tare.torch.GradScaler(given.device, init_scale=2.0 ** 10)
        self.scaler.scale(torch.ones((), device=self.device))
        if options.pop("moments", False):
            options.update(moments=True, optimizer=self.optimizer)
        self.monitor = tare.torch.Monitor(self.model, self.scaler, **options) if options else None
        self.times = []

    def round(self, batches):
        before = self.now()
        for inputs, targets in batches:
            self.optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.model(inputs).flatten(0, 1), targets.flatten())
            self.scaler.scale(loss).backward()
            if self.monitor is not None:
                self.monitor.gradients()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            if self.monitor is not None:
                self.monitor.step(loss=loss)
        self.times.append((self.now() - before) / len(batches))

    def now(self):
        if self.device.type == "cpu":
            return time.process_time()
        torch.cuda.synchronize(self.device)
        return time.perf_counter()


def windows(times):
    """Of 40 steps each, so that what comes in every fortieth is in each of them."""
    return [sum(times[first:first + 4]) for first in range(0, len(times) - 3, 4)]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=32)
    options.add_argument("--width", type=int, default=256)
    options.add_argument("--depth", type=int, default=4)
    options.add_argument("--device", default="cpu")
    options.add_argument("--row", action="append", help="beside unwatched, only those whose name begins so")
    given = options.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        sinks = ({"tensorboard": folder + "/board"}, {"jsonl": folder + "/a.jsonl"}, {"openmetrics": folder + "/a.prom"})
        rows = {
            "unwatched": Watched(given),
            "gradients, every 10 steps": Watched(given, every=10),
            "the same, three sinks": Watched(given, every=10, sinks=sinks),
            "weights and moments too, every 40 steps": Watched(
                given, every=10, weights=True, moments=True,
                groups={"weights": {"every": 40}, "exp_avg_sq": {"every": 40}}),
            "weights and moments too, every 10 steps": Watched(given, every=10, weights=True, moments=True),
            "activations too, every 40 steps": Watched(given, every=10, activations=True),
            "activations too, every 10 steps": Watched(
                given, every=10, activations=True, groups={"inputs": {"every": 10}, "outputs": {"every": 10}}),
            "gradients, every step": Watched(given, every=1),
        }
        names = ("unwatched", *(given.row or ("",)))
        rows = {name: row for name, row in rows.items() if name.startswith(names)}
        generator = torch.Generator().manual_seed(0)
        for turn in range(given.rounds):
            batches = [[side.to(given.device) for side in underflow.batch(generator, 32)] for _ in range(STEPS)]
            turns = list(rows.values())
            for i in range(len(turns)):
                turns[(turn + i) % len(turns)].round(batches)
    values = sum(parameter.numel() for parameter in rows["unwatched"].model.parameters())
    print(f"{values:,} parameters, {given.rounds} rounds of {STEPS} steps; ms of "
          f"{'processor time' if given.device == 'cpu' else 'time'} a step, and more than unwatched")
    without = windows(rows["unwatched"].times)
    for name, row in rows.items():
        more = statistics.median(one / other - 1 for one, other in zip(windows(row.times), without))
        print(f"{name:44} {1000 * statistics.median(row.times):9.2f} ms {100 * more:+7.2f} %", flush=True)


if __name__ == "__main__":
    main()
