#!/usr/bin/env python3
"""Carries scalers between the real checkpoints of the test data.

    migrate.py --tare BINARY --corpus FOLDER

Every case with one loss scale, one for each dialect and set of fields, is a source; each is put into copies of the next
few (`--into`), and into a new file for each framework (`--to`). What the answer says of each value must be what inspect
then finds; a dry run writes nothing; undo brings back every byte; --strict refuses exactly where something is lost.
"""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile

from command import Tare
from values import equal

NEW_FILES = {
    "torch": "scaler.pt", "nemo": "scaler.pt", "megatron": "scaler.pt", "apex": "amp.pt", "deepspeed zero": "zero.pt",
    "deepspeed fused": "fused.pt", "fairseq": "scaler.pt", "colossalai": "scaler.pt",
    "torch_npu": "scaler.pt", "internevo": "optimizer.pt", "mmcv": "epoch_1.pth", "paddle": "scaler.pdparams",
    "paddle_static": "scaler.pdopt", "mindspore": "scaler.ckpt", "mindspore_amp": "scaler.ckpt",
    "mindformers_adaptive": "scaler.ckpt", "flax": "scaler.msgpack", "jmp": "scaler.npz",
}
DIALECTS = {"torch_npu": "torch"}  # where it is not the name
NO_RULE = {"tf_contrib", "mindformers_common"}
DONE, REFUSED = 0, 4
TARGETS = 3  # for each source


def cases(corpus):
    """One case for each dialect and its fields: the first that holds one loss scale in one place, and may be edited."""
    found = {}
    for truth_file in sorted(corpus.rglob("truth.json")):
        truth = json.loads(truth_file.read_text())
        scalers = truth.get("scalers", [])
        if len(scalers) != 1 or scalers[0]["kind"] != "loss_scale" or truth.get("edit") or "expect" in truth:
            continue
        key = (scalers[0]["dialect"], *sorted(scalers[0]["fields"]))
        found.setdefault(key, (truth_file.parent, truth))
    return list(found.values())


def snapshot(folder):
    return {p.relative_to(folder): (p.read_bytes(), p.stat().st_mode) for p in sorted(folder.rglob("*"))
            if p.is_file() and ".tare" not in p.parts}


def only_scaler(tare, target):
    answer = tare("inspect", target, "--json")
    scalers = (answer.json() or {}).get("scalers", [])
    return scalers[0] if len(scalers) == 1 else None


def bare(value):
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


def unlike(answer, scaler):
    """What the answer says of values that the file holds, and inspect does not find so."""
    keys = {value["key"] for value in answer["values"]}
    for value in answer["values"]:
        section, name = value["key"].split(".", 1)
        if section == "params" and f"fields.{name}" in keys:
            continue  # what a fresh scaler starts with
        held = scaler["fields"].get(name, scaler["roles"].get(value["role"]))
        if value["fate"] in ("lost", "implied") or held is None:
            continue
        if not equal(bare(value["after"]), bare(held), "float32"):
            yield f"{name}: said {value['after']!r}, found {held!r}"


def into(tare, source, target_case, truth):
    with tempfile.TemporaryDirectory() as scratch:
        case = pathlib.Path(scratch) / "case"
        shutil.copytree(target_case, case, symlinks=True)
        target = case / truth["target"]
        before = snapshot(case)
        dry = tare("migrate", source, "--into", target, "--dry-run", "--json")
        if snapshot(case) != before:
            return "a dry run wrote something"
        if dry.code == REFUSED:
            return None if dry.reason else "refused without a reason"
        done = tare("migrate", source, "--into", target, "--json", "--yes")
        if dry.code != DONE or done.code != DONE:
            return str(done if dry.code == DONE else dry)
        answer = done.json()
        if answer["values"] != dry.json()["values"]:
            return "the dry run said otherwise"
        scaler = only_scaler(tare, target)
        if scaler is None:
            return "no scaler is found in it afterwards"
        wrong = list(unlike(answer, scaler))
        if wrong:
            return "; ".join(wrong[:3])
        if not answer["edit"]["changes"]:
            return None
        undone = tare("undo", target, "--yes")
        if undone.code != DONE or snapshot(case) != before:
            return f"undo: {undone}"
    return None


