#!/usr/bin/env python3
"""Holds `tare trace` against logs and event files of runs whose every step is known, and to its memory.

    trace.py --tare TARE --cases FOLDER --corpus FOLDER
"""
import argparse
import csv
import gzip
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from command import Tare

CHECK = pathlib.Path(__file__).resolve().parent.parent / "trace/check.py"
MOST_KIB = 64 << 10


def run(tare, *words, **given):
    return subprocess.run([tare, "trace", *map(str, words)], capture_output=True, timeout=60, **given)


def steps(answer):
    return json.loads(answer.stdout)["steps"]


def same_everywhere(tare, log, scratch):
    """The same log as it is, packed, in UTF-16, through a pipe and as a table."""
    plain = run(tare, log, "--json")
    wanted = steps(plain)
    packed = scratch / "log.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()[:5000]) + gzip.compress(log.read_bytes()[5000:]))
    if steps(run(tare, packed, "--json")) != wanted:
        yield "a log packed with gzip, in two members, tells something else"
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", "-f", log, "-o", scratch / "log.zst"], check=True)
        if steps(run(tare, scratch / "log.zst", "--json")) != wanted:
            yield "a log packed with zstd tells something else"
    cut = scratch / "cut.gz"
    cut.write_bytes(packed.read_bytes()[:-200])
    answer = run(tare, cut, "--json")
    if answer.returncode or not json.loads(answer.stdout)["warnings"] or not 0 < len(steps(answer)) <= len(wanted):
        yield f"a cut gzip: exit {answer.returncode}, {answer.stdout[-300:]!r}"
    for encoding in "utf-16-le", "utf-16-be":
        (scratch / "log16").write_bytes(("\ufeff" + log.read_text()).encode(encoding))
        if steps(run(tare, scratch / "log16", "--json")) != wanted:
            yield f"a log in {encoding} tells something else"
    if steps(run(tare, "-", "--json", input=log.read_bytes())) != wanted:
        yield "a log through a pipe tells something else"
    rows = list(csv.DictReader(io.StringIO(run(tare, log, "--csv").stdout.decode())))
    if [int(row["step"]) for row in rows] != [step["step"] for step in wanted]:
        yield "the table has other steps than the JSON"
    text = run(tare, log).stdout.decode()
    if "megatron-log" not in text or "8 of 10 skipped" not in text:
        yield f"the text: {text[:500]}"


def bounded(tare, scratch):
    """A log of 60 MB, every step another loss."""
    log = scratch / "big.log"
    line = (" iteration {0:8d}/10000000 | consumed samples: {0:12d} | elapsed time per iteration (ms): 512.3 | "
            "lm loss: {1:.6E} | loss scale: 65536.0 | grad norm: 1.250 | number of skipped iterations:   0 |\n")
    with log.open("w") as out:
        for step in range(1, 120_000):
            out.write(line.format(step, 2 + step % 977 / 977))
            out.write("time (ms) | forward: 480.11 | optimizer: 21.05 ................................................\n" * 3)
    answer = Tare(tare)("trace", log, "--json")
    if answer.code or answer.peak_kib > MOST_KIB or len(json.loads(answer.out)["steps"]) != 119_999:
        yield f"a large log: exit {answer.code}, {answer.peak_kib} KiB"


def escaped(tare, scratch):
    """Names and texts of files never reach a terminal as they are."""
    log = scratch / "\x1b[31mred.log"
    log.write_text("RuntimeError: grad_scale is too small, exiting: 1e-9 \x07\nGradient overflow.  Skipping step, loss scaler 0 "
                   "reducing loss scale to 4.0\n")
    for words in ([], ["--csv"]):
        answer = run(tare, log, *words)
        if answer.returncode or b"\x1b" in answer.stdout + answer.stderr or b"\x07" in answer.stdout + answer.stderr:
            yield f"{words}: {answer.stdout!r} {answer.stderr!r}"


def checkpoints(tare, corpus, scratch):
    """A run's own checkpoints are its steps, where no log is there."""
    answer = run(tare, pathlib.Path(corpus, "deepspeed/run_folder/ckpt"), "--json")
    told = json.loads(answer.stdout)
    if answer.returncode or not told["checkpoints"] or not told["steps"] or told["sources"][0]["kind"] != "checkpoint":
        yield f"checkpoints: exit {answer.returncode}, {answer.stdout[:500]!r}"
    if [checkpoint["step"] for checkpoint in told["checkpoints"]] != [2, 5, 7] or any("skipped" not in step for step in told["steps"]):
        yield f"checkpoints: the steps are {told['steps']}"


def refusals(tare, scratch):
    empty = scratch / "empty"
    empty.mkdir()
    for words, code in ([["/nowhere/at/all"], 3], [[], 2], [[empty], 0], [["--json", "--csv", empty], 2]):
        if run(tare, *words).returncode != code:
            yield f"trace {words}: exit {run(tare, *words).returncode}, not {code}"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tare", "cases", "corpus"):
        ask.add_argument(f"--{name}", required=True)
    options = ask.parse_args()
    known = subprocess.run([sys.executable, CHECK, f"{options.tare} trace {{}} --json", options.cases])
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        log = pathlib.Path(options.cases, "megatron/v2.5-every10/log.txt")
        failed = [*same_everywhere(options.tare, log, scratch), *bounded(options.tare, scratch), *escaped(options.tare, scratch),
                  *checkpoints(options.tare, options.corpus, scratch), *refusals(options.tare, scratch)]
    print("\n".join(failed))
    sys.exit(bool(known.returncode or failed))


if __name__ == "__main__":
    main()
