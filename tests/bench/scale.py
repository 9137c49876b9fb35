#!/usr/bin/env python3
"""How what tare takes grows with the checkpoint: four sizes a row, and the exponents that fit.

    scale.py --tare BUILD/tools/tare [--python PYTHON] [--row NAME ...] [--largest SHARE] [--calls] [--folder DIR]

Processor seconds and peak memory are those of the whole process (its children's too), less what `tare --version` takes; an
exponent is the slope of the logarithms over all sizes that took more than a hundredth of a second. --calls runs each once
more under strace, and counts system calls and bytes read. --python: one with torch, safetensors, h5py and NumPy, whose own
way to open the file follows where there is one. --largest 0.1: a tenth of each row's sizes.
"""
import argparse
import collections
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from make_scale import run

TORCH = "import torch, sys; torch.load(sys.argv[1], mmap=True, weights_only=False)"
ZIP = "import zipfile, sys; zipfile.ZipFile(sys.argv[1]).namelist()"
SAFETENSORS = "import safetensors, sys; safetensors.safe_open(sys.argv[1], 'np').keys()"
NUMPY = "import numpy, sys; numpy.load(sys.argv[1])['scaler.scale']"
DCP = ("import sys, torch.distributed.checkpoint as dcp; "
       "dcp.FileSystemReader(sys.argv[1]).read_metadata()")

Row = collections.namedtuple("Row", "name sizes make commands peer code", defaults=(None, 0))
ROWS = [
    Row("fp8-inspect", (4096, 8192, 16384, 29696), "fp8_modules", [["inspect", "{}"]]),
    Row("fp8-attest", (4096, 8192, 16384, 29696), "fp8_modules", [["attest", "{}"]], None, 1),
    Row("fp8-json", (1250, 2500, 5000, 10000), "fp8_long_histories", [["inspect", "{}", "--json"]]),
    Row("fp8-histories", (1250, 2500, 5000, 10000), "fp8_long_histories", [["inspect", "{}", "--json", "--histories"]]),
    Row("fp8-inject", (2000, 4000, 8000, 16000), "fp8_modules",
        [["inspect", "{}", "--save", "{}.json"], ["fp8", "strip", "{}", "--yes", "--no-history"],
         ["fp8", "inject", "{}", "{}.json", "--yes", "--no-history"]]),
    Row("fp8-reset", (500, 1000, 2000, 4000), "fp8_long_histories",
        [["fp8", "reset", "{}", "--yes"]]),
    Row("json-state", (250, 500, 1000, 2000), "fp8_long_histories",
        [["inspect", "{}", "--save", "{}.json"], ["inspect", "{}.json"]]),
    Row("safetensors", (100_000, 200_000, 400_000, 800_000), "safetensors", [["inspect", "{}"]], SAFETENSORS),
    Row("ranks-inspect", (2048, 4096, 8192, 16384), "rank_files", [["inspect", "{}"]]),
    Row("ranks-edit", (2048, 4096, 8192, 16384), "rank_files", [["edit", "{}", "scale=4096", "--yes"]]),
    Row("ranks-undo", (2048, 4096, 8192, 16384), "rank_files",
        [["edit", "{}", "scale=4096", "--yes"], ["undo", "{}", "--yes"]]),
    Row("ranks-differ", (2048, 4096, 8192, 16384), "ranks_that_differ", [["inspect", "{}"]], None, 1),
    Row("zip-inspect", (125_000, 250_000, 500_000, 1_000_000), "zip_of_tensors", [["inspect", "{}"]], TORCH),
    Row("zip-edit", (125_000, 250_000, 500_000, 1_000_000), "zip_of_tensors",
        [["edit", "{}", "scale=4096", "--yes", "--no-history"]], ZIP),
    Row("dcp-inspect", (125_000, 250_000, 500_000, 1_000_000), "distributed", [["inspect", "{}"]], DCP),
    Row("dcp-edit", (125_000, 250_000, 500_000, 1_000_000), "distributed",
        [["edit", "{}", "scale=4096", "--yes", "--no-history"]]),
    Row("npz", (125_000, 250_000, 500_000, 1_000_000), "npz", [["inspect", "{}"]], NUMPY),
]


def cost(command):
    """-> (exit, processor seconds, peak bytes, what it said last)"""
    with tempfile.TemporaryFile() as told, open(os.devnull, "w") as away:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=away, stderr=told)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        return child.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10, told.read()[-300:].decode()


