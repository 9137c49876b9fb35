"""Matrices quantised through the package: TransformerEngine's bits, as tests/vectors/quantized.json has them."""
import array
import json
import pathlib
import sys
import unittest

import tare

VECTORS = pathlib.Path(__file__).resolve().parent.parent / "vectors" / "quantized.json"
MASK = (1 << 64) - 1
DTYPES = {"f32": tare.F32, "f16": tare.F16, "bf16": tare.BF16}


def splitmix64(state):
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def values_of(seed, rows, columns, dtype):
    """As make_quantized.py has them, of those without special numbers."""
    patterns = array.array("I" if dtype == "f32" else "H")
    for i in range(rows * columns):
        h = splitmix64((seed << 32) + i)
        row, sign, octave = i // columns, h >> 16 & 1, (h >> 33) % 14
        if dtype == "f16":
            patterns.append(sign << 15 | (1 + row * 3 % 15 + octave) << 10 | h >> 47 & 0x3FF)
        else:
            pattern = sign << 31 | (100 + row * 3 % 23 + octave) << 23 | h >> 40 & 0x7FFFFF
            patterns.append(pattern if dtype == "f32" else pattern >> 16)
    return patterns


def cases():
    for case in json.loads(VECTORS.read_text())["cases"]:
        if case["special"] == "":
            yield case


def as_tensor(patterns, dtype):
    return tare.Tensor(patterns.buffer_info()[0], len(patterns), DTYPES[dtype])


