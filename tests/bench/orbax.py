#!/usr/bin/env python3
"""Time the command on Orbax checkpoints of many arrays, beside Orbax, and print a table with ratios.

    orbax.py --tare BUILD/tools/tare --orbax PYTHON [--items 10000] [--pairs 50] [--folder DIR]

Orbax itself writes the checkpoints: 10,000 arrays of 1 KB and a loss scale, once in a folder for each array (zarr 2 and
3), once in a database (OCDBT). Whole processes are timed, in pairs that take turns with /bin/true: the figure is the
median of the differences. Orbax restores the scale alone. Edits are timed where fsync costs nothing.
"""
import pathlib
import subprocess
import tempfile

from processes import checkpoint_rows, framework_ms, framework_rows, parser

SAVE = """
import os, sys
os.environ["JAX_PLATFORMS"] = "cpu"
import numpy, orbax.checkpoint as ocp
count, database, version3 = int(sys.argv[2]), sys.argv[3] == "ocdbt", sys.argv[3] == "zarr3"
state = {"params": {f"layer_{i:05}": numpy.full(256, i, numpy.float32) for i in range(count)},
         "dynamic_scale": {"fin_steps": numpy.int32(1234), "scale": numpy.float32(32768)}}
handler = ocp.PyTreeCheckpointHandler(use_ocdbt=database, use_zarr3=version3)
ocp.Checkpointer(handler).save(sys.argv[1], state)
"""

LOAD = """
import os, sys, time
os.environ["JAX_PLATFORMS"] = "cpu"
begin = time.perf_counter()
import numpy, orbax.checkpoint as ocp
imported = time.perf_counter() - begin
begin = time.perf_counter()
item = {"dynamic_scale": {"fin_steps": 0, "scale": 0.0}}
kinds = {"dynamic_scale": {name: ocp.RestoreArgs(restore_type=numpy.ndarray) for name in ("fin_steps", "scale")}}
state = ocp.Checkpointer(ocp.PyTreeCheckpointHandler()).restore(
    sys.argv[1], args=ocp.args.PyTreeRestore(item=item, restore_args=kinds, transforms={}))
assert int(state["dynamic_scale"]["fin_steps"]) == 1234
print(ocp.__version__, imported * 1e3, (time.perf_counter() - begin) * 1e3)
"""


def main():
    ask = parser(__doc__)
    ask.add_argument("--orbax", required=True, help="a Python that has orbax-checkpoint")
    ask.add_argument("--items", type=int, default=10_000)
    options = ask.parse_args()

    for kind in ("zarr2", "zarr3", "ocdbt"):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            item = pathlib.Path(folder) / "default"
            subprocess.run([options.orbax, "-c", SAVE, item, str(options.items), kind], stderr=subprocess.DEVNULL, check=True)
            version, imported, taken = framework_ms(options.orbax, LOAD, item)
            size = sum(file.stat().st_size for file in item.rglob("*") if file.is_file())
            inspect_ms = checkpoint_rows(options, f"Orbax checkpoint of {options.items:,} arrays, {kind}", item,
                                         f" of {size:,}", "Orbax")
            framework_rows(f"the scale by Orbax {version}", imported, taken, inspect_ms)


if __name__ == "__main__":
    main()
