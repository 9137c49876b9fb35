#!/usr/bin/env python3
"""tare against a bucket on this machine that lists its objects and checks signatures, as S3 does.

    object_stores.py --tare TARE --corpus FOLDER [--whole] [--endpoint URL]

What a folder of a bucket gives must equal what the same folder gives on the disk. --endpoint: of a service that has the
corpus as its bucket "bucket", asked with the credentials of the environment; else a stand-in is. Prints a line a failure;
exit 1 if there are any.
"""
import argparse
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from azure_container import ACCOUNT, HOLDERS, KEY, Container
from http_servers import RemoteChecks, Server, bytes_read
from hub import TOKEN, Hub
from s3_bucket import ANYBODY, GOOGLER, KEEPER, Bucket

# The disk's words and the server's.
NOT_THERE = re.compile(r"No such file or directory|the server answers 404( \w+)?, no such object|no such object\nhint: .*")
BENCH = pathlib.Path(__file__).resolve().parent.parent / "bench"
MAKE_DISTRIBUTED, MAKE_SCALE = BENCH / "make_distributed.py", BENCH / "make_scale.py"
RANKS = "deepspeed/zero2_4ranks_tags/ckpt"


def listing(*entries, more="", head=""):
    contents = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>" for key in entries)
    return f"{head}<ListBucketResult>{more}{contents}</ListBucketResult>".encode()


