#!/usr/bin/env python3
"""Who is asked before something is written: whoever sits at the terminal; without one only --yes and --force answer.

    asking.py --tare BINARY --corpus FOLDER

Each command runs without a terminal, with one and answers of both kinds, and with stderr sent elsewhere.
"""
import argparse
import hashlib
import pathlib
import shutil
import sys
import tempfile

import screen
from command import Tare

DONE, REFUSED = 0, 4


class Scene:
    """A checkpoint with an edit to undo, one with FP8 state, and files that answers would go to."""

    def __init__(self, tare, corpus, folder):
        self.folder = folder
        shutil.copy(corpus / "torch/scaler-file-t2.15/scaler.pt", folder / "a.pt")
        shutil.copy(corpus / "torch/scaler-file-t2.15/scaler.pt", folder / "source.pt")
        shutil.copy(corpus / "transformer_engine/te1.13_4layers/model.pt", folder / "fp8.pt")
        shutil.copy(corpus / "lightning/v2_6/last.ckpt", folder / "last.ckpt")
        (folder / "layers.json").write_bytes(b"")
        saved = tare("inspect", "fp8.pt", "--save", "layers.json", "--force", folder=folder)
        assert saved.code == DONE, saved
        empty = tare("fp8", "strip", "fp8.pt", "--yes", folder=folder)
        assert empty.code == DONE, empty
        shutil.copy(folder / "fp8.pt", folder / "empty.pt")
        back = tare("undo", "fp8.pt", "--yes", folder=folder)
        assert back.code == DONE, back
        for name in ("there.json", "there.pt"):
            (folder / name).write_text("kept")
        answer = tare("edit", "a.pt", "scale=512", "--yes", folder=folder)
        assert answer.code == DONE, answer

    def bytes(self):
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        return [(str(path), hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]


# command -> the option that answers without a terminal
COMMANDS = {
    ("edit", "a.pt", "scale=64"): "--yes",
    ("undo", "a.pt"): "--yes",
    ("history", "a.pt", "--prune"): "--yes",
    ("migrate", "source.pt", "--into", "a.pt"): "--yes",
    ("migrate", "last.ckpt", "--rename", "lightning:2.0"): "--yes",
    ("edit", "fp8.pt", "scale.input=2^4", "--all"): "--yes",
    ("fp8", "strip", "fp8.pt"): "--yes",
    ("fp8", "strip", "fp8.pt", "--remove"): "--yes",
    ("fp8", "reset", "fp8.pt"): "--yes",
    ("fp8", "recompute", "fp8.pt"): "--yes",
    ("fp8", "resize", "fp8.pt", "--history", "8"): "--yes",
    ("fp8", "rename", "fp8.pt", "--from", "0", "--to", "9"): "--yes",
    ("fp8", "inject", "empty.pt", "layers.json"): "--yes",
    ("migrate", "source.pt", "--to", "megatron", "-o", "there.pt"): "--force",
    ("inspect", "a.pt", "--save", "there.json"): "--force",
    ("attest", "a.pt", "--write-plain", "there.json"): "--force",
}


def at_terminal(tare, words, folder, answer, err=None):
    """Runs in a session of its own with a controlling terminal. -> (exit code, what the terminal showed)"""
    command = [tare.binary, *words]
    if err is None:
        child, seen = screen.shown(command, typed=answer, cwd=folder)
    else:
        with open(err, "wb") as elsewhere:
            child, seen = screen.shown(command, ["stdout"], answer, cwd=folder, stderr=elsewhere)
    return child.returncode, seen


def problems(tare, scene, words, option):
    before = scene.bytes()

    def untouched():
        return scene.bytes() == before

    alone = tare(*words, folder=scene.folder)
    if alone.code != REFUSED or option not in alone.reason or not untouched():
        yield f"without a terminal: {alone}"
    code, shown = at_terminal(tare, words, scene.folder, b"n\n")
    if code != REFUSED or b"[y/N]" not in shown or not untouched():
        yield f"answered no: exit {code}: {shown!r}"
    elsewhere = scene.folder.parent / "stderr"
    code, shown = at_terminal(tare, words, scene.folder, b"n\n", elsewhere)
    if code != REFUSED or b"[y/N]" not in shown or not untouched():
        yield f"answered no, stderr in a file: exit {code}: {shown!r}"
    code, shown = at_terminal(tare, words, scene.folder, b"y\n", elsewhere)
    if code != DONE or b"[y/N]" not in shown or untouched():
        yield f"answered yes: exit {code}: {shown!r}"


def harm_told_first(tare, scene, words, option):
    """What is sick about the state afterwards stands above the question."""
    if words[0] != "edit" or words[1] != "a.pt":
        return
    code, shown = at_terminal(tare, ["edit", "a.pt", "growth_tracker=2000"], scene.folder, b"n\n")
    if code != REFUSED or not 0 <= shown.find(b"tracker-past-interval") < shown.find(b"[y/N]"):
        yield f"harm: exit {code}: {shown!r}"


def told(tare, scene, words, option):
    before = scene.bytes()
    told = tare(*words, option, folder=scene.folder)
    if told.code != DONE or scene.bytes() == before:
        yield f"with {option}: {told}"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True)
    options = ask.parse_args()
    tare, failed = Tare(options.tare), 0
    for words, option in COMMANDS.items():
        for check in (problems, harm_told_first, told):
            with tempfile.TemporaryDirectory() as scratch:
                folder = pathlib.Path(scratch, "scene")
                folder.mkdir()
                for problem in check(tare, Scene(tare, pathlib.Path(options.corpus), folder), words, option):
                    failed += 1
                    print(f"falls short: tare {' '.join(words)}: {problem}")
    print(f"{len(COMMANDS)} commands that write, {failed} fall short")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
