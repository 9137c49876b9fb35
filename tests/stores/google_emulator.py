#!/usr/bin/env python3
"""Asks tare of real checkpoints in gcp-storage-emulator, a stand-in for Google's Cloud Storage that others made.

    google_emulator.py --tare TARE --corpus FOLDER

tests/stores/run.sh calls this with a Python that has it. It lists by the JSON API; of the XML API, by which tare reads and writes
objects, it has them and their ranges, and no conditions: so what it gives must equal what the disk gives, and an edit
must be refused, as another's change would be lost.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from gcp_storage_emulator.server import create_server

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from object_stores import NOT_THERE


def is_taken(path, key):
    """The emulator finds names with spaces, and letters beyond ASCII, by no other name than it would be asked for; of an object
    without bytes it dies."""
    return key.isascii() and re.fullmatch(r"[\w./=,+@~-]+", key) and (path.is_dir() or path.stat().st_size > 0)


def cases_of(corpus):
    """Folders and files whose truth is known, without links and pipes, and with names that the emulator takes."""
    for truth in sorted(corpus.rglob("truth.json")):
        inside = list(truth.parent.rglob("*"))
        is_plain = all(not path.is_symlink() and (path.is_file() or path.is_dir()) for path in inside)
        if is_plain and all(is_taken(path, path.relative_to(corpus).as_posix()) for path in inside):
            yield os.path.relpath(truth.parent / json.loads(truth.read_text()).get("target", "."), corpus)


def put(url, corpus):
    for path in corpus.rglob("*"):
        key = path.relative_to(corpus).as_posix()
        if path.is_file() and not path.is_symlink() and is_taken(path, key):
            wanted = urllib.request.Request(f"{url}/bucket/{urllib.parse.quote(key)}", data=path.read_bytes(), method="PUT")
            urllib.request.urlopen(wanted, timeout=20)


def failures(options, url):
    request = urllib.request.Request(f"{url}/storage/v1/b?project=p", data=b'{"name": "bucket"}', headers={"Content-Type": "application/json"})
    urllib.request.urlopen(request)
    put(url, options.corpus)
    with tempfile.TemporaryDirectory() as home:
        variables = {"PATH": os.environ["PATH"], "HOME": home, "STORAGE_EMULATOR_HOST": url, "GOOGLE_OAUTH_ACCESS_TOKEN": "token"}

        def tare(*words):
            return subprocess.run([options.tare, *words], capture_output=True, text=True, env=variables)
        cases = list(cases_of(options.corpus))

        def compared(case):
            local, told = (tare("inspect", "--json", f"{root}/{case}") for root in (options.corpus, "gs://bucket"))
            here, there = (NOT_THERE.sub("is not there", done.stdout.replace(f"{root}/{case}", "TARGET").replace(os.path.dirname(f"{root}/{case}"), "FOLDER"))
                           for done, root in ((local, options.corpus), (told, "gs://bucket")))
            is_same = local.returncode == told.returncode and here == there
            return is_same, bool(here), f"{case}: {local.returncode} {local.stderr} {told.returncode} {told.stderr}"
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(compared, cases))
        yield from (words for is_same, _, words in answers if not is_same)
        same = sum(is_same and has_answer for is_same, has_answer, _ in answers)
        print(f"gcp-storage-emulator: {len(cases)} targets of the corpus, {same} answered as on the disk")
        if same < 300:
            yield f"{same} checkpoints were compared"
        done = tare("edit", "gs://bucket/torch/scaler-file-t2.15/scaler.pt", "scale=2", "--all", "--yes")
        if done.returncode not in (3, 4):
            yield f"an edit where conditions mean nothing: {done}"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    server = create_server("127.0.0.1", 0, in_memory=True)
    server.start()
    found = list(failures(options, "http://127.0.0.1:{}".format(server._api._httpd.server_address[1])))
    for failure in found:
        print(f"FAILED {failure}")
    print(f"gcp-storage-emulator: {len(found)} failed" if found else "gcp-storage-emulator: all held")
    os._exit(bool(found))  # its threads do not end


if __name__ == "__main__":
    main()
