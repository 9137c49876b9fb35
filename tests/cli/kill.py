#!/usr/bin/env python3
"""Kills the command with SIGKILL at random instants of an edit of many files, and looks at what recovery makes of it.

    kill.py --tare TARE --corpus FOLDER [--times 500] [--ranks 64 | --distributed] [--folder /dev/shm] [--seed N]

The files are DeepSpeed's, one a rank, or those of a distributed checkpoint of four ranks, with its metadata. After each kill `tare undo` must leave all files old or all files new, byte for byte. Half of the time a second editor
runs at once: it waits its turn, or refuses, and nothing is mixed. Prints what was found; exit 1 if anything was mixed.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

EDIT = ["scale=4096", "growth_interval=70000", "--yes"]  # one that fits in place, and one that needs room


def copy_ranks(corpus, folder, ranks):
    source = next(pathlib.Path(corpus, "deepspeed/zero2_2ranks/ckpt").rglob("*zero_pp_rank_0_*"))
    for rank in range(ranks):
        shutil.copy2(source, folder / source.name.replace("rank_0_", f"rank_{rank}_", 1))


def copy_distributed(corpus, folder):
    for source in pathlib.Path(corpus, "torch/dcp-plain-4rank-t2.15/step_20").iterdir():
        shutil.copy2(source, folder)


class Checkpoint:
    def __init__(self, options, scratch):
        self.tare = options.tare
        self.folder = pathlib.Path(scratch, "step")
        self.folder.mkdir()
        if options.distributed:
            copy_distributed(options.corpus, self.folder)
        else:
            copy_ranks(options.corpus, self.folder, options.ranks)
        self.old = self.contents()
        begin = time.perf_counter()
        self.run("edit", *EDIT, check=True)
        self.span = time.perf_counter() - begin
        self.new = self.contents()
        self.run("undo", "--yes", check=True)

    def contents(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}

    def run(self, verb, *arguments, check=False):
        return subprocess.run([self.tare, verb, self.folder, *arguments], capture_output=True, text=True, check=check)

    def start(self):
        return subprocess.Popen([self.tare, "edit", self.folder, *EDIT], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def kill_once(self, chance, with_rival):
        """-> what was there right after the kill, and after recovery: "old", "new" or "mixed"."""
        victim = self.start()
        rival = self.start() if with_rival else None
        time.sleep(chance.uniform(0, self.span * 1.2))
        victim.kill()
        victim.wait()
        if rival:
            rival.wait()
        found = self.state()
        if json.loads(self.run("history", "--json").stdout)["pending"] is not None:
            self.run("undo", "--yes", check=True)
        recovered = self.state()
        if recovered == "new":
            self.run("undo", "--yes", check=True)
        self.run("history", "--prune", "--yes", check=True)
        return found, recovered, self.state()

    def state(self):
        now = self.contents()
        return "old" if now == self.old else "new" if now == self.new else "mixed"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True)
    ask.add_argument("--times", type=int, default=500)
    ask.add_argument("--ranks", type=int, default=64)
    ask.add_argument("--distributed", action="store_true", help="a distributed checkpoint instead")
    ask.add_argument("--folder", default="/dev/shm")
    ask.add_argument("--seed", type=int, default=0)
    options = ask.parse_args()
    chance = random.Random(options.seed)
    seen = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        os.environ["XDG_STATE_HOME"] = scratch  # where tare keeps its key
        checkpoint = Checkpoint(options, scratch)
        for number in range(options.times):
            outcome = checkpoint.kill_once(chance, with_rival=number % 2 == 1)
            seen[outcome[:2]] = seen.get(outcome[:2], 0) + 1
            if "mixed" in outcome[1:] or outcome[2] != "old":
                sys.exit(f"kill {number}: right after it {outcome[0]}, after recovery {outcome[1]}, undone {outcome[2]}")
    for (found, recovered), count in sorted(seen.items()):
        print(f"{count:5} times {found} right after the kill, {recovered} after recovery")
    print(f"{options.times} kills, none mixed")


if __name__ == "__main__":
    main()
