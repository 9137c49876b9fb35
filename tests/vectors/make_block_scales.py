#!/usr/bin/env python3
"""Writes block_scales.json: the scales of MXFP8, NVFP4 and Float8BlockScaling (numpy, ml_dtypes).

The arithmetic is TransformerEngine 2.20.2's, line by line in numpy float32: float_to_e8m0 and exp2f_rcp of
common/util/ptx_arch_spec.cuh and ptx.cuh; compute_scale_from_types of common/recipe/recipe_common.cuh;
compute_global_encode_scaling_factor_FP4, compute_decoding_scaling_factor and block_scale_inverse of common/cast/nvfp4.
The roundings to E4M3 and E2M1 are ml_dtypes' own.
"""
import json
import pathlib

import ml_dtypes
import numpy as np

np.seterr(all="ignore")
F = np.float32
FLT_MAX = F(np.finfo(np.float32).max)
LARGEST_INPUT = {"f32": FLT_MAX, "f16": F(65504), "bf16": F(ml_dtypes.finfo(ml_dtypes.bfloat16).max)}


def bits(value):
    return int(np.asarray(value, F).view(np.uint32))


def hexed(value):
    return f"{bits(value):08x}"


def from_bits(pattern):
    return np.uint32(pattern).view(F)


def fminf(a, b):
    return F(np.fmin(F(a), F(b)))


# ---- MXFP8

def float_to_e8m0(value):
    if np.isnan(value):
        return 0xFF
    if np.isinf(value):
        return 0xFE
    if value == 0:
        return 0x00
    exponent, mantissa = bits(value) >> 23, bits(value) & 0x7FFFFF
    if (mantissa > 0 and exponent != 0xFE) and not (exponent == 0 and mantissa <= 0x400000):
        exponent += 1
    return exponent


def exp2f_rcp(exponent):
    if exponent == 255:
        return from_bits(0x7FFFFFFF)
    return from_bits(0x00400000) if exponent == 254 else from_bits((254 - exponent) << 23)


def mxfp8(amax, largest):
    scale = float_to_e8m0(F(amax) * F(1.0 / largest))
    return {"amax": hexed(amax), "largest": largest, "scale": scale, "inverse": hexed(exp2f_rcp(scale))}


# ---- Float8BlockScaling

def blockwise(amax, largest, dtype, pow_2, epsilon):
    given = F(amax)
    if given < F(epsilon):
        given = F(epsilon)
    if np.isinf(given) or given == 0 or np.isnan(given):
        scale = F(1)
    else:
        scale = F(largest) / given
        if np.isinf(scale):
            scale = LARGEST_INPUT[dtype]
        if pow_2:
            scale = from_bits(bits(scale) & 0xFF800000)
    return {"amax": hexed(amax), "largest": largest, "input": dtype, "power_of_two": pow_2, "epsilon": hexed(epsilon),
            "scale": hexed(scale), "inverse": hexed(F(1) / scale)}


# ---- NVFP4

def to_e4m3(value):
    """static_cast<__nv_fp8_e4m3>: saturating; ml_dtypes rounds to nearest even."""
    return int(np.minimum(F(value), F(448)).astype(ml_dtypes.float8_e4m3fn).view(np.uint8))


def nvfp4(amax, block_amax):
    tensor = fminf(F(448) * F(6) / F(amax), FLT_MAX)
    if amax == 0 or tensor == 0:
        tensor = F(1)
    block = to_e4m3(fminf(F(block_amax) * (tensor * (F(1) / F(6))), FLT_MAX))
    as_float = np.uint8(block).view(ml_dtypes.float8_e4m3fn).astype(F)
    factor = fminf(F(1) / (as_float * F(1.0 / np.float64(tensor))), FLT_MAX)
    return {"amax": hexed(amax), "block_amax": hexed(block_amax), "tensor_scale": hexed(tensor), "block_scale": block,
            "factor": hexed(factor)}


def e2m1(value):
    """cvt.rn.satfinite.e2m1x2: NaN becomes +6."""
    pattern = 7 if np.isnan(value) else int(F(value).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)) & 0xF
    return {"value": hexed(value), "pattern": pattern}


def amaxes(random):
    special = [0x00000000, 0x00000001, 0x003FFFFF, 0x00400000, 0x00400001, 0x007FFFFF, 0x00800000, 0x00800001,
               0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x43DFFFFF, 0x43E00000, 0x43E00001, 0x475FFFFF, 0x47600000,
               0x47600001, 0x7EFFFFFF, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000]
    return [from_bits(p) for p in special] + [from_bits(p) for p in random.integers(0, 0x7F800000, 150, np.uint32)]


def main():
    random = np.random.default_rng(1)
    given = amaxes(random)
    powers = [F(2.0) ** F(p) * F(1 + q / 8) for p in range(-20, 20) for q in range(0, 8, 3)]
    e2m1_values = [F(q / 16) * sign for q in range(0, 130) for sign in (F(1), F(-1))]
    e2m1_values += [np.nextafter(F(tie), F(to)) for tie in (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0) for to in (0, 9)]
    e2m1_values += [F(np.inf), F(-np.inf), F(np.nan), from_bits(1), F(1e30)]
    vectors = {
        "framework": "transformer_engine 2.20.2",
        "code": "make_block_scales.py; floats as the hexadecimal digits of their bits",
        "mxfp8": [mxfp8(a, largest) for a in given + powers for largest in (448, 57344)],
        "blockwise": [blockwise(a, largest, dtype, pow_2, epsilon) for a in given[:60] for largest in (448, 57344)
                      for dtype in ("f32", "bf16", "f16") for pow_2 in (True, False) for epsilon in (0.0, 1e-12)],
        "nvfp4": [nvfp4(a, b) for a in given[:22] + powers[::7] for b in given[:30:2] + powers[::5]],
        "e2m1": [e2m1(value) for value in e2m1_values],
    }
    text = ",\n".join(f' "{key}": ' + (json.dumps(value) if isinstance(value, str) else
                                       "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]")
                      for key, value in vectors.items())
    pathlib.Path(__file__).with_name("block_scales.json").write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    main()
