#!/usr/bin/env python3
"""lib/dialect/surveyed.md keeps its word: each framework that "stores" state has a case in which tare finds some.

    surveyed.py --tare BINARY --corpus FOLDER --page FILE
"""
import argparse
import json
import pathlib
import sys

from command import Tare

WORDS = ("stores", "keeps", "none")


def rows(page):
    """-> framework, word, what, source, release, case of each line of the table."""
    lines = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def wrong(tare, corpus, row):
    """What is wrong with a row, as a sentence; None if nothing is."""
    if len(row) != 6 or row[1] not in WORDS or not all(row[:5]):
        return "a row has a framework, one of " + ", ".join(WORDS) + ", what, a source and a release"
    word, case = row[1], row[5]
    if (word == "stores") != bool(case):
        return "a case stands where it stores state, and nowhere else"
    if word != "stores":
        return None
    truth = json.loads((corpus / case / "truth.json").read_text())
    found = tare("inspect", corpus / case / truth["target"], "--json").json()["scalers"]
    wanted = {(one["dialect"], one["path"]) for one in truth["scalers"]}
    if not wanted or not wanted <= {(one["dialect"], one["path"]) for one in found}:
        return f"{case}: tare finds {[(one['dialect'], one['path']) for one in found]}, and not {sorted(wanted)}"
    return None


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    ask.add_argument("--page", required=True, type=pathlib.Path)
    options = ask.parse_args()
    table = rows(options.page)
    problems = [f"{row[0]}: {problem}" for row in table if (problem := wrong(Tare(options.tare), options.corpus, row))]
    print("\n".join(problems))
    stored = sum(row[1] == "stores" for row in table)
    print(f"{len(table)} frameworks, {stored} of them with state that tare reads, {len(problems)} problems")
    return 1 if problems or stored < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
