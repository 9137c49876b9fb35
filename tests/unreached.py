#!/usr/bin/env python3
"""The lines of a room that none of its tests comes to: a mutant there survives whatever it is.

    tests/unreached.py ROOM...      rooms and their tests: tests/mutation/rooms.json

Builds build/unreached with GCC's counters, runs the tests of all stages, and prints the lines with how many there are.
Lines that hold no more than braces are counted, and not printed. `system_calls` sees those of the counters, and fails here.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parent.parent
BUILD = TREE / "build/unreached"
SETTINGS = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-Og --coverage -Wno-error",
            "-DTARE_DEVELOPER=ON", "-DTARE_CUDA=off", "-DTARE_PRECOMPILED_HEADERS=ON", "-DCMAKE_UNITY_BUILD=ON",
            "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0"]


def build(targets):
    subprocess.run(["cmake", "-S", TREE, "-B", BUILD, *SETTINGS], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", *targets], check=True, stdout=subprocess.DEVNULL)


def run_tests(names):
    for counts in BUILD.rglob("*.gcda"):
        counts.unlink()
    chosen = "^(" + "|".join(name.replace(".", r"\.") for name in names) + ")$"
    done = subprocess.run(["ctest", "--test-dir", BUILD, "-R", chosen, "-j", str(os.cpu_count())], capture_output=True, text=True)
    print("\n".join(line for line in done.stdout.splitlines() if "Failed" in line or "tests passed" in line))


def counts():
    """-> {file, as the tree calls it: {line: how many times}}"""
    lines = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as scratch:
        for counted in BUILD.rglob("*.gcda"):
            done = subprocess.run(["gcov", "--json-format", "--stdout", counted], cwd=scratch, capture_output=True, text=True)
            for document in map(json.loads, done.stdout.splitlines()):
                for file in document["files"]:
                    path = pathlib.Path(os.path.normpath(os.path.join(document["current_working_directory"], file["file"])))
                    if not path.is_relative_to(TREE):
                        continue
                    for line in file["lines"]:
                        lines[path.relative_to(TREE).as_posix()][line["line_number"]] += line["count"]
    return lines


def main():
    rooms = json.loads((TREE / "tests/mutation/rooms.json").read_text())["rooms"]
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("room", nargs="+", choices=sorted(rooms))
    chosen = ask.parse_args().room
    stages = [stage for room in chosen for stage in rooms[room]["stages"]]
    build({target for stage in stages for target in stage["targets"]})
    run_tests([test for stage in stages for test in stage["tests"]])
    all_counts = counts()
    for room in chosen:
        reached = missed = 0
        for file in sorted({path for glob in rooms[room]["files"] for path in TREE.glob(glob)}):
            name, text = file.relative_to(TREE).as_posix(), file.read_text().splitlines()
            lines = all_counts.get(name, {})
            unreached = sorted(number for number, count in lines.items() if count == 0)
            reached, missed = reached + len(lines) - len(unreached), missed + len(unreached)
            shown = [number for number in unreached if text[number - 1].strip(" {}();")]
            if shown:
                print(name, *(f"  {number}: {text[number - 1].strip()[:120]}" for number in shown), sep="\n")
        print(f"{room}: {missed} of {reached + missed} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
