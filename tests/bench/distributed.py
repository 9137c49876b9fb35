#!/usr/bin/env python3
"""Time the command on a large distributed checkpoint, beside torch, and print a table with ratios.

    distributed.py --tare BUILD/tools/tare [--torch PYTHON] [--items 20000] [--pairs 50] [--folder DIR]

Whole processes are timed, in pairs that take turns with /bin/true: the figure is the median of the differences. The
checkpoint (make_distributed.py) has 20,000 items in the files of 8 ranks, 400 GB of holes, and a GradScaler. torch reads
its metadata, and loads the scaler alone. Edits are timed where fsync costs nothing.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from checkpoint import above_true, alternating_edits, bytes_read, row, spread

HERE = pathlib.Path(__file__).resolve().parent

TORCH = """
import sys, time
begin = time.perf_counter()
import torch
from torch.distributed.checkpoint import FileSystemReader
from torch.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from torch.distributed.checkpoint.state_dict_loader import _load_state_dict
imported = time.perf_counter() - begin
begin = time.perf_counter()
state = {}
_load_state_dict(state, storage_reader=FileSystemReader(sys.argv[1]), planner=_EmptyStateDictLoadPlanner(keys={"scaler"}),
                 no_dist=True)
assert state["scaler"]["_growth_tracker"] == 1234
print(torch.__version__, imported * 1e3, (time.perf_counter() - begin) * 1e3)
"""


def peak_mib(command):
    told = subprocess.run(["/usr/bin/time", "-f", "%M", *command], capture_output=True, text=True, check=True).stderr
    return int(re.findall(r"\d+", told)[-1]) / 1024


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--torch", help="a Python that has torch")
    ask.add_argument("--items", type=int, default=20_000)
    ask.add_argument("--pairs", type=int, default=50)
    ask.add_argument("--folder", default="/dev/shm", help="where fsync costs nothing")
    options = ask.parse_args()
    options.tare = str(pathlib.Path(options.tare).resolve())

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        big = pathlib.Path(folder) / "step_20"
        subprocess.run([sys.executable, HERE / "make_distributed.py", big, "--items", str(options.items)], check=True)
        inspect = [options.tare, "inspect", str(big)]
        subprocess.run(inspect, stdout=subprocess.DEVNULL, check=True)

        row(f"distributed checkpoint of {options.items:,} items, 400 GB", "median (quartiles)", "torch / tare")
        inspect_ms = above_true(inspect, options.pairs)
        row("tare inspect, above an empty process", spread(inspect_ms))
        row("  bytes read", f"{bytes_read(inspect):,} of {(big / '.metadata').stat().st_size:,} metadata")
        row("  peak memory", f"{peak_mib(inspect):.0f} MiB")
        row("tare edit, where fsync costs nothing", spread(alternating_edits(options.tare, big, options.pairs)))
        if options.torch:
            done = subprocess.run([options.torch, "-c", TORCH, str(big)], capture_output=True, text=True, check=True)
            version, imported, taken = done.stdout.split()
            row(f"the scaler by torch's reader, torch {version}", f"{float(taken):.0f} ms", f"{float(taken) / inspect_ms[0]:.0f}x")
            whole = float(taken) + float(imported)
            row("  and its import", f"{float(imported):.0f} ms", f"{whole / inspect_ms[0]:.0f}x")


if __name__ == "__main__":
    main()
