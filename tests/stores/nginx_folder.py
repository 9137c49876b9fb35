#!/usr/bin/env python3
"""Asks tare of real checkpoints behind nginx: with a password, where ranges are limited, where it is asked too often; over HTTP/2.

    nginx_folder.py --tare TARE --corpus FOLDER

tests/stores/run.sh calls this where nginx is. What a server gives must equal what the disk gives.
"""
import argparse
import contextlib
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
  log_format told '$connection $server_protocol $status';
  ssl_certificate {folder}/own.pem; ssl_certificate_key {folder}/own.key;
  server {{ listen 127.0.0.1:{ports[1]} ssl http2; access_log {folder}/two.log told; location / {{ alias {root}/; autoindex on; }} }}
  server {{ listen 127.0.0.1:{ports[2]} ssl; access_log {folder}/one.log told; location / {{ alias {root}/; autoindex on; }} }}
}}
"""
RANKS = 150


class Nginx:
    def __init__(self, root, folder):
        self.folder = pathlib.Path(folder)
        with contextlib.ExitStack() as open_ones:
            free = [open_ones.enter_context(socket.socket()) for _ in range(3)]
            for one in free:
                one.bind(("127.0.0.1", 0))
            self.ports = [one.getsockname()[1] for one in free]
        self.port = self.ports[0]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", self.folder / "own.key", "-out", self.folder / "own.pem"],
                       check=True, stderr=subprocess.DEVNULL)
        configuration = pathlib.Path(folder, "nginx.conf")
        configuration.write_text(CONFIGURATION.format(folder=folder, port=self.port, ports=self.ports, root=root))
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


def over_few_connections(options, nginx, root):
    """Many ranks over TLS: HTTP/2 carries all of them over one connection, or what a second one was begun for meanwhile."""
    run = root / "ranks"
    run.mkdir()
    source = options.corpus / FILES[2]
    shutil.copy(source / "mp_rank_00_model_states.pt", run)
    for rank in range(RANKS):
        shutil.copy(source / "zero_pp_rank_0_mp_rank_00_optim_states.pt", run / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")
    trusts = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "SSL_CERT_FILE": str(nginx.folder / "own.pem")}
    local = json.loads(subprocess.run([options.tare, "inspect", "--json", run], capture_output=True, text=True).stdout)
    for log, port, protocol, most in (("two.log", nginx.ports[1], "HTTP/2.0", 2), ("one.log", nginx.ports[2], "HTTP/1.1", 64)):
        command = [options.tare, "inspect", "--json", f"https://localhost:{port}/ranks"]
        told = subprocess.run(command, capture_output=True, text=True, env=trusts)
        time.sleep(0.3)  # the log is written behind the answers
        lines = [line.split() for line in (nginx.folder / log).read_text().splitlines()]
        connections, protocols = {line[0] for line in lines}, {line[1] for line in lines}
        if json.loads(told.stdout or "{}").get("scalers") != local["scalers"] or len(lines) < RANKS:
            yield f"{RANKS} ranks by {protocol}: {told.stderr}"
        if protocols != {protocol} or len(connections) > most:
            yield f"{RANKS} ranks by {protocol}: {protocols}, {len(connections)} connections"
        print(f"{protocol}: {len(lines)} requests over {len(connections)} connections")
        strange = subprocess.run(command, capture_output=True, text=True, env={**trusts, "SSL_CERT_FILE": ""})
        if strange.returncode != 3 or "certificate" not in strange.stderr:
            yield f"a server that nobody vouches for: {strange}"


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
            found = [*failures(options, nginx.port, root), *over_few_connections(options, nginx, root)]
        finally:
            nginx.process.terminate()
            nginx.process.wait()
    for failure in found:
        print(f"FAILED {failure}")
    print(f"nginx: {len(found)} failed" if found else "nginx: all held")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
