#!/usr/bin/env python3
"""Scales of models stored in 8 and 4 bits, in safetensors of every writer's shape: found, shown, kept from harm, edited.

    weight_scales.py --tare TARE

Prints a line a failure; exit 1 if there are any.
"""
import argparse
import json
import math
import pathlib
import struct
import sys
import tempfile

from command import Tare

M = "model.layers.0.q_proj"
BYTES = {"F32": 4, "BF16": 2, "F8_E4M3": 1, "F8_E8M0": 1, "U8": 1, "I8": 1, "I32": 4}
E4M3_HALF, E4M3_ONE = 0x30, 0x38
# name: (dialect, tensors: key -> (dtype, shape, bytes), slots: tensor -> (multiplier, native name, inverse?, use))
F8 = ("F8_E4M3", [4, 32], bytes(128))
PACKED = ("U8", [4, 16], bytes(64))


def f32(*values):
    return ("F32", [len(values)] if len(values) > 1 else [1], struct.pack(f"<{len(values)}f", *values))


def raw(dtype, *values):
    return (dtype, [len(values), 1], bytes(values))


WRITERS = {
    "static FP8 of compressed-tensors": ("compressed_tensors", {
        f"{M}.weight": F8, f"{M}.weight_scale": f32(0.25), f"{M}.input_scale": f32(0.5)},
        {"weight": (4, "weight_scale", True, "stored_data"), "input": (2, "input_scale", True, "calibrated")}),
    "scales of a cache alone": ("compressed_tensors", {"model.layers.0.self_attn.k_scale": f32(2.0)},
                                {"key": (0.5, "k_scale", True, "calibrated")}),
    "MXFP8 with bytes as powers of two": ("compressed_tensors", {
        f"{M}.weight": F8, f"{M}.weight_scale": raw("U8", 125, 125, 125, 125)},
        {"weight": (4, "weight_scale", True, "stored_data")}),
    "MXFP8 with a type of its own": ("compressed_tensors", {
        f"{M}.weight": F8, f"{M}.weight_scale": raw("F8_E8M0", 124, 124, 124, 124)},
        {"weight": (8, "weight_scale", True, "stored_data")}),
    "NVFP4 of compressed-tensors": ("compressed_tensors_fp4", {
        f"{M}.weight_packed": PACKED, f"{M}.weight_scale": raw("F8_E4M3", E4M3_HALF, E4M3_HALF),
        f"{M}.weight_global_scale": f32(2048.0), f"{M}.input_global_scale": f32(512.0)},
        {"weight": (2, "weight_scale", True, "stored_data"),
         "weight_global": (2048, "weight_global_scale", False, "stored_data"),
         "input_global": (512, "input_global_scale", False, "calibrated")}),
    "MXFP4 of compressed-tensors": ("compressed_tensors_fp4", {
        f"{M}.weight_packed": PACKED, f"{M}.weight_scale": raw("U8", 120, 120)},
        {"weight": (128, "weight_scale", True, "stored_data")}),
    "NVFP4 of ModelOpt": ("modelopt", {
        f"{M}.weight": PACKED, f"{M}.weight_scale": raw("F8_E4M3", E4M3_ONE, E4M3_ONE),
        f"{M}.weight_scale_2": f32(0.125), f"{M}.input_scale": f32(0.5)},
        {"weight": (1, "weight_scale", True, "stored_data"),
         "weight_global": (8, "weight_scale_2", True, "stored_data"),
         "input_global": (2, "input_scale", True, "calibrated")}),
    "one of several experts' weights of ModelOpt": ("modelopt", {
        "experts.gate_up_proj": PACKED, "experts.gate_up_proj_weight_scale": raw("F8_E4M3", E4M3_ONE, E4M3_ONE),
        "experts.gate_up_proj_weight_scale_2": f32(0.25)},
        {"weight": (1, "weight_scale", True, "stored_data"),
         "weight_global": (4, "weight_scale_2", True, "stored_data")}),
    "gpt-oss": ("mxfp4", {
        "experts.gate_up_proj_blocks": PACKED, "experts.gate_up_proj_scales": raw("U8", 126, 126)},
        {"weight": (2, "scales", True, "stored_data")}),
    "gpt-oss as it was released": ("mxfp4", {
        "block.0.mlp.mlp1_weight.blocks": PACKED, "block.0.mlp.mlp1_weight.scales": raw("U8", 128, 128)},
        {"weight": (0.5, "scales", True, "stored_data")}),
    "Quark": ("mxfp4", {f"{M}.weight": PACKED, f"{M}.weight_scale": raw("U8", 127, 127)},
              {"weight": (1, "weight_scale", True, "stored_data")}),
    "ComfyUI": ("comfyui", {
        "scaled_fp8": ("F8_E4M3", [2], bytes(2)), "blocks.0.qkv.weight": F8,
        "blocks.0.qkv.scale_weight": ("F32", [], struct.pack("<f", 0.5)), "blocks.0.qkv.scale_input": f32(0.25)},
        {"weight": (2, "scale_weight", True, "stored_data"), "input": (4, "scale_input", True, "calibrated")}),
    "ComfyUI with formats": ("comfyui", {
        f"{M}.weight": F8, f"{M}.weight_scale": f32(0.5), f"{M}.comfy_quant": ("U8", [2], b"{}")},
        {"weight": (2, "weight_scale", True, "stored_data")}),
    "DeepSeek": ("deepseek_fp8", {f"{M}.weight": F8, f"{M}.weight_scale_inv": f32(0.5, 0.5)},
                 {"weight": (2, "weight_scale_inv", True, "stored_data")}),
    "experts in one tensor, as transformers has DeepSeek's": ("deepseek_fp8", {
        "mlp.experts.gate_up_proj": F8, "mlp.experts.gate_up_proj_scale_inv": f32(0.5, 0.5),
        "mlp.experts.gate_up_proj_activation_scale": f32(0.25)},
        {"weight": (2, "scale_inv", True, "stored_data"), "input": (4, "activation_scale", True, "calibrated")}),
    "experts in one tensor, as FBGEMM has Llama 4's": ("compressed_tensors", {
        "mlp.experts.down_proj": F8, "mlp.experts.down_proj_scale": f32(0.5, 0.5)},
        {"weight": (2, "scale", True, "stored_data")}),
    "AutoFP8": ("compressed_tensors", {
        f"{M}.weight": F8, f"{M}.weight_scale": f32(0.5), f"{M}.act_scale": f32(0.25)},
        {"weight": (2, "weight_scale", True, "stored_data"), "input": (4, "act_scale", True, "calibrated")}),
    "Mistral": ("compressed_tensors", {
        f"{M}.weight": F8, f"{M}.qscale_weight": f32(0.5), f"{M}.qscale_act": f32(0.25)},
        {"weight": (2, "qscale_weight", True, "stored_data"), "input": (4, "qscale_act", True, "calibrated")}),
    "DeepSeek in its own format": ("deepseek_fp8", {f"{M}.weight": F8, f"{M}.scale": raw("F8_E8M0", 126, 126)},
                                   {"weight": (2, "scale", True, "stored_data")}),
    "torchao's tensors, flattened": ("torchao", {
        "0._weight_qdata": F8, "0._weight_scale": f32(0.25, 0.25), "0.bias": f32(1.0)},
        {"weight": (4, "scale", True, "stored_data")}),
    "torchao's NVFP4Tensor, flattened": ("torchao", {
        "0._weight_qdata": PACKED, "0._weight_scale": raw("F8_E4M3", E4M3_ONE, E4M3_ONE),
        "0._weight_per_tensor_scale": f32(0.5)},
        {"weight": (1, "scale", True, "stored_data"),
         "weight_global": (2, "per_tensor_scale", True, "stored_data")}),
}
OTHERS = {
    "integers of 8 bits": {f"{M}.weight": ("I8", [4, 32], bytes(128)), f"{M}.weight_scale": f32(0.5)},
    "integers of 4 bits, packed": {f"{M}.weight_packed": ("I32", [4, 4], bytes(64)), f"{M}.weight_scale": f32(0.5)},
    "integers of 4 bits of ModelOpt, beside FP8 inputs": {
        f"{M}.weight": PACKED, f"{M}.weight_scale": f32(0.5, 0.5), f"{M}.weight_scale_2": f32(0.01)},
    "experts in one tensor of bfloat16": {
        "mlp.experts.down_proj": ("BF16", [2, 2], bytes(8)), "mlp.experts.down_proj_scale": f32(0.5, 0.5),
        "mlp.experts.down_proj_scale_inv": f32(0.5, 0.5), "mlp.experts.down_proj_activation_scale": f32(0.5)},
    "integers with the scales of other tools": {
        f"{M}.weight": ("I8", [4, 32], bytes(128)), f"{M}.act_scale": f32(0.5), f"{M}.qscale_act": f32(0.5),
        f"{M}.qscale_weight": f32(0.5)},
    "GPTQ": {f"{M}.qweight": ("I32", [4, 4], bytes(64)), f"{M}.scales": f32(0.5)},
    "a norm's scale": {"norm.scale": f32(1.0), "norm.weight": f32(1.0)},
    "torchao's integers": {"0._weight_qdata": ("I8", [4, 32], bytes(128)), "0._weight_scale": f32(0.5)},
}


