#!/usr/bin/env python3
"""Time the command on a model whose layers carry TransformerEngine's FP8 state, beside torch.

    fp8.py --tare BUILD/tools/tare [--torch PYTHON] [--layers 2000] [--history 1024] [--pairs 20] [--folder DIR]

Whole processes are timed, in pairs that take turns with /bin/true: the figure is the median of the differences, the file
being in the page cache. torch loads the file and unpickles every layer's state, as TransformerEngine does.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

from processes import above_true, parser, peak_mib, row, spread, wall_ms

HERE = pathlib.Path(__file__).resolve().parent

TORCH = """
import pickle, sys, time, types
recipe = types.ModuleType("transformer_engine.common.recipe")
recipe.DelayedScaling = type("DelayedScaling", (), {})
sys.modules.update({"transformer_engine": types.ModuleType("transformer_engine"),
                    "transformer_engine.common": types.ModuleType("transformer_engine.common"), recipe.__name__: recipe})
import torch
begin = time.perf_counter()
model = torch.load(sys.argv[1])
states = [pickle.loads(v.numpy().tobytes()) for k, v in model.items() if k.endswith("_extra_state")]
print(len(states), (time.perf_counter() - begin) * 1e3)
"""


def main():
    ask = parser(__doc__, pairs=20)
    ask.add_argument("--torch", help="a Python that has torch")
    ask.add_argument("--layers", type=int, default=2000)
    ask.add_argument("--history", type=int, default=1024)
    options = ask.parse_args()

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        model = pathlib.Path(folder) / "model.pt"
        subprocess.run([sys.executable, HERE / "make_fp8.py", model, "--layers", str(options.layers), "--history",
                        str(options.history)], check=True)
        inspect = [options.tare, "inspect", str(model)]
        subprocess.run(inspect, stdout=subprocess.DEVNULL, check=True)
        row(f"FP8 state of {options.layers:,} layers, history {options.history:,}", "median (quartiles)", "torch / tare")
        took = above_true(inspect, options.pairs)
        ratio = ""
        if options.torch:
            told = subprocess.run([options.torch, "-c", TORCH, model], capture_output=True, text=True, check=True).stdout
            ratio = f"{float(told.split()[1]) / took[0]:.1f}"
        row("inspect", spread(took), ratio)
        row("inspect: peak", f"{peak_mib(inspect):.0f} MiB")
        copy = pathlib.Path(folder) / "stripped.pt"
        strip = [options.tare, "fp8", "strip", str(copy), "--yes", "--no-history"]
        figures = []
        for _ in range(5):
            shutil.copyfile(model, copy)
            figures.append(wall_ms(strip))
        row("strip", f"{sorted(figures)[2]:.0f} ms")
        shutil.copyfile(model, copy)
        row("strip: peak", f"{peak_mib(strip):.0f} MiB")


if __name__ == "__main__":
    main()
