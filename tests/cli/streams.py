#!/usr/bin/env python3
"""What the command does where stdout, stderr or both cannot be written: full, closed, or with nobody who reads.

    streams.py --tare BINARY --corpus FOLDER

No verb dies of it, a change that was made is never called a failure, and no answer lands in a checkpoint.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from command import Tare

DONE, NO, USAGE, FAILED, REFUSED, UNTOLD = range(6)


def full(stream):
    os.dup2(os.open("/dev/full", os.O_WRONLY), stream)


def closed(stream):
    os.close(stream)


def unread(stream):
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, stream)
    os.close(writer)


BROKEN = {"full": full, "closed": closed, "unread": unread}

# What it says to whom: (words, exit where all can be written, exit where stdout cannot). A change stays made.
CHANGES = {
    "an edit": (("edit", "a.pt", "scale=64", "--yes"), DONE, UNTOLD),
    "an edit in JSON": (("edit", "a.pt", "scale=64", "--yes", "--json"), DONE, UNTOLD),
    "an undo": (("undo", "edited.pt", "--yes"), DONE, UNTOLD),
    "a history forgotten": (("history", "edited.pt", "--prune", "--yes"), DONE, UNTOLD),
    "a migration into a checkpoint": (("migrate", "edited.pt", "--into", "a.pt", "--yes"), DONE, UNTOLD),
    "a migration to a new file": (("migrate", "a.pt", "--to", "megatron", "-o", "new.pt"), DONE, UNTOLD),
    "an inspection that saves": (("inspect", "a.pt", "--save", "state.json"), DONE, UNTOLD),
    "an attestation that writes": (("attest", "a.pt", "--write-plain", "state.json"), DONE, UNTOLD),
    "a timeline that is drawn": (("timeline", "a.pt", "--svg", "curve.svg"), DONE, UNTOLD),
}
ANSWERS = {
    "an inspection": (("inspect", "a.pt"), DONE, FAILED),
    "an inspection in JSON": (("inspect", "a.pt", "--json"), DONE, FAILED),
    "a value": (("get", "a.pt", "scale"), DONE, FAILED),
    "a difference": (("diff", "a.pt", "edited.pt"), NO, FAILED),
    "a history": (("history", "edited.pt"), DONE, FAILED),
    "an attestation": (("attest", "a.pt"), DONE, FAILED),
    "a plan": (("edit", "a.pt", "scale=64", "--dry-run"), DONE, FAILED),
    "help": (("--help",), DONE, FAILED),
    "the version": (("--version",), DONE, FAILED),
    "a file that is not there": (("inspect", "none.pt"), FAILED, FAILED),
    "an unknown key": (("edit", "a.pt", "scael=1", "--yes"), USAGE, USAGE),
    "a refusal": (("undo", "a.pt", "--yes"), REFUSED, REFUSED),
    "a wrong command": (("ispect", "a.pt"), USAGE, USAGE),
    "nothing at all": ((), USAGE, USAGE),
    "a URL that leads nowhere": (("inspect", "http://127.0.0.1:1/a.pt"), FAILED, FAILED),
}


def make_scene(tare, scaler, folder):
    for name in ("a.pt", "edited.pt"):
        shutil.copy(scaler, folder / name)
    answer = tare("edit", "edited.pt", "scale=512", "--yes", folder=folder)
    assert answer.code == DONE, answer


def run(tare, words, folder, breakages):
    """-> exit code, negative where a signal ended it."""
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        for stream, breakage in breakages.items():
            BROKEN[breakage](stream)
        os.execv(tare.binary, [tare.binary, *words])
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def contents(folder):
    """All but what counts time: the history's records and journals."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and ".tare" not in path.parts}


def breakages():
    for breakage in BROKEN:
        yield {1: breakage}
        yield {2: breakage}
        yield {1: breakage, 2: breakage}
    yield {0: "closed", 1: "closed", 2: "closed"}


def check(tare, scaler, name, case, is_change):
    words, code, code_untold = case
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        make_scene(tare, scaler, folder)
        before = contents(folder)
        assert run(tare, words, folder, {}) == code, f"{name}: not even as usual"
        wanted = contents(folder)
    for broken in breakages():
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            make_scene(tare, scaler, folder)
            expected = code_untold if 1 in broken else code
            found, after = run(tare, words, folder, broken), contents(folder)
            if found != expected:
                yield f"{name}, {broken}: exit {found}, not {expected}"
            is_untouched = not is_change and expected != code
            if after != (before if is_untouched else wanted):
                yield f"{name}, {broken}: the files are not what they should be"


def told_to_who_left(tare, scaler):
    """Whoever reads no further (`tare inspect | head`) is told nothing about it; that a change is made is told."""
    several = {"several inspections": (("inspect", "a.pt", "edited.pt"), DONE, FAILED)}
    for cases, is_told in ((ANSWERS | several, False), (CHANGES, True)):
        for name, (words, code, code_untold) in cases.items():
            if code == code_untold:
                continue
            with tempfile.TemporaryDirectory() as folder:
                make_scene(tare, scaler, pathlib.Path(folder))
                reader, writer = os.pipe()
                os.close(reader)
                done = subprocess.run([tare.binary, "-q", *words] if words[0][0] != "-" else [tare.binary, *words],
                                      cwd=folder, stdout=writer, stderr=subprocess.PIPE, text=True)
                os.close(writer)
            lines = [line for line in done.stderr.splitlines() if "standard output" in line or line.startswith("tare:")]
            if done.returncode != code_untold or bool(lines) != is_told:
                yield f"{name}, and nobody reads it: exit {done.returncode}, {done.stderr}"


def help_on_a_full_disk(tare):
    """What is asked of the command itself names what was wrong, as its verbs do, not what was looked at since."""
    for words in ("--help",), ("--version",), ("edit", "--help"), ("manual",):
        with open("/dev/full", "wb") as stdout:
            done = subprocess.run([tare.binary, *words], stdout=stdout, stderr=subprocess.PIPE, text=True)
        if done.returncode != FAILED or "No space left on device" not in done.stderr:
            yield f"{words} on a full disk: exit {done.returncode}, {done.stderr}"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare, scaler = Tare(options.tare), options.corpus.resolve() / "torch/scaler-file-t2.15/scaler.pt"
    failures = []
    for cases, is_change in ((CHANGES, True), (ANSWERS, False)):
        for name, case in cases.items():
            failures += check(tare, scaler, name, case, is_change)
    failures += told_to_who_left(tare, scaler)
    failures += help_on_a_full_disk(tare)
    for failure in failures:
        print(f"falls short: {failure}")
    print(f"{len(CHANGES) + len(ANSWERS)} commands with {len(list(breakages()))} kinds of broken streams, "
          f"{len(failures)} fall short")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
