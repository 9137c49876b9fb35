#!/usr/bin/env python3
"""tare against real servers on this machine: one with ranges, odd ones, and one that checks S3's signatures.

    remote.py --tare TARE --corpus FOLDER [--make-checkpoint SCRIPT]

What a URL gives must equal what the same files give locally. Prints a line a failure; exit 1 if there are any.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from http_servers import RemoteChecks, Server, check_verifier
from s3_bucket import ANYBODY, KEEPER, Bucket

CASES = ["torch/scaler-file-t2.15/scaler.pt", "torch/legacy-t1.13/model.pt", "deepspeed/zero2_4ranks_tags/ckpt",
         "torch/dcp-plain-1rank-t2.15/step_20", "megatron/dist_1rank/ckpt", "megatron/torch_1rank/ckpt"]


class Checks(RemoteChecks):
    def holes(self):
        """Ranks that a server does not give do not agree: what the others say is there is asked for by name."""
        case = self.corpus / "deepspeed/zero2_4ranks_tags/ckpt/global_step2"
        names = ["mp_rank_00_model_states.pt"] + [f"zero_pp_rank_{r}_mp_rank_00_optim_states.pt" for r in range(4)]
        for away in names:
            def behaviour(request, away=away):
                return bool(request.path.endswith(away) and (request.answer(404) or True))
            server = Server(case.parent, behaviour)
            answer, done = self.answer(f"{server.url}/global_step2")
            found = json.loads(answer or "{}")
            read = sorted(f["path"] for f in found.get("files", []))
            self.expect(read == sorted(set(names) - {away}), f"without {away}: read {read}")
            codes = [f["code"] for f in found.get("findings", []) if f["severity"] == "error"]
            self.expect(codes == ["rank-missing"] and done.returncode == 1, f"without {away}: {codes} {done.stderr}")
            server.http.shutdown()

    def same_as_local(self):
        server = Server(self.corpus)
        for case in CASES:
            local, _ = self.answer(str(self.corpus / case))
            remote, done = self.answer(f"{server.url}/{case}")
            wanted, found = (json.loads(answer or "{}") for answer in (local, remote))
            codes = [finding["code"] for finding in found.get("findings", [])]
            found["findings"] = [finding for finding in found.get("findings", []) if finding["code"] != "not-listed"]
            same = local and all(wanted[key] == found.get(key) for key in ("scalers", "findings"))
            self.expect(same, f"{case}: {done.stderr or remote}")
            is_folder = (self.corpus / case).is_dir()
            self.expect(codes.count("not-listed") == is_folder, f"{case}: a folder that is not listed: {codes}")
            self.expect(done.returncode == 0, f"{case}: exit {done.returncode}")
        url = f"{server.url}/{CASES[0]}"
        for verb in (["edit", url, "scale=1"], ["undo", url], ["history", url]):
            done = self.run(*verb)
            self.expect(done.returncode == 4 and "hint: download the checkpoint" in done.stderr, f"{verb[0]} of a URL: {done}")
        for path, words in ((CASES[0] + "x", "404"), ("torch", "404")):
            done = self.run("inspect", f"{server.url}/{path}")
            self.expect(done.returncode == 3 and words in done.stderr, f"{path}: {done}")

    def reads_little(self):
        with tempfile.TemporaryDirectory() as folder:
            big = pathlib.Path(folder) / "big.pt"
            subprocess.run([sys.executable, self.options.make_checkpoint, big], check=True)
            server = Server(folder)
            done = self.run("get", f"{server.url}/big.pt", "scale")
            self.expect(done.stdout == "65536.0\n", f"4.4 GB: {done}")
            self.expect(server.sent < 1_000_000, f"4.4 GB: {server.sent} bytes read")
            self.expect(len(server.requests) <= 4, f"4.4 GB: {server.requests}")

    def odd_servers(self):
        case = CASES[0]
        wanted = self.run("get", str(self.corpus / case), "scale").stdout
        data = (self.corpus / case).read_bytes()

        def flaky(request):
            return len(server.requests) <= 2 and (request.answer(503) or True)

        def moved(request):
            return not request.path.startswith("/new/") and (request.answer(302, Location="/new" + request.path) or
                                                             True) or (request.serve(request.path[4:]) or True)

        def whole(request):
            return request.answer(200, data) or True

        def endless(request):
            return request.answer(200, data * (200_000 // len(data) + 1)) or True

        def cut(request):
            request.send_response(206)
            request.send_header("Content-Range", f"bytes 0-{len(data) - 1}/{len(data)}")
            request.send_header("Content-Length", str(len(data)))
            request.end_headers()
            request.wfile.write(data[:100])
            request.close_connection = True
            return True

        def forbidden(request):
            return request.answer(403) or True

        for behaviour, code, words in ((flaky, 0, wanted), (moved, 0, wanted), (whole, 0, wanted),
                                       (endless, 3, "sends all of it"), (cut, 3, "127.0.0.1"), (forbidden, 3, "403")):
            server = Server(self.corpus, behaviour)
            done = self.run("get", f"{server.url}/{case}", "scale")
            self.expect(done.returncode == code and words in done.stdout + done.stderr, f"{behaviour.__name__}: {done}")

    def wrong_ranges(self):
        """Bytes of another place than was asked for, or words that contradict the bytes."""
        case = CASES[1]
        data = (self.corpus / case).read_bytes()
        size = len(data)

        def answering(content_range, body=data, status=206):
            def behaviour(request):
                headers = {"Content_Range": content_range} if content_range else {}
                return request.answer(status, body, ETag='"1"', **headers) or True
            return behaviour

        for name, behaviour in {
                "another start": answering(f"bytes 16-{size - 1}/{size}", data[16:]),
                "no range": answering(None), "another unit": answering(f"octets 0-{size - 1}/{size}"),
                "a total that is too small": answering(f"bytes 0-{size - 1}/{size - 1}"),
                "fewer bytes": answering(f"bytes 0-{size - 1}/{size}", data[:-1]),
                "an end too soon": answering(f"bytes 0-{size - 2}/{size}", data[:-1]),
                "an object without end": answering(f"bytes 0-{size - 1}/18446744073709551615"),
                "a negative start": answering(f"bytes -1-{size - 1}/{size}")}.items():
            server = Server(self.corpus, behaviour)
            done = self.run("inspect", f"{server.url}/{case}")
            self.expect(done.returncode == 3 and "asked for" in done.stderr, f"range with {name}: {done}")

        def untold(request, method="GET"):
            if method == "HEAD":
                request.send_response(200)
                request.send_header("Content-Length", str(size))
                request.end_headers()
                return True
            first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", "bytes=0-0")).groups())
            last = min(last, size - 1)
            return request.answer(206, data[first:last + 1], ETag='"1"', Content_Range=f"bytes {first}-{last}/*") or True

        server = Server(self.corpus, untold)
        done = self.run("inspect", f"{server.url}/{case}")
        self.expect(done.returncode == 0, f"a size that no range tells: {done}")

        def cut(request, method="GET"):
            is_head = method == "HEAD"
            first = int(re.search(r"=(\d+)-", request.headers.get("Range", "=0-")).group(1))
            body = data[first:max(size // 2, first + 1)]
            return untold(request, method) if is_head else request.answer(206, body, ETag='"1"', Content_Range=f"bytes {first}-{first + len(body) - 1}/*") or True

        done = self.run("inspect", f"{Server(self.corpus, cut).url}/{case}")
        self.expect(done.returncode == 3 and "asked for" in done.stderr, f"fewer bytes of a size that no range tells: {done}")

        def growing(request):
            request.serve(request.path, etag='"1"', more=len(server.requests))
            return True

        with tempfile.TemporaryDirectory() as folder:
            big = pathlib.Path(folder) / "big.pt"
            subprocess.run([sys.executable, self.options.make_checkpoint, big], check=True)
            server = Server(folder, growing)
            done = self.run("get", f"{server.url}/big.pt", "scale")
            told = "changed while it was read" in done.stderr or "asked for" in done.stderr
            self.expect(done.returncode == 3 and told, f"growing: {done}")

    def leads_on(self):
        """Servers that have whatever they are asked for."""
        data = (self.corpus / CASES[0]).read_bytes()

        def anything(request):
            return request.answer(206, data, Content_Range=f"bytes 0-{len(data) - 1}/{len(data)}") or True

        def sly(request):
            """Any file that frameworks would write, and no folder itself."""
            is_known = re.search(r"_states\.pt$", request.path)
            return anything(request) if is_known else (request.answer(404) or True)

        server = Server(self.corpus, lambda request: not request.path.endswith("/run") and anything(request))
        done = self.run("inspect", f"{server.url}/run")
        self.expect(done.returncode == 3 and "every name" in done.stderr, f"any name: {done}")
        self.expect(len(server.requests) < 20, f"any name: {len(server.requests)} requests")
        server = Server(self.corpus, sly)
        done = self.run("inspect", f"{server.url}/run", "--max-requests", "50")
        self.expect(done.returncode == 3 and "--max-requests" in done.stderr, f"many names: {done}")
        self.expect(len(server.requests) <= 50, f"many names: {len(server.requests)} requests")

        def circle(request):
            return request.answer(302, Location=request.path + "x") or True

        server = Server(self.corpus, circle)
        done = self.run("inspect", f"{server.url}/{CASES[0]}")
        self.expect(done.returncode == 3 and "redirects" in done.stderr, f"redirects: {done}")
        self.expect(len(server.requests) <= 6, f"redirects: {len(server.requests)} requests")

    def slow_servers(self):
        def drip(request, head):
            for byte in head + b"x" * 100_000:
                request.wfile.write(bytes([byte]))
                request.wfile.flush()
                time.sleep(0.1)
            return True

        def body(request):
            return drip(request, b"HTTP/1.1 206 X\r\nContent-Range: bytes 0-65535/65536\r\nContent-Length: 65536\r\n\r\n")

        def header(request):
            return drip(request, b"HTTP/1.1 206 X\r\nA: ")

        def silence(_):
            return time.sleep(30) or True

        def busy(request):
            return request.answer(503) or True

        def headers(request):
            request.wfile.write(b"HTTP/1.1 206 X\r\n" + b"A: b\r\n" * 1_000_000)
            return True

        for behaviour in (body, header, silence, busy):
            server = Server(self.corpus, behaviour)
            begun = time.monotonic()
            done = self.run("get", f"{server.url}/{CASES[0]}", "scale", "--max-seconds", "1")
            took = time.monotonic() - begun
            self.expect(done.returncode == 3 and "--max-seconds" in done.stderr, f"slow {behaviour.__name__}: {done}")
            self.expect(took < 6, f"slow {behaviour.__name__}: {took:.1f} s")
        server = Server(self.corpus, headers)
        done = self.run("get", f"{server.url}/{CASES[0]}", "scale")
        self.expect(done.returncode == 3, f"endless headers: {done}")

    def redirects_inside(self):
        """What a server leads to is asked only where that is not inside, whatever it is called."""
        case = CASES[0]
        wanted = self.run("get", str(self.corpus / case), "scale").stdout
        inner = Server(self.corpus)
        port = inner.http.server_port
        for host in ("127.0.0.1", "localhost", "0.0.0.0", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]"):
            outer = Server(self.corpus, lambda r, host=host: r.answer(302, Location=f"http://{host}:{port}{r.path}") or True)
            done = self.run("get", f"{outer.url}/{case}", "scale")
            self.expect(done.returncode == 4 and "--allow-private-redirect" in done.stderr, f"redirect to {host}: {done}")
            self.expect(not inner.requests, f"redirect to {host}: {inner.requests}")
        for elsewhere in ("http://169.254.169.254/latest", "http://10.0.0.1/x", "http://[fe80::1]/x", "http://[fd00::1]/x"):
            outer = Server(self.corpus, lambda r, to=elsewhere: r.answer(302, Location=to) or True)
            done = self.run("get", f"{outer.url}/{case}", "scale")
            self.expect(done.returncode == 4 and "leads to" in done.stderr, f"redirect to {elsewhere}: {done}")
        for other in (f"file://{self.corpus}/{case}", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "s3://bucket/key"):
            outer = Server(self.corpus, lambda r, to=other: r.answer(302, Location=to) or True)
            done = self.run("get", f"{outer.url}/{case}", "scale", "--allow-private-redirect")
            self.expect(done.returncode == 4 and "not of the web" in done.stderr, f"redirect to {other}: {done}")
        outer = Server(self.corpus, lambda r: r.answer(302, Location=f"http://localhost:{port}{r.path}") or True)
        done = self.run("get", f"{outer.url}/{case}", "scale", "--allow-private-redirect")
        self.expect(done.stdout == wanted and inner.requests, f"redirect that is allowed: {done}")

    def keeps_passwords(self):
        """A password is for the host that it was given for, also where the other one is in ~/.netrc."""
        seen = []

        def inner_sees(request):
            seen.append(request.headers.get("Authorization"))
            return False

        inner = Server(self.corpus, inner_sees)
        port = inner.http.server_port
        outer = Server(self.corpus, lambda r: r.answer(302, Location=f"http://localhost:{port}{r.path}") or True)
        netrc = pathlib.Path(self.home.name, ".netrc")
        netrc.write_text("machine localhost login me password netrc-secret\n")
        url = outer.url.replace("://", "://me:secret@") + "/" + CASES[0]
        done = self.run("get", url, "scale", "--allow-private-redirect")
        netrc.unlink()
        self.expect(done.returncode == 0 and seen and set(seen) == {None}, f"passwords: {seen}, {done}")

    def a_plain_url_is_another_than_that_with_a_query(self):
        other = next(case for case in sorted(self.corpus.glob("transformers/checkpoint/run/checkpoint-*/scaler.pt")))

        def versions(request):
            return "version=old" in request.path and (request.serve(f"/{other.relative_to(self.corpus)}") or True)

        plain = f"{Server(self.corpus, versions).url}/{CASES[0]}"
        for pair in (plain, f"{plain}?version=old"), (f"{plain}?version=old", plain):
            done = self.run("diff", *pair)
            self.expect(done.returncode == 1 and "growth_interval" in done.stdout, f"a plain URL and one with a query: {done}")

    def tells_no_secret_of_a_url(self):
        """Neither in words nor in JSON, of what is well and of what is not."""
        asked = []

        def sees(request):
            path = request.path.split("?")[0]
            asked.append((request.headers.get("Authorization"), "SIGSECRET" in request.path))
            if asked[-1] != ("Basic bWU6UFdTRUNSRVQ=", path.endswith(CASES[0])):
                return request.answer(403) or True
            return request.serve(path) or True

        url = Server(self.corpus, sees).url.replace("://", "://me:PWSECRET@") + "/"
        for words in (["inspect"], ["inspect", "--json"], ["ls"], ["ls", "--json"], ["doctor"], ["doctor", "--json"], ["doctor", "--sarif"],
                      ["attest"], ["attest", "--json"], ["timeline"], ["get"], ["diff"], ["migrate"], ["edit"], ["undo"], ["history"], ["watch"],
                      ["no-verb"], ["inspect", "--no-option"], ["inspect", "--save", f"{url}s.json"]):
            more = {"get": ["scale"], "diff": [url + CASES[1]], "migrate": ["--to", "torch", "-o", f"{url}made.pt"],
                    "edit": ["scale=1", "--yes"], "undo": ["--yes"], "watch": ["--once"]}.get(words[0], [])
            for path in CASES[0], "not/there.pt":
                done = self.run(words[0], f"{url}{path}?X-Amz-Signature=SIGSECRET", *more, *words[1:])
                self.expect("SECRET" not in done.stdout + done.stderr, f"{words} tells a secret: {done}")
        read = self.run("get", f"{url}{CASES[0]}?X-Amz-Signature=SIGSECRET", "scale")
        self.expect(read.returncode == 0 and asked[-1] == ("Basic bWU6UFdTRUNSRVQ=", True), f"asked with secrets: {read} {asked[-1:]}")
        with tempfile.TemporaryDirectory() as folder:
            local = shutil.copy(self.corpus / CASES[0], folder)
            self.run("edit", local, "growth_tracker=1", "--yes")
            into = self.run("migrate", f"{url}{CASES[0]}?X-Amz-Signature=SIGSECRET", "--into", local, "--yes")
            told = self.run("history", local, "--json")
            self.expect(into.returncode == 0 and "migrate" in told.stdout and "SECRET" not in told.stdout, f"on record: {into} {told}")

    def changes_meanwhile(self):
        with tempfile.TemporaryDirectory() as folder:
            big = pathlib.Path(folder) / "big.pt"
            subprocess.run([sys.executable, self.options.make_checkpoint, big], check=True)

            def changing(request):
                return request.serve(request.path, etag=f'"{len(server.requests)}"') or True

            server = Server(folder, changing)
            done = self.run("get", f"{server.url}/big.pt", "scale")
            self.expect(done.returncode == 3 and "changed while it was read" in done.stderr, f"changing: {done}")

    def s3(self):
        self.expect(check_verifier(), "the verifier does not reproduce Amazon's example")
        wanted = self.run("get", str(self.corpus / CASES[2]), "scale").stdout
        server = Server(self.corpus, Bucket(region="eu-west-1", lists=False))
        signed = {**KEEPER, "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": server.url}
        target = f"s3://bucket/{CASES[2]}"
        for what, variables, code in (("signed", signed, 0), ("another region", signed | {"AWS_REGION": "us-east-1"}, 0),
                                      ("wrong secret", signed | {"AWS_SECRET_ACCESS_KEY": "x"}, 3),
                                      ("anonymous", {"AWS_ENDPOINT_URL": server.url}, 3)):
            done = self.run("get", target, "scale", **variables)
            self.expect(done.returncode == code and done.stdout == (wanted if code == 0 else ""), f"S3, {what}: {done}")
        public = Server(self.corpus, Bucket(credentials=ANYBODY, lists=False))
        done = self.run("get", target, "scale", AWS_ENDPOINT_URL=public.url)
        self.expect(done.stdout == wanted, f"S3, public: {done}")


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True)
    ask.add_argument("--make-checkpoint", required=True)
    checks = Checks(ask.parse_args())
    for check in (checks.same_as_local, checks.reads_little, checks.odd_servers, checks.wrong_ranges,
                  checks.leads_on, checks.slow_servers, checks.redirects_inside, checks.keeps_passwords,
                  checks.a_plain_url_is_another_than_that_with_a_query, checks.tells_no_secret_of_a_url,
                  checks.changes_meanwhile, checks.s3, checks.holes):
        check()
    print("all held" if checks.failed == 0 else f"{checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
