#!/usr/bin/env python3
"""Runs torchao's FP8 scaling on the CPU and writes torchao_delayed.json and torchao_dynamic.json.

    make_torchao.py RELEASES [OUT]     RELEASES/0.9.0/torchao ...: the wheels of DELAYED and DYNAMIC, unpacked

Delayed scaling is run whole: a layer casts tensors of known amaxes, forward and back, then come
sync_float8_amax_and_scale_history and the next step. In the first step its scale is read twice, before the sync and
after it. Needs torch 2.6; each release has a process of its own.
"""

import json
import math
import pathlib
import random
import subprocess
import sys
import types

HERE = pathlib.Path(__file__).parent
DELAYED = {"0.4.0": "0.4", "0.5.0": "0.4", "0.6.1": "0.6", "0.7.0": "0.7", "0.8.0": "0.7", "0.9.0": "0.7"}
DYNAMIC = ["0.9.0", "0.18.0"]
LARGEST = {"input": 448.0, "grad_output": 57344.0}
CORNERS = [0.0, 2.0**-149, 1e-38, 1e-13, 1e-12, 1.1e-12, 6e-8, 0.1, 1.0, 3.0, 447.9, 448.0, 57344.0, 65504.0, 3e38]


def hexed(value):
    return value.hex() if math.isfinite(value) else str(value)


def load(folder):
    """The release's float8, without what the package imports first (its compiled operators want their own torch)."""
    package = types.ModuleType("torchao")
    package.__path__ = [str(folder / "torchao")]
    sys.modules["torchao"] = package


def amaxes(count, seed, in_float16):
    numbers = random.Random(seed)
    top = 65504.0 if in_float16 else 3e38
    for _ in range(count):
        corner = numbers.random() < 0.3
        yield min(numbers.choice(CORNERS), top) if corner else 2.0 ** numbers.uniform(-14, 15)


def state_of(layer, name):
    history = getattr(layer, f"fp8_amax_history_{name}").tolist()
    scale = getattr(layer, f"fp8_scale_{name}").item()
    return {"scale": hexed(scale), "amax_history": [hexed(entry) for entry in history]}


def delayed_layer(torch, dtype, init, history_len):
    from torchao import float8

    casts = [float8.CastConfig(scaling_type=float8.ScalingType.DELAYED) for _ in range(3)]  # each gets its own format
    config = float8.Float8LinearConfig(
        cast_config_input=casts[0],
        cast_config_weight=casts[1],
        cast_config_grad_output=casts[2],
        delayed_scaling_config=float8.DelayedScalingConfig(history_len=history_len),
        enable_amax_init=init,
        emulate=True,
    )
    model = torch.nn.Sequential(torch.nn.Linear(16, 16, bias=False).to(dtype))
    return float8.convert_to_float8_training(model, config=config)


def with_amax(torch, amax, dtype):
    values = torch.zeros(16, 16, dtype=dtype)
    values[3, 5] = -amax
    return values


def delayed_trace(torch, variant, dtype_name, init, start, given, why, history_len=16):
    from torchao import float8

    dtype = getattr(torch, dtype_name)
    model = delayed_layer(torch, dtype, init, history_len)
    layer = model[0]
    traces = {}
    for name, largest in LARGEST.items():
        params = {"fp8_max": hexed(largest), "history_len": history_len, "variant": variant,
                  "orig_dtype": dtype_name, "enable_amax_init": init}
        if start is not None:
            getattr(layer, f"fp8_amax_history_{name}").copy_(torch.tensor(start))
        traces[name] = {"why": why, "params": params, "start": state_of(layer, name), "steps": []}
    for step, amax in enumerate(given):
        tensor = with_amax(torch, amax, dtype).requires_grad_()
        model(tensor).backward(with_amax(torch, amax, dtype))
        seen = tensor.detach().abs().max().float().item()
        for name, trace in traces.items():
            if step == 0 and init:
                trace["steps"].append({"amax": hexed(seen), "after": state_of(layer, name)})
        float8.sync_float8_amax_and_scale_history(model)
        for name, trace in traces.items():
            assert getattr(layer, f"fp8_amax_{name}").item() == seen or math.isnan(seen)
            trace["steps"].append({"amax": hexed(seen), "after": state_of(layer, name)})
    for trace in traces.values():  # no step but the first changes a history
        for step in trace["steps"][2:-1]:
            del step["after"]["amax_history"]
    return list(traces.values())


