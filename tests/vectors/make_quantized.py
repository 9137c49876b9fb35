#!/usr/bin/env python3
"""Writes quantized.json: whole matrices as TransformerEngine quantises them (numpy, ml_dtypes).

The scales are those of make_block_scales.py and, of current scaling, compute_scale_from_amax of
common/recipe/recipe_common.cuh; what lies where is that of common/transpose/rtc/cast_transpose.cu,
quantize_transpose_{vector,square}_blockwise.cu, common/cast/mxfp8/quantize_mxfp8.cuh and
common/cast/nvfp4/quantize_transpose_nvfp4.cuh (TransformerEngine 2.20.2), without padding. An amax is fmaxf's, which drops
NaN. The casts are ml_dtypes' own; NaN is 0x7f, of E2M1 7, as cvt.rn.satfinite writes it.

Values come from a number by splitmix64 (`values_of`), which tests do as well. Of what is expected a case has the bytes
as hexadecimal digits, of large matrices their 64-bit FNV-1a.
"""
import json
import pathlib

import ml_dtypes
import numpy as np

from make_block_scales import FLT_MAX, LARGEST_INPUT, F, bits, exp2f_rcp, float_to_e8m0, fminf, from_bits, to_e4m3

np.seterr(all="ignore")
MASK = (1 << 64) - 1
TYPES = {"f32": np.dtype(F), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
FORMATS = {"e4m3": (ml_dtypes.float8_e4m3fn, 448), "e5m2": (ml_dtypes.float8_e5m2, 57344),
           "e2m1": (ml_dtypes.float4_e2m1fn, 6)}
SPECIAL = {  # zeros, the least, the largest, NaN; behind them infinities
    "f32": [0, 0x80000000, 1, 0x807FFFFF, 0x7F7FFFFF, 0x7FC00000, 0xFF812345, 0x7F800000, 0xFF800000],
    "f16": [0, 0x8000, 1, 0x83FF, 0x7BFF, 0x7E00, 0xFC01, 0x7C00, 0xFC00],
    "bf16": [0, 0x8000, 1, 0x807F, 0x7F7F, 0x7FC0, 0xFF81, 0x7F80, 0xFF80],
}
SPECIALS = {"": 0, "zeros": 2, "numbers": 4, "nan": 7, "infinities": 9}  # how many of them there may be


def splitmix64(state):
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def values_of(seed, rows, columns, dtype, special):
    """Magnitudes of 14 octaves, others in each row; every 61st number or so is a special one."""
    out = []
    for row in range(rows):
        for column in range(columns):
            h = splitmix64((seed << 32) + row * columns + column)
            if SPECIALS[special] and h % 61 == 0:
                out.append(SPECIAL[dtype][(h >> 8) % SPECIALS[special]])
                continue
            sign, octave = h >> 16 & 1, (h >> 33) % 14
            if dtype == "f16":
                out.append(sign << 15 | (1 + row * 3 % 15 + octave) << 10 | h >> 47 & 0x3FF)
            else:
                pattern = sign << 31 | (100 + row * 3 % 23 + octave) << 23 | h >> 40 & 0x7FFFFF
                out.append(pattern if dtype == "f32" else pattern >> 16)
    width = np.uint32 if dtype == "f32" else np.uint16
    return np.array(out, width).reshape(rows, columns).view(TYPES[dtype]).astype(F)


def amax_of(values):
    found = np.abs(values)
    found = found[~np.isnan(found)]
    return F(found.max()) if found.size else F(0)


def cast(values, format_name):
    kind, largest = FORMATS[format_name]
    clipped = np.clip(values, F(-largest), F(largest))  # infinities, too; NaN stays
    if format_name == "e2m1":
        patterns = np.where(np.isnan(clipped), F(6), clipped).astype(kind).view(np.uint8) & 0xF
    else:
        patterns = clipped.astype(kind).view(np.uint8)
        patterns = np.where(np.isnan(clipped), np.uint8(0x7F), patterns)
    return patterns.astype(np.uint8)


def scale_from_amax(amax, largest, pow_2, epsilon, instead_of_infinity):
    if amax < F(epsilon):
        amax = F(epsilon)
    if np.isinf(amax) or amax == 0:
        return F(1)
    scale = F(largest) / amax
    if np.isinf(scale):
        scale = instead_of_infinity
    return from_bits(bits(scale) & 0xFF800000) if pow_2 else scale


def packed(patterns):
    return (patterns[:, 0::2] | patterns[:, 1::2] << 4).astype(np.uint8)


# ---- a recipe: (values, config, input dtype, scale that is given) -> what is expected, arrays and floats by name

def whole(values, config, scale):
    data = cast(values * scale, config["format"])
    inverse = np.array([F(1) / scale], F)
    return {"rowwise": data, "rowwise_scales": inverse, "columnwise": data.T, "columnwise_scales": inverse}


def current(values, config, dtype, _):
    amax = amax_of(values)
    scale = scale_from_amax(amax, FORMATS[config["format"]][1], config.get("force_pow_2_scales", False),
                            config.get("amax_epsilon", 0), FLT_MAX)
    return whole(values, config, scale) | {"amax": amax, "scale": scale}


def delayed(values, config, dtype, given):
    return whole(values, config, F(given)) | {"amax": amax_of(values), "scale": F(given)}


def in_blocks(values, length, scale_of, format_name):
    """Blocks along rows: data, and what scale_of keeps of each."""
    rows, columns = values.shape
    data, kept = np.zeros(values.shape, np.uint8), []
    for row in range(rows):
        for begin in range(0, columns, length):
            block = values[row, begin:begin + length]
            factor, one = scale_of(amax_of(block))
            data[row, begin:begin + length] = cast(block * factor, format_name)
            kept.append(one)
    return data, np.array(kept).reshape(rows, -1)


def mxfp8(values, config, dtype, _):
    largest = FORMATS[config["format"]][1]

    def scale_of(amax):
        kept = float_to_e8m0(amax * F(1.0 / largest))
        return exp2f_rcp(kept), np.uint8(kept)
    rowwise, row_scales = in_blocks(values, 32, scale_of, config["format"])
    columnwise, column_scales = in_blocks(values.T, 32, scale_of, config["format"])
    return {"rowwise": rowwise, "rowwise_scales": row_scales, "columnwise": columnwise.T,
            "columnwise_scales": column_scales.T}


def tile_scale(config, dtype):
    def scale_of(amax):
        scale = scale_from_amax(amax, FORMATS[config["format"]][1], config.get("force_pow_2_scales", True),
                                config.get("amax_epsilon", 0), LARGEST_INPUT[dtype])
        return scale, F(1) / scale
    return scale_of


def blockwise_1d(values, config, dtype, _):
    rowwise, row_scales = in_blocks(values, 128, tile_scale(config, dtype), config["format"])
    columnwise, column_scales = in_blocks(values.T, 128, tile_scale(config, dtype), config["format"])
    return {"rowwise": rowwise, "rowwise_scales": row_scales, "columnwise": columnwise,
            "columnwise_scales": column_scales}


def blockwise_2d(values, config, dtype, _):
    scale_of, data, kept = tile_scale(config, dtype), np.zeros(values.shape, np.uint8), []
    for row in range(0, values.shape[0], 128):
        kept.append([])
        for column in range(0, values.shape[1], 128):
            tile = values[row:row + 128, column:column + 128]
            scale, inverse = scale_of(amax_of(tile))
            data[row:row + 128, column:column + 128] = cast(tile * scale, config["format"])
            kept[-1].append(inverse)
    kept = np.array(kept, F)
    return {"rowwise": data, "rowwise_scales": kept, "columnwise": data.T, "columnwise_scales": kept.T}


def nvfp4(values, config, dtype, _):
    amax = amax_of(values)
    encode = fminf(F(448) * F(6) / amax, FLT_MAX)
    if amax == 0 or encode == 0:
        encode = F(1)

    def scale_of(block_amax):
        kept = to_e4m3(fminf(block_amax * (encode * (F(1) / F(6))), FLT_MAX))
        as_float = np.uint8(kept).view(ml_dtypes.float8_e4m3fn).astype(F)
        return fminf(F(1) / (as_float * (F(1) / encode)), FLT_MAX), np.uint8(kept)
    rowwise, row_scales = in_blocks(values, 16, scale_of, "e2m1")
    columnwise, column_scales = in_blocks(values.T, 16, scale_of, "e2m1")
    return {"rowwise": packed(rowwise), "rowwise_scales": row_scales, "columnwise": packed(columnwise),
            "columnwise_scales": column_scales, "amax": amax, "scale": encode}


# ---- the way back

def dequantized(recipe, expected, config, shape, dtype):
    """From the rowwise side, in float32, rounded to the dtype."""
    rows, columns = shape
    data, scales = expected["rowwise"], expected["rowwise_scales"]
    if recipe == "nvfp4":
        codes = np.stack([data & 0xF, data >> 4], axis=-1).reshape(rows, columns)
        values = codes.view(ml_dtypes.float4_e2m1fn).astype(F)
        scales = scales.view(ml_dtypes.float8_e4m3fn).astype(F) * expected["amax"] * (F(1) / F(6 * 448))
    else:
        values = np.ascontiguousarray(data).view(FORMATS[config["format"]][0]).astype(F)
    if recipe == "mxfp8":
        scales = np.array([from_bits(int(e) << 23 if e else 0x00400000) for e in scales.ravel()]).reshape(scales.shape)
    length = {"mxfp8": 32, "nvfp4": 16, "blockwise_1d": 128, "blockwise_2d": 128}.get(recipe)
    if length:
        scales = np.repeat(scales, length, axis=1)[:, :columns]
    if recipe == "blockwise_2d":
        scales = np.repeat(scales, 128, axis=0)[:rows]
    values = values * (scales if length else scales[0])
    out = values.astype(TYPES[dtype])
    width, nan = (np.uint32, 0x7FFFFFFF) if dtype == "f32" else (np.uint16, 0x7FFF if dtype == "f16" else 0x7FC0)
    return np.where(np.isnan(values), width(nan), out.view(width))


def fnv1a(data):
    digest = 0xCBF29CE484222325
    for byte in data:
        digest = (digest ^ byte) * 0x100000001B3 & MASK
    return f"{digest:016x}"


def written(value):
    if np.ndim(value) == 0:
        return f"{bits(value):08x}"
    data = np.ascontiguousarray(value).tobytes()
    return data.hex() if len(data) <= 1200 else "fnv1a:" + fnv1a(data)


RECIPES = {"current": current, "delayed": delayed, "mxfp8": mxfp8, "blockwise_1d": blockwise_1d,
           "blockwise_2d": blockwise_2d, "nvfp4": nvfp4}


def case(recipe, seed, shape, dtype, special, given=1.0, **config):
    if recipe != "nvfp4":
        config.setdefault("format", "e4m3")
    values = values_of(seed, *shape, dtype, special)
    expected = RECIPES[recipe](values, config, dtype, given)
    back = dequantized(recipe, expected, config, shape, dtype)
    return {"config": {"recipe": recipe} | config, "seed": seed, "rows": shape[0], "columns": shape[1], "dtype": dtype,
            "special": special, "given": f"{bits(F(given)):08x}",
            "expected": {name: written(value) for name, value in expected.items()} | {"back": written(back)}}


def cases(recipe):
    shapes = [(34, 36), (3, 70), (1, 2), (32, 128), (130, 262)]
    configs = [{"format": "e4m3"}, {"format": "e5m2"}] if recipe != "nvfp4" else [{}]
    if recipe in ("current", "blockwise_1d", "blockwise_2d"):
        power = recipe == "current"
        configs += [{"force_pow_2_scales": power}, {"amax_epsilon": 1000.0}]
    seed = 1
    for config in configs:
        for dtype in TYPES:
            for special in SPECIALS:
                shape = shapes[seed % len(shapes)]
                if recipe == "nvfp4":
                    shape = tuple((n + 1) // 2 * 2 for n in shape)
                yield case(recipe, seed, shape, dtype, special, given=2.0 ** (seed % 9) * 1.25, **config)
                seed += 1


def main():
    lines = [json.dumps(one) for recipe in RECIPES for one in cases(recipe)]
    pathlib.Path(__file__).with_name("quantized.json").write_text(
        '{\n "framework": "transformer_engine 2.20.2",\n "code": "make_quantized.py",\n "cases": [\n  ' +
        ",\n  ".join(lines) + "\n ]\n}\n")


if __name__ == "__main__":
    main()
