#!/usr/bin/env python3
"""Shows every checkpoint of the corpus: tables are as wide as what stands in them, and fit 80 columns where the last of
them, a name in the file, is no longer than usual. What ails a tensor is told behind that.

    tables.py --tare TARE --corpus FOLDER
"""
import argparse
import pathlib
import re
import sys

from command import Tare

COLUMNS = 80
LONG_NAME = 20
FIELD = re.compile(r"  [a-z_]+ {2,}\S")
FP8_HEADING = re.compile(r" +tensor +")


def tables(lines):
    """-> the lines of tables, and their last column: fields by their shape; all from an FP8 heading to the empty line, but
    layers' names."""
    in_fp8 = False
    for line in lines:
        in_fp8 = bool(line.strip()) and (in_fp8 or bool(FP8_HEADING.match(line)))
        if (len(line.split()) > 2) if in_fp8 else FIELD.match(line):
            yield line, re.split(" {2,}", line)[-1]


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare = Tare(options.tare)
    seen = failed = 0
    for case in sorted(options.corpus.glob("*/*/")):
        shown = tare("inspect", *[path for path in sorted(case.iterdir()) if path.name != "truth.json"] or [case])
        for line, name in tables(shown.out.decode().splitlines()):
            seen += 1
            if len(line) > COLUMNS and len(name) <= LONG_NAME:
                failed += 1
                print(f"{case}: {len(line)} columns: {line}")
    print(f"{seen} lines of tables, {failed} too wide")
    return 1 if failed or seen < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
