#!/usr/bin/env python3
"""Changes the FP8 state of real checkpoints with the command: the values come out as asked, nothing else changes, and
undo brings back every byte.

    fp8.py --tare BINARY --corpus FOLDER [--verbose]
"""
import argparse
import math
import pathlib
import struct
import sys
import tempfile

from command import Tare
from corpus import Short, cases_of, copied, require, snapshot, unlike

CHANGES = [("edit", ["--all", "scale.input*=16", "amax_history.grad_*=0.5"]), ("reset", []), ("recompute", []),
           ("strip", []), ("resize", ["--history", "4"])]
DELAYED = {"transformer_engine", "torchao_delayed", "flax", "keras"}
WITHOUT_DOCUMENT = DELAYED - {"transformer_engine"}
BOUND = {"msamp", "torchao", "deepseek_fp8", "compressed_tensors"}


def layers(tare, case):
    answer = tare("inspect", case.target, "--json")
    require(answer.code in (0, 1), answer)
    return {s["path"]: s for s in answer.json()["scalers"] if s["kind"] == "fp8"}


def close(a, b):
    return a == b or math.isclose(a, b, rel_tol=2**-22)


def check_resized(before, after):
    """The rows from the front, as TransformerEngine cuts loaded histories; nothing else changes but the recipe's number."""
    for path, old in before.items():
        for name, value in old["fields"].items():
            meant = value[:4] if name.startswith("amax_history_") else 4 if name == "recipe.amax_history_len" else value
            require(after[path]["fields"][name] == meant, path, name, "is", str(after[path]["fields"][name])[:80])


def check_values(verb, before, after):
    if verb == "strip":
        require(not after, "left after strip:", sorted(after)[:3])
        return
    require(set(before) == set(after), "other layers than before")
    for path, old in before.items():
        for was, now in zip(old["slots"], after[path]["slots"]):
            where = f"{path} {was['tensor']}"
            if verb == "reset":
                require(now["scale"] == 1 and now["filled"] == 0, where, "is not as at the start:", now)
            elif verb == "resize":
                require(now["history_length"] == 4 and now["scale"] == was["scale"], where, now)
            elif verb == "recompute" and was["largest_amax"] and not was["not_finite"]:
                top = was["format_max"] / 2 ** margin_of(old) / was["largest_amax"]
                top = min(struct.unpack("f", struct.pack("f", min(top, 3.4028234663852886e38)))[0], 3.4028234663852886e38)
                require(close(now["scale"], top), where, f"has scale {now['scale']}, its history says {top}")
            elif verb == "edit":
                meant = was["tensor"].split(".")[0]
                require(now["scale"] == (16 if meant == "input" else was["scale"]), where, "has scale", now["scale"])
                touched = meant.startswith("grad_") and now["history_length"]
                require(now["largest_amax"] == (0.5 if touched else was["largest_amax"]), where, now["largest_amax"])


def margin_of(scaler):
    return scaler["fields"].get("recipe.margin", 0)


def may_be_refused(case, verb, dialects):
    if verb == "strip":
        # Nothing to empty without a document of its own; and metadata, or a header, that say how large a tensor is.
        return bool(dialects & WITHOUT_DOCUMENT) or case.truth["container"] == "safetensors" or case.name.endswith("_dcp")
    if verb == "resize":
        # Longer histories have no room in a record, nor a tensor of a safetensors file, of DCP, or of a zip within
        # (TransformerEngine 1.x) another size.
        shortest = min(len(s["fields"].get("amax_history_fwd", [])) for s in case.truth["scalers"] if s["kind"] == "fp8")
        return shortest < 4 or "/te1." in case.name or case.truth["container"] == "safetensors" or case.name.endswith("_dcp") or dialects != {
            "transformer_engine"}
    return verb == "edit" and not dialects <= DELAYED  # weights alone have no inputs and no histories


def check(tare, case):
    for verb, arguments in CHANGES:
        with tempfile.TemporaryDirectory() as scratch:
            copy = copied(case, scratch)
            start, before = snapshot(copy.folder), layers(tare, copy)
            dialects = {s["dialect"] for s in before.values()}
            command = ["edit"] if verb == "edit" else ["fp8", verb]
            done = tare(*command, copy.target, *arguments, "--yes")
            refused = done.code == 4 and (dialects & BOUND or may_be_refused(copy, verb, dialects))
            if refused:
                require(unlike(start, snapshot(copy.folder)) is None, verb, "was refused, and changed something")
                continue
            require(done.code == 0, verb, done)
            check_values(verb, before, layers(tare, copy))
            if verb == "resize":
                check_resized(before, layers(tare, copy))
            undone = tare("undo", copy.target, "--yes")
            require(undone.code == 0 or "nothing had to be written" in done.reason, verb, undone)
            difference = unlike(start, snapshot(copy.folder))
            require(difference is None, verb, "and undo:", difference)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True, type=pathlib.Path)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    ask.add_argument("--containers", nargs="+", default=["torch_zip", "torch_dcp", "safetensors"])
    ask.add_argument("--verbose", action="store_true")
    options = ask.parse_args()
    tare, failed, held = Tare(options.tare.resolve()), 0, 0
    for case in cases_of(options.corpus, "*"):
        if case.truth.get("container") not in options.containers or "expect" in case.truth:
            continue
        if not any(s["kind"] == "fp8" for s in case.scalers):
            continue
        try:
            check(tare, case)
            held += 1
            if options.verbose:
                print("holds      ", case.name)
        except Short as short:
            failed += 1
            print("falls short", case.name, short)
    print(f"{held} hold, {failed} fall short")
    return 1 if failed or not held else 0


if __name__ == "__main__":
    sys.exit(main())
