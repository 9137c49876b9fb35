#!/usr/bin/env python3
"""Writes the traces of rules whose frameworks do not run here: their own update code, lifted out of their sources.

    make_lifted.py SOURCES          a folder with checkouts: BMTrain, pytorch (torch_npu's), oneflow, InternEvo, mmcv

The classes run as they stand, with stand-ins for what they import; OneFlow's kernel is compiled. InternEvo's rule is
ColossalAI's, and mmcv's is that of apex.fp16_utils: their traces go behind those files' own. Needs torch and g++.
"""
import ast
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import types
from collections import defaultdict

import torch

HERE = pathlib.Path(__file__).parent


def shown(value):
    if isinstance(value, (bool, int, str)):
        return value
    return value.hex() if value == value and abs(value) != float("inf") else str(value)


def lifted(path, names, scope):
    """Those classes of a source file, run in `scope`."""
    tree = ast.parse(path.read_text())
    tree.body = [node for node in tree.body if getattr(node, "name", None) in names]
    exec(compile(tree, str(path), "exec"), scope)
    return scope


class Anything(types.ModuleType):
    """A module, a stream, a logger: whatever is asked of it."""

    def __getattr__(self, name):
        return Anything(name)

    def __call__(self, *_, **__):
        return Anything("made")


# ---- subjects: a function from (params, start) to (step(overflow) -> fields, skipped)

def bmtrain(sources):
    config = {"zero_size": 1, "load_stream": Anything("stream")}
    scope = lifted(sources / "BMTrain/bmtrain/optim/optim_manager.py", ["OptimManager"], {
        "torch": types.SimpleNamespace(optim=torch.optim, no_grad=torch.no_grad, Tensor=torch.Tensor,
                                       cuda=Anything("cuda")),
        "config": config, "print_rank": print_nothing, "WarmupLRScheduler": object, "Optional": __import__("typing").Optional})
    flag = {}

    def check_overflow(_):
        if flag["overflow"]:
            raise OverflowError("Gradient overflow")

    scope["check_overflow"] = check_overflow

    def make(params, start):
        given = {k: v for k, v in params.items() if k not in ("loss_scale", "loss_scale_enabled")}
        enabled = params.get("loss_scale_enabled", True)
        manager = scope["OptimManager"](loss_scale=start["loss_scale"] if enabled else None, **given)
        manager.loss_scale = start["loss_scale"]
        manager.steps_since_last_scale = start["steps_since_last_scale"]
        stepped = []
        optimizer = types.SimpleNamespace(param_groups=[], zero_grad=lambda **_: None, _bmtrain_optimizer=True,
                                          step=lambda scale: stepped.append(scale))
        manager.add_optimizer(optimizer)

        def step(overflow):
            stepped.clear()
            flag["overflow"] = overflow
            manager.step()
            return {"loss_scale": manager.loss_scale, "steps_since_last_scale": manager.steps_since_last_scale}, not stepped

        return step

    return make


def print_nothing(*_):
    pass


def torch_npu(sources):
    from torch.cuda.amp.grad_scaler import GradScaler, _refresh_per_optimizer_state
    scope = lifted(sources / "pytorch/torch_npu/npu/amp/grad_scaler.py", ["GradScaler"], {
        "torch": torch, "BaseGradScaler": GradScaler, "defaultdict": defaultdict, "print": print_nothing,
        "_refresh_per_optimizer_state": _refresh_per_optimizer_state, "Optional": None, "Dict": dict, "List": list})

    def make(params, start):
        scaler = object.__new__(scope["GradScaler"])
        scaler.__dict__.update(
            _enabled=True, _growth_factor=params.get("growth_factor", 2.0), _backoff_factor=params.get("backoff_factor", 0.5),
            _growth_interval=params.get("growth_interval", 2000), _dynamic=params.get("dynamic", True),
            _scale=torch.full((), start["scale"], dtype=torch.float32),
            _growth_tracker=torch.full((), start["_growth_tracker"], dtype=torch.int32))

        def step(overflow):
            scaler._has_overflow = overflow and scaler._dynamic  # a static one does not look
            skipped = scaler._has_overflow
            scaler.update()
            return {"scale": scaler._scale.item(), "_growth_tracker": scaler._growth_tracker.item()}, skipped

        return step

    return make


