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
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse
import zipfile
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
for folder in "bench", "bounds":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / folder))
import hdf5_bombs as hdf5
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


def keras_weights(layers, between=100_000):
    """-> an HDF5 file as Keras writes it: /layers/NAME/vars/0, and each layer's weights, which nobody reads, in between."""
    file = hdf5.File()

    def weight():
        values = file.add(bytes(16))
        return file.add(hdf5.header([hdf5.message(1, struct.pack("<BBB5xQ", 1, 1, 0, 4)), hdf5.message(3, hdf5.FLOAT),
                                     hdf5.message(8, struct.pack("<BBQQ", 3, 1, values, 16))]))

    def group(links):
        names, places = b"\0" * 8, []
        for name, to in sorted(links):
            places.append((len(names), to))
            names += name.encode() + b"\0"
        heap = hdf5.heap(file, names + bytes(-len(names) % 8))
        return file.add(hdf5.group(file.add(hdf5.tree([file.add(hdf5.table(places))])), heap))
    found = []
    for number in range(layers):
        variables = group([("0", weight())])
        file.body += bytes(between)
        found.append((f"dense_{number:04}", group([("vars", variables)])))
        file.body += bytes(between)
    return file.finish(group([("layers", group(found))]))


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


    def hdf5_at_once(self):
        """Each page of its metadata tells where the next ones are: those of a level are asked for at the same time."""
        layers = 120
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "m.weights.h5").write_bytes(keras_weights(layers))
            with zipfile.ZipFile(folder / "m.keras", "w") as archive:
                archive.write(folder / "m.weights.h5", "model.weights.h5")
                archive.writestr("config.json", '{"module": "keras", "class_name": "Functional", "config": {}}')
                archive.writestr("metadata.json", '{"keras_version": "3.5.0"}')
            for name in "m.weights.h5", "m.keras":
                self.hardly_more(folder, name)
                local = self.run("inspect", "--json", str(folder / name)).stdout.replace(str(folder), "ROOT")
                server, _, variables = self.bucket(folder, 0.05)
                begin = time.monotonic()
                far = self.run("inspect", "--json", f"s3://bucket/{name}", **variables)
                trips = (time.monotonic() - begin) / 0.05
                self.expect(far.stdout.replace("s3://bucket", "ROOT") == local and "HDF5" not in far.stderr, f"{name}: {far}")
                self.expect(len(server.requests) > 2 * layers and server.most_at_once > 16 and trips < layers / 2,
                            f"{name}: {len(server.requests)} requests, {server.most_at_once} at once, {trips:.0f} round trips")


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
    checks.hdf5_at_once()
    print("all held" if checks.failed == 0 else f"{checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
