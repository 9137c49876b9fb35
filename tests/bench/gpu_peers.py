#!/usr/bin/env python3
"""libtare beside torch (and TransformerEngine, where it is installed) in one process, taking turns: the same gradients,
CUDA events, medians.

    gpu_peers.py LIBTARE [SAMPLES]
"""
import pathlib
import statistics
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/examples"))
import torch

import tare

library = sys.argv[1]
samples = int(sys.argv[2]) if len(sys.argv) > 2 else 31
tare.open_library(library)
DTYPES = {torch.float32: tare.F32, torch.bfloat16: tare.BF16, torch.float16: tare.F16}


def tensors_of(tensors):
    return [tare.Tensor(t.data_ptr(), t.numel(), DTYPES[t.dtype], 0) for t in tensors]


def take_turns(*works):
    """Medians of each work's GPU time in milliseconds, and of the host's to enqueue it."""
    gpu = [[] for _ in works]
    host = [[] for _ in works]
    for sample in range(samples + 3):
        for i, work in enumerate(works):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda.synchronize()
            begin.record()
            started = time.perf_counter()
            work()
            enqueued = time.perf_counter()
            end.record()
            torch.cuda.synchronize()
            if sample >= 3:
                gpu[i].append(begin.elapsed_time(end))
                host[i].append(1e3 * (enqueued - started))
    return [statistics.median(times) for times in gpu], [statistics.median(times) for times in host]


def row(goal, what, names, times, host, target):
    ours, theirs = times[0], times[1:]
    peers = ", ".join(f"{name} {t:.3f} ms = {t / ours:.2f}x" for name, t in zip(names, theirs))
    print(f"{goal:4} {what:44} tare {ours:.3f} ms (host {host[0]:.3f}); {peers}   {target}", flush=True)


def flags():
    return torch.zeros(1, device="cuda"), torch.ones(1, device="cuda")


def unscale_with_torch(gradients):
    found, inverse = flags()
    by_dtype = {}
    for gradient in gradients:
        by_dtype.setdefault(gradient.dtype, []).append(gradient)

    def work():
        for group in by_dtype.values():
            torch._amp_foreach_non_finite_check_and_unscale_(group, found, inverse)
    return work


def norm_and_clip_with_torch(gradients):
    parameters = [torch.nn.Parameter(torch.empty_like(g)) for g in gradients]
    for parameter, gradient in zip(parameters, gradients):
        parameter.grad = gradient
    return lambda: torch.nn.utils.clip_grad_norm_(parameters, 1e9, foreach=True)


def lists(gradients):
    scaler = tare.Scaler('{"policy":"torch","initial_scale":1.0001,"device":"cuda:0"}')
    return scaler, scaler.grads(tensors_of(gradients))


def stream():
    return torch.cuda.current_stream().cuda_stream


def matrices(count, elements, dtype):
    return [torch.randn(elements // count, device="cuda").to(dtype) for _ in range(count)]


def lists_against_torch():
    for goal, what, gradients, target in (
            ("G1", "one f32 tensor of 384 M", matrices(1, 384_000_000, torch.float32), ""),
            ("G3", "500 f32 matrices of 225 M", matrices(500, 225_181_696, torch.float32),
             "wanted 4x in place, 10x read only"),
            ("G4", "f32 main gradients, 700 M in 291", matrices(291, 700_000_000, torch.float32),
             "wanted 10x read only, 3x with clipping"),
            ("G5", "10,000 f32 tensors of 4", matrices(10_000, 40_000, torch.float32), "wanted 20x")):
        scaler, grads = lists(gradients)
        outputs = tensors_of(gradients)
        unscale, clip = unscale_with_torch(gradients), norm_and_clip_with_torch(gradients)
        chain = lambda: (unscale(), clip())
        names = ["torch unscale", "torch unscale + norm + clip"]
        for way, ours in (("read only", lambda: grads.observe(stream())), ("in place", lambda: grads.unscale(stream())),
                          ("clipped", lambda: grads.write(outputs, '{"clip_norm":1e9,"unscale":false}', stream()))):
            row(goal, f"{what}, {way}", names, *take_turns(ours, unscale, chain), target)


def empty_step():
    scaler = tare.Scaler('{"policy":"torch","device":"cuda:0"}')
    grads = scaler.grads([])
    scale, tracker = torch.full((1,), 65536.0, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda")
    found, _ = flags()
    theirs = lambda: torch._amp_update_scale_(scale, tracker, found, 2.0, 0.5, 2000)
    ours = lambda: (grads.observe(stream()), scaler.update(stream()))
    row("G6", "observe nothing, update", ["torch update alone"], *take_turns(ours, theirs), "")


def transformer_engine_update():
    try:
        import transformer_engine_torch as te
        from transformer_engine.common.recipe import Format  # noqa: F401
    except ImportError:
        print("G7   NOT RUN: no TransformerEngine here")
        return
    modules = [(torch.rand(1024, 3, device="cuda"), torch.ones(3, device="cuda")) for _ in range(3334)]
    amaxes = torch.rand(3 * len(modules), device="cuda")
    theirs = lambda: te.fused_amax_and_scale_update_after_reduction(
        amaxes, [m[0] for m in modules], [m[1] for m in modules], "max", te.DType.kFloat8E4M3, 0.0)
    times, host = take_turns(theirs)
    print(f"G7   TransformerEngine's update, 3,334 modules of 3, history 1,024: {times[0]:.3f} ms (host {host[0]:.3f})")


def quantise_with_torch():
    values = matrices(500, 225_181_696, torch.bfloat16)
    one = torch.ones((), device="cuda", dtype=torch.bfloat16)

    def theirs():
        for value in values:
            value.abs().amax()
            (value * one).clamp(-448, 448).to(torch.float8_e4m3fn)
    times, host = take_turns(theirs)
    print(f"G8   torch: amax, scale, clamp, cast of 500 bf16 matrices: {times[0]:.3f} ms (host {host[0]:.3f})")


print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}; times of whole calls, launches among them")
lists_against_torch()
empty_step()
transformer_engine_update()
quantise_with_torch()
