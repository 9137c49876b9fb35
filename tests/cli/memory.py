#!/usr/bin/env python3
"""Holds the command to its memory: a checkpoint may have thousands of rank files.

    memory.py --tare TARE --corpus FOLDER

4,000 rank files are inspected, edited and restored. Exit 1 if that takes more than 32 MiB: the tree of a file must be
gone when the next one is read.
"""
import argparse
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
from command import Tare

RANKS = 4000
MOST_KIB = 32 << 10


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True)
    options = ask.parse_args()
    tare = Tare(options.tare)
    source = pathlib.Path(options.corpus, "torch/rank-files-t2.15/step100/rank0.pt")
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch, "step")
        folder.mkdir()
        for rank in range(RANKS):
            shutil.copy(source, folder / f"rank{rank}.pt")
        for arguments in (["inspect", folder], ["edit", folder, "scale=2048", "--yes"], ["undo", folder, "--yes"]):
            answer = tare(*arguments)
            print(f"{arguments[0]}: {answer.peak_kib} KiB")
            if answer.code != 0 or answer.peak_kib > MOST_KIB:
                failed.append(f"{answer.peak_kib} KiB: {answer}")
    print("\n".join(failed))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
