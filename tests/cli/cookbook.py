#!/usr/bin/env python3
"""Does what the cookbook shows, block by block, on the checkpoints and logs that the comment in front of a block names, and
holds each answer and exit code against what is shown.

    cookbook.py --tare TARE --data FOLDER --cookbook COOKBOOK.md

<!-- run: transformers/run_collapse/run; $ edit run scale=2 -->: a copy of that, by the name of `run`, then a command before
those that are shown. Sources are in the corpus, those that begin with traces/ beside it. "# exit 1" behind a command: its
exit code, else 0.
"""
import argparse
import pathlib
import re
import shlex
import shutil
import sys
import tempfile

from command import Tare
from readme import unsaid

BLOCK = re.compile(r"^<!-- (.*?) -->\n```\n(.*?)^```", re.M | re.S)
COMMAND = re.compile(r"^tare (.*?)(?:\s+# exit (\d))?$")


def prepare(tare, data, folder, scene):
    for step in scene.split("; "):
        if step.startswith("$ "):
            done = tare(*shlex.split(step[2:]), folder=folder)
            assert done.code == 0, done
            continue
        name, source = step.split(": ")
        found = data / source if source.startswith("traces/") else data / "corpus" / source
        (shutil.copytree if found.is_dir() else shutil.copy)(found, folder / name)


def falls_short(tare, folder, command, answer):
    """What is wrong with it, or None."""
    words, code = COMMAND.match(command).groups()
    done = tare(*shlex.split(words), folder=folder)
    if done.code != int(code or 0):
        return f"exit {done.code}: {done.reason}"
    shown = (done.out + done.err).decode()
    missing = unsaid([line.strip() if line.strip() == "..." else line for line in answer], shown, folder)
    return None if missing is None else f"not said: {missing!r} in\n{shown}"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--data", required=True, type=pathlib.Path)
    ask.add_argument("--cookbook", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare, tried, failed = Tare(options.tare), 0, 0
    text = options.cookbook.read_text()
    blocks = BLOCK.findall(text)
    if len(blocks) != text.count("\n```\n") // 2:
        print("a block has no comment in front of it that says what it is about")
        failed += 1
    for scene, block in blocks:
        with tempfile.TemporaryDirectory() as folder:
            prepare(tare, options.data, pathlib.Path(folder), scene)
            for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, *answer = example.rstrip("\n").split("\n")
                wrong = falls_short(tare, pathlib.Path(folder), command, answer)
                tried += 1
                if wrong is not None:
                    failed += 1
                    print(f"falls short: {command}: {wrong}")
    print(f"{tried} commands of the cookbook, {failed} fall short")
    return 1 if failed or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
