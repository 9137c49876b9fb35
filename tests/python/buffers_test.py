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


class DLPackTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class Versioned(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", DLPackTensor)]


class Exporter:
    """Numbers that a capsule alone tells of: of DLPack 1 with `flags`, of an earlier one where there are none."""

    def __init__(self, memory, code=2, bits=32, flags=None, major=1):
        self.memory = memory
        self.shape = (ctypes.c_int64 * 1)(len(memory))
        tensor = DLPackTensor(ctypes.addressof(memory), (1, 0), 1, code, bits, 1, self.shape)
        self.content = tensor if flags is None else Versioned((major, 0), None, None, flags, tensor)
        self.name = b"dltensor" if flags is None else b"dltensor_versioned"
        if flags is not None:
            self.__dlpack__ = lambda max_version=None: self.capsule()

    def capsule(self):
        make = ctypes.pythonapi.PyCapsule_New
        make.argtypes, make.restype = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p), ctypes.py_object
        return make(ctypes.addressof(self.content), self.name, None)

    def __dlpack__(self):
        return self.capsule()


class ArrayImpl(Exporter):
    """As JAX's: immutable, which no flag says."""
    __module__ = "jaxlib._jax"

    def __dlpack__(self, stream=None, max_version=None):
        return self.capsule()


class Exported(unittest.TestCase):
    def test_what_may_only_be_read_is_read_and_never_written(self):
        for kind, flags in ((Exporter, 1), (Exporter, 2), (ArrayImpl, None)):
            with self.subTest(kind.__name__, flags=flags):
                memory = (ctypes.c_float * 2)(8, 16)
                fixed, out = kind(memory, flags=flags), Interface(None)
                scaler = tare.Scaler("torch", initial_scale=8.0)
                fp8 = tare.Fp8("fp8_static", slots=1)
                source = tare.Tensor(ctypes.addressof((ctypes.c_uint8 * 2)()), 2, tare.F8E4M3FN)
                grads = scaler.grads([fixed])
                for write in (lambda: scaler.unscale([fixed]), lambda: scaler.scale_tensors(fixed), grads.unscale,
                              grads.unscale_and_update, lambda: scaler.grads([Interface(None, (2,))]).write([fixed]),
                              lambda: fp8.dequantize([fixed], [source])):
                    with self.assertRaisesRegex(ValueError, "only be read|a copy"):
                        write()
                self.assertEqual(list(memory), [8, 16])
                scaler.observe([fixed])
                grads.observe()
                into = (ctypes.c_float * 2)()
                grads.write([into])
                self.assertEqual(list(into), [1, 2])

    def test_what_may_be_written_is(self):
        for flags in (None, 0):
            memory = (ctypes.c_float * 2)(8, 16)
            tare.Scaler("torch", initial_scale=8.0).unscale(Exporter(memory, flags=flags))
            self.assertEqual(list(memory), [1, 2])

    def test_fp8_is_taken_by_its_codes_and_other_formats_of_8_bits_are_not(self):
        memory = (ctypes.c_uint8 * 2)()
        for code, dtype in ((10, tare.F8E4M3FN), (12, tare.F8E5M2)):
            self.assertEqual(found_in(Exporter(memory, code, 8)).tensor, (ctypes.addressof(memory), 2, dtype))
        for code in (0, 1, 2, 7, 8, 9, 11, 13, 14):
            with self.assertRaisesRegex(TypeError, f"type code {code} .*float8_e4m3fn"):
                found_in(Exporter(memory, code, 8))

    def test_a_layout_of_a_later_dlpack_is_not_guessed(self):
        with self.assertRaisesRegex(TypeError, "DLPack 2.0"):
            found_in(Exporter((ctypes.c_float * 2)(), flags=0, major=2))


if __name__ == "__main__":
    unittest.main()
