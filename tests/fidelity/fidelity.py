#!/usr/bin/env python3
"""Edits copies of real checkpoints and loads them with the frameworks that this Python has.

    fidelity.py --tare BINARY --corpus FOLDER [--only GLOB] [--must NAME...]

Each case is loaded, edited (scale; then growth tracker and interval, where stored), and loaded again, in every way
that torch has (plain, weights_only, mmap). The edited fields must have their new values and their old types, all else
must be as it was, and every way that worked before must still work. Then the framework's own scaler takes the state and
says what it is. A case that does not load here unedited (a class that is not installed) is counted, and left out. Those
named by --must may not be left out. Exit 0: all is well.
"""
import dataclasses
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

import torch

from command import Tare
from corpus import cases_of, copied, planned_edits
from judge import NotHere, Wrong, arguments, judge
from loading import Value, distributed_ways, layout, ways
from scalers import report
from values import equal

CONTAINERS = ("torch_zip", "torch_legacy", "torch_dcp")


def editable(case):
    return (case.truth.get("container") in CONTAINERS and "expect" not in case.truth and not case.may_refuse
            and any(s["kind"] == "loss_scale" and "scale" in s["roles"] for s in case.scalers))


@dataclasses.dataclass
class Loaded:
    """What the files that hold a scaler give, in every way in which they load."""

    values: dict  # (file, way): {path: Value}
    states: dict  # file: the scaler's state, as the framework would get it

    @classmethod
    def of(cls, case, scaler):
        values, states = {}, {}
        for file, loaded in cls.loaded(case, scaler):
            for way, root in loaded.items():
                places = layout(root)
                values[file, way] = {path: Value.of(value) for path, value in places.items()}
                if scaler["path"] in places:
                    states.setdefault(file, places[scaler["path"]])
        return cls(values, states)

    @staticmethod
    def loaded(case, scaler):
        """(what it is called, {way: object}) of each file, or of the folder that is one checkpoint."""
        if scaler.get("container", case.truth["container"]) == "torch_dcp":
            yield case.truth["target"], distributed_ways(next(case.target.rglob("*.metadata")).parent)
        else:
            yield from ((file, ways(case.folder / file)) for file in scaler["files"])


def loaded_untouched(case, scaler):
    try:
        loaded = Loaded.of(case, scaler)
    except Exception as problem:  # frameworks raise anything
        raise NotHere(f"{type(problem).__name__}: {str(problem).splitlines()[0][:120]}") from problem
    scale = float(scaler["roles"]["scale"])
    for values in loaded.values.values():
        if not any(within(path, scaler) and equal(scale, value.number, "float32") for path, value in values.items()):
            raise NotHere(f"this torch reads no scale of {scale}")
    return loaded


def within(path, scaler):
    return not scaler["path"] or path == scaler["path"] or path.startswith((scaler["path"] + ".", scaler["path"] + "["))


def compare(scaler, edits, before, after):
    """-> how many other values there are, all of them as before"""
    if set(before.values) != set(after.values):
        raise Wrong(f"no longer loads: {sorted(set(before.values) ^ set(after.values))}")
    same = 0
    for key, old in before.values.items():
        new = after.values[key]
        if set(old) != set(new):
            raise Wrong(f"{key}: other places than before: {sorted(set(old) ^ set(new))[:4]}")
        changed = [path for path in old if old[path] != new[path]]
        for path in changed:
            meant = [value for role, value in edits if equal(float(scaler["roles"][role]), old[path].number, "float32")]
            if not within(path, scaler) or not any(equal(value, new[path].number, "float32") for value in meant):
                raise Wrong(f"{key}: {path or '(root)'}: {old[path]} became {new[path]}")
            if old[path].kind != new[path].kind:
                raise Wrong(f"{key}: {path}: {old[path].kind} became {new[path].kind}")
        if len(changed) < len(edits):
            raise Wrong(f"{key}: {len(edits)} edits, but {changed} changed")
        same += len(old) - len(changed)
    return same


def check(tare, original):
    """-> lines that tell what was loaded"""
    with tempfile.TemporaryDirectory() as scratch:
        case = copied(original, scratch)
        scaler = next(s for s in case.loaded if s["kind"] == "loss_scale" and "scale" in s["roles"])
        before = loaded_untouched(case, scaler)
        choice = ["--at", scaler["path"]] if len({s["path"] for s in case.loaded}) > 1 else []
        edits = list(planned_edits(scaler))
        told = []
        for count in range(1, len(edits) + 1):
            role, value = edits[count - 1]
            answer = tare("edit", case.target, f"{role}={value}", *choice, "--yes")
            if answer.code != 0:
                raise Wrong(str(answer))
            after = Loaded.of(case, scaler)
            same = compare(scaler, edits[:count], before, after)
            by = ", ".join(sorted({way for _, way in after.values}))
            count_of_files = len({file for file, _ in after.values})
            told.append(f"{role}={value}: {count_of_files} files by {by}; {same} other values as before")
        for file, state in after.states.items():
            said = report(scaler["dialect"], state)
            told += [f"{file}: {said}"] if said else []
        return told


def main():
    options = arguments(__doc__)
    tare = Tare(options.tare)
    cases = filter(editable, cases_of(options.corpus, options.only))
    return judge(f"torch {torch.__version__}", cases, lambda case: check(tare, case), options.must)


if __name__ == "__main__":
    sys.exit(main())
