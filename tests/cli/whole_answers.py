#!/usr/bin/env python3
"""What people and programs read, whole: each command of whole_answers/, on copies of real checkpoints, answers every line
there, and no other.

    whole_answers.py --tare TARE --corpus FOLDER --transcripts whole_answers [--write]

A file begins with "== " and what is copied from the corpus; "$ tare ..." is a command, "exit N" its code where it is not 0.
What differs from run to run stands as ID, WHEN, WHO, HERE and TARE. --write writes what is answered now: read it before
it is committed.
"""
import argparse
import itertools
import os
import pathlib
import re
import shlex
import shutil
import sys
import tempfile

from command import Tare

# What would have the command write otherwise.
for variable in ("COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
    os.environ.pop(variable, None)

os.environ["LC_ALL"] = "C.UTF-8"

CHANGING = [(re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "WHEN"), (re.compile(r"(?<![\w.])(?=[0-9a-f]*\d)[0-9a-f]{12}\b(?![.-])"), "ID"),
            (re.compile(r'("user"|"host"): "[^"]*"'), r'\1: "WHO"'), (re.compile(r"^(    )\S+@\S+: ", re.M), r"\1WHO: ")]


def scene_of(transcript):
    """-> (what is copied, the commands)."""
    copies, *rest = re.split(r"^\$ tare ", transcript.removeprefix("== "), flags=re.M)
    return copies.split(), [part.split("\n", 1)[0] for part in rest]


def steady(text, tare, folder):
    text = text.replace(tare.binary, "TARE").replace(str(folder), "HERE")
    for pattern, word in CHANGING:
        text = pattern.sub(word, text)
    return text


def answered(tare, corpus, copies, commands):
    """The scene as it would be written."""
    lines = [f"== {' '.join(copies)}\n"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch).resolve()
        for source in copies:
            path, _, name = source.partition("=")
            copy = shutil.copytree if (corpus / path).is_dir() else shutil.copy
            copy(corpus / path, folder / (name or pathlib.Path(path).name))
        for command in commands:
            done = tare(*shlex.split(command), folder=folder)
            code = f"exit {done.code}\n" if done.code else ""
            lines.append(f"$ tare {command}\n{steady((done.out + done.err).decode(), tare, folder)}{code}")
    return "".join(lines)


def first_difference(expected, found):
    pairs = itertools.zip_longest(expected.split("\n"), found.split("\n"))
    return next((number, a, b) for number, (a, b) in enumerate(pairs, 1) if a != b)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    ask.add_argument("--transcripts", required=True, type=pathlib.Path)
    ask.add_argument("--write", action="store_true")
    options = ask.parse_args()
    tare, answers, failed = Tare(options.tare), 0, 0
    for transcript in sorted(options.transcripts.glob("*.txt")):
        expected = transcript.read_text()
        copies, commands = scene_of(expected)
        found = answered(tare, options.corpus, copies, commands)
        answers += len(commands)
        if options.write:
            transcript.write_text(found)
        elif found != expected:
            failed += 1
            line, a, b = first_difference(expected, found)
            print(f"{transcript.name}:{line}: expected {a!r}\nbut found {b!r}")
    print(f"{answers} commands, {failed} of the transcripts differ")
    return 1 if failed or not answers else 0


if __name__ == "__main__":
    sys.exit(main())
