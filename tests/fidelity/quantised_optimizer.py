#!/usr/bin/env python3
"""Edits the scaler beside optimizers whose states torchao keeps in 8, 4 and FP8's 8 bits, and bitsandbytes in 8, and loads the
files with them.

    quantised_optimizer.py --tare BINARY

Exit 0: each optimizer takes its state from every edited file, every quantised value is what was saved, and undo brings the
file back.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import warnings

import bitsandbytes
import torch
import torchao
from torchao.optim import AdamW4bit, AdamW8bit, AdamWFp8

OPTIMIZERS = AdamW8bit, AdamW4bit, AdamWFp8, *(getattr(bitsandbytes.optim, name) for name in
                                               ("Adam8bit", "AdamW8bit", "Lion8bit", "PagedAdamW8bit"))
SCALER = {"scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 1}
EDITS = {  # one that fits where the old value stands, two that take more bytes
    "scale=1024": ("/scaler/scale", 1024.0),
    "growth_tracker=1999": ("/scaler/_growth_tracker", 1999),
    "window=100000": ("/scaler/growth_interval", 100000),
}


def values(node, path=""):
    """-> (path, value) of all that a file holds; of a quantised tensor its class and its numbers."""
    if isinstance(node, (dict, list, tuple)):
        for key, item in node.items() if isinstance(node, dict) else enumerate(node):
            yield from values(item, f"{path}/{key}")
    elif isinstance(node, torch.Tensor):
        numbers = node if type(node) is torch.Tensor else node.dequantize()
        yield path, (type(node).__name__, numbers.tolist())
    else:
        yield path, node


def is_quantised(value):
    """torchao's state, or bitsandbytes' bytes: no other tensor of these files is one of whole numbers up to 255."""
    if type(value) is not tuple:
        return False
    kind, numbers = value
    return kind.startswith("OptimState") or (kind == "Tensor" and numbers and is_bytes(numbers))


def is_bytes(numbers):
    while isinstance(numbers, list) and numbers and isinstance(numbers[0], list):
        numbers = numbers[0]
    return isinstance(numbers, list) and len(numbers) > 100 and all(type(number) is int for number in numbers)


def loaded(path):
    return torch.load(path, weights_only=True)


def trained(optimizer):
    torch.manual_seed(24)
    model = torch.nn.Linear(256, 256)
    optimizer = optimizer(model.parameters())
    for _ in range(2):
        model(torch.randn(8, 256)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def complaints(tare, optimizer, path):
    model, trainer = trained(optimizer)
    torch.save({"model": model.state_dict(), "optimizer": trainer.state_dict(), "scaler": SCALER}, path)
    before = dict(values(loaded(path)))
    if not any(is_quantised(value) for value in before.values()):
        yield "no state of it is quantised"
    for edit, (place, wanted) in EDITS.items():
        subprocess.run([tare, "edit", path, edit, "--yes"], check=True, capture_output=True)
        if dict(values(loaded(path))) != {**before, place: wanted}:
            yield f"{edit}: the file holds something else"
        optimizer(model.parameters()).load_state_dict(loaded(path)["optimizer"])
        subprocess.run([tare, "undo", path, "--yes"], check=True, capture_output=True)
        if dict(values(loaded(path))) != before:
            yield f"{edit}: undo does not bring the file back"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    tare = ask.parse_args().tare
    warnings.simplefilter("ignore")
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for optimizer in OPTIMIZERS:
            told = list(complaints(tare, optimizer, pathlib.Path(scratch, f"{optimizer.__name__}.pt")))
            wrong += bool(told)
            print(f"{optimizer.__name__}: {'; '.join(told) or 'right'}")
    print(f"torchao {torchao.__version__}, bitsandbytes {bitsandbytes.__version__}: {len(OPTIMIZERS)} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
