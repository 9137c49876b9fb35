#!/usr/bin/env python3
"""Follows the conventions of command lines: what -q and -v say and leave out, where colour is and where not, options that
are misspelt, and the examples that each --help gives, which the command must understand.

    conventions.py --tare BINARY --corpus FOLDER
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import screen
from command import Tare, commands_of
from corpus import require

DONE, WRONG_USAGE = 0, 2
OF_TARE_ITSELF = {"completion", "manual"}  # they need no file
ESCAPE = b"\x1b["
COLOURS = {"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"}


def shown(tare, words, terminal=False, **variables):
    """What `words` print on stdout: a pipe, or a terminal."""
    environment = {key: value for key, value in os.environ.items() if key not in COLOURS}
    environment |= {"TERM": "xterm", **variables}
    if not terminal:
        return subprocess.run([tare.binary, *words], env=environment, capture_output=True, stdin=subprocess.DEVNULL).stdout
    return screen.shown([tare.binary, *words], ["stdout"], env=environment, stderr=subprocess.DEVNULL)[1]


def try_colours(tare, path):
    """(terminal, --color, environment) -> colour or none: --color says it, else NO_COLOR, CLICOLOR_FORCE, CLICOLOR."""
    cases = [
        (False, None, {}, False),
        (True, None, {}, True),
        (True, "auto", {}, True),
        (False, "always", {}, True),
        (False, "always", {"NO_COLOR": "1"}, True),
        (True, "never", {}, False),
        (True, "never", {"CLICOLOR_FORCE": "1"}, False),
        (True, None, {"NO_COLOR": "1"}, False),
        (True, None, {"NO_COLOR": ""}, True),
        (True, None, {"CLICOLOR": "0"}, False),
        (True, None, {"CLICOLOR": "1"}, True),
        (False, None, {"CLICOLOR": "1"}, False),
        (False, None, {"CLICOLOR_FORCE": "1"}, True),
        (False, None, {"CLICOLOR_FORCE": "0"}, False),
        (True, None, {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, False),
        (True, None, {"TERM": "dumb"}, False),
    ]
    for terminal, option, variables, wanted in cases:
        words = ([] if option is None else [f"--color={option}"]) + ["inspect", str(path)]
        has_colour = ESCAPE in shown(tare, words, terminal, **variables)
        require(has_colour == wanted, f"terminal {terminal}, {words[:-2]}, {variables}: colour", has_colour)
    plain = shown(tare, ["inspect", str(path)])
    require(re.sub(rb"\x1b\[[0-9;]*m", b"", shown(tare, ["--color=always", "inspect", str(path)])) == plain,
            "colour changes more than colours")


def try_loudness(tare, corpus, folder):
    """-q leaves out what is beside the answer, and keeps errors; -v says which files were read. Both stand anywhere."""
    path = folder / "a.pt"
    shutil.copy(corpus / "torch/scaler-file-t2.15/scaler.pt", path)
    edit = ["edit", path, "growth_tracker=7", "--yes"]
    usual = tare(*edit)
    require(usual.code == DONE and "edited; `tare undo" in usual.reason, usual)
    for quiet in (["-q", *edit], [*edit, "-q"], ["--quiet", *edit]):
        require(tare("undo", path, "--yes").code == DONE, "undo")
        answer = tare(*quiet)
        require(answer.code == DONE and answer.err == b"" and answer.out == usual.out, answer)
    harm = tare("-q", "edit", path, "growth_tracker=2000", "--dry-run")
    require(harm.code == DONE and "tracker-past-interval" in harm.reason, "harm is not told:", harm)
    broken = tare("-q", "inspect", folder / "absent.pt")
    require(broken.code == 3 and "absent.pt" in broken.reason, broken)
    usual = tare("inspect", path)
    for loud in (["-v", "inspect", path], ["inspect", path, "-v"], ["--verbose", "inspect", path]):
        answer = tare(*loud)
        require(answer.out == usual.out and f"read {path}" in answer.reason and usual.err == b"", answer)


def examples(text):
    """The commands that a help shows, without what is said behind them."""
    for line in text.splitlines():
        line = line.strip().removeprefix("Example: ")
        for part in re.split(r" && ", re.split(r"  +", line)[0]):
            if part.startswith("tare "):
                yield re.split(r" [|>]", part)[0]  # what a shell does with the answer is its own


def try_examples(tare, folder):
    """What help shows is understood: without its files it fails as a file that is not there does."""
    seen = set()
    for _, told in commands_of(tare):
        seen |= set(examples(told))
    require(len(seen) > 25, "examples:", sorted(seen))
    for line in sorted(seen):
        if "s3://" in line or "https://" in line or "help" in line:
            continue
        answer = tare(*shlex.split(line)[1:], folder=folder)
        if line.split()[1] in OF_TARE_ITSELF:
            require(answer.code == DONE, answer)
            continue
        require(answer.code not in (DONE, WRONG_USAGE), "an example that is not understood:", answer)
    return len(seen)


def try_closing_words(tare):
    """Each command's help ends with words about that command, and not with those of another one."""
    ends = {led: text.rpartition("\n\n")[2].strip() for led, text in commands_of(tare)}
    for led, end in ends.items():
        alike = [other for other, words in ends.items() if words == end and other != led]
        require(not alike and not end.startswith("-"), "the help of", led, "ends as that of", alike, ":", end[-200:])


def try_misspelt(tare, path):
    """The option that was meant is named."""
    for words, meant in ((["inspect", "--colour", path], "--color"), (["edit", path, "scale=1", "--ye"], "--yes"),
                         (["inspect", path, "--jsno"], "--json"), (["undo", path, "--idd", "1"], "--id")):
        answer = tare(*words)
        require(answer.code == WRONG_USAGE and f"did you mean '{meant}'" in answer.reason, answer)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare = Tare(options.tare)
    path = options.corpus / "torch/scaler-file-t2.15/scaler.pt"
    with tempfile.TemporaryDirectory() as scratch:
        try_colours(tare, path)
        try_loudness(tare, options.corpus, pathlib.Path(scratch))
        try_misspelt(tare, path)
        try_closing_words(tare)
        empty = pathlib.Path(scratch, "empty")
        empty.mkdir()
        count = try_examples(tare, empty)
    print(f"{count} examples of --help are understood; colours, -q, -v and misspelt options are as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
