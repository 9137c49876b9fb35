"""Buffers of which one is written from another, and NumPy's scalars: what is read is what they hold."""
import ctypes
import unittest

import tare
from tare.tensors import found_in

ROWS, COLUMNS = (12, 4), (4, 8)  # of float32, 2 x 3


class Interface:
    """2 x 3 numbers by NumPy's interface alone."""

    def __init__(self, strides, shape=(2, 3), values=(1, 2, 3, 4, 5, 6)):
        self.memory = (ctypes.c_float * 6)(*values)
        self.__array_interface__ = {"data": (ctypes.addressof(self.memory), False), "shape": shape, "typestr": "<f4",
                                    "strides": strides, "version": 3}

    def flat(self):
        return list(self.memory)


def writers(source):
    """All that writes one list of buffers from another: each takes the target."""
    fp8 = tare.Fp8("fp8_static", slots=1)
    casts = tare.Fp8Casts(fp8, [Interface(None)])
    casts.rebind([source])
    rebound = tare.Scaler("torch", initial_scale=1.0).grads([Interface(None)])
    rebound.rebind([source])
    return {"quantize": lambda out: fp8.quantize(out, source), "dequantize": lambda out: fp8.dequantize(out, source),
            "casts": tare.Fp8Casts(fp8, [source]).quantize, "casts back": tare.Fp8Casts(fp8, [source]).dequantize,
            "rebound casts": casts.quantize, "rebound list": rebound.write,
            "list": tare.Scaler("torch", initial_scale=1.0).grads([source]).write}


class Orders(unittest.TestCase):
    def test_an_element_never_comes_to_another_place_than_it_has_in_its_source(self):
        for source, target in ((COLUMNS, ROWS), (COLUMNS, None), (None, COLUMNS), (ROWS, COLUMNS)):
            for name, write in writers(Interface(source)).items():
                with self.subTest(name, source=source, target=target):
                    out = Interface(target, values=[9] * 6)
                    with self.assertRaisesRegex(ValueError, "order"):
                        write([out])
                    self.assertEqual(out.flat(), [9] * 6)

    def test_one_order_whatever_it_is_called_is_written(self):
        same = [(None, (2, 3), ROWS, (2, 3)), (COLUMNS, (2, 3), COLUMNS, (2, 3)), (None, (6,), ROWS, (2, 3)),
                ((4, 8, 77), (2, 3, 1), (99, 4, 8), (1, 2, 3)), ((4, 4), (6, 1), (24, 4), (1, 6))]
        for strides, shape, target_strides, target_shape in same:
            write = tare.Scaler("torch", initial_scale=1.0).grads([Interface(strides, shape)]).write
            out = Interface(target_strides, target_shape, [9] * 6)
            write([out])
            self.assertEqual(out.flat(), [1, 2, 3, 4, 5, 6])

    def test_who_gives_an_address_knows_the_order(self):
        source, out = Interface(COLUMNS), Interface(None, values=[9] * 6)
        grads = tare.Scaler("torch", initial_scale=1.0).grads([source])
        grads.write([tare.Tensor(ctypes.addressof(out.memory), 6, tare.F32)])
        self.assertEqual(out.flat(), source.flat())

    def test_buffers_of_all_kinds_tell_their_order(self):
        whole = memoryview((ctypes.c_float * 6)()).cast("B").cast("f", (2, 3))
        self.assertEqual(found_in(whole).order, ())
        try:
            import numpy
        except ImportError:
            self.skipTest("no NumPy: not run")
        values = numpy.zeros((2, 3), "f4")

        class Exporter:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)
        with self.assertRaisesRegex(ValueError, "row after row"):
            found_in(memoryview(values.T))
        for kind in (lambda array: array, Exporter):
            self.assertEqual(found_in(kind(values)).order, ())
            self.assertEqual(found_in(kind(values.T)).order, ((3, 1), (2, 3)))


class Scalars(unittest.TestCase):
    def setUp(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no NumPy: not run")
        self.numpy = numpy

    def test_are_looked_at_by_their_value(self):
        monitor = tare.Monitor(every=1)
        monitor.observe("losses", {name: self.numpy.float32(value) for name, value in (("a", 1), ("b", 2), ("c", 3))})
        monitor.step(0)
        self.assertEqual([(tensor.min, tensor.max) for tensor in monitor.report().tensors], [(1, 1), (2, 2), (3, 3)])
        scaler = tare.Scaler("torch")
        scaler.observe([self.numpy.float32(1), self.numpy.float64("inf"), self.numpy.float16(2)])
        self.assertTrue(scaler.found_inf)

    def test_are_written_by_nobody(self):
        one = self.numpy.float32(4)
        scaler = tare.Scaler("torch")
        values = self.numpy.ones((1, 4), "f4")
        data, room = self.numpy.zeros(4, "u1"), self.numpy.zeros(1, "f4")
        for write in (lambda: scaler.unscale([one]), lambda: scaler.scale_tensors(one), lambda: scaler.grads([one]),
                      lambda: scaler.grads([room]).write([one]),
                      lambda: tare.Quantizer("current").quantize(tare.Matrix(values, (data, room), amax=one)),
                      lambda: tare.Quantizer("current").quantize(tare.Matrix(values, (data, one)))):
            with self.assertRaisesRegex(TypeError, "NumPy scalar"):
                write()


if __name__ == "__main__":
    unittest.main()
