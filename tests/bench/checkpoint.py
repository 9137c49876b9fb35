#!/usr/bin/env python3
"""Time the command on large checkpoints, beside what a user would do instead, and print a table with ratios.

    checkpoint.py --tare BUILD/tools/tare --zero2 DIR [--torch PYTHON] [--pairs 200] [--folder DIR] [--save]

Whole processes are timed, in pairs that take turns with /bin/true: the figure is the median of the differences. The
checkpoint is a sparse 4.4 GB torch zip (1,200 parameters, Adam's moments, a GradScaler). `--zero2` is a ZeRO-2 checkpoint
of DeepSpeed whose optimizer file is copied to 256 ranks. Edits are timed where fsync costs nothing (--folder, by default
/dev/shm) and again beside the checkpoint of --disk. With --torch the same is done by that Python's torch in the same run;
--save adds torch.save of the whole, which writes 4.4 GB. Needs Linux, strace and Python's standard library.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from processes import above_true, alternating_edits, bytes_read, parser, row, spread

HERE = pathlib.Path(__file__).resolve().parent

TORCH = """
import sys, time
begin = time.perf_counter()
import torch
imported = time.perf_counter() - begin
how, path, out = sys.argv[1:4]
begin = time.perf_counter()
state = torch.load(path, map_location="cpu", weights_only=True, mmap=(how == "mmap"))
if how == "save":
    state["scaler"]["scale"] = 1024.0
    torch.save(state, out)
print(torch.__version__, imported * 1e3, (time.perf_counter() - begin) * 1e3)
"""


def libraries(tare):
    listed = subprocess.run(["ldd", tare], capture_output=True, text=True, check=True).stdout
    return sorted(re.findall(r"(lib[\w+.-]+)\.so", listed))


def ranks(zero2, folder, count):
    """A folder with `count` optimizer files, each a copy of rank 0's."""
    target = pathlib.Path(folder) / "global_step_many"
    target.mkdir()
    source = next(pathlib.Path(zero2).glob("*zero_pp_rank_0_mp_rank_00_optim_states.pt"))
    for rank in range(count):
        shutil.copy(source, target / source.name.replace("rank_0_", f"rank_{rank}_", 1))
    return target


def torch_ms(python, how, path, out="-"):
    done = subprocess.run([python, "-c", TORCH, how, str(path), str(out)], capture_output=True, text=True, check=True)
    version, imported, taken = done.stdout.split()
    return version, float(imported), float(taken)


def compare_with_torch(options, big, folder, inspect_ms, edit_ms):
    for how, name, ours in (("load", "torch.load", inspect_ms), ("mmap", "torch.load(mmap=True)", inspect_ms)):
        version, imported, taken = torch_ms(options.torch, how, big)
        row(f"{name}, torch {version}", f"{taken:.0f} ms", f"{taken / ours:.0f}x")
        row("  and its import", f"{imported:.0f} ms", f"{(taken + imported) / ours:.0f}x")
    if options.save:
        out = pathlib.Path(folder) / "saved.pt"
        _, imported, taken = torch_ms(options.torch, "save", big, out)
        out.unlink()
        row("torch.load, edit, torch.save", f"{taken:.0f} ms", f"{taken / edit_ms:.0f}x")


def main():
    ask = parser(__doc__, pairs=200)
    ask.add_argument("--zero2", required=True, help="a ZeRO-2 checkpoint folder of DeepSpeed")
    ask.add_argument("--torch", help="a Python that has torch")
    ask.add_argument("--disk", default=tempfile.gettempdir(), help="a folder on a disk")
    ask.add_argument("--save", action="store_true")
    options = ask.parse_args()

    with tempfile.TemporaryDirectory(dir=options.folder) as memory, tempfile.TemporaryDirectory(dir=options.disk) as disk:
        big = pathlib.Path(memory) / "big.pt"
        subprocess.run([sys.executable, HERE / "make_checkpoint.py", big], check=True)
        on_disk = pathlib.Path(disk) / "big.pt"
        subprocess.run([sys.executable, HERE / "make_checkpoint.py", on_disk], check=True)
        inspect = [options.tare, "inspect", str(big)]
        subprocess.run(inspect, stdout=subprocess.DEVNULL, check=True)

        row("4.4 GB checkpoint, 1,200 parameters", "median (quartiles)", "torch / tare")
        inspect_ms = above_true(inspect, options.pairs)
        row("tare inspect, above an empty process", spread(inspect_ms))
        row("  bytes read", f"{bytes_read(inspect):,}")
        edit_ms = alternating_edits(options.tare, big, options.pairs)
        row("tare edit, where fsync costs nothing", spread(edit_ms))
        row("tare edit, on disk, all fsyncs", spread(alternating_edits(options.tare, on_disk, min(options.pairs, 30))))
        many = ranks(options.zero2, memory, 256)
        row("tare inspect, 256 rank files", spread(above_true([options.tare, "inspect", str(many)], min(options.pairs, 50))))
        row("libraries loaded", " ".join(libraries(options.tare)))
        if options.torch:
            compare_with_torch(options, big, disk, inspect_ms[0], edit_ms[0])


if __name__ == "__main__":
    main()
