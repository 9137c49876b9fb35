"""The frame of the benchmarks here: whole processes, timed beside an empty one, and a table with ratios."""
import argparse
import pathlib
import re
import statistics
import subprocess
import tempfile
import time


def parser(description, pairs=50):
    """What every benchmark takes; `description` is the script's own words."""
    ask = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    ask.add_argument("--pairs", type=int, default=pairs)
    ask.add_argument("--folder", default="/dev/shm", help="where fsync costs nothing")
    return ask


def wall_ms(command):
    begin = time.perf_counter()
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - begin) * 1e3


def quartiles(differences):
    low, middle, high = statistics.quantiles(differences, n=4)
    return middle, low, high


def above_true(command, pairs):
    """-> (median, lower and upper quartile) of what the command takes beyond an empty process, in ms"""
    differences = []
    for _ in range(pairs):
        empty = wall_ms(["/bin/true"])
        differences.append(wall_ms(command) - empty)
    return quartiles(differences)


def alternating_edits(tare, path, pairs):
    """The same, for edits that each change the scale; without history, so that nothing piles up."""
    differences = []
    for number in range(pairs):
        empty = wall_ms(["/bin/true"])
        scale = 1024 if number % 2 else 4096
        differences.append(wall_ms([tare, "edit", str(path), f"scale={scale}", "--yes", "--no-history"]) - empty)
    return quartiles(differences)


def bytes_read(command):
    """Bytes that the process reads from files, as strace counts them, its shared libraries left out."""
    with tempfile.NamedTemporaryFile("r") as trace:
        subprocess.run(["strace", "-f", "-y", "-e", "trace=read,pread64,readv,preadv", "-o", trace.name, *command],
                       stdout=subprocess.DEVNULL, check=True)
        lines = [line for line in trace if ".so" not in line]
    return sum(int(found[1]) for line in lines if (found := re.search(r"= (\d+)$", line)))


def peak_mib(command):
    told = subprocess.run(["/usr/bin/time", "-f", "%M", *command], capture_output=True, text=True, check=True).stderr
    return int(re.findall(r"\d+", told)[-1]) / 1024


def row(what, figure, ratio=""):
    print(f"{what:<58} {figure:>34} {ratio:>16}".rstrip(), flush=True)


def spread(figures):
    middle, low, high = figures
    return f"{middle:.2f} ms ({low:.2f} to {high:.2f})"


def checkpoint_rows(options, title, path, of="", framework="", edits=True):
    """The table's head and what tare takes on the checkpoint at `path`; -> median of inspect, in ms. `of`: what the bytes
    read are beside; `framework`: whose ratios follow."""
    inspect = [options.tare, "inspect", str(path)]
    subprocess.run(inspect, stdout=subprocess.DEVNULL, check=True)  # from here on it is warm
    row(title, "median (quartiles)", f"{framework} / tare" if framework else "")
    figures = above_true(inspect, options.pairs)
    row("tare inspect, above an empty process", spread(figures))
    row("  bytes read", f"{bytes_read(inspect):,}{of}")
    row("  peak memory", f"{peak_mib(inspect):.0f} MiB")
    if edits:
        row("tare edit, where fsync costs nothing", spread(alternating_edits(options.tare, path, options.pairs)))
    return figures[0]


def framework_ms(python, program, *arguments):
    """-> (version, ms of the import, ms of the work), which `program` prints last"""
    done = subprocess.run([python, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=True)
    version, imported, taken = done.stdout.split()[-3:]
    return version, float(imported), float(taken)


def framework_rows(what, imported, taken, inspect_ms):
    row(what, f"{taken:.0f} ms" if taken >= 10 else f"{taken:.1f} ms", f"{taken / inspect_ms:.1f}x")
    row("  and its import", f"{imported:.0f} ms", f"{(taken + imported) / inspect_ms:.0f}x")
