#!/usr/bin/env python3
"""Asks `tare get` and `tare diff` of a real checkpoint of each dialect and container.

    get_and_diff.py --tare BINARY --corpus FOLDER

`get` must give the scale that the case's truth says; `diff` must find nothing between a checkpoint and its copy, and the
scale alone once that is edited in the copy; and nothing between the state saved as JSON and in HDF5.
"""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile

from command import Tare
from values import equal

SAME, DIFFERENT = 0, 1
SCALE = 64.0


def cases(corpus):
    """The first case of each dialect and container with one loss scale that may be edited."""
    found = {}
    for truth_file in sorted(corpus.rglob("truth.json")):
        truth = json.loads(truth_file.read_text())
        scalers = truth.get("scalers", [])
        if len(scalers) == 1 and scalers[0]["kind"] == "loss_scale" and not truth.get("edit") and "expect" not in truth:
            found.setdefault((scalers[0]["dialect"], truth["container"]), (truth_file.parent, truth))
    return found


def bare(value):
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


def wrong(tare, case, truth):
    """What is not as it should be; None where all is."""
    roles = tare("inspect", case / truth["target"], "--json").json()["scalers"][0]["roles"]
    got = tare("get", case / truth["target"], "scale")
    if got.code != 0 or not equal(float(got.out), bare(roles["scale"]), "float32"):
        return f"get: {got} {got.out!r}, inspect says {roles['scale']}"
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "case"
        shutil.copytree(case, copy, symlinks=True)
        ours, theirs = case / truth["target"], copy / truth["target"]
        same = tare("diff", ours, theirs)
        if same.code != SAME:
            return f"diff with a copy: {same} {same.out!r}"
        edited = tare("edit", theirs, f"scale={SCALE}", "--yes")
        if edited.code != 0:
            return str(edited)
        answer = tare("diff", ours, theirs, "--json")
        differences = (answer.json() or {}).get("differences", [])
        if answer.code != DIFFERENT or len(differences) != 1 or not equal(bare(differences[0]["b"]), SCALE, "float32"):
            return f"diff after an edit: {answer} {answer.out!r}"
        return wrong_between_forms(tare, ours, pathlib.Path(scratch))


def wrong_between_forms(tare, checkpoint, folder):
    """A state that is saved as JSON and in HDF5 is one state."""
    forms = [folder / "state.json", folder / "state.h5"]
    if any(tare("inspect", checkpoint, "--save", form).code != 0 for form in forms):
        return None  # no state that could be saved, or a build that writes no HDF5
    for pair in forms, forms[::-1]:
        answer = tare("diff", *pair)
        if answer.code != SAME:
            return f"diff of one state in two forms: {answer} {answer.out!r}"
    if tare("edit", forms[1], f"scale={SCALE}", "--yes").code == 0 and tare("diff", *forms).code != DIFFERENT:
        return "diff of two states in two forms finds nothing"
    return None


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", type=pathlib.Path, required=True)
    options = ask.parse_args()
    tare, failed = Tare(options.tare), 0
    found = cases(options.corpus)
    for (dialect, container), (case, truth) in found.items():
        problem = wrong(tare, case, truth)
        if problem is not None:
            failed += 1
            print(f"falls short: {dialect} in {container} ({case.relative_to(options.corpus)}): {problem}", flush=True)
    print(f"{len(found)} dialects and containers, {failed} fall short")
    return 1 if failed or len(found) < 25 else 0


if __name__ == "__main__":
    sys.exit(main())