def safetensors(tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, content) in tensors.items():
        assert len(content) == math.prod(shape) * BYTES[dtype], name
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class Checks:
    def __init__(self, tare, folder):
        self.tare, self.folder, self.failed = tare, pathlib.Path(folder), 0

    def expect(self, holds, *what):
        if not holds:
            self.failed += 1
            print("FAILED", *what)

    def file(self, tensors):
        path = self.folder / "model.safetensors"
        path.write_bytes(safetensors(tensors))
        return path

    def states(self, path):
        return {s["path"]: s for s in self.tare("inspect", path, "--json").json()["scalers"]}

    def slots(self, path):
        found = [slot for state in self.states(path).values() for slot in state["slots"]]
        return {slot["tensor"]: slot for slot in found}

    def found(self, name, dialect, tensors, wanted):
        path = self.file(tensors)
        states = self.states(path)
        self.expect({s["dialect"] for s in states.values()} == {dialect}, name, "is", states)
        slots = self.slots(path)
        told = {t: (s["scale"], s["stored_as"], s["stored_inverse"], s["use"]) for t, s in slots.items()}
        self.expect(told == wanted, name, "has", told)
        text = self.tare("inspect", path).out.decode()
        for _, native, inverse, _ in wanted.values():
            self.expect(("1 / " if inverse else " ") + native in text, name, "does not show", native, text)

    def kept_from_harm(self, name, tensors, wanted):
        """No edit changes what stored numbers mean, unless it is forced; then it is what was asked for."""
        for tensor, (multiplier, native, inverse, use) in wanted.items():
            stored = 1 / multiplier if inverse else multiplier
            for key, value in ((f"scale.{tensor}", multiplier * 4), (native, stored * 4)):
                path = self.file(tensors)
                start = path.read_bytes()
                done = self.tare("edit", path, f"{key}={value}", "--all", "--yes")
                is_data = use == "stored_data"
                self.expect(done.code == (4 if is_data else 0), name, key, done)
                if is_data:
                    self.expect(path.read_bytes() == start, name, key, "was refused, and written")
                    self.expect("times what they are" in done.reason and "--force" in done.reason, name, done.reason)
                    done = self.tare("edit", path, f"{key}={value}", "--all", "--yes", "--force")
                    self.expect(done.code == 0, name, key, done)
                now = self.slots(path)[tensor]
                new = multiplier * 4 if key != native or not inverse else multiplier / 4
                self.expect(now["scale"] == new, name, key, "gives", now)
                others = {t: s["scale"] for t, s in self.slots(path).items() if t != tensor}
                self.expect(all(s == wanted[t][0] for t, s in others.items()), name, key, "changed", others)
                got = self.tare("get", path, f"scale.{tensor}")
                self.expect(got.code == 0 and got.out.decode().strip("[]\n").split(",")[0] == f"{float(new)}", name, got)
                self.tare("undo", path, "--yes")
                self.expect(path.read_bytes() == start, name, key, "and undo")
        for verb in ("reset", "recompute"):
            self.expect(self.tare("fp8", verb, path, "--yes").code == 4, name, "took", verb)

    def powers_of_two(self):
        """Types that hold nothing else take nothing else, and are shown so."""
        for dtype in ("U8", "F8_E8M0"):
            path = self.file({f"{M}.weight": F8, f"{M}.weight_scale": raw(dtype, 0, 254, 127, 255)})
            text = self.tare("inspect", path).out.decode()
            self.expect("2^-127 .. 2^127" in text and "1 inf or nan" in text, dtype, text)
            for value, code in (("3", 4), ("2^-130", 4), ("0", 4), ("2^-127", 0), ("2^127", 0), ("0.5", 0)):
                done = self.tare("edit", path, f"weight_scale={value}", "--force", "--yes")
                self.expect(done.code == code, dtype, value, done)
            data = path.read_bytes()
            self.expect(data.endswith(bytes([126] * 4)), dtype, data[-4:])

    def sick(self):
        """Scales that no value survives are told, and shown as what they are."""
        nan = struct.pack("<f", math.nan)
        for value, shown, code in ((math.inf, "inf", "scale-not-finite"), (math.nan, "nan", "scale-not-finite"),
                                   (0.0, "0", "scale-zero"), (-1.0, "-1", "scale-negative")):
            for key in ("weight_scale", "input_scale"):
                tensors = {f"{M}.weight": F8, f"{M}.weight_scale": f32(1.0), f"{M}.input_scale": f32(1.0)}
                tensors[f"{M}.{key}"] = f32(value)
                path = self.file(tensors)
                answer = self.tare("inspect", path, "--json").json()
                self.expect([f["code"] for f in answer["findings"]] == [code], value, answer["findings"])
                slot = self.slots(path)[key.removesuffix("_scale")]
                self.expect(str(slot["stored_scale"]) in (shown, str(value)), value, slot)
                row = next(l for l in self.tare("inspect", path).out.decode().splitlines() if f"1 / {key}" in l)
                self.expect(row.split()[1] == shown, value, row)
        many = {}
        for layer in range(50):
            many |= {f"layers.{layer}.weight": F8, f"layers.{layer}.weight_scale": ("F32", [1], nan)}
        found = self.tare("inspect", self.file(many), "--json").json()["findings"]
        self.expect(len(found) == 1 and "in 49 more layers" in found[0]["message"], "many sick layers", found)

    def integers_in_several_files(self):
        """A shard that ends between a weight of int8 and its scale makes no FP8 of it; of FP8 both are seen."""
        for dtype, paths in (("I8", []), ("F8_E4M3", ["layers.0", "layers.1"])):
            weight = (dtype, [4, 32], bytes(128))
            folder = self.folder / dtype
            folder.mkdir()
            shards = [{"layers.0.weight": weight, "layers.0.weight_scale": f32(0.5), "layers.1.weight": weight},
                      {"layers.1.weight_scale": f32(0.5), "norm.weight": f32(1.0)}]
            for number, tensors in enumerate(shards, 1):
                (folder / f"model-{number:05}-of-00002.safetensors").write_bytes(safetensors(tensors))
            answer = self.tare("inspect", folder, "--json").json()
            self.expect(sorted(s["path"] for s in answer["scalers"]) == paths, dtype, "has", answer["scalers"])
            is_nothing = any(f["code"] == "no-scaler" for f in answer["findings"])
            self.expect(is_nothing == (not paths), dtype, answer["findings"])

    def others(self):
        for name, tensors in OTHERS.items():
            self.expect(not self.states(self.file(tensors)), name, "was taken for FP8", self.states(self.file(tensors)))


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True, type=pathlib.Path)
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(Tare(ask.parse_args().tare), folder)
        for name, (dialect, tensors, wanted) in WRITERS.items():
            checks.found(name, dialect, tensors, wanted)
            checks.kept_from_harm(name, tensors, wanted)
        checks.powers_of_two()
        checks.sick()
        checks.others()
        checks.integers_in_several_files()
    print(f"{len(WRITERS)} writers, {checks.failed} failures")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