class Checks(RemoteChecks):
    def bucket(self, folder=None, latency=0, **settings):
        """-> server, its bucket, the variables with which it is asked."""
        bucket = Bucket(**settings)
        server = Server(folder or self.corpus, bucket, latency)
        return server, bucket, {**bucket.credentials, "AWS_REGION": bucket.region, "AWS_ENDPOINT_URL": server.url}

    def both(self, folder, key, variables, *verb, root="s3://bucket/"):
        """-> what the disk says, what the bucket says."""
        verb = verb or ("inspect", "--json")
        ask = self.told_by_corpus if folder == self.corpus else self.told
        return [ask(str(folder / key), *verb), self.told(root + key, *verb, **variables)]

    def told(self, target, *verb, **variables):
        """-> the exit code, the answer or the error, without what differs from place to place."""
        done = self.run(*verb, target, **variables)
        told = json.dumps(json.loads(done.stdout), ensure_ascii=False) if done.stdout else done.stderr
        told = told.replace(json.dumps(target, ensure_ascii=False)[1:-1], "TARGET")
        told = NOT_THERE.sub("is not there", told.replace(os.path.dirname(target), "FOLDER"))
        return done.returncode, json.loads(told) if done.stdout else told

    @functools.cache
    def told_by_corpus(self, target, *verb):
        return self.told(target, *verb)

    def corpus_as_on_disk(self):
        cases = self.cases()
        if self.options.endpoint:
            variables = {k: v for k, v in os.environ.items() if k.startswith("AWS_")}
            variables["AWS_ENDPOINT_URL"] = self.options.endpoint
        else:
            server, _, variables = self.bucket()
        with ThreadPoolExecutor() as pool:
            for case, (local, remote) in zip(cases, pool.map(lambda c: self.both(self.corpus, c, variables), cases)):
                self.expect(local == remote, f"{case}: {difference(local, remote)}")
            if not self.options.endpoint:
                least = sum(pool.map(lambda case: bytes_read([self.tare, "inspect", str(self.corpus / case)]), cases))
                self.expect(server.sent <= 1.01 * least, f"of all {server.sent} bytes were sent, on the disk {least} read")

    @functools.cache
    def cases(self):
        """Targets in the corpus that a bucket can hold: it has neither links nor pipes."""
        cases = []
        for truth in sorted(self.corpus.rglob("truth.json")):
            case = truth.parent
            target = case / json.loads(truth.read_text()).get("target", ".")
            if all(not path.is_symlink() and (path.is_file() or path.is_dir()) for path in case.rglob("*")):
                cases.append(os.path.relpath(target, self.corpus))
        self.expect(len(cases) > 100, f"only {len(cases)} cases")
        return cases

    def attested_as_on_disk(self):
        """Every third case; with --whole all."""
        cases = self.cases()[::1 if self.options.whole else 3]
        _, _, variables = self.bucket()
        with ThreadPoolExecutor() as pool:
            told = pool.map(lambda c: self.both(self.corpus, c, variables, "attest", "--json"), cases)
            for case, (local, remote) in zip(cases, told):
                self.expect(local == remote, f"attest {case}: {difference(local, remote)}")

    def attests_all_or_nothing(self):
        """What lies hidden in a folder counts; where not all of it is seen, nothing is said to be data."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            shutil.copytree(self.corpus / RANKS / "global_step2", folder / "run")
            _, _, variables = self.bucket(folder)
            local, remote = self.both(folder, "run", variables, "attest", "--json")
            self.expect(local == remote, f"attest: {difference(local, remote)}")
            for name, data in ((".hidden/x.pkl", b"cos\nsystem\n(S'true'\ntR."), ("run.py", b"print()")):
                odd = folder / "run" / name
                odd.parent.mkdir(exist_ok=True)
                odd.write_bytes(data)
                local, remote = self.both(folder, "run", variables, "attest", "--json")
                self.expect(local == remote and remote[0] == 1 and odd.name in json.dumps(remote[1]),
                            f"attest, {name}: {difference(local, remote)}")
            server, _, variables = self.bucket(folder, lists=False)
            done = self.run("attest", "s3://bucket/run", **variables)
            self.expect(done.returncode == 4 and "does not list all" in done.stderr, f"attest, no list: {done}")
            name = "mp_rank_00_model_states.pt"
            local, remote = self.both(folder, f"run/{name}", variables, "attest", "--json")
            self.expect(local == remote, f"attest of a file, no list: {difference(local, remote)}")
            for odd in ("run/../x.pt", "run//x.pt"):
                _, _, variables = self.bucket(folder, answers_pages=lambda n, odd=odd: listing(f"run/{name}", odd))
                done = self.run("attest", "s3://bucket/run", **variables)
                self.expect(done.returncode == 4 and "does not list all" in done.stderr, f"attest, {odd}: {done}")

    def a_run_at_once(self):
        """Of a run's many checkpoints each file is asked for once, and many at the same time."""
        steps, ranks = 50, 7
        with tempfile.TemporaryDirectory() as folder:
            source = self.corpus / RANKS / "global_step2"
            for step in range(1, steps + 1):
                save = pathlib.Path(folder) / f"run/global_step{step}"
                save.mkdir(parents=True)
                shutil.copy(source / "mp_rank_00_model_states.pt", save)
                for rank in range(ranks):
                    shutil.copy(source / "zero_pp_rank_0_mp_rank_00_optim_states.pt",
                                save / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")
            for verb in ("timeline", "doctor"):
                for connections, least, latency in (("64", 17, 0.05), ("5", 2, 0.01)):
                    server, _, variables = self.bucket(folder, latency)
                    local, remote = self.both(pathlib.Path(folder), "run", variables, verb, "--json", "--connections",
                                              connections)
                    self.expect(local == remote, f"{verb}: {difference(local, remote)}")
                    self.expect(least <= server.most_at_once <= int(connections),
                                f"{verb}, {connections} at once: {server.most_at_once} were")
                    # Each file once, the list, and what is at work in the folder of the checkpoint that is looked at.
                    self.expect(len(server.requests) <= steps * (ranks + 1) + 3, f"{verb}: {len(server.requests)} requests")

    def lists_checkpoints(self):
        """What `ls` and names with wildcards tell of a bucket is what they tell of a disk."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for run, case in (("a", "transformers/run_collapse"), ("c", "torch/dcp-plain-1rank-t2.15"), ("b", "deepspeed/zero2_4ranks_tags/ckpt")):
                shutil.copytree(self.corpus / case, folder / "runs" / run)
            server, bucket, variables = self.bucket(folder)
            local, remote = (self.run("ls", "--json", root + "/runs", **variables) for root in (str(folder), "s3://bucket"))
            told = [done.stdout.replace(root, "ROOT") for done, root in ((local, str(folder)), (remote, "s3://bucket"))]
            self.expect(told[0] == told[1] and len(told[0].splitlines()) > 5, f"ls: {told} {remote.stderr}")
            self.expect(len(bucket.listings) == 2, f"ls: what is there, and which edits are at work: {bucket.listings}")
            # Of parts of a distributed checkpoint what its metadata leads to comes first.
            asked = [path for path, _ in server.requests if "list-type=" not in path and not path.endswith(".distcp")]
            self.expect(len(asked) == len(set(asked)), f"ls: {sorted(asked)}")
            for pattern in ("runs/a/run/checkpoint-*", "runs/*/*step*"):
                paths = sorted(folder.glob(pattern), key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)])
                for verb in ("inspect", "attest"):
                    local = self.run(verb, "--json", *map(str, paths), **variables)
                    remote = self.run(verb, "--json", f"s3://bucket/{pattern}", **variables)
                    told = [local.stdout.replace(str(folder), "ROOT"), remote.stdout.replace("s3://bucket", "ROOT")]
                    self.expect(len(paths) > 1 and told[0] == told[1] and local.returncode == remote.returncode,
                                f"{verb} {pattern}: {paths} {remote.stderr}")
            for verb in ("doctor", "timeline", "trace"):
                done = self.run(verb, str(folder / "runs/a"), "s3://bucket/runs/a", **variables)
                self.expect(done.returncode == 2 and "one kind of storage" in done.stderr, f"{verb} of both: {done}")
            done = self.run("inspect", "s3://bucket/runs/nothing*", **variables)
            self.expect(done.returncode == 3 and "nothing is called so" in done.stderr, f"nothing*: {done}")

    def lists_thousands_at_once(self):
        """Of a run of more checkpoints than a few pages have `ls` lists all that is below it, and not folder by folder."""
        many = 700
        with tempfile.TemporaryDirectory() as folder:
            data = (self.corpus / "torch/scaler-file-t2.15/scaler.pt").read_bytes()
            for step in range(many):
                save = pathlib.Path(folder, f"run/checkpoint-{step}")
                save.mkdir(parents=True)
                (save / "scaler.pt").write_bytes(data)
            server, bucket, variables = self.bucket(folder, page=100)
            done = self.run("ls", "s3://bucket/run", "--json", **variables)
            steps = [json.loads(line)["step"] for line in done.stdout.splitlines()]
            self.expect(done.returncode == 0 and steps == list(range(many)), f"ls of {many}: {done.stderr} {steps[:9]}")
            # What is there, and which edits are at work: seven pages each.
            self.expect(len(bucket.listings) <= 14 and len(server.requests) <= many + 14, f"ls of {many}: {len(bucket.listings)} listings, {len(server.requests)} requests")

    def sees_what_is_missing(self):
        """A rank in the middle is told, as it is on the disk, and nobody is asked for it."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            shutil.copytree(self.corpus / RANKS, folder / "run")
            for away in sorted((folder / "run/global_step2").glob("*_states.pt")):
                data = away.read_bytes()
                away.unlink()
                server, bucket, variables = self.bucket(folder)
                local, remote = self.both(folder, "run/global_step2", variables)
                self.expect(local == remote, f"without {away.name}: {difference(local, remote)}")
                codes = [f["code"] for f in remote[1]["findings"] if f["severity"] == "error"]
                self.expect(remote[0] == 1 and codes == ["rank-missing"], f"without {away.name}: {remote[0]} {codes}")
                asked = [path for path, _ in server.requests if away.name in path]
                self.expect(not asked and len(bucket.listings) == 1, f"without {away.name}: {server.requests}")
                away.write_bytes(data)

    def pages(self):
        """Folders of more entries than a page has, and of more than are listed with all that is below them."""
        for page, most in ((3, 30), (1000, 1)):
            for case in (RANKS, "megatron/torch_tp2_pp2/ckpt"):
                _, bucket, variables = self.bucket(page=page)
                local, remote = self.both(self.corpus, case, variables)
                self.expect(local == remote, f"{case} by pages of {page}: {difference(local, remote)}")
                self.expect(len(bucket.listings) <= most, f"{case} by pages of {page}: {len(bucket.listings)} listings")
        deep = [query for query in bucket.listings if "delimiter" not in query]
        self.expect(deep, "nothing is listed with all that is below it")

    def many_at_once(self):
        """Of many ranks' files as many are asked for at once as is said, each once."""
        ranks = 150
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder) / "run"
            run.mkdir()
            source = self.corpus / RANKS / "global_step2"
            shutil.copy(source / "mp_rank_00_model_states.pt", run)
            for rank in range(ranks):
                shutil.copy(source / "zero_pp_rank_0_mp_rank_00_optim_states.pt",
                            run / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")
            for connections, least, latency in (("64", 17, 0.1), ("5", 2, 0.02)):
                server, _, variables = self.bucket(folder, latency)
                local, remote = self.both(pathlib.Path(folder), "run", variables, "inspect", "--json", "--connections",
                                          connections)
                self.expect(local == remote, f"{connections} at once: {difference(local, remote)}")
                self.expect(least <= server.most_at_once <= int(connections),
                            f"{connections} at once: {server.most_at_once} were")
                # The list of the folder, which tells that no edit is at work; then a request a file.
                self.expect(len(server.requests) == 1 + ranks + 1, f"{len(server.requests)} requests of {ranks} ranks")

    def several_at_once(self):
        """Of many checkpoints so many are read at the same time as is said, and told of in their order."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, f"run/step{step}.pt") for step in range(8)]
            paths[0].parent.mkdir()
            for path in paths:
                shutil.copy(self.corpus / "torch/scaler-file-t2.15/scaler.pt", path)
            for verb in ("inspect", "attest"):
                answers = set()
                for jobs, least, most in (("1", 1, 2), ("8", 4, 16)):  # of an object alone an edit is looked for in two places at once
                    server, _, variables = self.bucket(folder, 0.1)
                    done = self.run(verb, *(f"s3://bucket/run/{path.name}" for path in paths), "--json", "--jobs", jobs, **variables)
                    answers.add(done.stdout)
                    self.expect(done.returncode == 0 and least <= server.most_at_once <= most,
                                f"{verb} --jobs {jobs}: {server.most_at_once} at once, {done.stderr}")
                self.expect(len(answers) == 1, f"{verb}: other answers with other --jobs")

    def a_distributed_checkpoint_in_few_requests(self):
        """Of 20,000 items the list, the metadata and the scaler are asked for, and hardly more bytes than on the disk."""
        with tempfile.TemporaryDirectory() as folder:
            items = pathlib.Path(folder, "step_20")
            subprocess.run([sys.executable, MAKE_DISTRIBUTED, items, "--items", "20000"], check=True)
            server, _, variables = self.bucket(folder)
            local, remote = self.both(pathlib.Path(folder), "step_20", variables)
            self.expect(local == remote, f"20,000 items: {difference(local, remote)}")
            self.expect(len(server.requests) <= 3, f"20,000 items: {server.requests}")
            least = bytes_read([self.tare, "inspect", str(items)])
            self.expect(server.sent <= 1.01 * least, f"20,000 items: {server.sent} bytes sent, {least} read on the disk")

    def few_round_trips(self):
        """What several files hold is asked for at once: so many times the latency is what an answer takes."""
        with tempfile.TemporaryDirectory() as folder:
            spread = pathlib.Path(folder, "step_20")
            subprocess.run([sys.executable, MAKE_DISTRIBUTED, spread, "--items", "2000", "--scaler-files", "5"], check=True)
            # Files of less than 64 kB are asked for whole when they are opened, those of items one after the other.
            for root, case, most in ((folder, spread.name, 3), (self.corpus, "torch/dcp-plain-4rank-t2.15/step_20", 4),
                                     (self.corpus, "transformer_engine/te2.20_dcp/ckpt", 3),
                                     (self.corpus, "torch/scaler-file-t2.15/scaler.pt", 2), (self.corpus, f"{RANKS}/global_step2", 2)):
                seconds = []
                for latency in (0.05, 0.55):
                    _, _, variables = self.bucket(root, latency)
                    runs = []
                    for _ in range(2):
                        begin = time.monotonic()
                        done = self.run("inspect", f"s3://bucket/{case}", **variables)
                        runs.append(time.monotonic() - begin)
                    seconds.append(min(runs))
                trips = (seconds[1] - seconds[0]) / 0.5
                self.expect(done.returncode == 0 and trips < most + 0.9, f"{case}: {trips:.2f} round trips {done.stderr}")

    def scattered_values_at_once(self):
        """The scales between a model's weights, and the states of its layers, are read at the same time, and little besides."""
        with tempfile.TemporaryDirectory() as folder:
            for kind, count, values in (("safetensors", 400, 200), ("fp8_modules", 100, 100)):
                model = pathlib.Path(folder, kind + (".safetensors" if kind == "safetensors" else ".pt"))
                subprocess.run([sys.executable, MAKE_SCALE, kind, model, str(count)], check=True)
                least = bytes_read([self.tare, "inspect", str(model)])
                server, _, variables = self.bucket(folder, 0.05)
                local, remote = self.both(pathlib.Path(folder), model.name, variables)
                self.expect(local == remote and local[0] == 0, f"{kind}: {difference(local, remote)}")
                self.expect(server.most_at_once >= 17, f"{kind}: {server.most_at_once} at once")
                # The list, the begin, of a zip its end, and a request a value.
                self.expect(len(server.requests) <= values + 5, f"{kind}: {len(server.requests)} requests for {values} values")
                self.expect(server.sent <= 1.01 * least + (128 << 10), f"{kind}: {server.sent} bytes sent, {least} read on the disk")

    def odd_names(self):
        """Keys that need escapes in a URL, in XML, or in both; and those that no path leads to."""
        data = (self.corpus / "torch/scaler-file-t2.15/scaler.pt").read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder) / "my runs/é+&<x>%2F"
            run.mkdir(parents=True)
            for name in ("scaler a+b.pt", "scaler %41&.pt", "scaler <é>.pt", "scaler\n.pt", "~scaler?.pt"):
                (run / name).write_bytes(data)
            _, _, variables = self.bucket(folder)
            local, remote = self.both(pathlib.Path(folder), run.relative_to(folder).as_posix(), variables)
            self.expect(local == remote and len(remote[1]["files"]) == 5, f"odd names: {difference(local, remote)}")

    def credentials(self):
        """Who may list, and where."""
        for what, settings, more in (
                ("signed", {}, {}), ("anonymous", {"credentials": ANYBODY}, {}),
                ("another region", {"region": "eu-west-1"}, {"AWS_REGION": "us-east-1"}),
                ("who pays", {"requester_pays": True}, {"AWS_REQUEST_PAYER": "requester"}),
                ("by the host's name", {"host": "bucket.localhost"}, {})):
            server, bucket, variables = self.bucket(**settings)
            variables |= more
            if "host" in settings:
                config = pathlib.Path(self.home.name, "config")
                config.write_text("[default]\ns3 =\n  addressing_style = virtual\n")
                variables |= {"AWS_CONFIG_FILE": str(config),
                              "AWS_ENDPOINT_URL": server.url.replace("127.0.0.1", "localhost")}
            local, remote = self.both(self.corpus, RANKS, variables)
            self.expect(local == remote, f"{what}: {difference(local, remote)}")
            self.expect(len(bucket.refused) <= 1, f"{what}: {bucket.refused}")
        _, bucket, variables = self.bucket()
        done = self.run("inspect", f"s3://bucket/{RANKS}/", **variables | {"AWS_SECRET_ACCESS_KEY": "x"})
        self.expect(done.returncode == 3 and set(bucket.refused) == {"SignatureDoesNotMatch"}, f"wrong secret: {done}")
        done = self.run("inspect", "s3://bucket/nothing/here", **variables)
        self.expect(done.returncode == 3 and "no such object" in done.stderr, f"no such folder: {done}")

    def google(self):
        """Google's Cloud Storage, which speaks S3's protocol, with a token or with an HMAC key."""
        for what, settings, variables in (
                ("a token", {"credentials": GOOGLER}, GOOGLER),
                ("nobody", {"credentials": ANYBODY}, {}),
                ("a key", {"region": "auto", "has_session": False, "is_google": True},
                 {"GS_ACCESS_KEY_ID": KEEPER["AWS_ACCESS_KEY_ID"],
                  "GS_SECRET_ACCESS_KEY": KEEPER["AWS_SECRET_ACCESS_KEY"]})):
            server, bucket, _ = self.bucket(**settings)
            variables = {**variables, "STORAGE_EMULATOR_HOST": server.url}
            for case in (RANKS, "torch/scaler-file-t2.15/scaler.pt", "megatron/dist_1rank/ckpt"):
                local, remote = self.both(self.corpus, case, variables, root="gs://bucket/")
                self.expect(local == remote, f"gs, {what}: {difference(local, remote)}")
            self.expect(not bucket.refused, f"gs, {what}: {bucket.refused}")
        for page in (1000, 3):
            server, bucket, _ = self.bucket(credentials=GOOGLER, page=page)
            local, remote = self.both(self.corpus, "megatron/torch_tp2_pp2/ckpt", {**GOOGLER, "STORAGE_EMULATOR_HOST": server.url}, root="gs://bucket/")
            self.expect(local == remote and (len(bucket.listings) == 1) == (page == 1000), f"gs, by pages of {page}: {difference(local, remote)}")
        server, _, _ = self.bucket(credentials=GOOGLER, lists=False)
        local, remote = noted(*self.both(self.corpus, RANKS, {**GOOGLER, "STORAGE_EMULATOR_HOST": server.url}, root="gs://bucket/"))
        self.expect(local == remote, f"gs, without lists: {difference(local, remote)}")
        for what, body, word in (("half of it", b'{"items": [{"name": "run/a.pt", "si', "breaks off"), ("HTML", b"<html>", "breaks off"),
                                 ("another folder's names", b'{"items": [{"name": "other/a.pt", "size": "1"}]}', "is not in it"),
                                 ("no end", b'{"nextPageToken": "x", "items": [{"name": "run/a.pt", "size": "1"}]}', "--max-requests")):
            server, _, _ = self.bucket(credentials=GOOGLER, answers_pages=lambda n, body=body: body)
            done = self.run("inspect", "gs://bucket/run", "--max-requests", "60", STORAGE_EMULATOR_HOST=server.url, **GOOGLER)
            self.expect(done.returncode == 3 and word in done.stderr, f"gs, a list with {what}: {done}")
        server, _, _ = self.bucket(credentials=GOOGLER)
        done = self.run("inspect", f"gs://bucket/{RANKS}", STORAGE_EMULATOR_HOST=server.url)
        self.expect(done.returncode == 3 and "401" in done.stderr, f"gs, without a token: {done}")

    def azure(self):
        """Azure's Blob Storage, with a key, a signature, a token or nothing; by pages, where folders are entries, too."""
        for holder, own in HOLDERS.items():
            for page in (5000, 3):
                container = Container(holder=holder, page=page, has_folders=page == 3)
                variables = {"AZURE_STORAGE_ACCOUNT": ACCOUNT, **own,
                             "AZURE_STORAGE_SERVICE_ENDPOINT": Server(self.corpus, container).url}
                for case in (RANKS, "torch/scaler-file-t2.15/scaler.pt", "megatron/dist_1rank/ckpt", "torch/name-utf8"):
                    for verb in ("inspect", "attest"):
                        local, remote = self.both(self.corpus, case, variables, verb, "--json", root="az://box/")
                        self.expect(local == remote, f"az, {holder}, {verb} {case}: {difference(local, remote)}")
                self.expect(not container.refused, f"az, {holder}: {container.refused}")
        url = Server(self.corpus, Container()).url
        string = f"DefaultEndpointsProtocol=https;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={url}/"
        done = self.run("inspect", f"az://box/{RANKS}", AZURE_STORAGE_CONNECTION_STRING=string)
        self.expect(done.returncode == 0, f"az, a connection string: {done}")
        for what, variables in (("another account", {"AZURE_STORAGE_ACCOUNT": "other"}),
                                ("a wrong key", {"AZURE_STORAGE_KEY": "c2VjcmV0"}), ("none", {"AZURE_STORAGE_KEY": ""}),
                                ("a signature alone", HOLDERS["sas"])):
            variables = {"AZURE_STORAGE_ACCOUNT": ACCOUNT, "AZURE_STORAGE_SERVICE_ENDPOINT": url, **variables}
            if what == "another account":
                variables["AZURE_STORAGE_CONNECTION_STRING"] = string
            done = self.run("inspect", f"az://box/{RANKS}", **variables)
            is_silent = not re.search("c2VjcmV0|s3cr3t|" + re.escape(KEY), done.stdout + done.stderr)
            self.expect(done.returncode == 3 and "403" in done.stderr and is_silent, f"az, {what}: {done}")
        done = self.run("inspect", f"az://box/{RANKS}")
        self.expect(done.returncode == 2 and "AZURE_STORAGE_ACCOUNT" in done.stderr, f"az, no account: {done}")
        done = self.run("inspect", f"az://box/{RANKS}", AZURE_STORAGE_ACCOUNT=ACCOUNT, AZURE_STORAGE_KEY="?")
        self.expect(done.returncode == 2 and "base64" in done.stderr, f"az, no key: {done}")

    def azure_leads_on(self):
        """Where the store sends whoever asks, no signature and no token goes."""
        asked = []
        def elsewhere(request):
            asked.append((request.path, {name.lower() for name in request.headers}))
            request.answer(404)
            return True
        other = Server(self.corpus, elsewhere).url.replace("127.0.0.1", "localhost")
        def leading(request):
            request.answer(302, Location=other + "/x")
            return True
        for holder, own in HOLDERS.items():
            variables = {"AZURE_STORAGE_ACCOUNT": ACCOUNT, **own,
                         "AZURE_STORAGE_SERVICE_ENDPOINT": Server(self.corpus, leading).url}
            self.run("inspect", "az://box/x.pt", "--allow-private-redirect", **variables)
        told = [path for path, names in asked if path != "/x" or names & {"authorization", "x-ms-date"}]
        self.expect(len(asked) >= len(HOLDERS) and not told, f"az, elsewhere: {asked}")

    def azure_lists(self):
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder) / "my runs/é+&<x>%2F"
            run.mkdir(parents=True)
            for name in ("scaler a+b.pt", "scaler %41&.pt", "scaler <é>.pt", "scaler\n+ .pt", "~scaler?.pt"):
                shutil.copy(self.corpus / "torch/scaler-file-t2.15/scaler.pt", run / name)
            variables = {"AZURE_STORAGE_ACCOUNT": ACCOUNT, "AZURE_STORAGE_KEY": KEY,
                         "AZURE_STORAGE_SERVICE_ENDPOINT": Server(folder, Container()).url}
            local, remote = self.both(pathlib.Path(folder), run.relative_to(folder).as_posix(), variables, root="az://box/")
            self.expect(local == remote and len(remote[1]["files"]) == 5, f"az, odd names: {difference(local, remote)}")
        blob = "<Blob><Name>{}</Name><Properties><Content-Length>1</Content-Length></Properties></Blob>".format
        for what, body, word in (
                ("another folder's keys", f"<Blobs>{blob('other/a.pt')}</Blobs><NextMarker/>", "is not in it"),
                ("half of it", f"<Blobs>{blob('run/a.pt')}", "breaks off"),
                ("no end", f"<Blobs>{blob('run/a.pt')}</Blobs><NextMarker>x</NextMarker>", "--max-requests"),
                ("sizes that are none", f"<Blobs>{blob('run/a.pt').replace('>1<', '>-1<')}</Blobs><NextMarker/>", "breaks off"),
                ("a name without a blob", "<Blobs><Name>run/a.pt</Name></Blobs><NextMarker/>", "no such object")):
            end = "" if what == "half of it" else "</EnumerationResults>"
            pages = f"<EnumerationResults>{body}{end}".encode()
            variables["AZURE_STORAGE_SERVICE_ENDPOINT"] = Server(self.corpus, Container(answers_pages=lambda n: pages)).url
            done = self.run("inspect", "az://box/run", "--max-requests", "60", **variables)
            self.expect(done.returncode == 3 and word in done.stderr, f"az, a list with {what}: {done}")
        variables["AZURE_STORAGE_SERVICE_ENDPOINT"] = Server(self.corpus, Container(lists=False)).url
        local, remote = noted(*self.both(self.corpus, RANKS, variables, root="az://box/"))
        self.expect(local == remote, f"az, without lists: {difference(local, remote)}")

    def hub(self):
        """Repositories of a hub, by their tree, page by page; files where it sends who asks for them."""
        for page in (1000, 2):
            server = Server(self.corpus, Hub(page=page))
            variables = {"HF_ENDPOINT": server.url, "HF_TOKEN": TOKEN}
            for case in (RANKS, "torch/scaler-file-t2.15/scaler.pt", "megatron/dist_1rank/ckpt", "torch/name-utf8"):
                for root in ("hf://me/runs/", "hf://datasets/me/runs@refs/pr/1/"):
                    local, remote = self.both(self.corpus, case, variables, root=root)
                    self.expect(local == remote, f"{root}{case}: {difference(local, remote)}")
        self.expect(not server.behaviour.leaked, "a token went where the hub led to")
        self.the_way_is_asked_for_once()
        whole = Server(self.corpus / RANKS, Hub())
        wanted = json.loads(self.answer(str(self.corpus / RANKS))[0])["scalers"]
        done = self.run("inspect", "--json", "hf://me/runs", HF_ENDPOINT=whole.url, HF_TOKEN=TOKEN)
        self.expect(done.stdout and json.loads(done.stdout)["scalers"] == wanted, f"a whole repository: {done}")
        token = pathlib.Path(self.home.name, ".cache/huggingface/token")
        token.parent.mkdir(parents=True)
        token.write_text(TOKEN + "\n")
        done = self.run("inspect", f"hf://me/runs/{RANKS}", HF_ENDPOINT=server.url)
        self.expect(done.returncode == 0, f"a token in its file: {done}")
        token.unlink()
        done = self.run("inspect", f"hf://me/runs/{RANKS}", HF_ENDPOINT=server.url)
        self.expect(done.returncode == 3 and "HF_TOKEN" in done.stderr, f"without a token: {done}")
        done = self.run("inspect", "hf://me/runs/nothing", HF_ENDPOINT=server.url, HF_TOKEN=TOKEN)
        self.expect(done.returncode == 3 and "no such object" in done.stderr, f"no such folder: {done}")
        done = self.run("inspect", "hf://me", HF_ENDPOINT=server.url)
        self.expect("not of the form" in done.stderr, f"no repository: {done}")
        for what, body, link in (("another folder's files", b'[{"type":"file","path":"x.pt","size":1}]', ""),
                                 ("a next page elsewhere", b"[]", '<http://127.0.0.1:1/api/models/x>; rel="next"'),
                                 ("no JSON", b"<html>", ""), ("other JSON", b'{"error":1}', "")):
            server = Server(self.corpus, Hub(answers=(body, link)))
            done = self.run("inspect", "hf://me/runs/torch", HF_ENDPOINT=server.url, HF_TOKEN=TOKEN)
            self.expect(done.returncode == 3 and "hf://me/runs/torch" in done.stderr, f"a tree with {what}: {done}")

    def the_way_is_asked_for_once(self):
        """Where the hub sends whoever asks for a file is where its other ranges are, too, as long as that way is open."""
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder, "model.safetensors")
            subprocess.run([sys.executable, MAKE_SCALE, "safetensors", model, "80"], check=True)
            for lasts, least, most in ((10**9, 1, 3), (5, 4, 40)):
                hub = Hub(lasts=lasts)
                server = Server(folder, hub)
                local, remote = self.both(pathlib.Path(folder), model.name, {"HF_ENDPOINT": server.url, "HF_TOKEN": TOKEN}, root="hf://me/runs/")
                self.expect(local == remote and local[0] == 0, f"ways that last {lasts}: {difference(local, remote)}")
                self.expect(least <= len(hub.ways) <= most, f"ways that last {lasts}: {len(hub.ways)} were asked for")
                self.expect(not hub.leaked, f"ways that last {lasts}: a token went there")

    def whole_bucket(self):
        """The bucket itself is a folder, with a slash or without one."""
        server, _, variables = self.bucket(self.corpus / RANKS)
        wanted = self.answer(str(self.corpus / RANKS))[0]
        for target in ("s3://bucket", "s3://bucket/"):
            done = self.run("inspect", "--json", target, **variables)
            same = done.stdout and json.loads(done.stdout)["scalers"] == json.loads(wanted)["scalers"]
            self.expect(same, f"{target}: {done}")
        with tempfile.TemporaryDirectory() as empty:
            server, _, variables = self.bucket(empty)
            done = self.run("inspect", "s3://bucket", **variables)
            self.expect(done.returncode == 3 and "no such object" in done.stderr, f"an empty bucket: {done}")

    def who_may_not_list(self):
        """Reads what frameworks' names lead to, as from a server that has no lists."""
        for status in (401, 403, 404, 405, 501):
            for what, bucket, root, variables in self.buckets(lists=status):
                local, remote = noted(*self.both(self.corpus, RANKS, variables, root=root))
                self.expect(local == remote, f"{what}, no lists for {status}: {difference(local, remote)}")
                self.expect(len(bucket.refused) <= 3, f"{what}, no lists for {status}: {bucket.refused}")

    def lists_that_fail(self):
        """A store that fails to list has not said that it has none: what its names would lead to might be half of a checkpoint."""
        for status in (400, 402, 409, 412):
            for what, _, root, variables in self.buckets(lists=status):
                done = self.run("inspect", root + RANKS, **variables)
                is_told = f"the server answers {status}" in done.stderr and "where it is to list" in done.stderr
                self.expect(done.returncode == 3 and is_told and not done.stdout, f"{what}, a list that is {status}: {done}")
                self.expect("expired" not in done.stderr, f"{what}, a list that is {status}, and nothing of tokens: {done}")

    def buckets(self, **settings):
        """-> the store, its bucket, how targets begin, the variables with which it is asked."""
        _, bucket, variables = self.bucket(**settings)
        yield "s3", bucket, "s3://bucket/", variables
        server, bucket, _ = self.bucket(credentials=GOOGLER, **settings)
        yield "gs", bucket, "gs://bucket/", {**GOOGLER, "STORAGE_EMULATOR_HOST": server.url}

    def hostile_lists(self):
        more = "<IsTruncated>true</IsTruncated>"
        laughs = '<!DOCTYPE x [<!ENTITY a "' + "ha" * 1000 + '"><!ENTITY b "' + "&a;" * 1000 + '">]>'
        for what, pages, words in (
                ("entities", lambda n: listing("run/&b;", head=laughs), ("", "breaks off")),
                ("another folder's keys", lambda n: listing("other/scaler.pt"), ("is not in it",)),
                ("half of it", lambda n: listing("run/scaler.pt")[:-9], ("breaks off",)),
                ("more, nowhere", lambda n: listing("run/a.pt", more=more), ("more is said to follow",)),
                ("no end", lambda n: listing(f"run/{n}.pt", more=f"{more}<NextContinuationToken>{n}</NextContinuationToken>"),
                 ("--max-requests",)),
                ("nothing without end", lambda n: listing(more=f"{more}<NextContinuationToken>x</NextContinuationToken>"),
                 ("--max-requests",)),
                ("many bytes", lambda n: listing(*["run/" + "x" * 1000] * 9000), ("more than",)),
                ("deep", lambda n: b"<ListBucketResult>" + b"<a>" * 100_000, ("breaks off",)),
                ("sizes that are none", lambda n: listing("run/a.pt").replace(b"<Size>1", b"<Size>-1"), ("breaks off",)),
                ("a page of HTML", lambda n: b"<!DOCTYPE html><html>", ("",)),
                ("another, broken one when it is asked for again", lambda n: listing("run//b.pt") if n == 1 else listing("run/a")[:-9],
                 ("no checkpoint",)),
                ("ways out", lambda n: listing("run/../../a.pt", "run//b.pt", "run/./c.pt"), ("no checkpoint",))):
            _, _, variables = self.bucket(answers_pages=pages)
            done = self.run("inspect", "s3://bucket/run", "--max-requests", "60", **variables)
            told_so = any(word in done.stderr for word in words)
            self.expect(done.returncode == 3 and told_so, f"a list with {what}: {done}")


