#!/usr/bin/env python3
"""Names several checkpoints in one command: each has its answer, none keeps another from its own, and the exit code is the
highest.

    several.py --tare TARE --corpus FOLDER
"""
import argparse
import json
import os
import pathlib
import re
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


def lines_of_json(tare, sound, model):
    """What --json says, a document a line, all spelt as one program would: no blanks but those in texts."""
    for words in ["inspect"], ["attest"], ["doctor"], ["doctor", "--rules"], ["ls"], ["edit", "--dry-run", "scale=4"], ["fp8", "reset", "--dry-run"]:
        if words[0] == "edit":
            paths = [sound]
        elif words[0] == "fp8":
            paths = [model]
        else:
            paths = [] if "--rules" in words else [sound, model]
        ask = [words[0], *paths, *words[1:]] if words[0] == "edit" else [*words, *paths]
        plain, lines = tare(*ask, "--json"), tare(*ask, "--json-lines")
        wanted = list(documents(plain.out))
        told = lines.out.decode().splitlines()
        require(wanted and [json.loads(line) for line in told] == wanted, words, plain, lines)
        for line, document in zip(told, wanted):
            compact = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
            require(re.sub(r"-?\d[\d.e+-]*", "0", line) == re.sub(r"-?\d[\d.e+-]*", "0", compact), words, line[:300], compact[:300])
        require(lines.code == plain.code, lines, plain)


def quoted_patterns(tare, corpus):
    """A pattern that no shell saw means what it means to a shell; one that a file is called by to the letter means that."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for name in "run/step2/scaler.pt", "run/step10/scaler.pt", "run/step10/.hidden.pt":
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(corpus / "torch/scaler-file-t2.15/scaler.pt", scratch / name)
        wanted = ["run/step2/scaler.pt", "run/step10/scaler.pt"]
        for root in "", f"{scratch}/", "./":
            for verb in "inspect", "attest":
                told = list(documents(tare(verb, f"{root}run/step*/*.pt", "--json", folder=scratch).out))
                require([one["target"] for one in told] == [root + name for name in wanted], verb, root, told)
            done = tare("edit", f"{root}run/*/scaler.p?", "scale=2", "--yes", "--json-lines", folder=scratch)
            told = [json.loads(line)["target"] for line in done.out.decode().splitlines()]
            require(done.code == DONE and told == [root + name for name in wanted], done, told)
        doctor = tare("doctor", "run/step*", "--json", folder=scratch).json()
        require(doctor["targets"] == ["run/step2", "run/step10"], doctor)
        (scratch / "run/step*").mkdir()
        shutil.copy(scratch / wanted[0], scratch / "run/step*/scaler.pt")
        told = list(documents(tare("inspect", "run/step*/scaler.pt", "--json", folder=scratch).out))
        require([one["target"] for one in told] == ["run/step*/scaler.pt"], told)
        absent = tare("inspect", "nothing*.pt", wanted[0], folder=scratch)
        require(absent.code == FAILED and "nothing*.pt" in absent.reason and absent.out, "what nothing is called by:", absent)


def fp8_verbs(tare, corpus):
    """FP8 state of several checkpoints: each is changed by itself, and undone by itself."""
    with tempfile.TemporaryDirectory() as scratch:
        paths = [pathlib.Path(scratch, name) for name in ("a.pt", "b.pt")]
        for path in paths:
            shutil.copy(corpus / "transformer_engine/te1.13_4layers/model.pt", path)
        before = paths[0].read_bytes()
        absent = pathlib.Path(scratch, "absent.pt")
        done = tare("fp8", "reset", paths[0], absent, paths[1], "--yes", "--json-lines", "--jobs", "2")
        told = [json.loads(line) for line in done.out.decode().splitlines()]
        require(done.code == FAILED and [one["target"] for one in told] == list(map(str, paths)), done)
        require(paths[0].read_bytes() == paths[1].read_bytes() != before, "both are reset")
        for path in paths:
            undone = tare("undo", path, "--yes")
            require(undone.code == DONE and path.read_bytes() == before, undone)


def injected_into_several(tare, corpus):
    """One saved state goes into each checkpoint; the last name is the state's, however many come before."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        source = corpus / "transformer_engine/te2.20_delayed/model.pt"
        require(tare("inspect", source, "--save", scratch / "state.json").code == DONE, "a state is saved")
        for name in ("a.pt", "b.pt"):
            shutil.copy(source, scratch / name)
            require(tare("fp8", "strip", scratch / name, "--yes").code == DONE, "stripped", name)
        done = tare("fp8", "inject", "a.pt", "b.pt", "state.json", "--yes", "--json-lines", folder=scratch)
        told = [json.loads(line) for line in done.out.decode().splitlines()]
        require(done.code == DONE and [one["target"] for one in told] == ["a.pt", "b.pt"], done)
        require((scratch / "a.pt").read_bytes() == (scratch / "b.pt").read_bytes(), "both are filled alike")
        require(all(one["applied"] and len(one["fields"]) == 4 for one in told), told)
        slots = tare("inspect", scratch / "b.pt", "--json").json()["scalers"]
        require(slots and all(one["kind"] == "fp8" for one in slots), slots)
        unnamed = tare("fp8", "inject", "a.pt", "b.pt", "--yes", folder=scratch)
        require(unnamed.code == FAILED and "b.pt" in unnamed.reason, "a checkpoint where a state is to stand:", unnamed)
        alone = tare("fp8", "inject", "a.pt", "--yes", folder=scratch)
        require(alone.code == WRONG_USAGE and "STATE" in alone.reason, "no state:", alone)


