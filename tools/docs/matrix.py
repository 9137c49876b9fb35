#!/usr/bin/env python3
"""Writes matrix.md beside this: which release of which framework has loaded what tare read and edited, from what the runs of
tests/fidelity wrote down.

    matrix.py [--tare BINARY] [--check]      --check: exit 1 where the page is not what would be written; writes nothing

What a state can be carried to is what `tare migrate` says of itself.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parent.parent / "tests/fidelity/results"
PAGE = HERE / "matrix.md"
HEAD = """# Which release of which framework was tried

Written by `tools/docs/matrix.py` from `tests/fidelity/results/`. "Loads as edited": the framework wrote the checkpoint, tare read
it and changed its scale, and the framework loaded that with the new scale; nothing else was compared. "As edited": every field
that was edited was loaded as intended, and every other value as it was. All of it ran on a CPU. What is not here was tried with files alone (`tests/data/`), or not at all.
"""


def rows_of(path):
    """-> its date, and a dict a line, keyed by the line of names."""
    lines = path.read_text().splitlines()
    names = [name.strip() for name in lines[1].split("|")]
    rows = [line.split("|") for line in lines[2:] if "|" in line]
    return lines[0].split(",")[0], [dict(zip(names, (cell.strip() for cell in row))) for row in rows]


def newest(kind):
    return sorted(RESULTS.glob(f"*-{kind}.txt"))[-1]


def targets(tare):
    """-> the frameworks and policies that the command carries a state to."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as state:
        state.write("{}")
        state.flush()
        told = subprocess.run([tare, "migrate", state.name, "--to", "?"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    scalers, slots = told.stderr.split("loss scalers migrate to: ")[1].split("; FP8 state to: ")
    return scalers.strip().split(", "), slots.strip().split(", ")


def table(heads, rows):
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows]) + "\n"


def written_by_frameworks(scalers):
    date, rows = rows_of(newest("drift"))
    body = [[row["framework"], row["release"], f"`{row['checkpoint']}`", row["dialect"], row["after an edit"],
             "yes" if any(name.split()[0] == row["dialect"] for name in scalers) else "no", date] for row in rows]
    return "## Checkpoints that a framework wrote\n\n" + table(
        ["framework", "release", "checkpoint", "read as", "edited", "a new one by `migrate --to`", "verified"], body)


def loaded_by_frameworks():
    date, rows = rows_of(newest("loaded"))
    body = [[row["framework"], row["release"], row["what was loaded"], row["as edited"], row["wrong"],
             row["not loadable unedited"], date] for row in rows]
    return ("## Edited copies of the tests' checkpoints\n\n" + table(
        ["framework", "release", "loaded", "as edited", "wrong", "not loadable unedited, either", "verified"], body))


def page(tare):
    scalers, slots = targets(tare)
    carried = (f"## What `tare migrate --to` makes a new file for\n\nLoss scalers: {', '.join(scalers)}; FP8 state: "
               f"{', '.join(slots)}.\nInto a checkpoint that is there (`--into`): any whose scaler has places for it.\n")
    return "\n".join([HEAD, written_by_frameworks(scalers), loaded_by_frameworks(), carried])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tare", default="build/release/tools/tare")
    options.add_argument("--check", action="store_true")
    given = options.parse_args()
    text = page(given.tare)
    if not given.check:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        sys.exit(f"{PAGE} is not what {pathlib.Path(__file__).name} writes: run it")


if __name__ == "__main__":
    main()
