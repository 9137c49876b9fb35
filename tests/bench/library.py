#!/usr/bin/env python3
"""One table of what the library takes: against what memory can do, against torch's own chain, and in time.

    library.py --build BUILD [--torch PYTHON] [--pairs 31] [--threads 2] [--mib 256] [--folder /dev/shm]

Runs bench_cpu_kernels and bench_library of BUILD. With --torch, that Python's torch works on the same tensors in turn
with libtare: the chain of a training step (unscale and check, norm, clip), DeepSpeed's isnan and isinf, and lists of
10,000 tiny tensors. Medians of ratios of pairs, with the quartiles. Nothing else should run meanwhile.
"""
import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve()
EXAMPLES = HERE.parent.parent.parent / "capi/examples"


def seconds_of(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def row(what, pairs, theirs, ours, wanted=0, at_most=0):
    """Their time, our time, how many times as fast; `wanted` is the least ratio, `at_most` the longest time in ms."""
    theirs(), ours(), theirs(), ours()
    ratios, their_times, times = [], [], []
    for _ in range(pairs):
        before, own, after = seconds_of(theirs), seconds_of(ours), seconds_of(theirs)
        ratios.append((before + after) / 2 / own)
        times.append(own * 1e3)
        their_times.append(before * 1e3)
    low, middle, high = statistics.quantiles(ratios, n=4)
    median = statistics.median(times)
    line = (f"{what:52} {median:9.3f} ms, torch {statistics.median(their_times):8.3f} ms "
            f"{middle:7.2f} times as fast ({low:.2f} to {high:.2f})")
    if wanted or at_most:
        missed = middle < wanted or (at_most and median > at_most)
        line += f"  wanted {wanted or f'{at_most} ms'}{': missed' if missed else ''}"
    print(line, flush=True)


def against_torch(options):
    import torch

    sys.path.insert(0, str(EXAMPLES))
    import tare

    tare.open_library(str(options.build / "lib/libtare.so"))
    torch.set_num_threads(options.threads)
    print(f"\nagainst torch {torch.__version__}, {options.threads} threads each, {options.mib} MiB of f32")
    scaler = tare.Scaler(f'{{"policy":"torch","threads":{options.threads}}}')
    found, inverse = torch.zeros(1), torch.ones(1) * (1 - 2.0**-20)
    scaler.set_scale(1 / inverse.item())

    def described(tensors):
        return [tare.Tensor(t.data_ptr(), t.numel(), tare.F32, 0) for t in tensors]

    large = [torch.randn(options.mib << 18)]
    list_of_one = scaler.grads(described(large))
    outputs = described(large)

    def chain():
        found.zero_()
        torch._amp_foreach_non_finite_check_and_unscale_(large, found, inverse)
        norm = torch.nn.utils.get_total_norm(large)
        torch._foreach_mul_(large, torch.clamp(1e9 / (norm + 1e-6), max=1.0))

    def overflow_check():
        values = large[0].float()
        return values.isnan().logical_or(values.isinf()).float().max().item()

    clip = '{"clip_norm":1e9}'
    row("observed, multiplier left to the optimizer", options.pairs, chain, list_of_one.observe, wanted=5)
    row("unscaled in place, clipping left to the optimizer", options.pairs, chain, list_of_one.unscale, wanted=3)
    row("unscaled and clipped in place", options.pairs, chain, lambda: list_of_one.write(outputs, clip))
    row("observed / isnan, isinf, or, float, max", options.pairs, overflow_check, list_of_one.observe, wanted=12)
    tiny = [torch.randn(4) for _ in range(10000)]
    thousands = scaler.grads(described(tiny))
    row("10,000 tensors of 4 unscaled / torch's unscale", options.pairs,
        lambda: torch._amp_foreach_non_finite_check_and_unscale_(tiny, found, inverse), thousands.unscale, at_most=0.3)
    row("10,000 tensors of 4 observed / torch's norm", options.pairs,
        lambda: torch.nn.utils.get_total_norm(tiny), thousands.observe, at_most=0.3)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--build", type=pathlib.Path, required=True)
    ask.add_argument("--torch", help="a Python that has torch")
    ask.add_argument("--pairs", type=int, default=31)
    ask.add_argument("--threads", type=int, default=2)
    ask.add_argument("--mib", type=int, default=256)
    ask.add_argument("--folder", default="/dev/shm")
    ask.add_argument("--only", choices=["passes", "states", "torch"], help="one part of the table")
    options = ask.parse_args()
    if options.only == "torch" and not options.torch:
        return against_torch(options)
    if options.only is None:
        print(f"tests/bench/library.py, {options.pairs} pairs, {time.strftime('%Y-%m-%d')}; {processor()}")
    numbers = [str(options.threads), str(options.mib), str(options.pairs)]
    parts = {"passes": [options.build / "tests/bench_cpu_kernels", *numbers],
             "states": [options.build / "tests/bench_library", options.folder, str(options.pairs)]}
    if options.torch:
        parts["torch"] = [options.torch, HERE, "--build", options.build, "--only", "torch", "--pairs", str(options.pairs),
                          "--threads", str(options.threads), "--mib", str(options.mib)]
    for name, command in parts.items():
        if options.only in (None, name):
            print(flush=True)
            # Threads of torch's that spin after their work would take a core from whoever is measured next.
            subprocess.run([str(word) for word in command], check=True, env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"})


if __name__ == "__main__":
    main()
