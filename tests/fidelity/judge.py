"""The frame of checks that edit cases of the corpus and load them: each is told as it comes, the last line sums up."""
import argparse
import dataclasses
import pathlib
import typing


class Wrong(Exception):
    """What a framework sees is not what the edit meant."""


class NotHere(Exception):
    """The untouched file does not load here."""


@dataclasses.dataclass
class Task:
    """A case that is not of the corpus; `run` says what it saw, in a line."""

    name: str
    run: typing.Callable


def require(condition, *what):
    if not condition:
        raise Wrong(" ".join(str(w) for w in what))


def asking(description):
    ask = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True, type=lambda name: pathlib.Path(name).resolve())
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    return ask


def arguments(description):
    ask = asking(description)
    ask.add_argument("--only", default="*", metavar="GLOB")
    ask.add_argument("--must", nargs="+", default=[], metavar="NAME")
    return ask.parse_args()


def judge(framework, cases, check, must=()):
    """The exit code: 0 where `check` was content with each case and saw all that `must` name."""
    held, left_out, wrong = [], 0, 0
    for case in cases:
        try:
            told = check(case)
        except NotHere as problem:
            left_out += 1
            print(f"left out {case.name}: {problem}", flush=True)
        except Exception as problem:  # an edited file that a framework no longer loads may raise anything
            wrong += 1
            print(f"WRONG {case.name}: {problem!r}", flush=True)
        else:
            held.append(case.name)
            print(case.name, *told, sep="\n    ", flush=True)
    for name in sorted(set(must) - set(held)):
        wrong += 1
        print(f"WRONG {name}: had to load here")
    print(f"{framework}: {len(held)} cases edited and loaded, {left_out} do not load here, {wrong} wrong")
    return 1 if wrong or not held else 0
