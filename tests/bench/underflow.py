#!/usr/bin/env python3
"""A run that loses its gradients to float16 after hard batches, watched by tare.torch.Monitor: when is it told, and is
it ever told of healthy runs?

    underflow.py [--seeds 20] [--steps 600] [--hard 30] [--csv FILE]

A small transformer on the CPU. Gradients are rounded to float16 after scaling, as a backward pass in float16 rounds them;
"bf16" rounds them to bfloat16 instead, without a scale; "layerwise" gives each tensor the power of two that its own
gradients leave room for. The hard batches come in a row at step 300, with gradients that no scale takes; norms are
clipped to 1. One line a run: its kind, its seed, and the first warning of each code with the step at which it was told.
Needs torch, and libtare where the loader finds it.
"""
import argparse
import csv
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "capi/python"))
import torch

import tare.torch

VOCABULARY, LENGTH, HARD_AT = 64, 16, 300


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.before, self.behind = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.attention = torch.nn.MultiheadAttention(width, 4, batch_first=True)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x, mask):
        normed = self.before(x)
        x = x + self.attention(normed, normed, normed, attn_mask=mask, need_weights=False)[0]
        return x + self.down(torch.nn.functional.gelu(self.up(self.behind(x))))


class Transformer(torch.nn.Module):
    def __init__(self, width=32, depth=2):
        super().__init__()
        self.tokens = torch.nn.Embedding(VOCABULARY, width)
        self.places = torch.nn.Parameter(0.02 * torch.randn(LENGTH, width))
        self.blocks = torch.nn.ModuleList(Block(width) for _ in range(depth))
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        mask = torch.full((LENGTH, LENGTH), -math.inf, device=tokens.device).triu(1)
        x = self.tokens(tokens) + self.places
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


def batch(generator, count=16):
    """Texts in which each token follows from the one before, but for every fourth."""
    tokens = torch.randint(0, VOCABULARY, (count, 1), generator=generator)
    for _ in range(LENGTH):
        following = (tokens[:, -1:] * 5 + 7) % VOCABULARY
        other = torch.randint(0, VOCABULARY, (count, 1), generator=generator)
        tokens = torch.cat([tokens, torch.where(torch.rand(count, 1, generator=generator) < 0.25, other, following)], 1)
    return tokens[:, :-1], tokens[:, 1:]


def own_scale(gradient):
    """The power of two that leaves two bits of room."""
    largest = gradient.abs().max().item()
    return 1.0 if largest == 0 or not math.isfinite(largest) else 2.0 ** math.floor(math.log2(65504 / 4 / largest))


class Rounded:
    """What a backward pass in a format makes of the gradients, and the scale that it runs with."""

    def __init__(self, kind, model):
        self.kind, self.model = kind, model
        self.scaler = tare.torch.GradScaler("cpu", init_scale=2.0 ** 16, growth_interval=2000) if kind == "fp16" else None

    def backward(self, loss, times):
        (loss * times).backward()
        self.factors = {}
        for name, parameter in self.model.named_parameters():
            exact = parameter.grad
            if self.kind == "bf16":
                parameter.grad = exact.bfloat16().float()
                continue
            factor = self.scaler.get_scale() if self.kind == "fp16" else own_scale(exact)
            self.factors[name] = factor
            parameter.grad = (exact * factor).half().float()

    def step(self, optimizer):
        if self.kind == "fp16":
            self.scaler.unscale_(optimizer)
        for name, parameter in self.model.named_parameters():
            parameter.grad /= self.factors.get(name, 1.0) if self.kind == "layerwise" else 1.0
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if self.kind == "fp16":
            self.scaler.step(optimizer)
            self.scaler.update()
        else:
            optimizer.step()


def run(kind, seed, steps, hard, rows=None):
    """-> the first step at which each code was told."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Transformer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    rounded = Rounded(kind, model)
    if rounded.scaler is not None:
        rounded.scaler.scale(torch.ones(()))
    monitored = rounded.scaler if kind != "layerwise" else torch.amp.GradScaler("cpu", init_scale=1.0)
    if kind == "layerwise":
        monitored.scale(torch.ones(()))
    monitor = tare.torch.Monitor(model, monitored, warn={"low_scale": 0} if kind == "layerwise" else None)
    first = {}
    for step in range(steps):
        optimizer.zero_grad()
        inputs, targets = batch(generator)
        loss = torch.nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        is_hard = HARD_AT <= step < HARD_AT + hard
        rounded.backward(loss, 2.0 ** 60 if is_hard else 1.0)
        monitor.gradients()
        rounded.step(optimizer)
        for finding in monitor.step(step):
            if finding.severity != "note":
                first.setdefault(finding.code, step)
        if rows is not None and monitor.report().get("step") == step:
            signals = monitor.report().signals
            scale = rounded.scaler.get_scale() if rounded.scaler else 1
            rows.append([kind, hard, step, scale, signals.lost, signals.headroom_bits, loss.item()])
    return first


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--steps", type=int, default=600)
    options.add_argument("--hard", type=int, default=30)
    options.add_argument("--csv", help="what the runs of the first seed looked like, look by look")
    given = options.parse_args()
    torch.set_num_threads(1)
    rows = []
    told = {(kind, hard): [] for kind, hard in (("fp16", 0), ("fp16", given.hard), ("bf16", given.hard),
                                                ("layerwise", given.hard))}
    for seed in range(given.seeds):
        for (kind, hard), runs in told.items():
            runs.append(run(kind, seed, given.steps, hard, rows if given.csv and seed == 0 else None))
            print(f"{kind}, {hard} hard batches, seed {seed}: {runs[-1] or 'no warning'}", flush=True)
        if given.csv and seed == 0:
            write(given.csv, rows)
    for (kind, hard), runs in told.items():
        warned = [min(one.values()) for one in runs if one]
        print(f"== {kind}, {hard} hard batches: {len(warned)} of {len(runs)} runs warned of"
              + (f", at step {min(warned)} to {max(warned)}" if warned else ""), flush=True)


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "hard", "step", "scale", "lost", "headroom_bits", "loss"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
