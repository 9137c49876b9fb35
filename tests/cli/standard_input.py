#!/usr/bin/env python3
"""Gives a checkpoint on standard input, as a pipe and as a redirected file: it is read as the file itself is, and never changed.

    standard_input.py --tare BINARY --corpus FOLDER
"""
import argparse
import json
import pathlib
import subprocess
import sys

import command  # sets XDG_STATE_HOME: no key in the home of whoever runs this

CASES = ["torch/scaler-file-t2.15/scaler.pt", "torch/legacy-t2.4/model.pt", "torch/protocol3-t2.15/p.pt"]
REFUSED = 4


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True)
    options = ask.parse_args()
    short = []

    def run(*words, **given):
        return subprocess.run([options.tare, *words], capture_output=True, timeout=20, **given)

    def states(answer):
        scalers = json.loads(answer.stdout)["scalers"]
        return [(scaler["dialect"], scaler["path"], scaler["fields"]) for scaler in scalers]

    for case in CASES:
        path = pathlib.Path(options.corpus, case)
        wanted = states(run("inspect", path, "--json"))
        piped = run("inspect", "-", "--json", input=path.read_bytes())
        with path.open("rb") as file:
            redirected = run("inspect", "-", "--json", stdin=file)
        for how, answer in (("piped", piped), ("redirected", redirected)):
            if answer.returncode or not wanted or states(answer) != wanted:
                short.append(f"{case}, {how}: exit {answer.returncode}: {answer.stderr[-300:]!r}")
        for words in (["edit", "-", "scale=1", "--yes"], ["undo", "-", "--yes"], ["history", "-"], ["attest", "-"]):
            refused = run(*words, input=path.read_bytes())
            if refused.returncode != REFUSED:
                short.append(f"{words}: exit {refused.returncode}: {refused.stderr[-300:]!r}")
    nothing = run("inspect", "-", stdin=subprocess.DEVNULL)
    if nothing.returncode != 3 or b"standard input" not in nothing.stderr:
        short.append(f"nothing: exit {nothing.returncode}: {nothing.stderr!r}")
    print("\n".join(f"falls short: {problem}" for problem in short) or f"{len(CASES)} checkpoints on standard input")
    return bool(short)


if __name__ == "__main__":
    sys.exit(main())
