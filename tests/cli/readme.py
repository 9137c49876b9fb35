#!/usr/bin/env python3
"""Does what the README shows: each command of its examples, on real checkpoints under the names that it uses there, without
a terminal and at one; and what it says that the command answers is what the command answers.

    readme.py --tare TARE --corpus FOLDER --readme README.md
"""
import argparse
import pathlib
import re
import shlex
import shutil
import sys
import tempfile

from asking import at_terminal
from command import Tare

DONE = 0
TE = "transformer_engine/"
SCALER = "torch/scaler-file-t2.15/scaler.pt"
# What the example is about -> (name there, where it comes from, what is done to it before)
SCENES = {
    "inspect run": [("run", "transformers/run_collapse/run", [])],
    "edit run": [("run", "transformers/run_collapse/run", [])],
    "migrate scaler.pt": [
        ("scaler.pt", SCALER, ["edit scaler.pt scale=4096 growth_tracker=2"]),
        ("run/global_step4200", "deepspeed/zero2_2ranks/ckpt/global_step5", [])],
    "migrate model.pt --into": [("model.pt", TE + "te1.13_4layers/model.pt", []),
                                ("state.msgpack", "flax/fp8_to_bytes/state.msgpack", [])],
    "migrate epoch=9.ckpt": [("epoch=9.ckpt", "lightning/v2_1/epoch=0-step=9.ckpt", [])],
    "fp8 rename": [("model.pt", TE + "te1.13_4layers/model.pt",
                    ["fp8 rename model.pt --from layers.1 --to layers.1.core_attention.fused_attention"])],
    "fp8 regroup": [("model.pt", TE + "te2.20_two_gemms/model.pt",
                     ["fp8 rename model.pt --from layers.0 --to layers.0.experts.fc1"])],
    "fp8 inject": [("new.pt", TE + "te1.13_4layers/model.pt", ["inspect new.pt --save state.json", "fp8 strip new.pt"])],
    "trace run": [("run", "transformers/run_collapse/run", [])],
    "": [("model.pt", TE + "te1.13_4layers/model.pt", [])],
}
GOES_ON = ("undo",)  # where the command before left off
ON_A_TERMINAL = re.compile(r"\x1b\[[0-9;]*[mK]|\r|^.*\[y/N\] ", re.M)  # styles; questions, which the answer follows
EDIT_ID = re.compile(r"\([0-9a-f]{12}\)")
COMMENT = re.compile(r"\s{2,}#? ?.*$")


def examples(readme):
    """-> (words, what it answers, line by line; "..." for what is left out) of each `$ tare` in the README's blocks."""
    for block in re.findall(r"^```\n(.*?)^```", readme, re.M | re.S):
        for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *answer = example.rstrip("\n").split("\n")
            if command.startswith("tare "):
                yield shlex.split(COMMENT.sub("", command), comments=True)[1:], answer


def prepare(tare, corpus, folder, words):
    spoken = " ".join(words)
    scene = next(made for start, made in SCENES.items() if spoken.startswith(start))
    for name, source, steps in scene:
        copy = shutil.copytree if (corpus / source).is_dir() else shutil.copy
        copy(corpus / source, folder / name)
        for step in steps:
            done = tare(*shlex.split(step), *yes(step.split()), folder=folder)
            assert done.code == DONE, done


def yes(words):
    return ["--yes"] if words[0] in ("edit", "undo", "fp8") or {"--into", "--rename"} & set(words) else []


def without_terminal(tare, words, folder):
    done = tare(*words, *yes(words), folder=folder)
    return done.code, (done.out + done.err).decode()


def with_terminal(tare, words, folder):
    code, shown = at_terminal(tare, words, folder, b"y\n" if yes(words) else b"")
    return code, ON_A_TERMINAL.sub("", shown.decode())


WAYS = {"without a terminal": without_terminal, "at a terminal": with_terminal}


def unsaid(answer, shown, folder):
    """The first line of the README's answer that is not in the command's, after those before it; of edits any id."""
    lines = iter(EDIT_ID.sub("", line.rstrip()) for line in shown.replace(str(folder), "/home/me").splitlines())
    for line in answer:
        if line.strip() and line.strip() != "..." and EDIT_ID.sub("", line.rstrip()) not in lines:
            return line
    return None


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    ask.add_argument("--readme", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare, tried, failed = Tare(options.tare), 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for number, (words, answer) in enumerate(examples(options.readme.read_text())):
            for way, run in WAYS.items():
                here = pathlib.Path(scratch, way, str(number))
                if words[0] in GOES_ON:
                    pathlib.Path(scratch, way, str(number - 1)).rename(here)
                else:
                    here.mkdir(parents=True)
                    prepare(tare, options.corpus, here, words)
                code, shown = run(tare, words, here)
                missing = unsaid(answer, shown, here)
                tried += 1
                if code != DONE or missing is not None:
                    failed += 1
                    print(f"falls short {way}: tare {' '.join(words)}: exit {code}; not said: {missing!r} in\n{shown}")
    print(f"{tried} times a command of the README, {failed} fall short")
    return 1 if failed or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
