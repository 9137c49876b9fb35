#!/usr/bin/env python3
"""tare edits checkpoints in a bucket on this machine, which checks signatures and keeps to conditions, as S3 does.

    store_edits.py --tare TARE --corpus FOLDER --make-checkpoint SCRIPT

What an edit makes of an object must be, byte for byte, what the same edit makes of the same file on the disk, and undo
must bring back what was there. Prints a line a failure; exit 1 if there are any.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

from http_servers import RemoteChecks, Server
from s3_writable import Content, WritableBucket

#: Where there is such a folder: to remove a file of so many holes takes some disks ten seconds.
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
RANKS = "deepspeed/zero2_4ranks_tags/ckpt/global_step2"
FP8 = "transformer_engine/te2.20_delayed"
FP8_SHARDS = "transformer_engine/te2.20_safetensors"
FP8_GROUPED = "transformer_engine/te2.20_two_gemms"
FP8_OTHER = "transformer_engine/te2.18_delayed"
LIGHTNING = "lightning/v1_5/last.ckpt"
SCALER = "torch/scaler-file-t2.15/scaler.pt"


class Checks(RemoteChecks):
    """In S3; a subclass says what is another in another store."""
    root = "s3://bucket"
    secrets = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")

    def bucket(self, folder, **settings):
        """-> its bucket, the variables with which it is asked."""
        bucket = WritableBucket(folder, **settings)
        bucket.server = Server(folder, bucket)
        state = {"XDG_STATE_HOME": str(pathlib.Path(self.home.name, "state"))}
        return bucket, {**bucket.credentials, **state, "AWS_REGION": bucket.region, "AWS_ENDPOINT_URL": bucket.server.url}

    def a_folder(self, *cases):
        folder = tempfile.TemporaryDirectory()
        for case in cases:
            source, target = self.corpus / case, pathlib.Path(folder.name, "run", pathlib.Path(case).name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        return folder

    @contextlib.contextmanager
    def a_large_model(self, size="20000000"):
        """One that is changed by parts."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, self.options.make_checkpoint, f"{folder}/model.pt", "--bytes", size,
                            "--parameters", "12"], check=True, stdout=subprocess.DEVNULL)
            yield folder

    def left_over(self, bucket):
        """Journals of edits that are not finished, and uploads."""
        return [key for key in bucket.objects if key.endswith("/pending")] + list(bucket.uploads)

    def as_on_disk(self, case, *edit, verb=("edit",), before=()):
        """The same edit of a copy on the disk and of one in a bucket; then the undo of it. `before`: verbs that both
        copies have seen."""
        with self.a_folder(case) as folder:
            name = f"run/{pathlib.Path(case).name}"
            for words in before:
                done = self.run(*words, f"{folder}/{name}", "--yes", "--no-history")
                self.expect(done.returncode == 0, f"{words} of {case}: {done}")
            bucket, variables = self.bucket(folder)
            before = {key: bucket.data(key) for key in bucket.objects}
            local = self.run(*verb, f"{folder}/{name}", *edit, "--yes", **variables)
            remote = self.run(*verb, f"{self.root}/{name}", *edit, "--yes", **variables)
            self.expect(local.returncode == remote.returncode == 0, f"{edit} of {case}: {local.stderr} {remote.stderr}")
            for key in before:
                self.expect(bucket.data(key) == pathlib.Path(folder, key).read_bytes(), f"{edit}: {key} is another than on the disk")
            self.expect(any(bucket.data(key) != before[key] for key in before), f"{edit} of {case}: nothing changed")
            self.expect(not self.left_over(bucket), f"{edit} of {case}: {self.left_over(bucket)} is left")
            lines = {name: value for name, value in bucket.objects[next(iter(before))].lines.items()}
            self.expect(lines == bucket.lines_of_files, f"{edit} of {case}: has the header {lines}")
            undone = self.run("undo", f"{self.root}/{name}", "--yes", **variables)
            self.expect(undone.returncode == 0 and "byte for byte" in undone.stdout, f"undo of {edit}: {undone}")
            for key, data in before.items():
                self.expect(bucket.data(key) == data, f"undo of {edit}: {key} is not as it was")
            again = self.run("undo", f"{self.root}/{name}", "--yes", **variables)
            self.expect(again.returncode == 4 and "nothing to undo" in again.stderr, f"another undo: {again}")
            self.expect(not bucket.refused, f"{edit} of {case}: {bucket.refused}")
            return bucket

    def edits_one_object(self):
        bucket = self.as_on_disk(SCALER, "scale=1024")
        writes = [(method, key) for method, key, _ in bucket.log if method not in ("GET", "HEAD")]
        self.expect(writes.count(("PUT", "run/scaler.pt")) == 2, f"one PUT for the edit and one for its undo: {writes}")

    def edits_a_set_of_ranks(self):
        self.as_on_disk(RANKS, "scale=2048")

    def edits_several_by_a_pattern(self):
        """Each is a transaction of its own; where one cannot be edited the others are, and the exit code says so."""
        with self.a_folder(SCALER) as folder:
            names = [f"run/step{number}/scaler.pt" for number in (1, 2, 10)]
            for name in names:
                pathlib.Path(folder, name).parent.mkdir()
                shutil.copy(pathlib.Path(folder, "run/scaler.pt"), pathlib.Path(folder, name))
            broken = pathlib.Path(folder, "run/step3/scaler.pt")
            broken.parent.mkdir()
            broken.write_bytes(b"no checkpoint")
            bucket, variables = self.bucket(folder)
            before = bucket.data(names[0])
            done = self.run("edit", f"{self.root}/run/step*", "scale=1024", "--yes", "--json-lines", **variables)
            told = [json.loads(line) for line in done.stdout.splitlines()]
            self.expect(done.returncode == 3 and "step3" in done.stderr, f"a pattern: {done}")
            self.expect([one["target"] for one in told] == [f"{self.root}/{name.rpartition('/')[0]}" for name in names], f"{told}")
            self.expect(all(bucket.data(name) != before for name in names) and not self.left_over(bucket), "all but one are edited")
            undone = self.run("undo", f"{self.root}/run/step2", "--yes", **variables)
            self.expect(undone.returncode == 0 and [bucket.data(name) == before for name in names] == [False, True, False], f"{undone}")
            told = self.run("history", f"{self.root}/run/step*", "--json-lines", **variables)
            states = [[edit["state"] for edit in json.loads(line)["edits"]] for line in told.stdout.splitlines()]
            self.expect(told.returncode == 0 and states == [["applied"], ["undone"], [], ["applied"]], f"history of a pattern: {told}")
            undone = self.run("undo", f"{self.root}/run/step*", "--yes", "--json-lines", **variables)
            self.expect(undone.returncode == 4 and undone.stderr.count("nothing to undo") == 2 and len(undone.stdout.splitlines()) == 2, f"{undone}")
            self.expect(all(bucket.data(name) == before for name in names) and not self.left_over(bucket), "the others are as they were, too")

    def repairs_fp8_state(self):
        """Every verb of `tare fp8`, in objects of one checkpoint and of several."""
        rename = ("rename", "--from", "layers", "--to", "blocks")
        for case in (FP8, FP8_SHARDS):
            for verb, *edit in (("reset",), ("resize", "--history", "4"), ("strip",), ("strip", "--remove"), ("recompute",)):
                self.as_on_disk(case, *edit, verb=("fp8", verb))
        self.as_on_disk(FP8, *rename[1:], verb=("fp8", "rename"))
        self.as_on_disk(FP8, "--for", "1.13", "--force", verb=("fp8", "reencode"))
        self.as_on_disk(FP8_GROUPED, "--layer", "*", "--for", "2.3", verb=("fp8", "regroup"))
        with tempfile.TemporaryDirectory() as folder:
            state = f"{folder}/state.json"
            saved = self.run("inspect", str(self.corpus / FP8), "--save", state)
            self.expect(saved.returncode == 0, f"a state to inject: {saved}")
            self.as_on_disk(FP8, state, verb=("fp8", "inject"), before=[("fp8", "strip")])
        with self.a_folder(FP8_SHARDS) as folder:
            bucket, variables = self.bucket(folder)
            name = f"run/{pathlib.Path(FP8_SHARDS).name}"
            refused = [self.run("fp8", rename[0], f"{root}/{name}", *rename[1:], "--yes", **variables)
                       for root in (folder, self.root)]
            self.expect(all(done.returncode == 4 and "in files of torch.save alone" in done.stderr for done in refused)
                        and refused[0].stderr == refused[1].stderr, f"what the disk refuses, the store does, too: {refused}")
            self.expect(not any("/.tare/" in key for key in bucket.objects), f"a refusal leaves nothing: {list(bucket.objects)}")

    def takes_over_what_migrates(self):
        """A state migrates into objects, from a file or from other objects, as on the disk."""
        source = str(self.corpus / "megatron/torch_1rank/ckpt")
        self.as_on_disk(SCALER, verb=("migrate", source, "--into"))
        self.as_on_disk(RANKS, verb=("migrate", str(self.corpus / SCALER), "--into"))
        self.as_on_disk(FP8, "--fp8", verb=("migrate", str(self.corpus / FP8_OTHER), "--into"))
        self.as_on_disk(LIGHTNING, verb=("migrate", "--rename", "lightning:2.2"))
        with self.a_folder(RANKS, FP8) as folder:
            _, variables = self.bucket(folder)
            for source, framework in (("run/global_step2", "torch"), (f"run/{pathlib.Path(FP8).name}", "transformer_engine")):
                made = []
                for root in (folder, self.root):
                    state = pathlib.Path(folder, "state.json")
                    done = self.run("migrate", f"{root}/{source}", "--to", framework, "-o", str(state), "--force", **variables)
                    self.expect(done.returncode == 0, f"migrate from {root}/{source}: {done}")
                    made.append(state.read_bytes())
                self.expect(made[0] == made[1], f"the state of {source} is another from the bucket")

    def tells_what_was_edited_and_forgets_it(self):
        with self.a_folder(RANKS) as folder:
            bucket, variables = self.bucket(folder)
            target = f"{self.root}/run/global_step2"

            def history(path=target):
                told = self.run("history", path, "--json", **variables)
                self.expect(told.returncode == 0, f"history: {told}")
                return json.loads(told.stdout)["edits"]
            self.expect(history() == [], "nothing is on record before the first edit")
            for scale in 256, 512:
                self.run("edit", target, f"scale={scale}", "--yes", **variables)
            self.run("undo", target, "--yes", **variables)
            edits = history()
            self.expect([edit["state"] for edit in edits] == ["applied", "undone"], f"history: {edits}")
            first = edits[0]
            self.expect(first["folder"] == target and len(first["files"]) == 4 and first["sealed"], f"an edit: {first}")
            self.expect({field["after"] for field in first["fields"]} == {"256.0"}, f"its fields: {first['fields']}")
            rank = next(key for key in bucket.objects if key.endswith("_optim_states.pt"))
            self.expect(history(f"{self.root}/{rank}") == edits, "of one rank the same edits are told")
            self.expect(history(f"{self.root}/run/else.pt") == [], "of another object none are told")
            now = {key: bucket.data(key) for key in bucket.objects if "/.tare/" not in key}
            done = self.run("history", target, "--prune", "--yes", **variables)
            self.expect(done.returncode == 0 and "forgot 2 edits" in done.stdout, f"prune: {done}")
            self.expect(history() == [] and {key: bucket.data(key) for key in bucket.objects} == now, "records alone are gone")

    def a_run_is_undone_by_the_name_it_was_edited_by(self):
        """And not that there is nothing to undo, where the journal is in the checkpoint's folder below."""
        with self.a_folder(RANKS) as folder:
            pathlib.Path(folder, "run", "latest").write_text("global_step2")
            bucket, variables = self.bucket(folder)
            before = {key: bucket.data(key) for key in bucket.objects}
            self.run("edit", f"{self.root}/run", "scale=512", "--yes", **variables)
            for words, told in ((("history",), "applied"), (("undo", "--yes"), "byte for byte"), (("history",), "undone"),
                                (("history", "--prune", "--yes"), "forgot 1 edit")):
                done = self.run(words[0], f"{self.root}/run", *words[1:], **variables)
                self.expect(done.returncode == 0 and told in done.stdout + done.stderr, f"{words} of a run: {done}")
            self.expect({key: bucket.data(key) for key in bucket.objects} == before, f"all as before: {list(bucket.objects)}")

    def prune_takes_back_what_was_interrupted(self):
        with self.a_folder(RANKS) as folder:
            bucket, variables = self.bucket(folder)
            before = {key: bucket.data(key) for key in bucket.objects}
            target = f"{self.root}/run/global_step2"
            self.killed_at(bucket, variables, "after", 5)
            fresh = self.run("history", target, "--prune", "--yes", **variables)
            self.expect(fresh.returncode == 3 and self.left_over(bucket), f"while an edit may be at work: {fresh}")
            bucket.ahead = 3600
            told = self.run("history", target, **variables)
            self.expect("was interrupted" in told.stderr, f"history of an interrupted edit: {told}")
            done = self.run("history", target, "--prune", "--yes", **variables)
            self.expect(done.returncode == 0, f"prune: {done}")
            self.expect({key: bucket.data(key) for key in bucket.objects} == before, f"after it: {list(bucket.objects)}")

    def a_dry_run_tells_its_requests_in_json(self):
        with self.a_folder(SCALER) as folder:
            bucket, variables = self.bucket(folder)
            told = self.run("edit", f"{self.root}/run/scaler.pt", "scale=512", "--dry-run", "--json", **variables)
            local = self.run("edit", f"{folder}/run/scaler.pt", "scale=512", "--dry-run", "--json", **variables)
            self.expect("requests" not in json.loads(local.stdout), f"of a file: {local}")
            requests = json.loads(told.stdout)["requests"]
            bucket.log.clear()
            self.run("edit", f"{self.root}/run/scaler.pt", "scale=512", "--yes", **variables)
            made = [(method, f"{self.root}/{key}") for method, key, _ in bucket.log if method not in ("GET", "HEAD")]
            self.expect([(request["method"], request["object"]) for request in requests] == made, f"{requests} {made}")
            model = next(request for request in requests if request["object"].endswith("scaler.pt"))
            self.expect(model["bytes_sent"] == len(bucket.data("run/scaler.pt")) and model["bytes_copied"] == 0, f"{model}")
            self.sends_what_was_planned("run/scaler.pt", folder)
        with self.a_large_model() as folder:
            self.sends_what_was_planned("model.pt", folder)

    def sends_what_was_planned(self, name, folder):
        """As many requests as a dry run tells, and as many bytes, but for words in journals."""
        bucket, variables = self.bucket(folder)
        self.run("edit", f"{self.root}/{name}", "scale=256", "--yes", **variables)  # the key that seals is there
        told = self.run("edit", f"{self.root}/{name}", "scale=1024", "--dry-run", "--json", **variables)
        words = self.run("edit", f"{self.root}/{name}", "scale=1024", "--dry-run", **variables)
        planned = json.loads(told.stdout)["requests"]
        bucket.log.clear()
        bucket.bytes_in = 0
        self.run("edit", f"{self.root}/{name}", "scale=1024", "--yes", **variables)
        made = [method for method, _, _ in bucket.log if method not in ("GET", "HEAD")]
        sent = sum(request["bytes_sent"] for request in planned)
        self.expect(sorted(request["method"] for request in planned) == sorted(made), f"{name}: {planned} {made}")
        self.expect(abs(bucket.bytes_in - sent) <= 5 * 100, f"{name}: {sent} bytes are planned, {bucket.bytes_in} sent")
        self.expect(f"{len(planned)} requests that change something" in words.stdout, f"{name}: {words}")

    def a_mixture_is_told_by_every_verb(self):
        """Two of four ranks are new: whoever reads them is told, and edits that are only planned as well."""
        with self.a_folder(RANKS) as folder:
            bucket, variables = self.bucket(folder)
            before = {key: bucket.data(key) for key in bucket.objects}
            self.killed_at(bucket, variables, "after", 5)
            changed = [key for key in before if bucket.data(key) != before[key]]
            self.expect(0 < len(changed) < 4, f"{changed} are new")
            bucket.ahead = 3600
            target = f"{self.root}/run/global_step2"
            state = str(pathlib.Path(folder, "state.json"))
            for words in (("inspect", target), ("inspect", target, "--json"), ("get", target, "scale"), ("diff", target, target),
                          ("doctor", target), ("attest", target), ("history", target), ("ls", target), ("ls", self.root),
                          ("timeline", target), ("timeline", f"{self.root}/run"), ("trace", target), ("trace", f"{self.root}/run", "--csv"),
                          ("simulate", f"{self.root}/r*n", "--window", "500"), ("migrate", target, "--to", "torch", "-o", state),
                          ("migrate", str(self.corpus / SCALER), "--into", target, "--align", "--dry-run"),
                          ("edit", target, "scale=2", "--align", "--dry-run")):
                done = self.run(*words, **variables)
                self.expect("interrupted" in done.stderr + done.stdout, f"{words[0]} of a mixture: {done}")
            done = self.run("migrate", target, "--to", "torch", "-o", state, **variables)
            self.expect(done.returncode == 3 and "is not finished" in done.stderr, f"migrate from a mixture: {done}")
            for words in (("ls", f"{self.root}/else"), ("timeline", f"{self.root}/else"), ("trace", f"{self.root}/else")):
                bucket.put("else/scaler.pt", Content.of((self.corpus / SCALER).read_bytes()), "whole", {})
                done = self.run(*words, **variables)
                self.expect("interrupted" not in done.stderr, f"{words[0]} of what is beside it: {done}")

    def an_edit_that_begins_while_it_is_read_is_told(self):
        """The list shows nobody at work; what is read after it are other versions than it told of."""
        with self.a_folder(RANKS) as folder:
            bucket, variables = self.bucket(folder)
            target = f"{self.root}/run/global_step2"
            quiet = self.run("inspect", target, **variables)
            asked = [key for method, key, _ in bucket.log if key.endswith("/pending")]
            self.expect(quiet.returncode == 0 and not asked, f"whom nobody disturbs asks nobody: {quiet} {asked}")
            before = dict(bucket.objects)
            self.killed_at(bucket, variables, "after", 5)
            mixed, bucket.objects, bucket.ahead = bucket.objects, before, 3600
            bucket.log.clear()

            def edit_meanwhile(method, key, query):
                if key in before:
                    bucket.objects = mixed
            bucket.before = edit_meanwhile
            told = self.run("inspect", target, **variables)
            self.expect("was interrupted" in told.stderr, f"it began after the list: {told} {bucket.log}")

    def a_folder_with_records_is_attested_as_on_the_disk(self):
        with self.a_folder(RANKS) as folder:
            bucket, variables = self.bucket(folder)
            answers = []
            for target in (f"{folder}/run/global_step2", f"{self.root}/run/global_step2"):
                self.run("edit", target, "scale=512", "--yes", **variables)
                done = self.run("attest", target, "--json", **variables)
                told = json.loads(done.stdout.replace(target, "TARGET"))
                del told["bytes"]  # a record in a bucket has the versions of its objects, too
                answers.append((done.returncode, told))
            self.expect(any("/.tare/" in key for key in bucket.objects), "the bucket has records")
            self.expect(answers[0] == answers[1], f"attest with records: {answers}")

    def of_a_large_object_only_parts_travel(self):
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            model = pathlib.Path(folder, "model.pt")
            subprocess.run([sys.executable, self.options.make_checkpoint, str(model), "--bytes", "4400000000"],
                           check=True, stdout=subprocess.DEVNULL)
            bucket, variables = self.bucket(folder, versioned=True)
            size = model.stat().st_size
            content = bucket.objects["model.pt"].content
            planned = self.run("edit", f"{self.root}/model.pt", "scale=4096", "--dry-run", **variables)
            self.expect(planned.returncode == 0 and not any(m in ("PUT", "POST") for m, _, _ in bucket.log),
                        f"a dry run: {planned} {bucket.log}")
            bucket.log.clear()
            done = self.run("edit", f"{self.root}/model.pt", "scale=4096", "--yes", **variables)
            self.expect(done.returncode == 0, f"an edit of 4.4 GB: {done}")
            self.expect(bucket.bytes_in < 12e6 and bucket.bytes_out < 12e6,
                        f"{bucket.bytes_in} bytes sent, {bucket.bytes_out} received")
            told = re.search(r"(\d+) requests that change something, (\d+) bytes sent, (\d+) bytes copied", planned.stdout)
            writes = [entry for entry in bucket.log if entry[0] not in ("GET", "HEAD")]
            was = len(writes), sum(body for method, _, body in writes if method == "PUT"), bucket.bytes_copied
            said = tuple(map(int, told.groups())) if told else (0, 0, 0)
            self.expect(said[::2] == was[::2] and abs(said[1] - was[1]) < 16384, f"a dry run says {said}, it was {was}")
            after = bucket.objects["model.pt"].content
            self.expect(after.size == size and bucket.bytes_copied > size - 12e6, f"{after.size} bytes of {size}")
            local = self.run("edit", str(model), "scale=4096", "--yes", **variables)
            step = 1 << 26
            same = all(after.part(at, step).read() == Content.of_file(model).part(at, step).read()
                       for at in (0, size // step * step))
            self.expect(local.returncode == 0 and same, "the first and the last 64 MiB are not as on the disk")
            self.expect("4096" in self.run("get", f"{self.root}/model.pt", "scale", **variables).stdout, "the new scale")
            self.run("undo", str(model), "--yes", **variables)
            undone = self.run("undo", f"{self.root}/model.pt", "--yes", **variables)
            back = bucket.objects["model.pt"].content
            self.expect(undone.returncode == 0 and back.part(0, step).read() == content.part(0, step).read(), f"{undone}")
            self.expect(not self.left_over(bucket), f"{self.left_over(bucket)} is left")

    def a_changed_object_is_refused(self):
        """Whoever writes between the reading and the writing is not written over, in whichever rank."""
        for case, method in ((SCALER, "PUT"), (RANKS, "PUT")):
            with self.a_folder(case) as folder:
                bucket, variables = self.bucket(folder)
                mine = sorted(key for key in bucket.objects)[-1]
                before = {key: bucket.data(key) for key in bucket.objects}

                def before_request(method, key, query, bucket=bucket, mine=mine, before=before):
                    if method == "PUT" and key == mine and bucket.data(mine) == before[mine]:
                        bucket.put(mine, Content.of(before[mine] + b" "), "whole", {})
                bucket.before = before_request
                done = self.run("edit", f"{self.root}/run/{pathlib.Path(case).name}", "scale=512", "--yes", **variables)
                self.expect(done.returncode == 4 and "somebody else changed it" in done.stderr, f"a changed object: {done}")
                before[mine] += b" "
                self.expect(all(bucket.data(key) == data for key, data in before.items()), "others are as they were")
                self.expect(not self.left_over(bucket) and set(bucket.objects) == set(before), f"{list(bucket.objects)}")

    def a_store_without_conditions_is_refused(self):
        with self.a_folder(SCALER) as folder:
            bucket, variables = self.bucket(folder, conditional=False)
            before = bucket.data("run/scaler.pt")
            done = self.run("edit", f"{self.root}/run/scaler.pt", "scale=512", "--yes", **variables)
            self.expect(done.returncode == 4 and "If-Match" in done.stderr, f"no conditions: {done}")
            self.expect(bucket.data("run/scaler.pt") == before and len(bucket.objects) == 1, f"{list(bucket.objects)}")

    def who_may_see_nothing_is_told_so(self):
        """And not that there is nothing."""
        with self.a_folder(SCALER) as folder:
            bucket, variables = self.bucket(folder)
            target = f"{self.root}/run/scaler.pt"
            self.run("edit", target, "scale=2", "--yes", **variables)
            for words in (("history", target), ("undo", target, "--yes"), ("history", target, "--prune", "--yes"),
                          ("history", target, f"{self.root}/run", "--json")):
                done = self.run(*words, **{name: value for name, value in variables.items() if name not in self.secrets})
                self.expect(done.returncode == 4 and "you may not list it" in done.stderr and not done.stdout, f"{words[0]} of who may see nothing: {done}")
            self.expect("applied" in self.run("history", target, "--json", **variables).stdout, "it is there still")

    def rights_to_its_own_prefix_are_enough(self):
        with self.a_folder(RANKS) as folder:
            bucket, variables = self.bucket(folder, prefix="run/")
            before = {key: bucket.data(key) for key in bucket.objects}
            for words, told in ((("edit", "scale=512"), "edited"), (("undo",), "byte for byte"), (("history", "--prune"), "forgot 1 edit")):
                done = self.run(words[0], f"{self.root}/run/global_step2", *words[1:], "--yes", **variables)
                self.expect(done.returncode == 0 and told in done.stdout + done.stderr, f"with rights to run/ alone: {done}")
            self.expect({key: bucket.data(key) for key in bucket.objects} == before, f"all as before: {list(bucket.objects)}")

    def what_a_store_cannot_do_is_said(self):
        for target, words in (("hf://o/r/x.pt", "hf upload"), ("https://host/x.pt", "web server")):
            for verb in (("edit", target, "scale=2"), ("undo", target)):
                done = self.run(*verb, "--yes")
                self.expect(done.returncode == 4 and words in done.stderr and "hint: " in done.stderr, f"{verb}: {done}")
        with self.a_folder(SCALER) as folder:
            bucket, variables = self.bucket(folder)
            bucket.objects["run/scaler.pt"].lines["x-amz-tagging-count"] = "2"
            done = self.run("edit", f"{self.root}/run/scaler.pt", "scale=512", "--yes", **variables)
            self.expect(done.returncode == 4 and "has 2 tags" in done.stderr, f"tags: {done}")

    def what_a_new_version_would_lose_is_said(self):
        """Locks are refused, and so are tags that a HEAD does not tell; of tags that nobody may see there is a warning."""
        with self.a_folder(SCALER) as folder:
            bucket, variables = self.bucket(folder)
            target = f"{self.root}/run/scaler.pt"
            lines = bucket.objects["run/scaler.pt"].lines
            for line, value, told in (("x-amz-object-lock-legal-hold", "ON", "has a legal hold"),
                                      ("x-amz-object-lock-retain-until-date", "2030-01-01T00:00:00Z", "a retention until 2030-01-01")):
                lines[line] = value
                done = self.run("edit", target, "scale=512", "--yes", **variables)
                self.expect(done.returncode == 4 and told in done.stderr and not self.left_over(bucket), f"{line}: {done}")
                del lines[line]
            lines["x-amz-object-lock-legal-hold"] = "OFF"
            bucket.hides_tags = True
            for verb in ("edit", target, "scale=512"), ("undo", target):
                done = self.run(*verb, "--yes", **variables)
                self.expect(done.returncode == 0 and "GetObjectTagging" in done.stderr, f"{verb[0]} where tags are hidden: {done}")
            done = self.run("edit", f"{self.root}/run//scaler.pt", "scale=2", "--yes", **variables)
            self.expect(done.returncode == 4 and "between two '/'" in done.stderr, f"a name with an empty part: {done}")

    def killed_anywhere_it_is_old_or_new(self):
        """The process is killed at each request that changes something, before the store does it and after. Then readers
        are told, and whoever comes next makes all objects old, or finds them new."""
        told = outcomes = 0
        for moment in ("before", "after"):
            for count in range(1, 40):
                with self.a_folder(RANKS) as folder:
                    bucket, variables = self.bucket(folder)
                    before = {key: bucket.data(key) for key in bucket.objects}
                    if not self.killed_at(bucket, variables, moment, count):
                        break
                    bucket.ahead = 3600
                    is_pending = any(key.endswith("/pending") for key in bucket.objects)
                    seen = self.run("inspect", f"{self.root}/run/global_step2", **variables)
                    is_recorded = any(key.endswith(".edit") for key in bucket.objects)
                    says_so = "was interrupted" in seen.stderr
                    self.expect(says_so == (is_pending and not is_recorded), f"{moment} request {count}: {seen.stderr}")
                    told += says_so
                    changed = {key for key in before if bucket.data(key) != before[key]}
                    done = self.run("undo", f"{self.root}/run/global_step2", "--yes", **variables)
                    self.expect(done.returncode in (0, 4), f"{moment} request {count}: {done}")
                    self.expect(all(bucket.data(key) == data for key, data in before.items()),
                                f"{moment} request {count}: {sorted(changed)} had changed, and not all is old")
                    self.expect(not self.left_over(bucket), f"{moment} request {count}: {self.left_over(bucket)}")
                    outcomes += 0 < len(changed) < len(before)
        self.expect(told > 5 and outcomes > 3, f"{told} were told, {outcomes} were mixed before")

    def killed_at(self, bucket, variables, moment, count, target="run/global_step2"):
        """-> whether the edit came to that many requests that change something."""
        state = {"left": count, "process": None}

        def on_request(method, key, query):
            if method in ("GET", "HEAD") or state["left"] <= 0:
                return
            state["left"] -= 1
            if state["left"] == 0:
                state["process"].kill()
                state["process"].wait()
                if moment == "before":
                    raise bucket.Gone
        lock = threading.Lock()

        def one_by_one(*request):
            with lock:
                on_request(*request)
        setattr(bucket, moment, one_by_one)
        environment = {"PATH": os.environ["PATH"], "HOME": self.home.name, **variables}
        with lock:
            state["process"] = subprocess.Popen(
                [self.tare, "edit", f"{self.root}/{target}", "scale=256", "--yes", "--connections", "1"],
                env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        state["process"].wait()
        setattr(bucket, moment, lambda *request: None)
        return state["left"] == 0


def run(checks_of, names):
    """Asks for the options, makes checks of them, and runs those of the names, or the one that is asked for."""
    ask = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--tare", "--corpus", "--make-checkpoint"):
        ask.add_argument(option, required=True)
    ask.add_argument("--only", help="the name of one of the checks")
    checks = checks_of(ask.parse_args())
    for name in names:
        if checks.options.only in (None, name):
            getattr(checks, name)()
    print("all held" if checks.failed == 0 else f"{checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    run(Checks, ("edits_one_object", "edits_a_set_of_ranks", "edits_several_by_a_pattern", "repairs_fp8_state", "takes_over_what_migrates",
                 "of_a_large_object_only_parts_travel", "a_dry_run_tells_its_requests_in_json", "a_changed_object_is_refused",
                 "a_store_without_conditions_is_refused", "rights_to_its_own_prefix_are_enough", "who_may_see_nothing_is_told_so",
                 "what_a_store_cannot_do_is_said", "what_a_new_version_would_lose_is_said", "a_mixture_is_told_by_every_verb",
                 "an_edit_that_begins_while_it_is_read_is_told", "tells_what_was_edited_and_forgets_it",
                 "a_run_is_undone_by_the_name_it_was_edited_by",
                 "prune_takes_back_what_was_interrupted", "a_folder_with_records_is_attested_as_on_the_disk",
                 "killed_anywhere_it_is_old_or_new"))