def delayed_traces(release, folder):
    load(folder)
    import torch

    variant = DELAYED[release]
    traces = []
    for dtype_name in ("float32", "bfloat16", "float16"):
        steps = list(amaxes(24, f"{release} {dtype_name}", dtype_name == "float16"))
        name = f"torchao {release}, {dtype_name}"
        traces += delayed_trace(torch, variant, dtype_name, True, None, steps, name)
        traces += delayed_trace(torch, variant, dtype_name, False, None, steps[:6], f"{name}, enable_amax_init=False")
    loaded = [float(1 + i) for i in range(16)]
    traces += delayed_trace(torch, variant, "float32", True, loaded, [0.5, 20.0, 0.25], f"torchao {release}, loaded")
    traces += delayed_trace(torch, variant, "float32", False, loaded, [0.5, 20.0, 0.25], f"torchao {release}, loaded")
    odd = [1.0, math.inf, 2.0, math.nan, 3.0]
    traces += delayed_trace(torch, variant, "float32", True, None, odd, f"torchao {release}, not finite")
    for length in (1, 2, 33, 70):
        start = [float((i * 37) % 101) for i in range(length)]
        traces += delayed_trace(torch, variant, "float32", True, start, [0.5, 200.0, 0.25, 7.0],
                                f"torchao {release}, a history of {length}", length)
    return traces


def dynamic_traces(release, folder):
    load(folder)
    import torch
    from torchao.float8.float8_utils import tensor_to_scale

    numbers = random.Random(release)
    given = CORNERS + [math.inf, math.nan] + [2.0 ** numbers.uniform(-149, 127) for _ in range(60)]
    for exponent in range(-30, 40, 3):  # quotients about a power of two
        given += [448.0 * 2.0**-exponent * (1 + side * 2.0**-23) for side in (-1, 0, 1)]
    traces = []
    for format_name, largest in (("float8_e4m3fn", 448.0), ("float8_e5m2", 57344.0)):
        for rounded in (False, True):
            steps = []
            for amax in given:
                value = torch.tensor([-amax, 0.0])
                scale = tensor_to_scale(value, getattr(torch, format_name), round_scales_to_power_of_2=rounded)
                steps.append({"amax": hexed(value.abs().max().item()), "after": {"scale": hexed(scale.item())}})
            params = {"fp8_max": hexed(largest), "round_scales_to_power_of_2": rounded}
            traces.append({"why": f"torchao {release}", "params": params, "start": {}, "steps": steps})
    return traces


def write(path, rule, releases, code, traces):
    head = {"rule": rule, "framework": "torchao " + ", ".join(releases), "code": code}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    rows = ",\n".join("  " + json.dumps(trace) for trace in traces)
    path.write_text("{\n" + "\n".join(lines) + '\n "traces": [\n' + rows + "\n ]\n}\n")


def main():
    if sys.argv[1] == "--one":
        kind, release, folder = sys.argv[2:]
        run = delayed_traces if kind == "delayed" else dynamic_traces
        print(json.dumps(run(release, pathlib.Path(folder))))
        return
    releases = pathlib.Path(sys.argv[1])
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else HERE

    def run(kind, release):
        command = [sys.executable, __file__, "--one", kind, release, str(releases / release)]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)

    delayed = [trace for release in DELAYED for trace in run("delayed", release)]
    write(out / "torchao_delayed.json", "torchao_delayed", DELAYED,
          "Float8Linear with delayed scaling, emulate=True on the CPU; sync_float8_amax_and_scale_history", delayed)
    dynamic = [trace for release in DYNAMIC for trace in run("dynamic", release)]
    write(out / "torchao_dynamic.json", "torchao_dynamic", DYNAMIC, "float8/float8_utils.py: tensor_to_scale", dynamic)


if __name__ == "__main__":
    main()
