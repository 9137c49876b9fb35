#!/usr/bin/env python3
"""Asks tare of real checkpoints in gcp-storage-emulator, a stand-in for Google's Cloud Storage that others made.

    google_emulator.py --tare TARE --corpus FOLDER

tests/stores/run.sh calls this with a Python that has it. The emulator speaks the JSON API; of the XML API, which tare speaks, it has
objects and their ranges, and neither lists nor conditions: so what it gives must equal what the disk gives, and an edit must
be refused, as another's change would be lost.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

from gcp_storage_emulator.server import create_server

#: What the emulator does not take, or finds by another name: spaces and letters beyond ASCII.
NOT_TAKEN = {"hostile", "name-utf8"}
FOLDERS = ["deepspeed/zero2_4ranks_tags/ckpt/global_step2"]


def failures(options, url):
    request = urllib.request.Request(f"{url}/storage/v1/b?project=p", data=b'{"name": "bucket"}', headers={"Content-Type": "application/json"})
    urllib.request.urlopen(request)
    files = [path for path in options.corpus.rglob("*.p[tk]*") if path.is_file() and not NOT_TAKEN & set(path.parts)]
    for path in files:
        key = path.relative_to(options.corpus).as_posix()
        urllib.request.urlopen(urllib.request.Request(f"{url}/bucket/{urllib.parse.quote(key)}", data=path.read_bytes(), method="PUT"))
    with tempfile.TemporaryDirectory() as home:
        variables = {"PATH": os.environ["PATH"], "HOME": home, "STORAGE_EMULATOR_HOST": url, "GOOGLE_OAUTH_ACCESS_TOKEN": "token"}

        def tare(*words):
            return subprocess.run([options.tare, *words], capture_output=True, text=True, env=variables)
        cases = sorted(path.relative_to(options.corpus).as_posix() for path in files) + FOLDERS
        same = 0
        for case in cases:
            local, told = (tare("inspect", "--json", f"{root}/{case}") for root in (options.corpus, "gs://bucket"))
            here, there = (json.loads(done.stdout or "{}").get("scalers") for done in (local, told))
            # A part of a checkpoint of many files, alone, is read alike.
            if (local.returncode, here) != (told.returncode, there):
                yield f"{case}: {local.returncode} {local.stderr} {told.returncode} {told.stderr}"
            same += bool(here) and here == there
        if same < 50:
            yield f"{same} checkpoints were compared"
        done = tare("edit", f"gs://bucket/{cases[0]}", "scale=2", "--all", "--yes")
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
