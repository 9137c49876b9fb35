#!/usr/bin/env python3
"""tare edits checkpoints in a bucket on this machine, which keeps to generations, as Google's Cloud Storage does.

    google_edits.py --tare TARE --corpus FOLDER --make-checkpoint SCRIPT

What store_edits.py asks of S3, of objects that are written whole. Large ones grow by what is composed behind their end, and
come back from a copy: this store copies no parts.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse
import xml.etree.ElementTree as ElementTree

from http_servers import Server
from s3_bucket import GOOGLER, KEEPER
from s3_writable import Content, WritableBucket
from store_edits import FP8_SHARDS, IN_MEMORY, SCALER, Checks, run

KEYED = {"GS_ACCESS_KEY_ID": KEEPER["AWS_ACCESS_KEY_ID"], "GS_SECRET_ACCESS_KEY": KEEPER["AWS_SECRET_ACCESS_KEY"]}


class GoogleBucket(WritableBucket):
    """Conditions are those of generations, which no object ever has again; nothing else is kept to, and nothing made by parts:
    objects are composed of up to 32 of one class, and copied as a whole. `versioned`: old generations can be copied, too."""
    generations = 1_700_000_000_000_000

    def put(self, key, content, kind, lines):
        was_sent = kind == "file" and content.size < 1 << 24  # in one request: its ETag is a sum
        stored = super().put(key, content, "whole" if was_sent else kind, lines)
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

    def list(self, request, query):
        if "versioning" not in query:
            return super().list(request, query)
        status = "<Status>Enabled</Status>" if self.versioned else ""
        return request.answer(200, f"<VersioningConfiguration>{status}</VersioningConfiguration>".encode())

    def generation(self, key, number):
        """-> the object as it was then; None where it is not kept."""
        now = self.objects.get(key)
        if now and number in (None, str(now.number)):
            return now
        return self.old.get((key, int(number))) if self.versioned and number else None

    def on_PUT(self, key, query, headers, body):
        source = headers.get("x-goog-copy-source")
        if "compose" not in query and not source:
            return super().on_PUT(key, query, headers, body)
        refused = self.unmet(key, headers)
        if refused:
            return refused
        if source:
            assert headers["x-goog-metadata-directive"] == "REPLACE" and not body, headers
            wanted = [(urllib.parse.unquote(source).removeprefix("/bucket/"), headers.get("x-goog-copy-source-generation"))]
        else:
            wanted = [(part.find("Name").text, part.find("Generation").text) for part in ElementTree.fromstring(body)]
            self.bytes_in += len(body)
        found = [self.generation(*one) for one in wanted]
        if None in found:
            return self.error(404, "NoSuchKey")
        if len(found) > 32 or len({one.lines.get("x-goog-storage-class") for one in found}) > 1:
            return self.error(400, "InvalidArgument")
        content = Content()
        for one in found:
            content += one.content
        self.bytes_copied += content.size
        stored = self.put(key, content, "composed", self.own_lines(headers))
        return 200, b"", {name: value for name, value in self.described(stored).items() if name[0] in "Ex"}

    def take_part(self, *_):
        return self.error(501, "NotImplemented")

    def on_POST(self, *_):
        return self.error(501, "NotImplemented")


class GoogleChecks(Checks):
    root = "gs://bucket"
    secrets = tuple(GOOGLER)
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

    def left_over(self, bucket):
        """Pieces, too."""
        return super().left_over(bucket) + [key for key in bucket.objects if "/.tare/tare" in "/" + key]

    def copies(self, bucket):
        return [key for key in bucket.objects if key.endswith(".kept")]

    def a_large_object_grows_and_comes_back(self):
        """It is what it was, and the new record and directory behind that; undo has the old bytes from a copy, or from the
        bucket, which keeps the old generation."""
        for versioned in (False, True):
            with self.a_large_model() as folder:
                bucket, variables = self.bucket(folder, versioned=versioned)
                lines = {"content-type": "a/b", "x-goog-meta-owner": "anna", "x-goog-storage-class": "NEARLINE"}
                bucket.objects["model.pt"].lines = dict(lines)
                before = bucket.data("model.pt")
                target = f"{self.root}/model.pt"
                for scale in "4096", "8192":
                    done = self.run("edit", target, f"scale={scale}", "--yes", **variables)
                    self.expect(done.returncode == 0, f"an edit of a large object: {done}")
                    got = self.run("get", target, "scale", **variables)
                    self.expect(float(got.stdout) == float(scale), f"the new scale: {got}")
                after = bucket.data("model.pt")
                self.expect(after.startswith(before) and 0 < len(after) - len(before) < 2e5, f"{len(before)} grew to {len(after)}")
                self.expect(bucket.objects["model.pt"].lines == lines, f"{bucket.objects['model.pt'].lines}")
                self.expect(bucket.bytes_in < 1e6, f"{bucket.bytes_in} bytes sent")
                self.expect(len(self.copies(bucket)) == (0 if versioned else 2), f"{list(bucket.objects)}")
                told = self.run("attest", target, **variables)
                self.expect(told.returncode == 0, f"attest of what grew: {told}")
                for _ in range(2):
                    done = self.run("undo", target, "--yes", **variables)
                    self.expect(done.returncode == 0 and "byte for byte" in done.stdout, f"undo: {done}")
                self.expect(bucket.data("model.pt") == before and bucket.objects["model.pt"].lines == lines, "it is as it was")
                self.expect(not self.copies(bucket) and not self.left_over(bucket), f"{list(bucket.objects)}")

    def of_a_large_object_only_parts_travel(self):
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            model = pathlib.Path(folder, "model.pt")
            subprocess.run([sys.executable, self.options.make_checkpoint, str(model), "--bytes", "4400000000"],
                           check=True, stdout=subprocess.DEVNULL)
            bucket, variables = self.bucket(folder)
            size = bucket.objects["model.pt"].content.size
            planned = self.run("edit", f"{self.root}/model.pt", "scale=4096", "--dry-run", **variables)
            writes = [entry for entry in bucket.log if entry[0] not in ("GET", "HEAD")]
            self.expect(planned.returncode == 0 and not writes, f"a dry run: {planned} {writes}")
            bucket.log.clear()
            done = self.run("edit", f"{self.root}/model.pt", "scale=4096", "--yes", **variables)
            self.expect(done.returncode == 0 and bucket.bytes_in < 12e6 and bucket.bytes_out < 12e6,
                        f"an edit of 4.4 GB: {done} {bucket.bytes_in} bytes sent, {bucket.bytes_out} received")
            told = re.search(r"(\d+) requests that change something, (\d+) bytes sent, (\d+) bytes copied", planned.stdout)
            writes = [entry for entry in bucket.log if entry[0] not in ("GET", "HEAD")]
            said = tuple(map(int, told.groups()))
            self.expect(said[0] == len(writes) and said[2] == 2 * size, f"a dry run says {said}: {writes}")
            self.expect(bucket.objects["model.pt"].content.size - size < 1e6, "it grew by less than 1 MB")
            undone = self.run("undo", f"{self.root}/model.pt", "--yes", **variables)
            back = bucket.objects["model.pt"].content
            self.expect(undone.returncode == 0 and back.runs == Content.of_file(model).runs, f"undo: {undone} {back.runs}")

    def a_large_object_is_killed_anywhere(self):
        told = mended = 0
        with self.a_large_model("9000000") as folder:
            for moment, count in ((moment, count) for moment in ("before", "after") for count in range(1, 10)):
                bucket, variables = self.bucket(folder)
                before = bucket.data("model.pt")
                self.expect(self.killed_at(bucket, variables, moment, count, "model.pt"), f"{count} requests are made")
                bucket.ahead = 3600
                seen = self.run("inspect", f"{self.root}/model.pt", **variables)
                told += "was interrupted" in seen.stderr
                mended += bucket.data("model.pt") != before
                done = self.run("undo", f"{self.root}/model.pt", "--yes", **variables)
                self.expect(done.returncode in (0, 4), f"{moment} request {count}: {done}")
                self.expect(bucket.data("model.pt") == before, f"{moment} request {count}: it is not what it was")
                self.expect(not self.left_over(bucket) and not self.copies(bucket), f"{moment} {count}: {list(bucket.objects)}")
        self.expect(told > 5 and mended > 3, f"{told} were told, {mended} were new")

    def copies_go_with_what_needs_them(self):
        """Without a record nothing is kept; what is forgotten leaves no copy."""
        with self.a_large_model() as folder:
            bucket, variables = self.bucket(folder)
            done = self.run("edit", f"{self.root}/model.pt", "scale=4096", "--yes", "--no-history", **variables)
            self.expect(done.returncode == 0 and list(bucket.objects) == ["model.pt"], f"{done} {list(bucket.objects)}")
            self.run("edit", f"{self.root}/model.pt", "scale=512", "--yes", **variables)
            self.expect(len(self.copies(bucket)) == 1, f"{list(bucket.objects)}")
            done = self.run("history", f"{self.root}/model.pt", "--prune", "--yes", **variables)
            self.expect(done.returncode == 0 and list(bucket.objects) == ["model.pt"], f"{done} {list(bucket.objects)}")

    def what_stands_in_the_middle_is_sent_only_if_asked(self):
        """Of a format whose begin changes nothing can be taken over: it is refused, or all of it is sent."""
        with self.a_folder(FP8_SHARDS) as folder:
            shard = next(pathlib.Path(folder, "run").rglob("*.safetensors"))
            size = int.from_bytes(shard.read_bytes()[:8], "little")
            header = json.loads(shard.read_bytes()[8:8 + size])
            end = max(row["data_offsets"][1] for name, row in header.items() if name != "__metadata__")
            more = 272 << 20
            header["filler"] = {"dtype": "U8", "shape": [more], "data_offsets": [end, end + more]}
            text = json.dumps(header).encode()
            text += b" " * (-len(text) % 8)
            body = shard.read_bytes()[8 + size:]
            with shard.open("wb") as file:
                file.write(len(text).to_bytes(8, "little") + text + body)
                file.truncate(8 + len(text) + end + more)
            bucket, variables = self.bucket(folder)
            key = shard.relative_to(folder).as_posix()
            target = f"{self.root}/{key}"
            edit = ("edit", target, "--layer", "*", "scale.input=2^4", "--yes")
            before = bucket.objects[key].content
            for dry in ([], ["--dry-run"]):
                done = self.run(*edit, *dry, **variables)
                self.expect(done.returncode == 4 and f"all of its {before.size} bytes" in done.stderr and "--send-whole" in done.stderr, f"{done}")
            self.expect(bucket.objects[key].content is before and not self.left_over(bucket), f"{list(bucket.objects)}")
            done = self.run(*edit, "--send-whole", **variables)
            self.expect(done.returncode == 0 and bucket.bytes_in >= before.size, f"all of it: {done} {bucket.bytes_in}")
            local = self.run("edit", str(shard), "--layer", "*", "scale.input=2^4", "--yes", **variables)
            self.expect(local.returncode == 0 and bucket.data(key) == shard.read_bytes(), f"as on the disk: {local}")
            self.expect(not self.left_over(bucket), f"{list(bucket.objects)}")


if __name__ == "__main__":
    run(GoogleChecks, ("edits_one_object", "edits_a_set_of_ranks", "edits_several_by_a_pattern", "edits_with_a_key", "a_dry_run_tells_its_requests_in_json",
                       "a_changed_object_is_refused", "who_may_see_nothing_is_told_so", "a_store_without_conditions_is_refused", "a_mixture_is_told_by_every_verb", "an_edit_that_begins_while_it_is_read_is_told",
                       "tells_what_was_edited_and_forgets_it", "a_run_is_undone_by_the_name_it_was_edited_by", "prune_takes_back_what_was_interrupted",
                       "killed_anywhere_it_is_old_or_new", "what_objects_have_is_kept", "a_large_object_grows_and_comes_back",
                       "of_a_large_object_only_parts_travel", "a_large_object_is_killed_anywhere",
                       "copies_go_with_what_needs_them", "what_stands_in_the_middle_is_sent_only_if_asked"))
