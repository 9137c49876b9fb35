#!/usr/bin/env python3
"""Watches stderr while the command scans: a long scan tells how far it is, where somebody looks at it, and nowhere else.

    progress.py --tare TARE --corpus FOLDER
"""
import argparse
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

MANY = 20000  # links to one file: reading them all takes longer than a line of progress waits
LINE = re.compile(rb"\r\x1b\[K\d+ of 20000 files read")
CLEARED = b"\r\x1b[K"


def on_terminal(command):
    """-> (stdout, what a terminal on stderr got)"""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 4096):
            seen += piece
    except OSError:  # how Linux says that the other end was closed
        pass
    os.close(ours)
    return child.communicate()[0], seen


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
    print("\n".join(failed) or f"{len(LINE.findall(seen))} lines of progress")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
