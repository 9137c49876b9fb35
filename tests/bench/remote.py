#!/usr/bin/env python3
"""Time the command on rank files behind a server that takes its time, and print a table of seconds and requests.

    remote.py --tare BUILD/tools/tare --zero2 DIR [--runs 5] [RANKS:MILLISECONDS...]

DIR is DeepSpeed's ZeRO-2 checkpoint, whose optimizer file each rank has. The stand-in for S3 that the tests have answers
each request after so many milliseconds; it is written in Python, and takes some of a core itself. Default: 256:30 1024:50.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from http_servers import Server
from s3_bucket import KEEPER, Bucket

OPTIMIZER = "zero_pp_rank_{}_mp_rank_00_optim_states.pt"


def make_run(folder, source, ranks):
    folder.mkdir()
    shutil.copy(source / "mp_rank_00_model_states.pt", folder)
    for rank in range(ranks):
        os.link(source / OPTIMIZER.format(0), folder / OPTIMIZER.format(rank))


def timed(command, variables):
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stdout}{done.stderr}")
    return time.perf_counter() - begin


def measure(options, folder, ranks, milliseconds):
    run = folder / f"run{ranks}"
    make_run(run, options.zero2, ranks)
    seconds = []
    for _ in range(options.runs):
        server = Server(folder, Bucket(), milliseconds / 1000)
        variables = {**KEEPER, "AWS_ENDPOINT_URL": server.url}
        seconds.append(timed([options.tare, "inspect", f"s3://bucket/{run.name}"], variables))
        server.http.shutdown()
    local = timed([options.tare, "inspect", str(run)], {})
    print(f"{ranks:6} {milliseconds:5} ms {statistics.median(seconds):8.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"
          f" {len(server.requests):9} {server.most_at_once:8} {local:8.3f} s", flush=True)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--zero2", required=True, type=pathlib.Path)
    ask.add_argument("--runs", type=int, default=5)
    ask.add_argument("cases", nargs="*", default=["256:30", "1024:50"], metavar="RANKS:MILLISECONDS")
    options = ask.parse_args()
    print(" ranks  latency  seconds (least to most)   requests  at once  on the disk")
    with tempfile.TemporaryDirectory(dir=options.zero2.parent) as folder:
        for case in options.cases:
            measure(options, pathlib.Path(folder), *map(int, case.split(":")))


if __name__ == "__main__":
    main()
