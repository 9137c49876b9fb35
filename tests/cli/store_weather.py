#!/usr/bin/env python3
"""tare reads and edits checkpoints in a bucket whose network is bad: answers get lost, come late, or say that the store is busy.

    store_weather.py --tare TARE --corpus FOLDER --make-checkpoint SCRIPT

What it answers, and what edits make of the objects, must be what good weather makes of them; where a token expires in the middle,
it is said, and what was begun is taken back by whoever comes with another.
"""
import collections
import pathlib
import random
import threading
import time

from http_servers import Server
from s3_writable import WritableBucket
from store_edits import RANKS, Checks, run


class Weather(WritableBucket):
    """`lost`, `busy`: shares of the requests whose answer does not come (half of them were carried out), or is a 503; the same request
    has that luck twice at most. `late`: seconds that one in ten takes. `token_lasts`: so many requests, or for ever. `seed`: of
    what happens."""

    def __init__(self, folder, *, lost=0.0, busy=0.0, late=0.0, token_lasts=None, seed=0, **settings):
        super().__init__(folder, **settings)
        self.lost, self.busy, self.late, self.token_lasts, self.random = lost, busy, late, token_lasts, random.Random(seed)
        self.happened = {"lost": 0, "busy": 0, "expired": 0}
        self.unlucky = collections.Counter()
        self.answered = threading.local()
        self.after = self.lose_some

    def fate(self, request):
        """-> what becomes of it: "busy", "lost", "lost behind it" or nothing."""
        luck, which = self.random.random(), (request.command, request.path)
        if luck >= self.busy + self.lost or self.unlucky[which] == 2:
            self.unlucky[which] = 0
            return ""
        self.unlucky[which] += 1
        fate = "busy" if luck < self.busy else "lost" if luck < self.busy + self.lost / 2 else "lost behind it"
        self.happened[fate.split()[0]] += 1
        return fate

    def lose_some(self, method, key, query):
        if self.answered.fate == "lost behind it":
            raise self.Gone

    def refusal(self, request, headers):
        with self.lock:
            delay = self.late if self.random.random() < 0.1 else 0
            expired = self.token_lasts is not None and self.token_lasts <= 0
            if self.token_lasts is not None:
                self.token_lasts -= 1
            self.answered.fate = self.fate(request)
        time.sleep(delay)
        if expired:
            self.happened["expired"] += 1
            return 400, "ExpiredToken", {}
        if self.answered.fate == "busy":
            return 503, "SlowDown", {}
        if self.answered.fate == "lost":
            raise ConnectionResetError
        return super().refusal(request, headers)


class WeatherChecks(Checks):
    def bucket(self, folder, **settings):
        bucket = Weather(folder, **settings)
        bucket.server = Server(folder, bucket)
        state = {"XDG_STATE_HOME": str(pathlib.Path(self.home.name, "state"))}
        return bucket, {**bucket.credentials, **state, "AWS_REGION": bucket.region, "AWS_ENDPOINT_URL": bucket.server.url}

    def good_weather(self, folder, target):
        bucket, variables = self.bucket(folder)
        told = self.run("inspect", f"{self.root}/{target}", "--json", **variables)
        done = self.run("edit", f"{self.root}/{target}", "scale=2048", "--yes", **variables)
        self.expect(told.returncode == done.returncode == 0, f"good weather: {told} {done}")
        return told.stdout, {key: bucket.data(key) for key in bucket.objects if "/.tare/" not in "/" + key}

    def in_all_weathers(self, folder, target):
        told, edited = self.good_weather(folder, target)
        weathers = [{"lost": 0.1}, {"busy": 0.2}, {"lost": 0.05, "busy": 0.1, "late": 0.05}]
        happened = {"lost": 0, "busy": 0}
        for seed, weather in enumerate(weathers):
            bucket, variables = self.bucket(folder, seed=seed, **weather)
            before = {key: bucket.data(key) for key in bucket.objects}
            seen = self.run("inspect", f"{self.root}/{target}", "--json", **variables)
            self.expect(seen.returncode == 0 and seen.stdout == told, f"{target} in {weather}: {seen.stderr}")
            done = self.run("edit", f"{self.root}/{target}", "scale=2048", "--yes", **variables)
            now = {key: bucket.data(key) for key in before}
            self.expect(done.returncode == 0 and now == edited, f"an edit of {target} in {weather}: {done.stderr}")
            undone = self.run("undo", f"{self.root}/{target}", "--yes", **variables)
            now = {key: bucket.data(key) for key in before}
            self.expect(undone.returncode == 0 and now == before, f"undo of {target} in {weather}: {undone.stderr}")
            self.expect(not [key for key in bucket.objects if key.endswith("/pending")], f"{list(bucket.objects)}")
            for what in happened:
                happened[what] += bucket.happened[what]
        self.expect(min(happened.values()) > 2, f"what happened to {target}: {happened}")

    def ranks_in_all_weathers(self):
        with self.a_folder(RANKS) as folder:
            self.in_all_weathers(folder, "run/global_step2")

    def a_large_object_in_all_weathers(self):
        with self.a_large_model() as folder:
            self.in_all_weathers(folder, "model.pt")

    def a_token_that_expires(self):
        """At whichever request: it is said, nothing stays mixed, and with another token the edit goes on."""
        mixed = 0
        with self.a_folder(RANKS) as folder:
            _, variables = self.bucket(folder, token_lasts=0)
            done = self.run("inspect", f"{self.root}/run/global_step2", **variables)
            is_advised = "hint: a token that has expired is answered so: get new credentials" in done.stderr
            self.expect(done.returncode == 3 and is_advised, f"from the first request on: {done}")
            for lasts in range(1, 40, 3):
                bucket, variables = self.bucket(folder, token_lasts=lasts)
                before = {key: bucket.data(key) for key in bucket.objects}
                done = self.run("edit", f"{self.root}/run/global_step2", "scale=2048", "--yes", **variables)
                if not bucket.happened["expired"]:
                    self.expect(done.returncode == 0, f"it lasted: {done}")
                    break
                self.expect(done.returncode in (3, 4) and ("ExpiredToken" in done.stderr or "has expired" in done.stderr), f"after {lasts} requests: {done}")
                mixed += 0 < sum(bucket.data(key) != before[key] for key in before) < len(before)
                bucket.token_lasts, bucket.ahead = None, 3600
                back = self.run("undo", f"{self.root}/run/global_step2", "--yes", **variables)
                self.expect(back.returncode in (0, 4), f"with another token: {back}")
                self.expect({key: bucket.data(key) for key in before} == before, f"after {lasts} requests it is not as it was")
            self.expect(mixed > 0, "no token expired while objects were changed")


if __name__ == "__main__":
    run(WeatherChecks, ("ranks_in_all_weathers", "a_large_object_in_all_weathers", "a_token_that_expires"))
