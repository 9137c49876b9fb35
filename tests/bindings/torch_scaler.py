#!/usr/bin/env python3
"""Trains the same small model with torch's GradScaler and with tare's and compares every weight and state.

    torch_scaler.py LIBTARE REPOSITORY [DEVICE [STEPS]]     on the CPU; exit 77 where torch has none to compare with
"""
import sys

sys.dont_write_bytecode = True
library, root = sys.argv[1:3]
device = sys.argv[3] if len(sys.argv) > 3 else "cpu"
steps = int(sys.argv[4]) if len(sys.argv) > 4 else 60
sys.path.insert(0, f"{root}/capi/examples")
try:
    import torch
except ImportError:
    print("no torch: not run")
    sys.exit(77)

if not hasattr(torch.amp, "GradScaler"):
    print(f"torch {torch.__version__} has no GradScaler for the CPU: not run")
    sys.exit(77)

import tare
import torch_scaler

tare.open_library(library)


if device != "cpu" and not torch.cuda.is_available():
    print(f"torch {torch.__version__} sees no GPU: not run")
    sys.exit(77)


def train(make_scaler):
    torch.manual_seed(0)
    models = [torch.nn.Linear(4, 3).to(device), torch.nn.Linear(3, 2).to(device)]
    fused = {"fused": True} if device != "cpu" else {}  # one that skips on the device, one that does not
    optimizers = [torch.optim.SGD(models[0].parameters(), lr=0.05), torch.optim.Adam(models[1].parameters(), **fused)]
    scaler = make_scaler(init_scale=2.0**10, growth_interval=3)
    history = []
    for step in range(steps):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = models[1](models[0](torch.randn(8, 4, device=device))).square().mean()
        scaler.scale(loss).backward()
        if step % 7 == 4:  # one optimizer overflows, the other does not
            models[step % 2].bias.grad[0] = float("inf") if step % 3 else float("nan")
        if step % 5 == 0:
            scaler.unscale_(optimizers[0])
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update(512.0 if step == 30 else None)
        history.append((scaler.get_scale(), scaler.state_dict(), [p.detach().clone() for m in models for p in m.parameters()]))
        if step == 40:
            saved = scaler.state_dict()
            scaler = make_scaler()
            scaler.scale(torch.zeros(1, device=device))  # torch makes its tensors here
            scaler.load_state_dict(saved)
    return history


def refusals(make_scaler):
    model = torch.nn.Linear(2, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = make_scaler()
    scaler.scale(model(torch.ones(1, 2, device=device)).sum()).backward()
    raised = []
    scaler.unscale_(optimizer)
    for call in (lambda: scaler.unscale_(optimizer), lambda: (scaler.step(optimizer), scaler.step(optimizer)),
                 lambda: (scaler.update(), scaler.update()), lambda: scaler.load_state_dict({})):
        try:
            call()
            raised.append(None)
        except Exception as error:  # torch raises RuntimeError and AssertionError, tare its own where a rule raises
            raised.append(bool(error))
    return raised


def mine(**options):
    return torch_scaler.GradScaler(device=device, **options)


def theirs(**options):
    return torch.amp.GradScaler(device, **options)


differences = 0
for have, wanted in zip(train(mine), train(theirs)):
    differences += have[0] != wanted[0]
    differences += have[1] != wanted[1]
    differences += any(not torch.equal(a, b) for a, b in zip(have[2], wanted[2]))
differences += refusals(mine) != refusals(theirs)
print(f"{steps} steps, 2 optimizers, {device}, torch {torch.__version__}: {differences} differences")
sys.exit(1 if differences else 0)