def internevo(sources):
    scope = lifted(sources / "InternEvo/internlm/solver/optimizer/utils.py", ["BaseGradScaler", "DynamicGradScaler"], {
        "torch": torch, "Tensor": torch.Tensor, "Dict": dict, "ABC": object, "abstractmethod": lambda f: f,
        "Optional": __import__("typing").Optional, "get_current_device": lambda: "cpu", "logger": Anything("logger"),
        "gpc": types.SimpleNamespace(is_rank_for_log=lambda: False)})

    def make(params, start):
        scaler = scope["DynamicGradScaler"](**params)
        scaler.load_state_dict({f"_{name}": value for name, value in start.items()})

        def step(overflow):
            scaler.update(overflow)
            return {name[1:]: value for name, value in scaler.state_dict().items()}, overflow

        return step

    return make


def mmcv(sources):
    scope = lifted(sources / "mmcv/mmcv/runner/fp16_utils.py", ["LossScaler"], {
        "torch": torch, "List": list, "Dict": dict, "Parameter": object, "Tensor": torch.Tensor})

    def make(params, start):
        scaler = scope["LossScaler"](**params)
        scaler.load_state_dict({"mode": "dynamic", **scaler.state_dict(), **start})

        def step(overflow):
            scaler.update_scale(overflow)
            return {name: getattr(scaler, name) for name in start}, overflow

        return step

    return make


KERNEL = r"""
#include <algorithm>
#include <cfloat>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#define LOG(level) if (true) {} else std::cerr
#define REGISTER_USER_KERNEL(name) static int registered = Registered()
struct Registered {
  template <class T> Registered& SetCreateFn() { return *this; }
  template <class T> Registered& SetIsMatchedHob(T) { return *this; }
  operator int() const { return 0; }
};
namespace oneflow {
enum class DeviceType { kCPU };
namespace user_op {
inline DeviceType HobDeviceType() { return DeviceType::kCPU; }
struct Tensor {
  void* data;
  template <class T> const T* dptr() const { return static_cast<T*>(data); }
  template <class T> T* mut_dptr() { return static_cast<T*>(data); }
};
struct KernelComputeContext {
  std::map<std::string, Tensor> tensors;
  double multiplier;
  int64_t period;
  Tensor* Tensor4ArgNameAndIndex(const std::string& name, int) { return &tensors.at(name); }
  template <class T> T Attr(const std::string& name) {
    return name == "multiplier" ? static_cast<T>(multiplier) : static_cast<T>(period);
  }
};
struct OpKernel {
  virtual ~OpKernel() = default;
  virtual void Compute(KernelComputeContext* ctx) const = 0;
  virtual bool AlwaysComputeWhenAllOutputsEmpty() const = 0;
};
}  // namespace user_op
}  // namespace oneflow
"""
DRIVER = r"""
int main(int, char** arguments) {
  oneflow::user_op::KernelComputeContext context;
  context.multiplier = std::strtod(arguments[1], nullptr);
  context.period = std::atoll(arguments[2]);
  float scale = std::strtof(arguments[3], nullptr);
  int64_t counter = std::atoll(arguments[4]), bad = 0;
  context.tensors = {{"count_not_finite", {&bad}}, {"loss_scale", {&scale}}, {"good_step_counter", {&counter}}};
  const oneflow::DynamicLossScaleScheduleCpuKernel kernel;
  for (int c; (c = std::getchar()) != EOF;) {
    bad = c == '1';
    static_cast<const oneflow::user_op::OpKernel&>(kernel).Compute(&context);
    std::printf("%a %lld\n", scale, static_cast<long long>(counter));
  }
}
"""


def oneflow(sources):
    text = (sources / "oneflow/oneflow/user/kernels/dynamic_loss_scale_schedule_kernel.cpp").read_text()
    body = "\n".join(line for line in text.splitlines() if not line.startswith("#include"))
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "kernel.cpp").write_text(KERNEL + body + DRIVER)
    subprocess.run(["g++", "-std=c++17", "-O0", "-o", folder / "kernel", folder / "kernel.cpp"], check=True)

    def make(params, start):
        steps = []

        def step(overflow):  # from the start again: traces are short
            steps.append(overflow)
            said = subprocess.run(
                [folder / "kernel", str(params.get("growth_factor", 2.0)), str(params.get("growth_interval", 2000)),
                 str(start["LossScale"]), str(start["GoodStepCounter"])],
                input="".join("01"[bad] for bad in steps), text=True, capture_output=True, check=True).stdout
            scale, counter = said.split("\n")[len(steps) - 1].split()
            scale = float("nan") if "nan" in scale else float.fromhex(scale)
            return {"LossScale": scale, "GoodStepCounter": int(counter)}, overflow

        return step

    return make