class Sides(unittest.TestCase):
    def sides_of(self, quantizer, rows, columns):
        made = []
        for is_columnwise in (False, True):
            shape = quantizer.shape_of_side(rows, columns, is_columnwise)
            made.append(tare.Side(bytearray(shape.data[0] * shape.data[1]),
                                  bytearray(shape.scales[0] * shape.scales[1] * shape.scale_size)))
        return made

    def test_data_scales_and_the_way_back_are_those_of_the_vectors(self):
        count = 0
        for case in cases():
            config = dict(case["config"])
            rows, columns, dtype, expected = case["rows"], case["columns"], case["dtype"], case["expected"]
            with self.subTest(config, seed=case["seed"]):
                quantizer = tare.Quantizer(config.pop("recipe"), **config)
                patterns = values_of(case["seed"], rows, columns, dtype)
                rowwise, columnwise = self.sides_of(quantizer, rows, columns)
                amax, scale = array.array("f", [0]), array.array("f", [0])
                scale_bits = memoryview(scale).cast("B").cast("I")
                scale_bits[0] = int(case["given"], 16)
                matrix = tare.Matrix(as_tensor(patterns, dtype), rowwise, columnwise, amax, scale, (rows, columns))
                quantizer.quantize(matrix)
                for side, name in ((rowwise, "rowwise"), (columnwise, "columnwise")):
                    self.assertEqual(side.data.hex(), expected[name])
                    self.assertEqual(side.scales.hex(), expected[name + "_scales"])
                if "scale" in expected:
                    self.assertEqual(f"{scale_bits[0]:08x}", expected["scale"])
                back = array.array(patterns.typecode, bytes(len(patterns) * patterns.itemsize))
                quantizer.dequantize([matrix._replace(values=as_tensor(back, dtype), columnwise=None)])
                self.assertEqual(back.tobytes().hex(), expected["back"])
                count += 1
        self.assertGreater(count, 30)

    def test_scales_may_lie_apart(self):
        quantizer = tare.Quantizer("mxfp8", format="e4m3")
        values = array.array("f", [float(2 ** (i % 7)) for i in range(3 * 64)])
        dense = tare.Side(bytearray(192), bytearray(6))
        padded = tare.Side(bytearray(192), bytearray(2 * 4 + 2), row_stride=4, column_stride=1)
        for side in (dense, padded):
            quantizer.quantize(tare.Matrix(values, side, shape=(3, 64)))
        self.assertEqual(padded.data, dense.data)
        self.assertEqual([padded.scales[4 * i + j] for i in range(3) for j in range(2)], list(dense.scales))
        self.assertGreater(min(dense.scales), 0)

    def test_what_is_too_short_is_refused_before_a_byte_is_written(self):
        quantizer = tare.Quantizer("mxfp8", format="e4m3")
        values = array.array("f", [1.0] * 64)
        for side in ((bytearray(63), bytearray(2)), (bytearray(64), bytearray(1)),
                     tare.Side(bytearray(64), bytearray(4), row_stride=4, column_stride=4)):
            with self.assertRaisesRegex(ValueError, "of which the matrix needs"):
                quantizer.quantize(tare.Matrix(values, side, shape=(1, 64)))
            self.assertEqual(bytes(side[0]), bytes(len(side[0])))
        with self.assertRaisesRegex(ValueError, "64 values for a matrix of 2 x 64"):
            quantizer.quantize(tare.Matrix(values, (bytearray(64), bytearray(2)), shape=(2, 64)))
        with self.assertRaisesRegex(ValueError, "one float32"):
            quantizer.quantize(tare.Matrix(values, (bytearray(64), bytearray(2)), amax=array.array("d", [0]), shape=(1, 64)))

    def test_numbers_that_lead_out_of_the_buffers_are_refused(self):
        quantizer = tare.Quantizer("mxfp8", format="e4m3")
        values = array.array("f", [1.0] * 96)
        room = bytearray(b"\xee" * 16)
        for row_stride, column_stride in ((-1, 0), (0, -1), (1, -1), (2**63, 0), (2**64 - 1, 1)):
            side = tare.Side(bytearray(96), memoryview(room)[8:], row_stride, column_stride)
            with self.assertRaises(ValueError):
                quantizer.quantize(tare.Matrix(values, side, shape=(3, 32)))
        with self.assertRaisesRegex(ValueError, "a shape of"):
            quantizer.quantize(tare.Matrix(values, (bytearray(96), room), shape=(-3, -32)))
        for row_stride in (2**64, 2**64 + 1):  # of one row, where no distance is gone
            with self.assertRaises(OverflowError):
                quantizer.quantize(tare.Matrix(values, tare.Side(bytearray(96), room, row_stride), shape=(1, 96)))
        self.assertEqual(room, b"\xee" * 16)

    def test_a_buffer_without_a_shape_needs_one(self):
        with self.assertRaisesRegex(ValueError, "no shape"):
            tare.Quantizer("current").quantize(tare.Matrix(tare.Tensor(8, 4, tare.F32), (bytearray(4), None)))

    def test_an_unknown_recipe_and_parameter_are_named(self):
        with self.assertRaisesRegex(tare.InvalidArgument, "mxfp9"):
            tare.Quantizer("mxfp9")
        with self.assertRaisesRegex(tare.InvalidArgument, "formt"):
            tare.Quantizer("mxfp8", formt="e4m3")


class Torch(unittest.TestCase):
    def setUp(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no torch: not run")
        self.torch = torch

    def test_a_batch_of_rows_becomes_torch_s_own_dtypes(self):
        torch = self.torch
        values = torch.linspace(-3, 3, 2 * 4 * 64).reshape(2, 4, 64).bfloat16()
        quantizer = tare.Quantizer("mxfp8", format="e4m3")
        data = torch.zeros(8, 64, dtype=torch.float8_e4m3fn)
        scales = torch.zeros(8, 2, dtype=torch.uint8)
        quantizer.quantize(tare.Matrix(values, (data, scales)))
        real = data.float() * torch.exp2(scales.float() - 127).repeat_interleave(32, dim=1)
        self.assertLess((real - values.float().reshape(8, 64)).abs().max().item(), 3 / 16)
        back = torch.empty_like(values)
        quantizer.dequantize(tare.Matrix(back, (data, scales)))
        self.assertTrue(torch.equal(back.float().reshape(8, 64), real.bfloat16().float()))

    def test_a_transposed_matrix_is_refused_and_not_read_in_another_order(self):
        values = self.torch.zeros(64, 2).T
        with self.assertRaisesRegex(ValueError, "row after row"):
            tare.Quantizer("current").quantize(tare.Matrix(values, (bytearray(128), None)))


if __name__ == "__main__":
    sys.exit(unittest.main())
