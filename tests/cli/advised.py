#!/usr/bin/env python3
"""Does what `tare doctor` advises of each checkpoint, as a shell takes it: every command goes through.

    advised.py --tare TARE --corpus FOLDER
"""
import argparse
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from command import Tare

COMMAND = re.compile(r"`tare ((?:edit|migrate|fp8 \w+) [^`]+)`")
# Words that stand for what only the reader knows.
BLANK = re.compile(r"\b(?:CHECKPOINT|VALUE|KEY|PATH|SOURCE|STATE\.json)\b")
# What a folder may be called.
NAMES = ("plain", "with a blank", "it's", "a;b$(c)\"e")


def advised(answer):
    """The commands that name a checkpoint, each once."""
    for finding in answer["findings"]:
        for command in COMMAND.findall(finding["advice"]):
            if not BLANK.search(command):
                yield finding["code"], command


def followed(tare, target):
    answer = tare("doctor", target, "--json", "--fail-on", "never").json()
    commands = list(advised(answer)) if answer else []
    for code, command in commands:
        done = subprocess.run(["sh", "-c", f"{shlex.quote(tare.binary)} {command} --dry-run"], capture_output=True, text=True)
        if done.returncode:
            yield f"{target}: {code}: `tare {command}`: exit {done.returncode}, {done.stderr.strip()}"
    return len(commands)


def as_they_are(tare, corpus):
    count = 0
    for truth in sorted(corpus.glob("*/*/truth.json")):
        if truth.parts[-3] == "hostile":  # its damage is told first
            continue
        count += yield from followed(tare, truth.parent / json.loads(truth.read_text()).get("target", "."))
    if count < 20:
        yield f"the corpus leads to {count} commands"


def loss_scalers(tare, target):
    inspected = tare("inspect", target, "--json").json()
    return [scaler["path"] for scaler in inspected["scalers"] if scaler["kind"] == "loss_scale"]


def sick_ones(tare, corpus, scratch):
    """Of several scalers one is sick: it is the one that is mended, and its checkpoint is nobody's last healthy one."""
    cases = [corpus / "torch/gan/gan.pt", *sorted(corpus.glob("apex/*/*.pt"))]
    several = [case for case in cases if case.exists() and len(loss_scalers(tare, case)) > 1]
    if len(several) < 2:
        yield f"{several} have several scalers"
    for number, case in enumerate(several):
        folder = scratch / f"{number} {NAMES[number % len(NAMES)]}"
        folder.mkdir()
        sick = pathlib.Path(shutil.copy(case, folder))
        for place in loss_scalers(tare, case):
            done = tare("edit", sick, "--at", place, "scale=0", "--force", "--yes")
            if done.code:
                yield str(done)
                continue
            answer = tare("doctor", sick, "--json", "--fail-on", "never").json()
            commands = [command for code, command in advised(answer) if code == "scale-zero"]
            if len(commands) != 1 or answer["last_healthy"] is not None:
                yield f"{sick}, {place}: {commands}, last healthy {answer['last_healthy']}"
                continue
            subprocess.run(["sh", "-c", f"{shlex.quote(tare.binary)} {commands[0]} --yes"], capture_output=True)
            left = tare("doctor", sick, "--json", "--fail-on", "never").json()
            if any(finding["code"] == "scale-zero" for finding in left["findings"]):
                yield f"{sick}, {place}: `tare {commands[0]}` mends nothing"


def named(tare, corpus, scratch):
    """Whatever the folder is called, and whichever checkpoint stands beside it."""
    well = scratch / "well.pt"
    shutil.copy(corpus / "torch/gan/gan.pt", well)
    for name in NAMES:
        folder = scratch / name
        folder.mkdir()
        sick = pathlib.Path(shutil.copy(well, folder))
        tare("edit", sick, "--all", "scale=0", "--force", "--yes")
        before = well.read_bytes(), sick.read_bytes()
        yield from followed(tare, sick)
        for both in ((sick, well), (well, sick)):
            answer = tare("doctor", *both, "--json", "--fail-on", "never").json()
            for _, command in advised(answer):
                if shlex.split(command)[1] != str(sick):
                    yield f"{both}: `tare {command}` is of another checkpoint"
        if before != (well.read_bytes(), sick.read_bytes()):
            yield f"{folder}: an advice that was tried without writing wrote"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare = Tare(options.tare)
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        problems = [*as_they_are(tare, options.corpus), *sick_ones(tare, options.corpus, scratch),
                    *named(tare, options.corpus, scratch)]
    print("\n".join(problems) or "whatever is advised can be done")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
