#!/usr/bin/env python3
"""Watches stderr while the command scans, and while it writes a file anew: what takes long tells how far it is, where
somebody looks at it, and nowhere else.

    progress.py --tare TARE --corpus FOLDER
"""
import argparse
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

import screen

MANY = 20000  # links to one file: reading them all takes longer than a line of progress waits
LINE = re.compile(rb"\r\x1b\[K\d+ of 20000 files read")
COPIED = 200 << 20
COPYING = re.compile(rb"\r\x1b\[K(\d+) of 200 MiB written anew")
CLEARED = b"\r\x1b[K"


def on_terminal(command):
    """-> (stdout, what a terminal on stderr got)"""
    with tempfile.TemporaryFile() as out:
        seen = screen.shown(command, ["stderr"], stdout=out)[1]
        out.seek(0)
        return out.read(), seen


def long_rewrites(tare, scratch, check):
    """An edit that does not fit where the old value stands, in a file that takes some time to copy."""
    state = {"scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 1}
    path = pathlib.Path(scratch, "long.pkl")
    path.write_bytes(pickle.dumps({"scaler": state, "model": b"\xa5" * COPIED}))
    for verb, arguments in ("edit", ["growth_tracker=1999"]), ("undo", []):
        command = [tare, verb, path, *arguments, "--yes"]
        out, seen = on_terminal(command)
        lines = [int(done) for done in COPYING.findall(seen)]
        check(f"a long {verb} on a terminal", lines == [64, 128, 192], seen)
        check(f"the answer of {verb}", b"long.pkl" in out and not COPYING.search(out), out)
    for name, options, wanted in ("-q", ["-q"], b""), ("a pipe", [], None):
        command = [tare, *options, "edit", path, "growth_tracker=1999", "--yes"]
        seen = on_terminal(command)[1] if options else subprocess.run(command, capture_output=True).stderr
        check(f"a long edit, {name}", not COPYING.search(seen) and wanted in (None, seen), seen)
        subprocess.run([tare, "undo", path, "--yes"], check=True, capture_output=True)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True)
    options = ask.parse_args()
    source = next(pathlib.Path(options.corpus, "deepspeed/zero2_2ranks/ckpt").rglob("*zero_pp_rank_0_*"))
    failed = []

    def check(what, holds, got):
        if not holds:
            failed.append(f"{what}: {got[-300:]!r}")

    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch, "step")
        folder.mkdir()
        first = folder / source.name
        first.write_bytes(source.read_bytes())
        command = [options.tare, "inspect", folder]
        out, seen = on_terminal(command)
        check("a short scan on a terminal", seen == b"", seen)
        for rank in range(1, MANY):
            os.link(first, folder / source.name.replace("rank_0_", f"rank_{rank}_", 1))
        out, seen = on_terminal(command)
        check("a long scan on a terminal", LINE.match(seen), seen)
        check("the line at the end", seen.endswith(CLEARED), seen)
        check("the answer beside a terminal", b"files read)" in out and not LINE.search(out), out)
        done = subprocess.run(command, capture_output=True)
        check("a long scan into a pipe", done.stderr == b"", done.stderr)
        check("the answer", done.stdout == out, done.stdout)
        os.environ["XDG_STATE_HOME"] = scratch  # where tare keeps its key
        long_rewrites(options.tare, scratch, check)
    print("\n".join(failed) or f"{len(LINE.findall(seen))} lines of progress")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
