#!/usr/bin/env python3
"""Time the command on the rank files of a large run, and print a table with ratios.

    ranks.py --tare BUILD/tools/tare --zero2 DIR [--torch PYTHON] [--ranks 1024] [--gigabytes 1] [--disk DIR]

Each rank's file is the optimizer file of DeepSpeed's ZeRO-2 checkpoint DIR with a record of zeros added, which is a hole
on disk. Inspected cold (the page cache dropped, which takes root), warm, edited and restored with every fsync, on a real
disk. With --torch that Python's torch (and DeepSpeed, whose classes the files name) loads the same files with mmap.
Needs Linux and Python's standard library.
"""
import argparse
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import zlib

from processes import row

TORCH = """
import pathlib, sys, time
begin = time.perf_counter()
import torch, deepspeed
imported = time.perf_counter() - begin
begin = time.perf_counter()
for path in pathlib.Path(sys.argv[1]).glob("*.pt"):
    torch.load(path, map_location="cpu", weights_only=False, mmap=True)["optimizer_state_dict"]["loss_scaler"].cur_scale
print(torch.__version__, imported, time.perf_counter() - begin)
"""
PEAK = """
import resource, subprocess, sys, time
begin = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""
END = "<4s4H2IH"


def crc_of_zeros(size):
    crc, block = 0, bytes(1 << 20)
    for _ in range(size >> 20):
        crc = zlib.crc32(block, crc)
    return crc


class Enlarged:
    """A stored zip with one more record, of `size` zeros."""

    def __init__(self, source, size):
        data = source.read_bytes()
        end = data.rindex(b"PK\5\6")
        _, _, _, _, count, directory_size, directory, _ = struct.unpack_from(END, data, end)
        prefix = data[30:30 + data[26]].split(b"/")[0]
        name = prefix + b"/data/zeros"
        common = struct.pack("<5H3I2H", 20, 0, 0, 0, 0x21, crc_of_zeros(size), size, size, len(name), 0)
        self.head = data[:directory] + b"PK\3\4" + common + name
        row = b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<3H2I", 0, 0, 0, 0, directory) + name
        start = len(self.head) + size
        self.tail = data[directory:directory + directory_size] + row + struct.pack(
            END, b"PK\5\6", 0, 0, count + 1, count + 1, directory_size + len(row), start, 0)
        self.tail_offset = start

    def write(self, path):
        with path.open("wb") as file:
            file.write(self.head)
            file.seek(self.tail_offset)
            file.write(self.tail)


def timed(command):
    """-> (seconds, peak KiB)"""
    done = subprocess.run([sys.executable, "-c", PEAK, *map(str, command)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stdout}{done.stderr}")
    seconds, peak = done.stdout.split()[-2:]
    return float(seconds), int(peak)


def drop_caches():
    subprocess.run(["sync"], check=True)
    try:
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n")
        return True
    except OSError:
        return False


def spread(runs):
    seconds = sorted(run[0] for run in runs)
    return f"{statistics.median(seconds) * 1e3:.0f} ms ({seconds[0] * 1e3:.0f} to {seconds[-1] * 1e3:.0f})"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--zero2", required=True)
    ask.add_argument("--torch")
    ask.add_argument("--ranks", type=int, default=1024)
    ask.add_argument("--gigabytes", type=int, default=1)
    ask.add_argument("--disk", default=tempfile.gettempdir())
    options = ask.parse_args()
    source = next(pathlib.Path(options.zero2).glob("*zero_pp_rank_0_mp_rank_00_optim_states.pt"))
    with tempfile.TemporaryDirectory(dir=options.disk) as scratch:
        folder = pathlib.Path(scratch, "step")
        folder.mkdir()
        enlarged = Enlarged(source, options.gigabytes << 30)
        for rank in range(options.ranks):
            enlarged.write(folder / re.sub("rank_0_", f"rank_{rank}_", source.name, count=1))
        inspect = [options.tare, "inspect", folder]
        row(f"{options.ranks} ZeRO-2 rank files of {options.gigabytes} GB", "median (least to most)", "torch / tare")
        cold = [timed(inspect) for _ in range(5) if drop_caches()]
        row("tare inspect, page cache dropped", spread(cold) if cold else "not root: not measured")
        warm = [timed(inspect) for _ in range(15)]
        row("tare inspect, warm", spread(warm))
        edits, undos = [], []
        for number in range(5):
            edits.append(timed([options.tare, "edit", folder, f"scale={1024 << number}", "growth_interval=70000", "-y"]))
            undos.append(timed([options.tare, "undo", folder, "-y"]))
        row("tare edit, every fsync", spread(edits))
        row("tare undo, every fsync", spread(undos))
        row("peak memory", f"{max(run[1] for run in [*warm, *edits, *undos]) / 1024:.0f} MiB")
        if options.torch:
            done = subprocess.run([options.torch, "-c", TORCH, folder], capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(done.stderr)
            version, imported, taken = done.stdout.split()[-3:]
            ours = statistics.median(run[0] for run in warm)
            row(f"torch.load(mmap=True) of each, torch {version}", f"{float(taken) * 1e3:.0f} ms",
                f"{float(taken) / ours:.0f}x")
            row("  and its import, with DeepSpeed's", f"{float(imported) * 1e3:.0f} ms",
                f"{(float(taken) + float(imported)) / ours:.0f}x")


if __name__ == "__main__":
    main()
