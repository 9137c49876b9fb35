#!/usr/bin/env python3
"""tare edits checkpoints in a bucket on this machine, which keeps to generations, as Google's Cloud Storage does.

    google_edits.py --tare TARE --corpus FOLDER --make-checkpoint SCRIPT

What store_edits.py asks of S3, of objects that are written whole; those that would be made by parts are refused.
"""
import pathlib

from http_servers import Server
from s3_bucket import GOOGLER, KEEPER
from s3_writable import WritableBucket
from store_edits import SCALER, Checks, run

KEYED = {"GS_ACCESS_KEY_ID": KEEPER["AWS_ACCESS_KEY_ID"], "GS_SECRET_ACCESS_KEY": KEEPER["AWS_SECRET_ACCESS_KEY"]}


class GoogleBucket(WritableBucket):
    """Conditions are those of generations, which no object ever has again; nothing else is kept to, and nothing made by parts."""
    generations = 1_700_000_000_000_000

    def put(self, key, content, kind, lines):
        stored = super().put(key, content, kind, lines)
        GoogleBucket.generations += 1
        stored.number = GoogleBucket.generations
        return stored

    def described(self, stored):
        return {**super().described(stored), "x_goog_generation": str(stored.number), "x_goog_metageneration": "1"}

    def unmet(self, key, headers):
        wanted = headers.get("x-goog-if-generation-match")
        there = str(self.objects[key].number) if key in self.objects else "0"
        if not self.conditional or wanted in (None, there):
            return None
        return self.error(412, "PreconditionFailed")

    def own_lines(self, headers):
        return {name: value for name, value in headers.items()
                if name in ("content-type", "cache-control", "x-goog-storage-class") or name.startswith("x-goog-meta-")}

    def take_part(self, *_):
        return self.error(501, "NotImplemented")

    def on_POST(self, *_):
        return self.error(501, "NotImplemented")


class GoogleChecks(Checks):
    root = "gs://bucket"
    holder = GOOGLER

    def bucket(self, folder, **settings):
        who = {"credentials": GOOGLER} if self.holder is GOOGLER else {"region": "auto", "has_session": False, "is_google": True}
        bucket = GoogleBucket(folder, **who, **settings)
        bucket.server = Server(folder, bucket)
        state = {"XDG_STATE_HOME": str(pathlib.Path(self.home.name, "state"))}
        return bucket, {**self.holder, **state, "STORAGE_EMULATOR_HOST": bucket.server.url}

    def edits_with_a_key(self):
        self.holder = KEYED
        self.edits_one_object()
        self.edits_a_set_of_ranks()
        self.holder = GOOGLER

    def what_objects_have_is_kept(self):
        with self.a_folder(SCALER) as folder:
            bucket, variables = self.bucket(folder)
            lines = {"content-type": "a/b", "x-goog-meta-owner": "anna", "x-goog-storage-class": "NEARLINE"}
            bucket.objects["run/scaler.pt"].lines = dict(lines)
            done = self.run("edit", f"{self.root}/run/scaler.pt", "scale=512", "--yes", **variables)
            self.expect(done.returncode == 0 and bucket.objects["run/scaler.pt"].lines == lines,
                        f"{done} {bucket.objects['run/scaler.pt'].lines}")

    def a_large_object_is_refused(self):
        with self.a_large_model() as folder:
            bucket, variables = self.bucket(folder)
            before = bucket.data("model.pt")
            for dry in ([], ["--dry-run"]):
                done = self.run("edit", f"{self.root}/model.pt", "scale=4096", "--yes", *dry, **variables)
                self.expect(done.returncode == 4 and f"all of its {len(before)} bytes would have to be sent" in done.stderr, f"{done}")
            self.expect(bucket.data("model.pt") == before and list(bucket.objects) == ["model.pt"], f"{list(bucket.objects)}")


if __name__ == "__main__":
    run(GoogleChecks, ("edits_one_object", "edits_a_set_of_ranks", "edits_with_a_key", "a_dry_run_tells_its_requests_in_json",
                       "a_changed_object_is_refused", "a_store_without_conditions_is_refused", "a_mixture_is_told_by_every_verb",
                       "tells_what_was_edited_and_forgets_it", "prune_takes_back_what_was_interrupted",
                       "killed_anywhere_it_is_old_or_new", "what_objects_have_is_kept", "a_large_object_is_refused"))
