#!/usr/bin/env python3
"""Of each file of each checkpoint: how many bytes a bucket sends, and how many are read of the same file on a disk.

    store_bytes.py --tare TARE --corpus FOLDER

The corpus, and made checkpoints of which little is read. A store may send 1 % more than what is read on the disk, small
files whole, and of any file its first bytes. Prints a line a failure; exit 1 if there are any, 77 (skipped) where strace may not trace.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import make_scale
from object_stores import Checks

SMALL = 64 << 10  # is asked for whole
FIRST = 17 << 10  # what is asked for to see what a file is, and a little behind it
MORE = 1.01
READ = re.compile(r"^(?:pread64|read)\(\d+<(.*)>, .* = (\d+)$", re.MULTILINE)


def read_on_disk(tare, root, case):
    """-> bytes by file; nothing where strace may not trace."""
    with tempfile.TemporaryDirectory() as traces:
        subprocess.run(["strace", "-ff", "-y", "-s", "0", "-o", f"{traces}/of", "-e", "trace=pread64,read", tare, "inspect", root / case],
                       capture_output=True)
        bytes_of = collections.Counter()
        for trace in pathlib.Path(traces).iterdir():
            for path, count in READ.findall(trace.read_text()):
                bytes_of[spelt(path)] += int(count)
        return bytes_of


def spelt(path):
    """strace escapes what is not ASCII."""
    return path.encode("latin1").decode("unicode_escape").encode("latin1").decode()


class Bytes(Checks):
    def sent(self, root, case):
        """-> bytes and answers by file."""
        server, bucket, variables = self.bucket(root)
        bytes_of, answers = collections.Counter(), collections.Counter()

        def count(request):
            def answer(status, body=b"", **headers):
                key = urllib.parse.unquote(request.path.partition("?")[0].removeprefix("/bucket/"))
                if status == 206:
                    bytes_of[key] += len(body)
                    answers[key] += 1
                return type(request).answer(request, status, body, **headers)
            request.answer = answer
            return bucket(request)
        server.behaviour = count
        self.run("inspect", f"s3://bucket/{case}", **variables)
        return bytes_of, answers

    def hardly_more(self, root, case):
        """-> how many files were looked at."""
        on_disk, (sent, _) = read_on_disk(self.tare, root, case), self.sent(root, case)
        for key, count in sent.items():
            size = (root / key).stat().st_size
            read = on_disk[str(root / key)]
            most = size if size <= SMALL else max(MORE * read, FIRST)
            self.expect(count <= most, f"{case}: {key}, {size} bytes: {count} are sent, {read} read on the disk")
        return len(sent)

    def corpus_file_by_file(self):
        with ThreadPoolExecutor() as pool:
            files = sum(pool.map(lambda case: self.hardly_more(self.corpus, case), self.cases()))
        self.expect(files > 600, f"only {files} files")

    def large_of_which_little_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for kind, name, count in (("safetensors", "m.safetensors", 400), ("fp8_modules", "fp8.pt", 100),
                                      ("zip_of_tensors", "zip.pt", 2000), ("distributed", "step_20", 20_000)):
                getattr(make_scale, kind)(folder / name, count)
                self.expect(self.hardly_more(folder, name) > 0, f"nothing is sent of {name}")
            make_scale.run("make_checkpoint.py", folder / "large.pt")
            self.hardly_more(folder, "large.pt")
            answers = self.sent(folder, "large.pt")[1]
            self.expect(1 <= answers["large.pt"] <= 4, f"4.4 GB: {answers['large.pt']} answers")


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True)
    checks = Bytes(ask.parse_args())
    checks.corpus = checks.corpus.resolve()
    try:
        may_trace = read_on_disk(checks.tare, checks.corpus, checks.cases()[0])
    except FileNotFoundError:
        may_trace = None
    if not may_trace:
        print("strace may not trace here")
        sys.exit(77)
    checks.corpus_file_by_file()
    checks.large_of_which_little_is_read()
    print("all held" if checks.failed == 0 else f"{checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
