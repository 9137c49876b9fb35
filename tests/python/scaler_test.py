"""Scalers, lists of gradients, FP8 slots and states through the package; buffers of all kinds."""
import array
import ast
import copy
import ctypes
import gc
import importlib
import inspect
import math
import pickle
import subprocess
import sys
import tempfile
import unittest

import tare
from tare import _library, scaler as scalers
from tare.tensors import tensor_of

INF = math.inf


class Scalers(unittest.TestCase):
    def test_unscales_in_place_and_backs_off(self):
        scaler = tare.Scaler("torch", initial_scale=1024.0)
        gradient = array.array("f", [1024.0, -2048.0])
        scaler.unscale(gradient)
        self.assertEqual(list(gradient), [1.0, -2.0])
        self.assertFalse(scaler.found_inf)
        scaler.observe([gradient, array.array("d", [INF])])
        self.assertTrue(scaler.found_inf)
        self.assertEqual(scaler.update_outcome(), (1024.0, 512.0, True, True, False, True))
        self.assertEqual(scaler.scale, 512.0)

    def test_what_is_written_into_its_memory_it_goes_by(self):
        scaler = tare.Scaler("torch", growth_interval=3)
        scaler.memory("scale").value = 96.0
        scaler.memory("_growth_tracker").value = 2
        scaler.report_overflow(False)
        self.assertTrue(scaler.update_outcome().grew)
        self.assertEqual((scaler.scale, scaler["growth_tracker"]), (192.0, 0))

    def test_a_loss_is_multiplied_and_torch_s_rule_steps_on_a_state_of_the_caller_s(self):
        scaler = tare.Scaler("torch", initial_scale=1024, growth_interval=2)
        loss = array.array("f", [0.5])
        scaler.scale_tensors(loss)
        self.assertEqual(loss[0], 512)
        scale, tracker, found_inf = array.array("f", [8]), array.array("i", [1]), array.array("f", [0])
        scaler.update_elsewhere(*(held.buffer_info()[0] for held in (scale, tracker, found_inf)))
        self.assertEqual((scale[0], tracker[0], scaler.scale), (16, 0, 1024))

    def test_memory_keeps_its_scaler_alive(self):
        cell = tare.Scaler("torch", initial_scale=8.0).memory("scale").cell()
        gc.collect()
        tare.Scaler("torch", initial_scale=16.0)
        self.assertEqual(cell.value, 8.0)

    def test_values_are_read_and_set_while_it_runs(self):
        scaler = tare.Scaler("torch", initial_scale=1024.0)
        scaler["growth_interval"] = 7
        self.assertEqual(scaler["window"], 7)
        with self.assertRaises(tare.Mismatch):
            scaler["growth_interval"] = 0.5
        for scale in (math.nan, 0.0, -1.0):
            with self.assertRaises(ValueError):
                scaler.scale = scale
        self.assertEqual(scaler.scale, 1024.0)

    def test_goes_through_a_pickle_and_a_state(self):
        scaler = tare.Scaler("megatron", initial_scale=4096, hysteresis=2)
        scaler.report_overflow(True)
        scaler.update()
        again = pickle.loads(pickle.dumps(scaler))
        self.assertEqual(again.save(), scaler.save())
        for one in (scaler, again):
            one.report_overflow(True)
            self.assertEqual(one.update_outcome().new_scale, 2048.0)

    def test_a_copy_looks_and_computes_as_it_does(self):
        scaler = tare.Scaler("torch", initial_scale=1.0, floor=0.5, threads=2, underflow_threshold=0.5,
                             finite_statistics=True)
        scaler["growth_interval"] = 7
        for one in (scaler, tare.Scaler.from_state(scaler.save(), underflow_threshold=0.5, finite_statistics=True)):
            one.observe([array.array("f", [1.0, 0.25, INF])])
            for again in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
                self.assertEqual(again.save(), one.save())
                again.observe([array.array("f", [1.0, 0.25, INF])])
                self.assertEqual(again.statistics(), one.statistics())
        self.assertEqual(scaler.__reduce__()[1][1]["threads"], 2)

    def test_what_has_no_copy_says_so_and_shares_no_memory(self):
        scaler = tare.Scaler("torch")
        fp8 = tare.Fp8("fp8_static", slots=1)
        values = array.array("f", [1.0])
        for one in (scaler.grads([values]), fp8, tare.Fp8Casts(fp8, [values]), tare.Quantizer("current"),
                    tare.Monitor(), tare.Comm(print)):
            for copied in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "neither copied nor pickled"):
                    copied(one)

    def test_a_number_that_does_not_fit_is_told_and_not_cut(self):
        scaler, fp8 = tare.Scaler("torch"), tare.Fp8("fp8_static", slots=1)
        state = tare.State({"policy": "torch", "fields": {"scale": 1.0}})
        values = array.array("f", [1.0])
        address = values.buffer_info()[0]
        before = scaler.save()
        for refused in (lambda: scaler.__setitem__("growth_interval", 2**64 + 7),
                        lambda: scaler.__setitem__("growth_interval", -2**63 - 1),
                        lambda: state.__setitem__("_growth_tracker", 2**64 + 5), lambda: scaler.pointer(2**32 + 1),
                        lambda: scaler.update(stream=2**64), lambda: scaler.update(stream=-1),
                        lambda: scaler.update_elsewhere(address, 2**64 + address, address),
                        lambda: scaler.update_elsewhere(2**64 + address, address, address),
                        lambda: scaler.observe(tare.Tensor(address, 1, 2**32 + tare.F32)),
                        lambda: scaler.observe(tare.Tensor(2**64 + address, 1, tare.F32)),
                        lambda: scaler.observe(tare.Tensor(address, 2**64 + 1, tare.F32)),
                        lambda: fp8.observe([values], slots=[2**32]), lambda: fp8.observe([values], slots=[-1]),
                        lambda: tare.Fp8Casts(fp8, [values], slots=[2**32]),
                        lambda: tare.Monitor().step(2**64), lambda: tare.Monitor().add_scaler(1.0, steps=2**64),
                        lambda: tare.Comm.of_nccl(2**64 + 8)):
            with self.assertRaisesRegex(OverflowError, "does not fit"):
                refused()
        self.assertEqual(scaler.save(), before)
        self.assertNotIn("_growth_tracker", state)

    def test_whole_numbers_of_any_size_are_floats_where_floats_are_meant(self):
        scaler, state = tare.Scaler("torch"), tare.State({"policy": "torch", "fields": {"scale": 1}})
        for one in (scaler, state):
            one["scale"] = 2**64
            self.assertEqual(one["scale"], 2.0**64)
        for value, error in ((2**64 + 1, OverflowError), (10**400, OverflowError), (2**64, ValueError)):
            with self.assertRaises(error):
                scaler["growth_interval"] = value
        self.assertEqual(scaler["growth_interval"], 2000)

    def test_numbers_of_numpy_s_and_others_are_numbers(self):
        class Number:
            """As NumPy's and torch's."""
            shape = ()

            def __init__(self, value):
                self.value = value

            def tolist(self):
                return self.value
            __index__ = tolist

        self.assertEqual(tare.Scaler("torch", growth_interval=Number(5), initial_scale=Number(8.0)).save()["growth_interval"], 5)
        scaler = tare.Scaler("torch")
        state = scaler.save()
        for one in (scaler, state):
            one["growth_interval"], one["scale"] = Number(7), Number(4.0)
            self.assertEqual((one["growth_interval"], one["scale"]), (7, 4.0))
        fp8 = tare.Fp8("fp8_static", slots=Number(2))
        fp8.observe([array.array("f", [3.0])], slots=[Number(1)])
        self.assertEqual(fp8.scale(1), 1.0)
        with self.assertRaisesRegex(OverflowError, "does not fit"):
            fp8.observe([array.array("f", [3.0])], slots=[Number(-1)])
        with self.assertRaisesRegex(TypeError, "object is no value of JSON"):
            tare.Scaler("torch", growth_interval=object())

    def test_a_text_that_would_end_at_its_nul_is_told_and_not_cut(self):
        state = tare.State({"policy": "torch", "fields": {"scale": 1.0}})
        for refused in (lambda: state["scale\0zzz"], lambda: state.__setitem__("scale\0zzz", 2.0),
                        lambda: state.__setitem__("text", "a\0b"), lambda: state.convert("megatron\0zzz"),
                        lambda: state.write("x\0y.json"), lambda: tare.inspect("x\0y"), lambda: tare.doctor("x\0y"),
                        lambda: tare.Watch("x\0y"), lambda: tare.Monitor().observe("g\0x", {}),
                        lambda: tare.Monitor().observe("g", {"a\0x": array.array("f", [1.0])})):
            with self.assertRaisesRegex(ValueError, "NUL"):
                refused()
        self.assertEqual(list(state), ["policy", "fields.scale"])
        self.assertEqual(tare.State.from_bytes(state.to_bytes(".h5")), state)  # whose bytes have NULs

    def test_a_rule_that_raises_raises_and_the_outcome_is_its_framework_s(self):
        scaler = tare.Scaler("deepspeed", init_scale=1, min_scale=1, hysteresis=1)
        scaler.report_overflow(True)
        with self.assertRaises(tare.RuleRaised):
            scaler.update()

    def test_a_layer_is_told_all_its_statistics_by_their_names(self):
        layer = tare.Scaler("layerwise")
        given = dict(fan_in=4096, prev_scale=1, gradient_mean=0, weight_mean=0, weight_deviation=1e-2, largest_product=1e-3)
        for wrong in {}, {"gradient_devation": 1e-6}, {"gradient_deviation": 1e-6, "reserved": 0}:
            with self.assertRaises(TypeError):
                layer.report_layer(**given, **wrong)
        layer.report_layer(**given, gradient_deviation=1e-6)
        with self.assertRaises(tare.InvalidArgument):
            layer.report_layer(**{**given, "prev_scale": -1}, gradient_deviation=1e-6)

    def test_a_list_is_prepared_once_and_bound_to_other_buffers(self):
        scaler = tare.Scaler("torch", initial_scale=4.0)
        first, second = array.array("f", [4.0, 8.0]), array.array("f", [INF, 8.0])
        grads = scaler.grads([first])
        grads.unscale()
        self.assertEqual((list(first), grads.found_inf), ([1.0, 2.0], False))
        grads.rebind([second])
        grads.unscale()
        self.assertTrue(grads.found_inf)
        with self.assertRaises(tare.Mismatch):
            grads.rebind([array.array("f", [1.0])])
        self.assertEqual(grads.statistics().schema, "tare.grads/1")

    def test_a_list_is_written_clipped(self):
        scaler = tare.Scaler("torch", initial_scale=2.0)
        source, out = array.array("f", [6.0, 8.0]), array.array("d", [0.0, 0.0])
        scaler.grads([source]).write([out], clip_norm=1.0)
        self.assertAlmostEqual(math.hypot(*out), 1.0, places=5)
        self.assertEqual(list(source), [6.0, 8.0])

    def test_a_list_outlives_the_last_name_of_its_scaler(self):
        grads = tare.Scaler("torch").grads([array.array("f", [1.0])])
        gc.collect()
        grads.unscale()
        self.assertFalse(grads.found_inf)

    def test_other_threads_run_during_a_call(self):
        self.assertIs(type(_library.library), ctypes.CDLL)  # which lets go of the interpreter's lock; PyDLL does not


