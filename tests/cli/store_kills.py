#!/usr/bin/env python3
"""Edits and undos of checkpoints in a bucket are killed at any moment (SIGKILL), and the recovery from that sometimes, too.
Then the next edit must find all objects old or all new, and its undo must bring back either, whole.

    store_kills.py --tare TARE --corpus FOLDER --make-checkpoint SCRIPT [--runs 300] [--seed 1] [--store az|gs]

The bucket is the tests' own stand-in for S3, Azure or Google's store, its clock is put forward by an hour after each kill. Says how many runs were
killed at work, and how many had left a mixture. Exit 1 if any was mixed after recovery.
"""
import argparse
import contextlib
import pathlib
import random
import subprocess
import sys
import threading
import time

from azure_edits import AzureChecks
from google_edits import GoogleChecks
from store_edits import RANKS, Checks

#: Seconds that the bucket takes for each request that changes something.
LATENCY = 0.02
#: Seconds in which those that were under way when their sender was killed have come to their end.
SETTLED = 0.1
TOLD_EACH = 25
STORES = {"s3": Checks, "az": AzureChecks, "gs": GoogleChecks}
FIRST, SECOND = "scale=256", "scale=512"


class World:
    """A checkpoint in a bucket, old or edited already, and what it must be after each edit."""

    def __init__(self, checks, name, folder):
        self.checks, self.target = checks, f"{checks.root}/{name}"
        self.bucket, self.variables = checks.bucket(folder)
        self.bucket.before = self.on_request
        self.counting, self.requests, self.awaited, self.has_come = threading.Lock(), 0, 0, threading.Event()
        self.keys = sorted(self.bucket.objects)

    def on_request(self, method, key, query):
        if method in ("GET", "HEAD"):
            return
        with self.counting:
            self.requests += 1
            if self.requests == self.awaited:
                self.has_come.set()
        time.sleep(LATENCY)

    def __call__(self, *words):
        return self.checks.run(*words, **self.variables)

    def data(self):
        return {key: self.bucket.objects[key].content.read() for key in self.keys}

    def edit(self, change):
        done = self("edit", self.target, change, "--yes")
        return done.returncode == 0, done

    def killed_at(self, request, seconds, *words):
        """`seconds` after so many requests that change something have come. -> whether it was killed before it had ended."""
        self.requests, self.awaited = 0, request
        self.has_come.clear()
        environment = {"PATH": "/usr/bin:/bin", "HOME": self.checks.home.name, **self.variables}
        process = subprocess.Popen([self.checks.tare, *words, "--yes", "--wait", "0"], env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.has_come.wait(0.01) and process.poll() is None:
            continue
        time.sleep(seconds)
        process.kill()
        was_killed = process.wait() < 0
        time.sleep(SETTLED)
        self.bucket.ahead += 3600
        return was_killed


class Kills:
    def __init__(self, checks, runs, seed):
        self.checks, self.runs, self.random = checks, runs, random.Random(seed)
        self.killed = self.mixed = self.wrong = 0

    @contextlib.contextmanager
    def world(self, is_large):
        with self.checks.a_folder(*([] if is_large else [RANKS])) as folder:
            name = "model.pt" if is_large else "run/global_step2"
            if is_large:
                model = pathlib.Path(folder, name)
                subprocess.run([sys.executable, self.checks.options.make_checkpoint, str(model), "--bytes", "20000000",
                                "--parameters", "12"], check=True, stdout=subprocess.DEVNULL)
            yield World(self.checks, name, folder)

    def undisturbed(self, is_large):
        """-> what it is before, after each edit (the second one also of what nobody edited: where a store's objects only grow, that
        is something else), and how many requests that change something one makes."""
        with self.world(is_large) as world:
            self.checks.expect(*world.edit(SECOND))
            second_alone = world.data()
        with self.world(is_large) as world:
            old = world.data()
            is_done, answer = world.edit(FIRST)
            requests = world.requests
            first = world.data()
            is_done_too, answer_too = world.edit(SECOND)
            self.checks.expect(is_done and is_done_too, f"edits that nobody kills: {answer} {answer_too}")
            return old, first, (world.data(), second_alone), requests

    def kill(self, world, requests, *words):
        return world.killed_at(self.random.randint(1, requests), self.random.uniform(0, 1.5 * LATENCY), *words)

    def one(self, is_large, is_undo, known):
        old, first, seconds, requests = known
        with self.world(is_large) as world:
            if is_undo:
                self.checks.expect(*world.edit(FIRST))
            words = ("undo", world.target) if is_undo else ("edit", world.target, FIRST)
            self.killed += self.kill(world, requests, *words)
            self.mixed += world.data() not in (old, first)
            if self.random.random() < 0.3:
                self.kill(world, requests, "edit", world.target, SECOND)
            is_done, answer = world.edit(SECOND)
            states = [(is_done, answer), (world.data() in seconds, "another edit finds a mixture")]
            undone = world("undo", world.target, "--yes")
            states.append((undone.returncode == 0 and world.data() in (old, first), f"its undo leaves a mixture: {undone}"))
            states.append((not [key for key in world.bucket.objects if key.endswith("/pending")], "a journal is left"))
            self.wrong += not all(holds for holds, _ in states)
            for holds, what in states:
                self.checks.expect(holds, f"{words[0]} of {world.target}: {what}")

    def __call__(self):
        known = {is_large: self.undisturbed(is_large) for is_large in (False, True)}
        for number in range(self.runs):
            is_large, is_undo = number % 2 == 1, number % 4 > 1
            self.one(is_large, is_undo, known[is_large])
            if (number + 1) % TOLD_EACH == 0 or number + 1 == self.runs:
                print(f"{number + 1} runs, {self.killed} killed at work, {self.mixed} left a mixture, "
                      f"{self.wrong} are wrong after recovery", flush=True)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--tare", "--corpus", "--make-checkpoint"):
        ask.add_argument(option, required=True)
    ask.add_argument("--runs", type=int, default=300)
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--store", choices=STORES, default="s3")
    options = ask.parse_args()
    checks = STORES[options.store](options)
    Kills(checks, options.runs, options.seed)()
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