# ---- what they are put through

def pattern(text):
    """"3 x 2": three clean steps, an overflow, two clean ones."""
    for word in text.split():
        yield from [True] if word == "x" else [False] * int(word)


def drawn(seed, count, rate):
    source = random.Random(seed)
    return [source.random() < rate for _ in range(count)]


def trace(make, params, start, steps, why):
    step, made = make(dict(params), dict(start)), []
    for overflow in steps:
        after, skipped = step(overflow)
        made.append({"overflow": overflow, "skipped": skipped, "after": {k: shown(v) for k, v in after.items()}})
    return {"params": {k: shown(v) for k, v in params.items()}, "start": {k: shown(v) for k, v in start.items()},
            "steps": made, "why": why}


def of_bmtrain(make):
    def one(params, scale, steps, text, why):
        return trace(make, params, {"loss_scale": scale, "steps_since_last_scale": steps}, text, why)

    return [
        one({}, 2 ** 20, 1020, pattern("3 1 2 x 2"), "the default window; an int scale stays one until an overflow"),
        one({"loss_scale_steps": 3}, 4.0, 0, pattern("3 3 x x x x x 2 1 3"), "down to the floor, where an overflow counts for nothing"),
        one({"loss_scale_steps": 3}, 4.0, 0, pattern("3 x x x 2 x 1 x 3"), "at the floor the clean steps around an overflow are added up"),
        one({"loss_scale_steps": 2, "min_loss_scale": 3}, 8.0, 0, pattern("x x x 2 x"), "the floor is a gate: below it by less than a factor"),
        one({"loss_scale_steps": 2, "max_loss_scale": 20}, 8.0, 0, pattern("2 2 2 2 x 2 2"), "so is the ceiling, and the counter goes on behind it"),
        one({"loss_scale_steps": 2, "loss_scale_factor": 0.25}, 64, 1, pattern("1 2 x x 2"), "a factor of at most 1 is turned over"),
        one({"loss_scale_steps": 1, "loss_scale_factor": 1.5}, 1000, 0, pattern("4 x x 3"), "a factor that is no power of two"),
        one({"loss_scale_steps": 1}, 2.0 ** 1022, 0, pattern("3 x 1"), "up to infinity, and never down again"),
        one({"loss_scale_steps": 4, "loss_scale_enabled": False}, 1, 0, pattern("5 x 1"), "off: nothing moves, nothing is skipped"),
        one({"loss_scale_steps": 5}, 1024, 9, pattern("1 4 5"), "a counter beyond the window grows at once"),
        one({"loss_scale_steps": 7}, 65536.0, 0, drawn(1, 200, 0.15), "random, overflow rate 0.15"),
    ]


def of_torch_npu(make):
    def one(params, scale, tracker, steps, why):
        return trace(make, params, {"scale": scale, "_growth_tracker": tracker}, steps, why)

    return [
        one({}, 65536.0, 1997, pattern("3 1 x 2"), "the defaults"),
        one({"growth_interval": 3, "dynamic": False}, 512.0, 2, pattern("4 x x 3"), "a static one stands still, and skips no step"),
        one({"growth_interval": 3}, 512.0, 3, pattern("4 x 3"), "a tracker at the interval never meets it"),
        one({"growth_interval": 1, "growth_factor": 1.1, "backoff_factor": 0.9}, 3.0, 0, drawn(2, 120, 0.4), "factors are rounded to float32 first"),
        one({"growth_interval": 1}, 2.0 ** 126, 0, pattern("3 x 2"), "growth to infinity is not taken"),
        one({"growth_interval": 2}, 2.0 ** -147, 0, pattern("x x x x 2"), "down to 0, which no growth moves"),
        one({"growth_interval": 2}, float("nan"), 0, pattern("2 x 2"), "a nan stays"),
        one({"growth_interval": 5}, 65536.0, 0, drawn(3, 200, 0.1), "random, overflow rate 0.1"),
    ]