class Slots(unittest.TestCase):
    def test_cast_and_step_and_go_on_from_a_state(self):
        fp8 = tare.Fp8("transformer_engine", slots=["a", "b"], format="e4m3", amax_history_len=2)
        values = array.array("f", [1.0, -3.5, 448.0])
        out, back = (ctypes.c_uint8 * 3)(), array.array("f", [0.0] * 3)
        where = tare.Tensor(ctypes.addressof(out), 3, tare.F8E4M3FN)
        fp8.quantize([where], [values], slots=[1])
        fp8.dequantize([back], [where], slots=[1])
        self.assertEqual(list(back), [1.0, -3.5, 448.0])
        fp8.update()
        self.assertEqual(len(fp8), 2)
        again = tare.Fp8.from_state(fp8.save())
        self.assertEqual(again.save(), fp8.save())
        self.assertEqual(again.scale(1), fp8.scale(1))
        with self.assertRaises(IndexError):
            fp8.scale(2)

    def test_prepared_lists_cast_as_lists_that_are_handed_over(self):
        fp8 = tare.Fp8("transformer_engine", slots=["a", "b"], format="e4m3", amax_history_len=2)
        values, others = array.array("f", [1.0, -3.5, 448.0]), array.array("f", [2.0, 3.0, 4.0])
        out, back = (ctypes.c_uint8 * 3)(), array.array("f", [0.0] * 3)
        where = tare.Tensor(ctypes.addressof(out), 3, tare.F8E4M3FN)
        there, again = tare.Fp8Casts(fp8, [values], slots=[1]), tare.Fp8Casts(fp8, [where], slots=[1])
        there.rebind([others])
        there.quantize([where])
        again.dequantize([back])
        self.assertEqual(list(back), [2.0, 3.0, 4.0])
        with self.assertRaises(tare.Mismatch):
            there.rebind([values, others])
        del fp8
        there.observe()

    def test_slots_are_one_a_tensor(self):
        fp8 = tare.Fp8("transformer_engine", slots=["a", "b"], format="e4m3", amax_history_len=2)
        values = array.array("f", [1.0])
        with self.assertRaises(ValueError):
            fp8.observe([values], slots=[0, 1])


