"""Servers on this machine that tests of remote checkpoints ask, and what they check signatures with."""
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time
import urllib.parse


class Server:
    """Serves `folder`; `behaviour` sees each request first and may answer it itself (then it returns True). Each answer
    takes `latency` seconds. `most_at_once`: so many requests waited for their answers at the same time."""

    def __init__(self, folder, behaviour=None, latency=0):
        self.folder, self.behaviour = pathlib.Path(folder), behaviour
        self.requests, self.sent = [], 0
        self.waiting, self.most_at_once = 0, 0
        counting = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body at once: sent one by one, the second waits for the client's delayed acknowledgement
            disable_nagle_algorithm = True
            folder = self.folder

            def log_message(self, *_):
                pass

            def answer(self, status, body=b"", **headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                outer.sent += len(body)

            def do_GET(self):
                outer.requests.append((self.path, self.headers.get("Range")))
                if latency:
                    self.wait()
                if outer.behaviour and outer.behaviour(self):
                    return
                self.serve(self.path)

            def do_PUT(self):
                outer.requests.append((self.path, None))
                outer.behaviour(self, "PUT")

            def do_HEAD(self):
                self.change()

            def do_POST(self):
                self.change()

            def do_DELETE(self):
                self.change()

            def change(self):
                outer.requests.append((self.path, None))
                if latency:
                    self.wait()
                outer.behaviour(self, self.command)

            def wait(self):
                with counting:
                    outer.waiting += 1
                    outer.most_at_once = max(outer.most_at_once, outer.waiting)
                time.sleep(latency)
                with counting:
                    outer.waiting -= 1

            def serve(self, path, etag='"1"', more=0):
                file = outer.folder / path.lstrip("/")
                if not file.is_file():
                    return self.answer(404)
                size = file.stat().st_size
                first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
                if first >= size:
                    return self.answer(416, Content_Range=f"bytes */{size}")
                with file.open("rb") as opened:
                    opened.seek(first)
                    body = opened.read(min(last, size - 1) - first + 1)
                self.answer(206, body, ETag=etag, Content_Range=f"bytes {first}-{first + len(body) - 1}/{size + more}")

        class Quiet(http.server.ThreadingHTTPServer):
            request_queue_size = 1024

            def handle_error(self, *_):
                pass  # clients that go away are part of the tests

        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"


def bytes_read(command):
    """-> how many bytes the process that a command starts reads of files."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it is over, and still there to be asked
    told = dict(line.split(": ") for line in pathlib.Path(f"/proc/{process.pid}/io").read_text().splitlines())
    process.wait()
    return int(told["rchar"])


def escaped(text):
    return urllib.parse.quote(text, safe="-._~")


def signature(method, target, headers, signed, secret, date, scope, algorithm="AWS4", prefix="x-amz-"):
    """AWS signature version 4, from its public description; Google's has other names."""
    path, _, query = target.partition("?")
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
    query = "&".join(sorted(f"{escaped(name)}={escaped(value)}" for name, value in pairs))
    lines = "".join(f"{name}:{headers[name].strip()}\n" for name in sorted(signed))
    request = "\n".join([method, path, query, lines, ";".join(sorted(signed)), headers[prefix + "content-sha256"]])
    to_sign = "\n".join([f"{algorithm}-HMAC-SHA256", date, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = (algorithm + secret).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    return hmac.new(key, to_sign.encode(), "sha256").hexdigest()


def check_verifier():
    """The examples that Amazon documents for GET Object and for listing a bucket."""
    empty = hashlib.sha256(b"").hexdigest()
    headers = {"host": "examplebucket.s3.amazonaws.com", "x-amz-content-sha256": empty, "x-amz-date": "20130524T000000Z"}

    def found(target, more):
        both = headers | more
        return signature("GET", target, both, sorted(both), "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                         "20130524T000000Z", "20130524/us-east-1/s3/aws4_request")
    return (found("/test.txt", {"range": "bytes=0-9"}) ==
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41" and
            found("/?max-keys=2&prefix=J", {}) == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")


class RemoteChecks:
    """Runs tare as somebody who has no settings of their own."""

    def __init__(self, options):
        self.tare, self.corpus, self.options = options.tare, pathlib.Path(options.corpus), options
        self.failed = 0
        self.home = tempfile.TemporaryDirectory()

    def expect(self, holds, what):
        if not holds:
            self.failed += 1
            print(f"FAILED {what}")

    def run(self, *arguments, **variables):
        environment = {"PATH": os.environ["PATH"], "HOME": self.home.name, "NO_COLOR": "1", **variables}
        return subprocess.run([self.tare, *arguments], capture_output=True, text=True, env=environment, timeout=60)

    def answer(self, target, **variables):
        done = self.run("inspect", "--json", target, **variables)
        return done.stdout.replace(json.dumps(target)[1:-1], "TARGET"), done