def noted(local, remote):
    """Both, without the note that the folder is not listed, which only the second has, once."""
    if isinstance(remote[1], str):  # an error, which the difference tells
        return local, remote
    codes = [finding["code"] for finding in remote[1]["findings"]]
    plain = [finding for finding in remote[1]["findings"] if finding["code"] != "not-listed"]
    return local, (remote[0], {**remote[1], "findings": plain}) if codes.count("not-listed") == 1 else remote


def difference(local, remote):
    """The first thing in which they differ."""
    if isinstance(local[1], dict) and isinstance(remote[1], dict):
        for key in local[1].keys() | remote[1].keys():
            if local[1].get(key) != remote[1].get(key):
                return f"{key}: {str(local[1].get(key))[:600]} | {str(remote[1].get(key))[:600]}"
    return f"{str(local)[:500]} | {str(remote)[:500]}"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True)
    ask.add_argument("--endpoint")
    ask.add_argument("--whole", action="store_true", help="attest all of the corpus, and not a third of it")
    checks = Checks(ask.parse_args())
    of_stand_in = (checks.attested_as_on_disk, checks.attests_all_or_nothing, checks.a_run_at_once,
                   checks.lists_checkpoints, checks.lists_thousands_at_once,
                   checks.sees_what_is_missing, checks.pages, checks.many_at_once, checks.several_at_once, checks.a_distributed_checkpoint_in_few_requests,
                   checks.scattered_values_at_once, checks.few_round_trips, checks.odd_names, checks.credentials,
                   checks.google, checks.azure, checks.azure_leads_on, checks.azure_lists, checks.hub, checks.whole_bucket, checks.who_may_not_list, checks.lists_that_fail,
                   checks.hostile_lists)
    for check in (checks.corpus_as_on_disk, *(() if checks.options.endpoint else of_stand_in)):
        check()
    print("all held" if checks.failed == 0 else f"{checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
