#!/usr/bin/env python3
"""Edits the FP8 state of flax and Keras, and loads it with the real framework: one scale, all of them anew, all of them reset.

    fp8_arrays.py --tare BINARY --corpus FOLDER

Run it in a Python with flax, Orbax or Keras (keras.txt, orbax.txt); it takes the cases that that Python can load. These
frameworks store the inverse of a scale. What each change may touch, and what it must then hold, is worked out here from what
the framework loaded before.
"""
import argparse
import json
import pathlib
import shutil
import tempfile

from arrays import loader, run

LARGEST = {"input": 448.0, "inputs": 448.0, "kernel": 448.0, "output_grad": 57344.0, "outputs_grad": 57344.0}
CLOSE = 1e-6


def pairs(truth):
    """-> {tensor: (name of its scale, of its history)}, as the framework's loader has them."""
    found = {}
    for scaler in truth["scalers"]:
        if scaler["kind"] != "fp8":
            continue
        where = {n: scaler.get("at", {}).get(n, f"{scaler['path']}.{n}").replace("/", ".") for n in scaler["fields"]}
        for tensor in LARGEST:
            if f"{tensor}_scale" in where:
                found[tensor] = where[f"{tensor}_scale"], where[f"{tensor}_amax_history"]
    return found


def number(value):
    return value[0] if isinstance(value, list) else value


def expectations(tensors, before):
    """-> (what is asked of tare, {name: the value that is then loaded})"""
    first = "input" if "input" in tensors else "inputs"
    yield ["edit", "scale.input=2^4"], {tensors[first][0]: 2.0**-4}
    anew = {scale: max(before[history]) / LARGEST[tensor]
            for tensor, (scale, history) in tensors.items() if max(before[history]) > 0}
    yield ["fp8", "recompute"], anew
    yield ["fp8", "reset"], {scale: 1.0 for scale, _ in tensors.values()} | {
        history: [0.0] * len(before[history]) for _, history in tensors.values()}


def differs(loaded, wanted):
    if isinstance(wanted, list):
        return list(loaded) != wanted
    return abs(number(loaded) - number(wanted)) > CLOSE * abs(number(wanted))


def check(tare, original, truth, load):
    tensors = pairs(truth)
    with tempfile.TemporaryDirectory() as scratch:
        case = pathlib.Path(scratch) / "case"
        shutil.copytree(original, case)
        target = case / truth["target"]
        before = load(target)
        changes = list(expectations(tensors, before))
        for words, wanted in changes:
            verb = words[:2] if words[0] == "fp8" else words[:1]
            run(tare, *verb, target, *words[len(verb):], "--yes")
            loaded = load(target)
            wrong = {name: loaded.get(name) for name, value in before.items()
                     if (differs(loaded[name], wanted[name]) if name in wanted else loaded.get(name) != value)}
            if wrong or set(loaded) != set(before):
                raise SystemExit(f"{original}: after {' '.join(words)}: {wrong}")
            run(tare, "undo", target, "--yes")
            if load(target) != before:
                raise SystemExit(f"{original}: undo of {' '.join(words)} does not bring the old values back")
    return f"{len(tensors)} tensors; {len(changes)} changes loaded as intended, each undone"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    loaded = 0
    for path in sorted(options.corpus.rglob("truth.json")):
        truth = json.loads(path.read_text())
        load = loader(truth) if truth.get("framework") in ("flax", "keras") and "expect" not in truth else None
        if load is None or not pairs(truth):
            continue
        print(f"{path.parent.relative_to(options.corpus)!s:36} {check(options.tare, path.parent, truth, load)}", flush=True)
        loaded += 1
    print(f"{loaded} checkpoints with FP8 state")
    return 0 if loaded else 1


if __name__ == "__main__":
    raise SystemExit(main())