def undone_together(tare, corpus):
    """The last edit of each is taken back; one that changed several of them once, and not the one before it as well."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        save = scratch / "run/global_step2"
        shutil.copytree(corpus / "deepspeed/zero2_4ranks_tags/ckpt/global_step2", save)
        shutil.copy(corpus / "torch/scaler-file-t2.15/scaler.pt", scratch / "alone.pt")
        ranks = sorted(save.glob("zero_pp_rank_*"))
        states = [[path.read_bytes() for path in ranks]]
        for scale in "4096", "8192":
            require(tare("edit", save, f"scale={scale}", "--yes").code == DONE, "edited", scale)
            states.append([path.read_bytes() for path in ranks])
        before = (scratch / "alone.pt").read_bytes()
        require(tare("edit", scratch / "alone.pt", "scale=2", "--yes").code == DONE, "edited alone")
        told = list(documents(tare("history", save, scratch / "alone.pt", "--json").out))
        require([len(one["edits"]) for one in told] == [2, 1], told)
        lines = tare("history", save, scratch / "alone.pt", "--json-lines").out.decode().splitlines()
        require([json.loads(line) for line in lines] == told, lines)
        words = tare("history", save, scratch / "alone.pt").out.decode()
        require(words.splitlines()[0] == str(save) and str(scratch / "alone.pt") in words.splitlines(), words)
        done = tare("undo", ranks[0], scratch / "absent.pt", scratch / "alone.pt", ranks[1], save, "--yes", "--json-lines")
        told = [json.loads(line) for line in done.out.decode().splitlines()]
        require(done.code == FAILED and "absent.pt" in done.reason and len(told) == 2, done)
        require(done.reason.count("is taken back already") == 2, done)
        require([path.read_bytes() for path in ranks] == states[1], "the edit before that stays")
        require((scratch / "alone.pt").read_bytes() == before, "the other is taken back, too")
        again = tare("undo", *ranks, "--yes")
        require(again.code == DONE and [path.read_bytes() for path in ranks] == states[0], again)
        forgotten = tare("history", save, scratch / "alone.pt", "--prune", "--yes")
        require(forgotten.code == DONE and forgotten.out.count(b"forgot") == 2, forgotten)


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


def one_file_by_several_names(tare, corpus):
    """A file that two of the paths lead to is changed once, however many are planned at the same time."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch).resolve()
        model = scratch / "model.pt"
        shutil.copy(corpus / "transformer_engine/te2.20_two_gemms/model.pt", model)
        (scratch / "link.pt").symlink_to("model.pt")
        before = model.read_bytes()
        regroup = ["fp8", "regroup", "--layer", "*", "--for", "2.3", "--yes"]
        require(tare(*regroup, model).code == DONE and model.read_bytes() != before, "regrouped")
        once = model.read_bytes()
        require(tare("undo", model, "--yes").code == DONE and model.read_bytes() == before, "undone")
        for jobs in "1", "4":
            done = tare(*regroup, "model.pt", "link.pt", "./model.pt", "--jobs", jobs, folder=scratch)
            require(done.code == DONE and model.read_bytes() == once, "regrouped once:", done)
            require("link.pt: left out, model.pt leads to the same files" in done.reason, done)
            require("./model.pt: left out" in done.reason, done)
            require(tare("undo", model, "--yes").code == DONE and model.read_bytes() == before, "one edit to undo")
        (scratch / "run").mkdir()
        for step in "1", "2":
            shutil.copytree(corpus / "deepspeed/zero2_4ranks_tags/ckpt/global_step2", scratch / f"run/checkpoint-{step}")
        ranks = sorted((scratch / "run/checkpoint-2").glob("zero_pp_rank_*"))
        old = [path.read_bytes() for path in ranks]
        for jobs in "1", "4":
            done = tare("edit", "run", "run/checkpoint-2", ranks[0], "scale=1024", "--yes", "--jobs", jobs, folder=scratch)
            is_told = "run/checkpoint-2: left out, run leads to the same files" in done.reason
            require(done.code == DONE and is_told, "a run and its newest checkpoint:", done)
            require(tare("undo", "run", "--yes", folder=scratch).code == DONE, "one edit to undo")
            require([path.read_bytes() for path in ranks] == old, "one edit was to undo")


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
    lines_of_json(tare, sound, model)
    fp8_verbs(tare, options.corpus)
    injected_into_several(tare, options.corpus)
    undone_together(tare, options.corpus)
    quoted_patterns(tare, options.corpus)
    one_file_by_several_names(tare, options.corpus)
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