def of_oneflow(make):
    def one(params, scale, counter, steps, why):
        return trace(make, params, {"LossScale": scale, "GoodStepCounter": counter}, steps, why)

    return [
        one({}, 65536.0, 1997, pattern("3 1 x 2"), "the defaults"),
        one({"growth_interval": 3}, 8.0, 7, pattern("1 3 x x x x 3"), "a counter beyond the period grows at once; the floor is 1"),
        one({"growth_interval": 1}, 2.0 ** 126, 0, pattern("3 x 2"), "growth ends at FLT_MAX"),
        one({"growth_interval": 1, "growth_factor": 1.1}, 3.0, 0, drawn(4, 100, 0.4), "the multiplier is a float, products are formed in double"),
        one({"growth_interval": 2}, 0.25, 0, pattern("2 x 2"), "an overflow lifts a scale below 1"),
        one({"growth_interval": 2}, float("nan"), 0, pattern("2 x 2"), "a nan stays"),
        one({"growth_interval": 4}, 65536.0, 0, drawn(5, 120, 0.15), "random, overflow rate 0.15"),
    ]


def of_internevo(make):
    def one(params, steps, why, scale=65536.0, growth=0, hysteresis=0):
        return trace(make, params, {"scale": scale, "growth_step": growth, "hysteresis_step": hysteresis}, steps, f"InternEvo: {why}")

    return [
        one({}, pattern("2 x x x 2"), "the defaults", growth=998),
        one({"growth_interval": 3, "min_scale": 4096.0, "max_scale": 131072.0}, pattern("3 3 x x x x x x 3"), "both bounds"),
        one({"growth_interval": 3, "hysteresis": 3}, pattern("x x 2 x 1 x 3 x"), "clean steps do not refill the hysteresis, a growth does"),
        one({"growth_interval": 4, "growth_factor": 1.1, "backoff_factor": 0.7, "hysteresis": 1}, drawn(6, 150, 0.2), "random, factors that are no powers of two"),
    ]


def of_mmcv(make):
    def one(params, scale, now, last, steps, why):
        return trace(make, params, {"cur_scale": scale, "cur_iter": now, "last_overflow_iter": last}, steps, f"mmcv: {why}")

    return [
        one({"scale_factor": 2.0, "scale_window": 1000}, 2 ** 32, 997, -1, pattern("3 1 x 2"), "the defaults"),
        one({"scale_factor": 2, "scale_window": 3}, 8, 0, -1, pattern("3 3 x x x x x x 3"), "down to the int 1, and up from there"),
        one({"scale_factor": 1.5, "scale_window": 4}, 512.0, 0, -1, drawn(7, 150, 0.2), "random, a factor that is no power of two"),
    ]


def dumped(traces):
    return ",\n".join("  " + json.dumps(one, separators=(",", ":")) for one in traces)


def write(rule, framework, code, traces):
    (HERE / f"{rule}.json").write_text(
        f'{{\n "rule": "{rule}",\n "framework": "{framework}",\n "code": "{code}",\n "traces": [\n{dumped(traces)}\n ]\n}}\n')


def append(rule, framework, traces):
    """Behind the file's own traces, whose lines stay as they are."""
    path = HERE / f"{rule}.json"
    text = path.read_text().rstrip()
    known = [one for one in json.loads(text)["traces"] if not one["why"].startswith(f"{framework}: ")]
    if len(known) != len(json.loads(text)["traces"]):
        raise SystemExit(f"{path}: {framework}'s traces are there")
    end = text.rindex("]")
    path.write_text(f"{text[:end].rstrip()},\n{dumped(traces)}\n ]\n}}\n")


def main():
    sources = pathlib.Path(sys.argv[1])
    write("bmtrain", "bmtrain 1.0.1 (30e6469)", "OptimManager.step, lifted", of_bmtrain(bmtrain(sources)))
    write("torch_npu", "torch_npu 2.14.0 (9e73e708)", "GradScaler.update, lifted; CPU tensors", of_torch_npu(torch_npu(sources)))
    write("oneflow", "oneflow 25c8978", "DynamicLossScaleScheduleCpuKernel, lifted", of_oneflow(oneflow(sources)))
    append("colossalai", "InternEvo", of_internevo(internevo(sources)))
    append("apex_fp16_utils", "mmcv", of_mmcv(mmcv(sources)))


if __name__ == "__main__":
    main()
