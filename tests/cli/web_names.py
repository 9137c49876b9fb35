#!/usr/bin/env python3
"""Names in the folders of a web server that are no part of a URL as they are written: what they name is read, and never left out.

    web_names.py --tare TARE --corpus FOLDER

The server is Python's own, with ranges. Prints a line a failure; exit 1 if there are any.
"""
import argparse
import functools
import http.server
import os
import pathlib
import re
import shutil
import sys
import tempfile
import threading

from http_servers import RemoteChecks

NAMES = ("my run", "a#b", "a%20b", "a%41b", "50%25", "a+b", "ü", "a?b", "a;b", "a&b", 'a"b', "a'b", "a=1,b", "a[1]", "a~b", "a:b", "{a}", "a<b>")
SCALER = "transformers/checkpoint/run/checkpoint-12/scaler.pt"
COLLAPSE = "transformers/run_collapse/run"


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    refused = ()

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path.rstrip("/").endswith(self.refused):
            return self.send_error(self.server.refusal)
        file = pathlib.Path(self.translate_path(self.path))
        if not file.is_file():
            return super().do_GET()
        first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
        size = file.stat().st_size
        last = min(last, size - 1)
        body = file.read_bytes()[first:last + 1]
        self.send_response(206 if body else 416)
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}" if body else f"bytes */{size}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Checks(RemoteChecks):
    def server(self, folder, *refused, refusal=403):
        """-> the URL of `folder`; paths that end with one of `refused` are."""
        handler = type("Refusing", (Handler,), {"refused": refused or ("\0",)})
        served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
        served.refusal = refusal
        threading.Thread(target=served.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{served.server_port}"

    def every_name_is_found_as_on_the_disk(self):
        for name in NAMES:
            with tempfile.TemporaryDirectory() as folder:
                inner = pathlib.Path(folder, "run", name)
                inner.mkdir(parents=True)
                shutil.copy(self.corpus / SCALER, inner / "scaler.pt")
                shutil.copy(self.corpus / SCALER, inner.parent / f"{name}.pt")
                url = self.server(folder)
                for verb in ("ls", "inspect"):
                    told = [self.run(verb, f"{root}/run", "--json") for root in (folder, url)]
                    names = [sorted(set(re.findall(re.escape(root) + r'(/run/(?:[^"\\\\]|\\\\.)*)"', done.stdout))) for done, root in zip(told, (folder, url))]
                    self.expect(told[0].returncode == told[1].returncode == 0 and names[0] == names[1], f"{verb} of {name!r}: {names} {told}")

    def a_collapse_is_told_whatever_its_checkpoints_are_called(self):
        for ending in ("#restart", " restart", " 50%25", "?2"):
            with tempfile.TemporaryDirectory() as folder:
                shutil.copytree(self.corpus / COLLAPSE, f"{folder}/run")
                steps = sorted(pathlib.Path(folder, "run").glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
                for step in steps[len(steps) // 2:]:
                    os.rename(step, f"{step}{ending}")
                url = self.server(folder)
                codes = [self.run("doctor", f"{root}/run").returncode for root in (folder, url)]
                self.expect(codes[0] == codes[1] != 0, f"doctor of a run with checkpoints that end with {ending!r}: {codes}")

    def a_folder_beside_the_checkpoints_that_has_no_list_ends_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(self.corpus / COLLAPSE, f"{folder}/run")
            whole = {verb: self.run(verb, f"{folder}/run").returncode for verb in ("doctor", "timeline", "trace", "ls")}
            pathlib.Path(folder, "run", "report").mkdir()
            pathlib.Path(folder, "run", "report", "index.html").write_text("<h1>How the run went</h1>")
            with_nothing_told = (), ("report",)
            shut = "report", "report/.metadata", "report/tare-asks-for-what-is-not-there"
            for refused in *with_nothing_told, shut:
                url = self.server(folder, *refused)
                for verb, code in whole.items():
                    done = self.run(verb, f"{url}/run")
                    is_told = re.search(r"report\b.*(403|file-not-read)", done.stdout + done.stderr) is not None
                    self.expect(done.returncode in (code, 1) and done.stdout, f"{verb} ends where {refused} are refused: {code} {done}")
                    self.expect(is_told == (refused == shut) or verb == "timeline", f"{verb} of {refused}, told {is_told}: {done}")

    def a_listed_folder_that_is_refused_is_no_empty_one(self):
        for refusal in 403, 404:
            with tempfile.TemporaryDirectory() as folder:
                shutil.copytree(self.corpus / COLLAPSE, f"{folder}/run")
                for one in "checkpoint-4500", "checkpoint-3000":
                    url = self.server(folder, one, f"{one}/scaler.pt", refusal=refusal)
                    for verb in ("doctor", "ls"):
                        done = self.run(verb, f"{url}/run")
                        told = done.returncode == 1 and re.search(f"{one}.*file-not-read", done.stdout) and "checkpoint-2500" in done.stdout
                        self.expect(told, f"{verb} where {one} is answered with {refusal}: {done}")


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True)
    checks = Checks(ask.parse_args())
    checks.every_name_is_found_as_on_the_disk()
    checks.a_collapse_is_told_whatever_its_checkpoints_are_called()
    checks.a_folder_beside_the_checkpoints_that_has_no_list_ends_nothing()
    checks.a_listed_folder_that_is_refused_is_no_empty_one()
    print("all held" if checks.failed == 0 else f"{checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
