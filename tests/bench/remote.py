#!/usr/bin/env python3
"""Time the command on checkpoints behind a server that takes its time, and print tables of seconds, requests and bytes.

    remote.py --tare BUILD/tools/tare --zero2 DIR [--runs 5] [--only ranks|distributed|timeline] [RANKS:MILLISECONDS...]

DIR is DeepSpeed's ZeRO-2 checkpoint, whose optimizer file each rank has. The stand-in for S3 that the tests have answers
each request after so many milliseconds; it is written in Python, and takes some of a core itself. Default: 256:30 1024:50.
How many round trips follow one another is told by how much longer a longer latency takes.
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

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
from http_servers import Server, bytes_read
from s3_bucket import KEEPER, Bucket

OPTIMIZER = "zero_pp_rank_{}_mp_rank_00_optim_states.pt"
DISTRIBUTED_ITEMS = 20_000
STEPS, RANKS = 50, 8
SHORT, LONG = 30, 330


def make_run(folder, source, ranks):
    folder.mkdir(parents=True)
    shutil.copy(source / "mp_rank_00_model_states.pt", folder)
    for rank in range(ranks):
        os.link(source / OPTIMIZER.format(0), folder / OPTIMIZER.format(rank))


def timed(command, variables):
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stdout}{done.stderr}")
    return time.perf_counter() - begin


def asked(options, folder, words, milliseconds):
    """-> seconds of each run, and the server of the last one."""
    seconds = []
    for _ in range(options.runs):
        server = Server(folder, Bucket(), milliseconds / 1000)
        seconds.append(timed([options.tare, *words], {**KEEPER, "AWS_ENDPOINT_URL": server.url}))
        server.http.shutdown()
    return seconds, server


def shown(seconds):
    return f"{statistics.median(seconds):8.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def measure_ranks(options, folder):
    print(" ranks  latency  seconds (least to most)   requests  at once  on the disk")
    for ranks, milliseconds in (map(int, case.split(":")) for case in options.cases):
        run = folder / f"run{ranks}"
        make_run(run, options.zero2, ranks)
        seconds, server = asked(options, folder, ["inspect", f"s3://bucket/{run.name}"], milliseconds)
        local = timed([options.tare, "inspect", str(run)], {})
        print(f"{ranks:6} {milliseconds:5} ms {shown(seconds)} {len(server.requests):9} {server.most_at_once:8} {local:8.3f} s",
              flush=True)


def measure_distributed(options, folder):
    items = folder / "step_20"
    subprocess.run([sys.executable, HERE / "make_distributed.py", items, "--items", str(DISTRIBUTED_ITEMS)], check=True)
    words = ["inspect", f"s3://bucket/{items.name}"]
    seconds, server = asked(options, folder, words, SHORT)
    longer, _ = asked(options, folder, words, LONG)
    trips = (min(longer) - min(seconds)) * 1000 / (LONG - SHORT)
    local = bytes_read([options.tare, "inspect", str(items)])
    print(f"a distributed checkpoint of {DISTRIBUTED_ITEMS:,} items, {SHORT} ms: {shown(seconds)}, {len(server.requests)} requests in "
          f"{trips:.1f} round trips, {server.sent:,} bytes; {local:,} of files, {server.sent / local:.4f} times as many", flush=True)


def measure_timeline(options, folder):
    for step in range(1, STEPS + 1):
        make_run(folder / f"run/global_step{step}", options.zero2, RANKS)
    seconds, server = asked(options, folder, ["timeline", "s3://bucket/run"], SHORT)
    print(f"a timeline of {STEPS} checkpoints of {RANKS} ranks, {SHORT} ms: {shown(seconds)}, {len(server.requests)} requests, "
          f"{server.most_at_once} at once", flush=True)


MEASURED = {"ranks": measure_ranks, "distributed": measure_distributed, "timeline": measure_timeline}


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--zero2", required=True, type=pathlib.Path)
    ask.add_argument("--runs", type=int, default=5)
    ask.add_argument("--only", choices=MEASURED)
    ask.add_argument("cases", nargs="*", default=["256:30", "1024:50"], metavar="RANKS:MILLISECONDS")
    options = ask.parse_args()
    for name, measure in MEASURED.items():
        if options.only in (None, name):
            with tempfile.TemporaryDirectory(dir=options.zero2.parent) as folder:
                measure(options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
