#!/usr/bin/env python3
"""Plans changes of hundreds of layers and of dozens of rank files: what is alike is told a few times and then counted,
on a terminal alone.

    alike.py --tare TARE --corpus FOLDER
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

from command import Tare
from corpus import Short, require

MAKE = pathlib.Path(__file__).resolve().parent.parent / "bench/make_fp8.py"
LAYERS, RANKS, NAMED = 300, 64, 4


def check_layers(tare, scratch):
    model = scratch / "model.pt"
    subprocess.run([sys.executable, MAKE, model, "--layers", str(LAYERS), "--history", "4"], check=True)
    plan = tare("fp8", "strip", model, "--dry-run")
    lines = plan.out.decode().splitlines()
    require(lines.count(f"    and so in {LAYERS - NAMED} more places") == 3, "fields and bytes are not counted:", lines[:20])
    require(sum(line.startswith("extra state") for line in lines) == NAMED, "other layers are named than", NAMED)
    require(len(lines) < 30, len(lines), "lines")
    told = tare("fp8", "strip", model, "--dry-run", "--json").json()
    require(len(told["fields"]) == LAYERS, "JSON names", len(told["fields"]), "layers")
    patches = [patch for file in told["changes"] for patch in file["patches"] if "stripped" in patch["meaning"]]
    require(len(patches) == 2 * LAYERS, "JSON has", len(patches), "of them: a size and what is left, each layer's")


def check_ranks(tare, corpus, scratch):
    source = corpus / "torch/rank-files-t2.15/step100/rank0.pt"
    step = scratch / "step"
    step.mkdir()
    for rank in range(RANKS):
        shutil.copy(source, step / f"rank{rank}.pt")
    plan = tare("edit", step, "scale=1024", "--all", "--dry-run")
    lines = plan.out.decode().splitlines()
    require(any(f"in {RANKS} files" in line for line in lines), plan, lines[:5])
    require(sum(line.endswith(".pt") for line in lines) == NAMED, "other files are named:", lines)
    require(lines[-1] == f"    and so in {RANKS - NAMED} more places", "the last line is", lines[-1])


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True, type=pathlib.Path)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare = Tare(options.tare)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            check_layers(tare, pathlib.Path(scratch))
            check_ranks(tare, options.corpus, pathlib.Path(scratch))
        except Short as short:
            print("falls short", short)
            return 1
    print(f"{LAYERS} layers and {RANKS} rank files hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
