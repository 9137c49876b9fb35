#!/usr/bin/env python3
"""What is left of a checkpoint of several files is never shown as if it were all of it.

    missing_files.py --tare TARE --corpus FOLDER [--verbose]

Takes each file in turn from every real checkpoint of several files: inspect says so and exits with something else than
0, or its answer is the same without that file. What nothing in a checkpoint can tell is listed here, with why.
"""
import argparse
import fnmatch
import json
import pathlib
import shutil
import sys
import tempfile

from command import Tare
from corpus import cases_of

# "case/file" that is missed without a word, and why nobody could know.
UNTOLD = {
    "the scaler's own file, which runs without one do not have; that there is none is said (no-scaler)": [
        "accelerate/*/scaler.pt", "transformers/*/scaler.pt", "paddle/paddlenlp_trainer/*/scaler.pdparams",
        "speechbrain/save/*/scaler.ckpt", "mindformers/common_json/*/common.json", "lightning/fsdp_sharded/*/meta.pt",
        "sd_scripts/*/scaler.pt"],
    "the pointer or the mark of the newest save: the one before it is taken, and named": [
        "*/latest", "tensorflow/checkpoint_legacy/ckpt/checkpoint", "flax/msgpack_checkpoints/run/checkpoint_5",
        "flax/orbax_*/run/*/_CHECKPOINT_METADATA"],
    "the last of ranks that are counted nowhere": [
        "mindspore/four_ranks/rank_3/*", "mindspore/two_ranks_redundancy_removed/rank_1/*",
        "mindformers/checkpoint_monitor/checkpoint/rank_1/*", "nemo/mp_ranks/checkpoints/mp_rank_01/*",
        "torch/rank-files-*/step100/rank1.pt", "fairseq2/run_folder/*/trainer/rank_01.pt",
        "internevo/hybrid_zero/*/optimizer_tp0_pp0_zo1.pt", "tango/two_workers/*/worker1_grad_scaler.pt"],
    "metadata.json does not tell of it, and Megatron itself then loads the copy beside the tensors, which is shown": [
        "megatron/dist_common_beside/ckpt/*/common.pt"],
}


def told(tare, target):
    """The exit code, and what the answer says of the state, wherever it stands."""
    answer = tare("inspect", target, "--json")
    document = answer.json()
    scalers = (document or {}).get("scalers", [])
    parts = ("kind", "dialect", "path", "fields", "roles")
    return answer.code, sorted(json.dumps({k: s[k] for k in parts}, sort_keys=True) for s in scalers), \
        {f for s in scalers for f in s["files"]}


def reason_for(name):
    return next((why for why, patterns in UNTOLD.items() for p in patterns if fnmatch.fnmatch(name, p)), None)


def check(tare, case, silent):
    """How many files were taken away, and those of which nothing was said."""
    code, before, holders = told(tare, case.target)
    files = [p for p in sorted(case.folder.rglob("*")) if p.is_file() and p.name != "truth.json"]
    if code != 0 or len(files) < 2 or not case.target.is_dir():
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "case"
        shutil.copytree(case.folder, copy, symlinks=True)
        for file in files:
            here = copy / file.relative_to(case.folder)
            here.rename(copy.parent / "away")
            code, after, _ = told(tare, copy / case.target.relative_to(case.folder))
            (copy.parent / "away").rename(here)
            holds = any((case.target / holder) == file for holder in holders)
            if code == 0 and (after != before or holds):
                silent.append(f"{case.name}/{file.relative_to(case.folder)}")
    return len(files)


def every_verb(tare, corpus):
    """What each verb says of a checkpoint without its first, a middle, the last rank, or the model states."""
    folder = corpus / "deepspeed/zero2_4ranks_tags/ckpt/global_step2"
    wrong = []
    for away in [f"zero_pp_rank_{r}_mp_rank_00_optim_states.pt" for r in (0, 2, 3)] + ["mp_rank_00_model_states.pt"]:
        with tempfile.TemporaryDirectory() as scratch:
            copy = pathlib.Path(scratch) / "step"
            shutil.copytree(folder, copy)
            (copy / away).unlink()
            asked = {"inspect": [copy], "get": [copy, "scale"], "diff": [copy, copy]}
            codes = {verb: tare(verb, *arguments).code for verb, arguments in asked.items()}
            codes["edit"] = tare("edit", copy, "scale=64", "--yes").code
            codes["edit --align"] = tare("edit", copy, "scale=64", "--yes", "--align").code
            if codes != {"inspect": 1, "get": 1, "diff": 1, "edit": 4, "edit --align": 0}:
                wrong.append(f"without {away}: {codes}")
    return wrong


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True, type=pathlib.Path)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    ask.add_argument("--verbose", action="store_true")
    options = ask.parse_args()
    tare, silent, removed = Tare(options.tare.resolve()), [], 0
    for case in cases_of(options.corpus, "*"):
        if "expect" not in case.truth:
            removed += check(tare, case, silent)
    reasons = {name: reason_for(name) for name in silent}
    for name, reason in reasons.items():
        if reason is None or options.verbose:
            print("untold" if reason is None else f"nobody could know ({reason})", name)
    idle = [p for patterns in UNTOLD.values() for p in patterns if not any(fnmatch.fnmatch(n, p) for n in silent)]
    for pattern in idle:
        print("told after all:", pattern)
    missed = [name for name, reason in reasons.items() if reason is None]
    wrong = every_verb(tare, options.corpus)
    for line in wrong:
        print(line)
    print(f"{removed} files taken away, {len(missed)} missed without a word, {len(silent) - len(missed)} as listed")
    return 1 if missed or idle or wrong or not removed else 0


if __name__ == "__main__":
    sys.exit(main())
