#!/usr/bin/env python3
"""Uses the command wrongly: what is wrong is named, the exit code is 2, and nothing reaches the terminal unescaped.

    usage.py --tare BINARY
"""
import argparse
import sys

from command import Tare

WRONG_USAGE = 2
CASES = {
    "a command that there is not": (["set", "run.pt", "scale=1"], "there is no command 'set'"),
    "a file without a command": (["run.pt"], "there is no command 'run.pt'"),
    "a command of fp8 that there is not": (["fp8", "nonsense", "run.pt"], "there is no command 'fp8 nonsense'"),
    "a command that is misspelt": (["inpsect", "run.pt"], "did you mean 'inspect'?"),
    "a command of fp8 that is misspelt": (["fp8", "stirp", "run.pt"], "did you mean 'fp8 strip'?"),
    "help on a command that there is not": (["help", "inpsect"], "did you mean 'inspect'?"),
    "a colour that there is not": (["inspect", "--color=blue", "run.pt"], "blue"),
    "fp8 without a command": (["fp8"], "recompute"),
    "how fp8 is called, asked by fp8 alone": (["fp8"], "Usage: tare fp8 "),
    "a word with an escape sequence": (["\x1b[2Jrun"], "there is no command '"),
    "an empty word": ([""], "there is no command ''"),
    "an option that there is not": (["inspect", "--colour", "run.pt"], "--colour"),
    "an option with an escape sequence": (["inspect", "--\x1b[2Jrun", "run.pt"], "[2Jrun"),
    "a short option with a line break": (["inspect", "-\n", "run.pt"], "\\x0a"),
    "a command without its file": (["inspect"], "required"),
    "nothing at all": ([], "inspect"),
    "a path that is empty": (["inspect", ""], "PATH: is empty"),
    "a second path that is empty": (["inspect", "run.pt", ""], "PATH: is empty"),
    "a file to save that is empty": (["inspect", "run.pt", "--save", ""], "--save: is empty"),
    "a file to write that is empty": (["migrate", "run.pt", "--to", "torch", "-o", ""], "--output: is empty"),
    "a state that is empty": (["fp8", "inject", "run.pt", ""], "PATH: is empty"),
    "a key that is empty": (["get", "run.pt", ""], "KEY: is empty"),
    "an undo of nothing": (["undo", ""], "PATH: is empty"),
    "a file to write, and no framework": (["migrate", "run.pt", "--into", "to.pt", "-o", "new.pt"], "--output"),
    "a place to go into, and a new file": (["migrate", "run.pt", "--to", "torch", "-o", "new.pt", "--into-at", "a"], "--into-at"),
    "copies to align, and a new file": (["migrate", "run.pt", "--to", "torch", "-o", "new.pt", "--align"], "--align"),
    "a scaler to write, and no file": (["attest", "run.pt", "--at", "a"], "--at"),
    "an option whose value is empty, in front of a path": (["inspect", "--color=", "run.pt"], "--color"),
    "an empty threshold in front of a path": (["doctor", "--threshold=", "run.pt"], "--threshold: is empty"),
    "an empty number in front of one": (["inspect", "--jobs=", "2", "run.pt"], "--jobs: must be 1 or more"),
    "no jobs": (["inspect", "--jobs", "0", "run.pt"], "--jobs: must be 1 or more, not 0"),
    "fewer jobs than none": (["inspect", "--jobs", "-1", "run.pt"], "--jobs: must be 1 or more, not -1"),
    "the rules of a path": (["doctor", "--rules", "run"], "--rules lists the rules"),
    "the rules in SARIF": (["doctor", "--rules", "--sarif"], "--rules lists the rules"),
    "a picture wider than any terminal": (["timeline", "run", "--width", "10001"], "at most 10000 columns"),
}
HELP = [(["--help"], ["help"]), (["edit", "--help"], ["help", "edit"]), (["fp8", "strip", "--help"], ["help", "fp8", "strip"]),
        (["--version"], ["-V"])]


def help_that_falls_short(tare):
    """Two ways to ask one thing: both are answered on stdout, exit 0, and alike."""
    for asked, otherwise in HELP:
        one, other = tare(*asked), tare(*otherwise)
        if one.code or other.code or not one.out or one.out != other.out or one.err or other.err:
            yield f"{one} {other}"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    tare, failed = Tare(ask.parse_args().tare), 0
    for name, (words, told) in CASES.items():
        answer = tare(*words)
        if answer.code != WRONG_USAGE or told not in answer.reason or answer.out or answer.raw_control():
            failed += 1
            print(f"falls short: {name}: {str(answer)!r} {answer.out!r}")
    for problem in help_that_falls_short(tare):
        failed += 1
        print(f"falls short: {problem}")
    print(f"{len(CASES)} ways of wrong usage, {failed} fall short")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
