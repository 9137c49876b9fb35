#!/usr/bin/env python3
"""Asks tare of real checkpoints behind nginx: with a password, where ranges are limited, where it is asked too often.

    nginx_folder.py --tare TARE --corpus FOLDER

tests/stores/run.sh calls this where nginx is. What a server gives must equal what the disk gives.
"""
import argparse
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

FILES = ["torch/scaler-file-t2.15/scaler.pt", "transformer_engine/te2.20_delayed/model.pt", "deepspeed/zero2_4ranks_tags/ckpt/global_step2"]
LARGE = "transformer_engine/te2.20_delayed/model.pt"
FOLDERS_RANK = f"{FILES[2]}/zero_pp_rank_1_mp_rank_00_optim_states.pt"
CONFIGURATION = """
worker_processes 1; error_log {folder}/error.log; pid {folder}/nginx.pid;
events {{ worker_connections 256; }}
http {{
  access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  limit_req_zone $binary_remote_addr zone=slow:1m rate=20r/s;
  server {{
    listen 127.0.0.1:{port}; root {root};
    location /open/ {{ alias {root}/; }}
    location /closed/ {{ alias {root}/; auth_basic "runs"; auth_basic_user_file {folder}/users; }}
    location /whole/ {{ alias {root}/; max_ranges 0; }}
    location /listed/ {{ alias {root}/; autoindex on; }}
    location /one/ {{ alias {root}/; max_ranges 1; }}
    location /slow/ {{ alias {root}/; limit_req zone=slow burst=2 nodelay; }}
  }}
}}
"""


class Nginx:
    def __init__(self, root, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        configuration = pathlib.Path(folder, "nginx.conf")
        configuration.write_text(CONFIGURATION.format(folder=folder, port=self.port, root=root))
        pathlib.Path(folder, "users").write_text("anna:{PLAIN}secret\n")
        os.chmod(folder, 0o755)
        binary = shutil.which("nginx") or "/usr/sbin/nginx"
        self.process = subprocess.Popen([binary, "-p", folder, "-c", str(configuration), "-e", f"{folder}/error.log", "-g", "daemon off; user root;"
                                         if os.geteuid() == 0 else "daemon off;"])
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/open/none")
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("nginx does not answer")


def failures(options, port, root):
    def tare(*words, user=""):
        environment = {"PATH": os.environ["PATH"], "HOME": str(root.parent)}
        return subprocess.run([options.tare, *words], capture_output=True, text=True, env=environment)

    def url(place, path, user=""):
        return f"http://{user}127.0.0.1:{port}/{place}/{path}"
    for case in FILES:
        local = tare("inspect", "--json", str(root / case))
        for place, user in (("open", ""), ("closed", "anna:secret@"), ("one", ""), ("slow", ""), ("listed", "")):
            # What is not limited asks for what is there by its name: that is limited in the number of requests alone.
            if place == "slow" and "global_step" in case:
                continue
            told = tare("inspect", "--json", url(place, case, user))
            here, there = json.loads(local.stdout), json.loads(told.stdout or "{}")
            if told.returncode != local.returncode or here["scalers"] != there.get("scalers"):
                yield f"{case} at {place}: {told.stderr}"
    for user in ("", "anna:wrong@"):
        told = tare("inspect", url("closed", FILES[0], user))
        if told.returncode != 3 or "401" not in told.stderr or "credentials" not in told.stderr or "wrong" in told.stderr:
            yield f"as '{user}': {told}"
    # A rank in the middle is gone: what the server lists, and what the others' names say, tells so.
    missing = root / FOLDERS_RANK
    kept = missing.read_bytes()
    missing.unlink()
    for place in ("listed", "open"):
        told = tare("inspect", url(place, FILES[2]))
        if told.returncode != 1 or "rank" not in told.stdout + told.stderr:
            yield f"a rank that is missing at {place}: {told}"
    missing.write_bytes(kept)
    told = tare("inspect", url("whole", LARGE))
    if told.returncode != 3 or "the server sends all of it where a range is asked for" not in told.stderr:
        yield f"a server without ranges: {told}"
    told = tare("edit", url("open", FILES[0]), "scale=2", "--yes")
    if told.returncode != 4 or "web server" not in told.stderr:
        yield f"an edit: {told}"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder, "root")
        for case in FILES:
            source, target = options.corpus / case, root / case
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        nginx = Nginx(root, folder)
        try:
            found = list(failures(options, nginx.port, root))
        finally:
            nginx.process.terminate()
            nginx.process.wait()
    for failure in found:
        print(f"FAILED {failure}")
    print(f"nginx: {len(found)} failed" if found else "nginx: all held")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
