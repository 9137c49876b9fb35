#!/usr/bin/env python3
"""torch's GradScaler and tare's, in one run: getters, a step of one small optimizer, and unscale_ of many small tensors.

    PYTHONPATH=capi/python LD_LIBRARY_PATH=build/release/lib tests/bench/grad_scaler.py [TENSORS [ELEMENTS]]

Rounds of both take turns; the least processor time of each is printed, and theirs as a multiple of ours.
"""
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("no torch: not run")
import tare.torch

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
ELEMENTS = int(sys.argv[2]) if len(sys.argv) > 2 else 64
ROUNDS, CALLS = 40, 2000

torch.set_num_threads(1)


def optimizer_of(count):
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(ELEMENTS)) for _ in range(count)], lr=0.1)


def scaler_of(kind):
    scaler = kind("cpu", init_scale=1024.0)
    scaler.scale(torch.zeros(1))
    return scaler


def call_time(call):
    start = time.process_time()
    for _ in range(CALLS):
        call()
    return (time.process_time() - start) / CALLS


def unscale_time(scaler, optimizer):
    for parameter in optimizer.param_groups[0]["params"]:
        parameter.grad = torch.ones(ELEMENTS)
    start = time.process_time()
    scaler.unscale_(optimizer)
    taken = time.process_time() - start
    scaler.update()
    return taken


def step_time(scaler, optimizer):
    optimizer.param_groups[0]["params"][0].grad = torch.ones(ELEMENTS)

    def step():
        scaler.unscale_(optimizer)
        scaler.update()
    return call_time(step)


def rounds():
    many, one = optimizer_of(COUNT), optimizer_of(1)
    for _ in range(ROUNDS):
        for name, kind in (("torch", torch.amp.GradScaler), ("tare", tare.torch.GradScaler)):
            scaler = scaler_of(kind)
            yield f"unscale_ of {COUNT} x {ELEMENTS}", name, unscale_time(scaler, many)
            yield "unscale_ and update of one", name, step_time(scaler, one)
            for getter in ("get_scale", "get_growth_factor", "get_growth_interval", "_get_growth_tracker", "state_dict"):
                yield getter, name, call_time(getattr(scaler, getter))


def main():
    least = {}
    for what, name, taken in rounds():
        times = least.setdefault(what, {})
        times[name] = min(times.get(name, taken), taken)
    print(f"torch {torch.__version__}, tare {tare.__version__}, one thread, least of {ROUNDS} rounds")
    for what, times in least.items():
        print(f"{what:28} torch {times['torch'] * 1e6:9.2f} us   tare {times['tare'] * 1e6:9.2f} us   "
              f"{times['torch'] / times['tare']:.2f} times as fast")


if __name__ == "__main__":
    main()