class States(unittest.TestCase):
    STATE = {"policy": "torch", "fields": {"scale": 65536.0, "_growth_tracker": 3}, "params": {"growth_interval": 9}}

    def test_is_a_mapping_by_role_native_name_and_full_name(self):
        state = tare.State(self.STATE)
        self.assertEqual((state["scale"], state["growth_tracker"], state["params.growth_interval"]), (65536.0, 3, 9))
        self.assertIsInstance(state["growth_tracker"], int)
        self.assertEqual(next(iter(state)), "policy")
        self.assertEqual(len(list(state)), len(state))
        state["growth_tracker"] = 4
        del state["growth_interval"]
        self.assertNotIn("growth_interval", state)
        self.assertEqual(state["_growth_tracker"], 4)
        with self.assertRaises(LookupError):
            state["hysteresis"]

    def test_a_key_that_is_not_there_has_a_default_as_in_every_mapping(self):
        state = tare.State(self.STATE)
        self.assertEqual((state.get("nope", 7), state.get("nope"), state.pop("nope", 8)), (7, None, 8))
        self.assertEqual((state.setdefault("scale", 1.0), state.pop("growth_interval")), (65536.0, 9))
        for missing in (lambda: state["nope"], lambda: state.pop("nope"), lambda: state.__delitem__("nope")):
            with self.assertRaises(KeyError) as told:
                missing()
            self.assertIsInstance(told.exception, tare.NotFound)
            self.assertIn("nope", str(told.exception).splitlines()[0])

    def test_nothing_takes_the_policy_away(self):
        state = tare.State(self.STATE)
        with self.assertRaisesRegex(TypeError, "not cleared"):
            state.clear()
        for take in (lambda: state.__delitem__("policy"), lambda: state.pop("policy")):
            with self.assertRaisesRegex(tare.InvalidArgument, "policy"):
                take()
        self.assertEqual(state, tare.State(self.STATE))
        self.assertEqual([state.popitem()[0] for _ in range(len(state) - 1)][-1], "fields.scale")
        with self.assertRaises(KeyError):
            state.popitem()
        self.assertEqual(dict(state), {"policy": "torch"})

    def test_infinities_and_nan_are_texts_in_json_and_numbers_outside(self):
        for wrong in (INF, -INF, math.nan):
            with self.assertRaisesRegex(ValueError, "'inf'"):
                tare.State({"policy": "torch", "fields": {"scale": wrong}})
            with self.assertRaisesRegex(ValueError, "'inf'"):
                tare.Scaler("torch", initial_scale=wrong)
            with self.assertRaisesRegex(ValueError, "'inf'"):
                tare.edit("nowhere", scale=wrong)
        state = tare.State({"policy": "torch", "fields": {"scale": 1.0}})
        state["scale"] = INF
        self.assertEqual(state["scale"], INF)
        self.assertEqual(tare.State(state.to_json()), state)

    def test_an_array_is_read_as_numbers_and_keeps_its_shape(self):
        fp8 = tare.Fp8("transformer_engine", slots=["a", "inf"], format="e4m3", amax_history_len=3)
        state = fp8.save()
        key = "fields.amax_history"
        for rows in ([[0.0, INF, 3.0], [-INF, 0.0, 7.0]], [[INF] * 3, [INF] * 3], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]):
            state[key] = rows
            self.assertEqual(state[key], rows)
            before = state.to_json()
            state[key] = state[key]
            self.assertEqual(state.to_json(), before)
        state["amax_history"] = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
        self.assertEqual(state[key], [[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]])
        before = state.to_json()
        for other in ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[1.0, 2.0, 3.0]], [1.0, 2.0, 3.0], [[1.0] * 3] * 3,
                      [[1.0], [2.0, 3.0]]):
            with self.assertRaises(ValueError):
                state[key] = other
        with self.assertRaises(tare.Mismatch):
            state["scale"] = [[1.0, 2.0]]
        self.assertEqual(state.to_json(), before)
        self.assertEqual((state["slots"], state["format"]), (["a", "inf"], ["e4m3", "e4m3"]))
        state["scale"] = [math.nan, 1.0]
        self.assertTrue(math.isnan(state["scale"][0]))

    def test_copies_are_its_own(self):
        state = tare.State(self.STATE)
        for other in (state.copy(), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
            other["scale"] = 8.0
            self.assertEqual(state["scale"], 65536.0)

    def test_goes_through_files_and_memory_in_both_formats(self):
        state = tare.State(self.STATE)
        with tempfile.TemporaryDirectory() as folder:
            for ending in (".json", ".h5"):
                state.write(folder + "/state" + ending)
                self.assertEqual(tare.State.read(folder + "/state" + ending), state)
                self.assertEqual(tare.State.from_bytes(state.to_bytes(ending)), state)

    def test_is_written_as_a_framework_saves_it(self):
        with tempfile.TemporaryDirectory() as folder:
            answer = tare.State(self.STATE).write_checkpoint(folder + "/scaler.pt")
            self.assertEqual(answer.policy, "torch")
            self.assertEqual(tare.inspect(folder + "/scaler.pt").scalers[0].roles.scale, 65536.0)

    def test_converts_and_accounts_for_every_value(self):
        state, report = tare.State(self.STATE).convert("megatron")
        self.assertEqual(state.policy, "megatron")
        self.assertEqual(report.schema, "tare.conversion/1")


class Interface:
    """An array by NumPy's interface alone."""

    def __init__(self, memory, shape, typestr="<f4", strides=None, read_only=False):
        self.memory = memory
        self.__array_interface__ = {"data": (ctypes.addressof(memory), read_only), "shape": shape, "typestr": typestr,
                                    "strides": strides, "version": 3}


class Buffers(unittest.TestCase):
    def test_python_s_own_are_taken_where_they_lie(self):
        numbers = array.array("d", [1.0, 2.0])
        tensor, _ = tensor_of(numbers)
        self.assertEqual(tensor, (numbers.buffer_info()[0], 2, tare.F64))
        self.assertEqual(tensor_of(memoryview(numbers))[0], tensor)
        self.assertEqual(tensor_of(array.array("f"))[0].count, 0)
        for kind, wanted in ((ctypes.c_float, tare.F32), (ctypes.c_double, tare.F64)):  # which tell their byte order
            own = (kind * 3)()
            self.assertEqual(tensor_of(own)[0], (ctypes.addressof(own), 3, wanted))
        with self.assertRaises(TypeError):
            tensor_of((ctypes.c_float.__ctype_be__ * 3)())
        for wrong in (3, "text", None, array.array("i", [1])):
            with self.assertRaises(TypeError):
                tensor_of(wrong)
        for wrong in (memoryview(array.array("d", [1.0] * 4))[::2], memoryview(numbers).toreadonly()):
            with self.assertRaises(ValueError):
                tensor_of(wrong)

    def test_arrays_are_taken_in_whatever_order_unless_they_have_gaps(self):
        memory = (ctypes.c_float * 6)()
        for strides in (None, (12, 4), (4, 8)):
            self.assertEqual(tensor_of(Interface(memory, (2, 3), strides=strides))[0],
                             (ctypes.addressof(memory), 6, tare.F32))
        for wrong in (Interface(memory, (2,), strides=(8,)), Interface(memory, (2,), strides=(0,)),
                      Interface(memory, (6,), read_only=True)):
            with self.assertRaises(ValueError):
                tensor_of(wrong)
        self.assertEqual(tensor_of(Interface(memory, (6,), read_only=True), writes=False)[0].count, 6)
        with self.assertRaises(TypeError):
            tensor_of(Interface(memory, (6,), typestr="<i4"))

    def test_numpy_s_arrays_are_taken(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no NumPy: not run")
        for dtype, wanted in (("f4", tare.F32), ("f8", tare.F64), ("f2", tare.F16)):
            values = numpy.arange(6, dtype=dtype).reshape(2, 3)
            self.assertEqual(tensor_of(values)[0], (values.ctypes.data, 6, wanted))
            self.assertEqual(tensor_of(values.T)[0].count, 6)
            with self.assertRaises(ValueError):
                tensor_of(values[:, ::2])
        values = numpy.array([2.0, numpy.inf], dtype="f4")
        scaler = tare.Scaler("torch", initial_scale=2.0)
        scaler.unscale(values)
        self.assertEqual(values[0], 1.0)
        self.assertTrue(scaler.found_inf)
        live = numpy.asarray(scaler.memory("scale"))
        live[()] = 32.0
        self.assertEqual(scaler.scale, 32.0)

    def test_what_has_dlpack_alone_is_taken(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no NumPy: not run")

        class Exporter:
            def __init__(self, values):
                self.values = values

            def __dlpack__(self, **options):
                return self.values.__dlpack__(**options)
        values = numpy.array([[4.0, 8.0], [1.0, 2.0]], dtype="f4")
        tare.Scaler("torch", initial_scale=4.0).unscale(Exporter(values[:1]))
        self.assertEqual(values.tolist(), [[1.0, 2.0], [1.0, 2.0]])
        with self.assertRaises(ValueError):
            tensor_of(Exporter(values[:, :1]))
        with self.assertRaises(TypeError):
            tensor_of(Exporter(numpy.arange(3)))


class Import(unittest.TestCase):
    def test_brings_nothing_but_the_standard_library_and_only_what_is_used(self):
        code = "import sys, tare; print(sorted(m for m in sys.modules if m.startswith(('tare', 'ctypes', 'json', 'numpy'))))"
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(ran.stdout.strip(), "['tare']")

    def test_every_name_that_is_listed_is_there(self):
        for name in tare.__all__:
            self.assertIsNotNone(getattr(tare, name))
        self.assertEqual(tare.__version__, "0.1.0")
        with self.assertRaises(AttributeError):
            tare.nothing
        self.assertEqual(scalers.Scaler, tare.Scaler)

    def test_what_the_package_lists_its_modules_list_too_and_checkers_of_types_see(self):
        for module, names in tare._WHERE.items():
            listed = getattr(importlib.import_module(f"tare.{module}"), "__all__", names.split())
            self.assertEqual(sorted(listed), sorted(names.split()), module)
        tree = ast.parse(inspect.getsource(tare))
        seen = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level
                for alias in node.names}
        self.assertEqual(seen, set(tare.__all__))


if __name__ == "__main__":
    unittest.main()
