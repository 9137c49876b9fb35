#!/usr/bin/env python3
"""Names several checkpoints in one command: each has its answer, none keeps another from its own, and the exit code is the
highest.

    several.py --tare TARE --corpus FOLDER
"""
import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile

from command import Tare
from corpus import require

DONE, NO, WRONG_USAGE, FAILED, REFUSED = 0, 1, 2, 3, 4


def documents(text):
    """-> the JSON documents of a text, one after another."""
    decoder, text = json.JSONDecoder(), text.decode().strip()
    while text:
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:].strip()


def edits(tare, corpus, scratch):
    """Each is a transaction of its own, and undone by itself; what can only be an assignment is none of their names."""
    names = ["run/scaler.pt", "run/epoch=9.ckpt", "other/scaler.pt"]
    for name in names:
        path = scratch / name
        path.parent.mkdir(exist_ok=True)
        shutil.copy(corpus / "torch/scaler-file-t2.15/scaler.pt", path)
    paths = [scratch / name for name in names]
    before = paths[0].read_bytes()
    plan = tare("edit", *paths, "scale=1024", "growth_interval=7", "--dry-run")
    require(plan.code == DONE and all(path.read_bytes() == before for path in paths), "a dry run:", plan)
    alone = [tare("edit", path, "scale=1024", "growth_interval=7", "--dry-run").out for path in paths]
    require(plan.out == b"".join(alone), "a dry run of several tells what each tells:", plan, alone)
    for jobs in "1", "3":
        absent = scratch / "absent.pt"
        done = tare("edit", paths[0], absent, paths[1], paths[2], paths[0], "scale=1024", "--yes", "--jobs", jobs, "--json-lines")
        require(done.code == FAILED and "absent.pt" in done.reason, "one that is not there:", done)
        told = [json.loads(line) for line in done.out.decode().splitlines()]
        require([one["target"] for one in told] == list(map(str, paths)) and all(one["applied"] for one in told), done)
        require(len({one["id"] for one in told}) == 3 and len({path.read_bytes() for path in paths}) == 1, "as edited", told)
        require(paths[0].read_bytes() != before, "they are edited")
        for path in paths:
            undone = tare("undo", path, "--yes")
            require(undone.code == DONE and path.read_bytes() == before, "undone by itself:", undone)
    (scratch / "scale=1").write_bytes(before)
    unclear = tare("edit", "run/scaler.pt", "scale=1", "--yes", folder=scratch)
    require(unclear.code == WRONG_USAGE and "./scale=1" in unclear.reason, "a file that is called like an assignment:", unclear)
    wrong = tare("edit", paths[0], "scale=1024", paths[1], "--yes")
    require(wrong.code == WRONG_USAGE and paths[0].read_bytes() == before, "a path behind an assignment:", wrong)
    if not os.isatty(0):
        unasked = tare("edit", *paths, "scale=1024")
        require(unasked.code == REFUSED and all(path.read_bytes() == before for path in paths), "nobody said yes:", unasked)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare = Tare(options.tare)
    sound = options.corpus / "torch/align1/aligned.pt"
    model = options.corpus / "transformer_engine/te1.13_4layers/model.pt"
    absent = options.corpus / "absent.pt"
    for verb in "inspect", "attest":
        alone = [tare(verb, path) for path in (sound, model)]
        together = tare(verb, sound, model)
        require(all(one.out.strip() in together.out for one in alone), "an answer is missing:", together)
        require(together.code == max(one.code for one in alone), together)
        broken = tare(verb, sound, absent, model)
        require(broken.code == FAILED and "absent.pt" in broken.reason, broken)
        require(all(one.out.strip() in broken.out for one in alone), "one file kept others from their turn:", broken)
        for jobs in "1", "2", "7":
            again = tare(verb, sound, absent, model, "--jobs", jobs)
            require((again.code, again.out) == (broken.code, broken.out), f"--jobs {jobs} tells something else:", again)
        told = list(documents(tare(verb, "--json", sound, model).out))
        require([one["target"] for one in told] == [str(sound), str(model)], "JSON tells of", [sorted(one) for one in told])
    for verb in "inspect", "attest":
        lines = tare(verb, "--json-lines", sound, model).out.decode().splitlines()
        require([json.loads(line) for line in lines] == list(documents(tare(verb, "--json", sound, model).out)), verb, lines)
    with tempfile.TemporaryDirectory() as scratch:
        edits(tare, options.corpus, pathlib.Path(scratch))
    with tempfile.TemporaryDirectory() as scratch:
        state = pathlib.Path(scratch, "state.json")
        for verb, option in ("inspect", "--save"), ("attest", "--write-plain"):
            answer = tare(verb, sound, model, option, state)
            require(answer.code == WRONG_USAGE and option in answer.reason and not state.exists(), answer)
    print("several checkpoints in one command: each is answered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