def calls_and_bytes(command):
    with tempfile.NamedTemporaryFile("r") as trace:
        subprocess.run(["strace", "-f", "-qq", "-o", trace.name, *command], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        calls = read = 0
        for line in trace:
            calls += 1
            if found := re.match(r"\d+ +p?readv?(?:64)?\(.*= (\d+)$", line):
                read += int(found[1])
    return calls, read


def exponent(sizes, figures, least):
    points = [(math.log(n), math.log(figure)) for n, figure in zip(sizes, figures) if figure > least]
    if len(points) < 2:
        return "-"
    mean = [sum(axis) / len(points) for axis in zip(*points)]
    over = sum((x - mean[0]) * (y - mean[1]) for x, y in points)
    return f"{over / sum((x - mean[0]) ** 2 for x, _ in points):.2f}"


def measure(options, row, count, scratch):
    """-> {figure's name: value} of the row's last command"""
    path = pathlib.Path(scratch, row.name)
    run("make_scale.py", row.make, path, count)
    figures = {"disk": sum(p.stat().st_blocks * 512 for p in (path.rglob("*") if path.is_dir() else [path]))}
    for words in row.commands:
        command = [options.tare, *(word.format(path) for word in words)]
        if options.calls and words is row.commands[-1]:
            kept = path.with_name("kept")
            copied = shutil.copytree if path.is_dir() else shutil.copyfile
            if words[0] not in ("inspect", "attest"):
                copied(path, kept)
            figures["calls"], figures["read"] = calls_and_bytes(command)
            if kept.exists():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                kept.rename(path)
        code, figures["cpu"], figures["peak"], told = cost(command)
        if code != (row.code if words is row.commands[-1] else 0):
            print(f"  {row.name} {count:,}: exit {code}: {told.strip()}", flush=True)
    if options.python and row.peer:
        code, cpu, peak, told = cost([options.python, "-c", row.peer, str(path)])
        empty = cost([options.python, "-c", row.peer.split(";")[0]])
        figures |= {"peer cpu": cpu - empty[1], "peer peak": peak - empty[2]} if code == 0 else {}
        if code != 0:
            print(f"  {row.name} {count:,}: the peer: {told.strip()}")
    for made in path.parent.glob("*"):
        shutil.rmtree(made) if made.is_dir() else made.unlink()
    return figures


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    ask.add_argument("--python")
    ask.add_argument("--row", action="append", choices=[row.name for row in ROWS])
    ask.add_argument("--largest", type=float, default=1)
    ask.add_argument("--calls", action="store_true")
    ask.add_argument("--folder", default="/dev/shm")
    options = ask.parse_args()
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    _, least_cpu, least_peak, _ = cost([options.tare, "--version"])
    shown = ["cpu s", "peak MiB", "calls", "read MiB", "disk MiB", "peer cpu s", "peer peak MiB"]
    print(f"{'':<16}{'count':>12}" + "".join(f"{name:>15}" for name in shown))
    for row in [row for row in ROWS if not options.row or row.name in options.row]:
        sizes, measured = [max(4, int(n * options.largest)) for n in row.sizes], []
        with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
            for count in sizes:
                got = measure(options, row, count, scratch)
                got["cpu"], got["peak"] = got["cpu"] - least_cpu, got["peak"] - least_peak
                measured.append(got)
                cells = [(got["cpu"], 1, ".2f"), (got["peak"], 1 << 20, ".0f"), (got.get("calls"), 1, ",.0f"),
                         (got.get("read"), 1 << 20, ".1f"), (got["disk"], 1 << 20, ".1f"), (got.get("peer cpu"), 1, ".2f"),
                         (got.get("peer peak"), 1 << 20, ".0f")]
                print(f"{row.name:<16}{count:>12,}" + "".join(
                    f"{'' if value is None else format(value / unit, how):>15}" for value, unit, how in cells).rstrip(), flush=True)
        print(f"{'':<16}{'exponent':>12}" + "".join(
            f"{exponent(sizes, [m.get(key, 0) for m in measured], least):>15}" for key, least in (
                ("cpu", 0.01), ("peak", 1 << 20), ("calls", 1), ("read", 1))), flush=True)
    shutil.rmtree(os.environ["XDG_STATE_HOME"])


if __name__ == "__main__":
    sys.exit(main())
