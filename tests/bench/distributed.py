#!/usr/bin/env python3
"""Time the command on a large distributed checkpoint, beside torch, and print a table with ratios.

    distributed.py --tare BUILD/tools/tare [--torch PYTHON] [--items 20000] [--pairs 50] [--folder DIR]

Whole processes are timed, in pairs that take turns with /bin/true: the figure is the median of the differences. The
checkpoint (make_distributed.py) has 20,000 items in the files of 8 ranks, 400 GB of holes, and a GradScaler. torch reads
its metadata, and loads the scaler alone. Edits are timed where fsync costs nothing.
"""
import pathlib
import subprocess
import sys
import tempfile

from processes import checkpoint_rows, framework_ms, framework_rows, parser

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


def main():
    ask = parser(__doc__)
    ask.add_argument("--torch", help="a Python that has torch")
    ask.add_argument("--items", type=int, default=20_000)
    options = ask.parse_args()

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        big = pathlib.Path(folder) / "step_20"
        subprocess.run([sys.executable, HERE / "make_distributed.py", big, "--items", str(options.items)], check=True)
        inspect_ms = checkpoint_rows(options, f"distributed checkpoint of {options.items:,} items, 400 GB", big,
                                     f" of {(big / '.metadata').stat().st_size:,} metadata", "torch")
        if options.torch:
            version, imported, taken = framework_ms(options.torch, TORCH, big)
            framework_rows(f"the scaler by torch's reader, torch {version}", imported, taken, inspect_ms)


if __name__ == "__main__":
    main()
