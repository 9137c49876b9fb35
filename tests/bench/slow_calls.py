#!/usr/bin/env python3
"""Time the command on rank files where each call takes long, as on a network file system.

    slow_calls.py --tare BUILD/tools/tare-remote [--ranks 4096] [--microseconds 1000] [--folder DIR]

Calls that name, read or write a file are delayed (slow_calls.c, LD_PRELOADed: so it takes `tare-remote`, `tare` is static).
Needs a C compiler.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from make_scale import rank_files

HERE = pathlib.Path(__file__).resolve().parent


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    ask.add_argument("--ranks", type=int, default=4096)
    ask.add_argument("--microseconds", type=int, default=1000)
    ask.add_argument("--folder", default="/dev/shm")
    options = ask.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        slow, run = pathlib.Path(scratch, "slow_calls.so"), pathlib.Path(scratch, "run")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", slow, HERE / "slow_calls.c", "-ldl"], check=True)
        rank_files(run, options.ranks)
        environment = {"XDG_STATE_HOME": scratch, "SLOW_CALLS": str(options.microseconds), "LD_PRELOAD": str(slow)}
        for words in (["inspect", run], ["edit", run, "scale=4096", "--yes"], ["inspect", run], ["undo", run, "--yes"]):
            begin = time.perf_counter()
            done = subprocess.run([options.tare, *words], env=os.environ | environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL)
            print(f"{words[0]:<10}{options.ranks:>8,} files{time.perf_counter() - begin:>9.2f} s", flush=True)
            if done.returncode != 0:
                sys.exit(f"exit {done.returncode}")


if __name__ == "__main__":
    main()