def new_file(tare, source, framework, name):
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / name
        done = tare("migrate", source, "--to", framework, "-o", path, "--json")
        if done.code != DONE:
            return str(done)
        answer = done.json()
        scaler = only_scaler(tare, path)
        if scaler is None:
            return f"no scaler is found in it: {tare('inspect', path)}"
        if scaler["dialect"] != DIALECTS.get(framework, framework.split()[0]):
            return f"it is of dialect {scaler['dialect']}"
        wrong = list(unlike(answer, scaler))
        if wrong:
            return "; ".join(wrong[:3])
        is_lost = answer["divergence"] is not None or any(value["fate"] == "lost" for value in answer["values"])
        strict = tare("migrate", source, "--to", framework, "-o", path, "--force", "--strict")
        if strict.code != (REFUSED if is_lost else DONE):
            return f"--strict: {strict}"
    return None


def through_hdf5(tare, source):
    """A state in HDF5 holds what a state in JSON does: the command's other build writes and reads it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        values = {}
        for ending in ("json", "h5"):
            state, back = folder / f"state.{ending}", folder / f"{ending}.pt"
            saved = tare("inspect", source, "--save", state)
            carried = tare("migrate", state, "--to", "torch", "-o", back, "--json")
            if saved.code or carried.code:
                return f"exit {saved.code}, {carried.code}: {saved.reason} {carried.reason}"
            if ending == "h5" and not state.read_bytes().startswith(b"\x89HDF"):
                return "is no HDF5"
            values[ending] = [(v["key"], v.get("after")) for v in carried.json()["values"]]
        return None if values["h5"] == values["json"] else f"{values}"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", type=pathlib.Path, required=True)
    options = ask.parse_args()
    tare = Tare(options.tare)
    passed, failed = 0, 0

    def count(what, problem):
        nonlocal passed, failed
        passed, failed = passed + (problem is None), failed + (problem is not None)
        if problem is not None:
            print(f"falls short: {what}: {problem}", flush=True)

    def has_rule(case, truth):
        """Of a few dialects no rule is known, so that they cannot be carried anywhere."""
        asked = tare("migrate", case / truth["target"], "--to", "torch", "-o", "new.pt", "--dry-run")
        return "no policy runs a state" not in asked.reason

    found = [(case, truth) for case, truth in cases(options.corpus) if only_scaler(tare, case / truth["target"])]
    chosen = [one for one in found if has_rule(*one)]
    left_out = {truth["scalers"][0]["dialect"] for case, truth in found if (case, truth) not in chosen}
    count("dialects without a rule", None if left_out <= NO_RULE else f"{sorted(left_out)}")
    for keeper in "pytorch", "transformers", "accelerate", "lightning":  # of torch's state, which they keep as it is
        asked = tare("migrate", chosen[0][0] / chosen[0][1]["target"], "--to", keeper, "-o", "new.pt", "--dry-run")
        count(f"--to {keeper}", None if asked.code == 2 and b"--to torch" in asked.err else str(asked))
    for number, (case, truth) in enumerate(chosen):
        name = case.relative_to(options.corpus)
        source = case / truth["target"]
        for step in range(1, TARGETS + 1):
            other, other_truth = chosen[(number + 3 * step + 1) % len(chosen)]
            count(f"{name} into {other.relative_to(options.corpus)}", into(tare, source, other, other_truth))
        for framework, file in NEW_FILES.items():
            count(f"{name} to {framework}", new_file(tare, source, framework, file))
    case, truth = chosen[0]
    count(f"{case.relative_to(options.corpus)} through HDF5", through_hdf5(tare, case / truth["target"]))
    print(f"{len(chosen)} kinds of state; {passed} passed, {failed} failed")
    return 1 if failed or len(chosen) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
