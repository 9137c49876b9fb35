"""libtare as ctypes calls it. The signatures here are those of tare.h; tests/python holds the two together.

The library comes with the package (tare/lib); where it does not, as in a source tree, the system's loader looks for
libtare.so.0 (LD_LIBRARY_PATH). ctypes lets other threads run during each call.
"""
from __future__ import annotations

import ctypes
import json
import os
import threading
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from operator import index
from typing import Any

from .errors import error_of

FOLDER = os.path.dirname(os.path.abspath(__file__))


_LIMITS = {c_int32: (-2**31, 2**31 - 1), c_int64: (-2**63, 2**63 - 1), c_uint32: (0, 2**32 - 1),
           c_uint64: (0, 2**64 - 1), c_void_p: (0, 2**64 - 1)}


def fitting(kind: Any, value: Any) -> Any:
    """The value, which ctypes would cut to what fits. Raises OverflowError for a number that does not."""
    if hasattr(value, "__index__") and kind in _LIMITS:
        value = index(value)  # NumPy's, too
        least, most = _LIMITS[kind]
        if not least <= value <= most:
            raise OverflowError(f"{value} does not fit into {least} to {most}")
    return value


def whole(text: bytes | None) -> bytes | None:
    """The text, which the library would read to its first NUL. Raises ValueError where it has one."""
    if isinstance(text, bytes) and b"\0" in text:
        raise ValueError(f"a text with a NUL character in it: {text!r}")
    return text


def numbers(kind: Any, values: Sequence[int]) -> Any:
    return (kind * len(values))(*(fitting(kind, value) for value in values))


def texts(values: Sequence[bytes]) -> Any:
    return (c_char_p * len(values))(*map(whole, values))


def pointer(kind: Any, address: int | None) -> Any:
    return ctypes.cast(fitting(c_void_p, address), POINTER(kind))


def struct(kind: Any, *values: Any) -> Any:
    return kind(*(fitting(field, value) for (_, field), value in zip(kind._fields_, values)))


class ErrorStruct(ctypes.Structure):
    _fields_ = [("struct_size", c_uint64), ("status", c_int32), ("detail", c_int32), ("message", c_char * 1024)]


class TensorStruct(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("count", c_uint64), ("dtype", c_int32), ("reserved", c_int32)]


class LayerStruct(ctypes.Structure):
    _fields_ = [("struct_size", c_uint64), ("fan_in", c_double), ("prev_scale", c_double),
                *((name, ctypes.c_float) for name in ("gradient_mean", "gradient_deviation", "weight_mean",
                                                      "weight_deviation", "largest_product")),
                ("reserved", c_int32)]


class OutcomeStruct(ctypes.Structure):
    _fields_ = [("struct_size", c_uint64), ("old_scale", c_double), ("new_scale", c_double),
                *((name, c_int32) for name in ("found_inf", "skipped", "grew", "backed_off"))]


class SideStruct(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("scales", c_void_p), ("row_stride", c_uint64), ("column_stride", c_uint64)]


class MatrixStruct(ctypes.Structure):
    _fields_ = [("struct_size", c_uint64), ("values", c_void_p), ("rows", c_uint64), ("columns", c_uint64),
                ("dtype", c_int32), ("reserved", c_int32), ("rowwise", SideStruct), ("columnwise", SideStruct),
                ("amax", c_void_p), ("scale", c_void_p)]


ALL_REDUCE = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, c_uint64, c_int32, c_void_p)
EXCHANGE = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_uint64, c_void_p)


class CollectivesStruct(ctypes.Structure):
    _fields_ = [("struct_size", c_uint64), ("context", c_void_p), ("all_reduce", ALL_REDUCE),
                ("device_memory", c_uint64), ("all_to_all", EXCHANGE), ("all_gather", EXCHANGE)]


_out = POINTER(c_void_p)
_tensors = (POINTER(TensorStruct), c_uint64)
_slots = (POINTER(TensorStruct), POINTER(TensorStruct), POINTER(c_uint32), c_uint64, c_void_p)

# What comes before the error: results, then the handle, its arguments, the stream.
SIGNATURES: dict[str, tuple] = {
    "policies": (_out,),
    "scaler_create": (_out, c_char_p),
    "scaler_create_from_state": (_out, c_void_p, c_char_p),
    "scaler_scale": (POINTER(c_double), c_void_p, c_void_p),
    "scaler_pointer": (_out, c_void_p, c_int32),
    "scaler_unscale": (c_void_p, *_tensors, c_void_p),
    "scaler_observe": (c_void_p, *_tensors, c_void_p),
    "scaler_scale_tensors": (c_void_p, *_tensors, c_void_p),
    "scaler_report_overflow": (c_void_p, c_int32, c_void_p),
    "scaler_report_layer": (c_void_p, POINTER(LayerStruct), c_void_p),
    "scaler_update": (c_void_p, c_void_p),
    "scaler_update_outcome": (POINTER(OutcomeStruct), c_void_p, c_void_p),
    "scaler_update_elsewhere": (c_void_p, c_void_p, POINTER(c_int32), c_void_p, c_void_p),
    "scaler_field": (_out, POINTER(c_int32), c_void_p, c_char_p),
    "scaler_set_number": (c_void_p, c_char_p, c_double, c_void_p),
    "scaler_set_integer": (c_void_p, c_char_p, c_int64, c_void_p),
    "scaler_set_scale": (c_void_p, c_double, c_void_p),
    "scaler_accumulators": (_out, POINTER(c_uint64), c_void_p),
    "scaler_report_reduced": (c_void_p, c_void_p),
    "scaler_set_comm": (c_void_p, c_void_p, c_char_p),
    "comm_from_callbacks": (_out, POINTER(CollectivesStruct)),
    "comm_from_mpi": (_out, c_char_p),
    "comm_from_nccl": (_out, c_void_p),
    "scaler_statistics": (_out, c_void_p, c_void_p),
    "scaler_save": (_out, c_void_p, c_void_p),
    "scaler_load": (c_void_p, c_void_p, c_void_p),
    "grads_create": (_out, c_void_p, *_tensors),
    "grads_rebind": (c_void_p, *_tensors, c_void_p),
    "grads_unscale": (c_void_p, c_void_p),
    "grads_observe": (c_void_p, c_void_p),
    "grads_unscale_and_update": (c_void_p, c_void_p),
    "grads_observe_and_update": (c_void_p, c_void_p),
    "grads_write": (c_void_p, *_tensors, c_char_p, c_void_p),
    "grads_pointer": (_out, c_void_p, c_int32),
    "grads_report_reduced": (c_void_p, c_void_p),
    "grads_statistics": (_out, c_void_p, c_void_p),
    "fp8_create": (_out, c_char_p),
    "fp8_create_from_state": (_out, c_void_p, c_char_p),
    "fp8_policies": (_out,),
    "fp8_count": (POINTER(c_uint64), c_void_p),
    "fp8_slot": (POINTER(c_uint32), c_void_p, c_char_p),
    "fp8_observe": (c_void_p, POINTER(TensorStruct), POINTER(c_uint32), c_uint64, c_void_p),
    "fp8_update": (c_void_p, c_void_p),
    "fp8_scale_pointer": (_out, c_void_p, c_int32),
    "fp8_accumulators": (_out, POINTER(c_uint64), c_void_p),
    "fp8_all_reduce": (c_void_p, POINTER(TensorStruct), POINTER(c_uint32), c_uint64, c_char_p, c_void_p),
    "fp8_set_comm": (c_void_p, c_void_p),
    "fp8_quantize": (c_void_p, *_slots),
    "fp8_dequantize": (c_void_p, *_slots),
    "fp8_casts_create": (_out, c_void_p, POINTER(TensorStruct), POINTER(c_uint32), c_uint64),
    "fp8_casts_rebind": (c_void_p, *_tensors, c_void_p),
    "fp8_casts_observe": (c_void_p, c_void_p),
    "fp8_casts_quantize": (c_void_p, *_tensors, c_void_p),
    "fp8_casts_dequantize": (c_void_p, *_tensors, c_void_p),
    "quantizer_create": (_out, c_char_p),
    "quantizer_quantize": (c_void_p, POINTER(MatrixStruct), c_uint64, c_void_p),
    "quantizer_dequantize": (c_void_p, POINTER(MatrixStruct), c_uint64, c_void_p),
    "fp8_statistics": (_out, c_void_p, c_void_p),
    "fp8_save": (_out, c_void_p, c_void_p),
    "fp8_freeze": (_out, c_void_p, c_void_p),
    "fp8_load": (c_void_p, c_void_p, c_void_p),
    "state_read": (_out, c_char_p),
    "state_write": (c_void_p, c_char_p, c_char_p),
    "state_from_json": (_out, c_char_p, c_uint64),
    "state_to_json": (_out, c_void_p),
    "state_to_bytes": (_out, c_void_p, c_char_p, c_char_p),
    "state_from_bytes": (_out, c_char_p, c_uint64),
    "state_clone": (_out, c_void_p),
    "state_kind": (POINTER(c_int32), c_void_p, c_char_p),
    "state_number": (POINTER(c_double), c_void_p, c_char_p),
    "state_integer": (POINTER(c_int64), c_void_p, c_char_p),
    "state_text": (_out, c_void_p, c_char_p),
    "state_count": (POINTER(c_uint64), c_void_p),
    "state_key": (_out, c_void_p, c_uint64),
    "state_set_number": (c_void_p, c_char_p, c_double),
    "state_set_integer": (c_void_p, c_char_p, c_int64),
    "state_set_text": (c_void_p, c_char_p, c_char_p),
    "state_set_array": (c_void_p, c_char_p, POINTER(c_double), c_uint64),
    "state_remove": (c_void_p, c_char_p),
    "state_convert": (_out, c_void_p, c_char_p, _out),
    "checkpoint_inspect": (_out, c_char_p, c_char_p),
    "checkpoint_edit": (_out, c_char_p, c_char_p),
    "checkpoint_fp8": (_out, c_char_p, c_void_p, c_char_p),
    "checkpoint_undo": (_out, c_char_p, c_char_p),
    "checkpoint_history": (_out, c_char_p, c_char_p),
    "checkpoint_diff": (_out, c_char_p, c_char_p, c_char_p),
    "checkpoint_migrate": (_out, c_char_p, c_char_p),
    "checkpoint_write": (_out, c_void_p, c_char_p, c_char_p),
    "checkpoint_state_as": (_out, c_char_p, c_char_p),
    "checkpoint_attest": (_out, c_char_p, c_char_p),
    "trace_read": (_out, POINTER(c_char_p), c_uint64, c_char_p),
    "health_doctor": (_out, POINTER(c_char_p), c_uint64, c_char_p),
    "health_timeline": (_out, POINTER(c_char_p), c_uint64, c_char_p),
    "health_list": (_out, POINTER(c_char_p), c_uint64, c_char_p),
    "health_simulate": (_out, POINTER(c_char_p), c_uint64, c_char_p),
    "watch_create": (_out, POINTER(c_char_p), c_uint64, c_char_p),
    "watch_look": (_out, c_void_p, c_double),
    "watch_status": (_out, c_void_p),
    "watch_metrics": (_out, c_void_p),
    "monitor_create": (_out, c_char_p),
    "monitor_looks": (POINTER(c_int32), c_void_p, c_char_p, c_char_p),
    "monitor_observe": (c_void_p, c_char_p, POINTER(c_char_p), *_tensors),
    "monitor_observe_scaled": (c_void_p, c_char_p, POINTER(c_char_p), *_tensors, c_double),
    "monitor_observe_on": (c_void_p, c_char_p, c_char_p, POINTER(c_char_p), *_tensors, c_double, c_void_p),
    "monitor_observe_scaled_on": (c_void_p, c_char_p, c_char_p, POINTER(c_char_p), *_tensors, c_void_p, c_void_p),
    "monitor_observe_again": (c_void_p, c_char_p, c_char_p, c_char_p, c_char_p),
    "monitor_settled": (POINTER(c_int32), c_void_p),
    "monitor_wait": (c_void_p,),
    "monitor_at_scale": (_out, c_void_p, c_double, c_char_p),
    "monitor_add_grads": (c_void_p, c_void_p, POINTER(c_char_p), c_uint64, c_void_p),
    "monitor_add_scaler": (c_void_p, c_double, c_int64, c_int64, c_int64, c_int64),
    "monitor_add_grads_on": (c_void_p, c_void_p, POINTER(c_char_p), c_uint64, c_void_p),
    "monitor_add_scaler_on": (c_void_p, c_char_p, c_void_p, c_int64, *[POINTER(c_int64)] * 3, c_void_p),
    "monitor_step": (c_void_p, c_int64, c_void_p),
    "monitor_report": (_out, c_void_p),
    "monitor_findings": (_out, c_void_p),
    "monitor_save": (_out, c_void_p),
    "monitor_load": (c_void_p, c_void_p),
}


def _open() -> ctypes.CDLL:
    bundled = os.path.join(FOLDER, "lib", "libtare.so.0")
    return ctypes.CDLL(bundled if os.path.exists(bundled) else "libtare.so.0")


def _cut(arguments: tuple) -> list:
    """The parameters, but None for those of which ctypes and the library cut nothing: of a text whose length comes
    behind it a NUL is a byte like others."""
    behind = (*arguments[1:], None)
    return [None if kind is c_char_p and following is c_uint64 else kind for kind, following in zip(arguments, behind)]


def _look_at(kind: Any, argument: int | bytes) -> None:
    """Before ctypes converts it: what its converters raise all becomes ArgumentError."""
    if kind is c_char_p:
        whole(argument)
    else:
        fitting(kind, argument)


def _bound(library: ctypes.CDLL) -> dict:
    functions = {}
    for name, arguments in SIGNATURES.items():
        function = functions[name] = getattr(library, "tare_" + name)
        function.argtypes, function.restype = (*arguments, POINTER(ErrorStruct)), c_int32
    for kind in ("scaler", "grads", "fp8", "fp8_casts", "quantizer", "state", "text", "watch", "monitor", "comm"):
        function = functions[kind + "_destroy"] = getattr(library, f"tare_{kind}_destroy")
        function.argtypes, function.restype = (c_void_p,), None
    library.tare_version_string.restype = c_char_p
    library.tare_text_size.argtypes, library.tare_text_size.restype = (c_void_p,), c_uint64
    library.tare_text_data.argtypes, library.tare_text_data.restype = (c_void_p,), c_void_p
    return functions


library = _open()
functions = _bound(library)
_kinds = {name: _cut(arguments) for name, arguments in SIGNATURES.items()}
version: str = library.tare_version_string().decode()


class _PerThread(threading.local):
    def __init__(self):
        self.error = ErrorStruct(struct_size=ctypes.sizeof(ErrorStruct))
        self.reference = byref(self.error)
        self.failure: BaseException | None = None  # of a function that the library called


_thread = _PerThread()


def call(name: str, *arguments) -> None:
    """Calls a function of the library; raises what its status says, OverflowError for a number that does not fit, and
    ValueError for a text with a NUL."""
    for kind, argument in zip(_kinds[name], arguments):
        if isinstance(argument, (int, bytes)):
            _look_at(kind, argument)
    thread = _thread
    status = functions[name](*arguments, thread.reference)
    if status:
        cause, thread.failure = thread.failure, None
        raise error_of(status, thread.error.detail, thread.error.message.decode("utf-8", "replace")) from cause


def failed_in_callback(failure: BaseException) -> None:
    """Becomes the cause of what the call that is under way raises."""
    _thread.failure = failure


def _is_double(value: int) -> bool:
    return abs(value) < 2**1024 and float(value) == value


def set_whole(setter: str, handle: c_void_p, key: bytes, value: int, *stream: Any) -> None:
    """By `setter`_integer; beyond 64 bits, where a place for floats holds it exactly, by `setter`_number. Raises
    OverflowError for others."""
    least, most = _LIMITS[c_int64]
    if least <= value <= most or not _is_double(value):
        call(setter + "_integer", handle, key, value, *stream)
    else:
        call(setter + "_number", handle, key, float(value), *stream)


def made(name: str, *arguments) -> c_void_p:
    """What a function makes or gives the address of."""
    handle = c_void_p()
    call(name, byref(handle), *arguments)
    return handle


def _taken(text: c_void_p) -> bytes:
    try:
        return ctypes.string_at(library.tare_text_data(text), library.tare_text_size(text))
    finally:
        functions["text_destroy"](text)


def content(name: str, *arguments) -> bytes:
    """The bytes of a text that a function gives."""
    return _taken(made(name, *arguments))


def text(name: str, *arguments) -> str:
    return content(name, *arguments).decode()


def number(kind, name: str, *arguments):
    value = kind()
    call(name, byref(value), *arguments)
    return value.value


class Handle:
    """Something of the library's that is destroyed with its last reference."""

    _kind = ""
    _handle: c_void_p | None = None
    _destroy = None

    def _own(self, handle: c_void_p) -> None:
        self._handle = handle
        self._destroy = functions[self._kind + "_destroy"]

    def __del__(self):
        handle, self._handle = self._handle, None
        if handle is not None and self._destroy is not None:
            self._destroy(handle)

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} is neither copied nor pickled: make another")


def plain(value: Any) -> Any:
    """Numbers and arrays of NumPy's, torch's and others' as Python's own; whatever else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def _plain_in_json(value: Any) -> Any:
    found = plain(value)
    if found is value:
        raise TypeError(f"{type(value).__name__} is no value of JSON's")
    return found


def json_of(value: Any) -> bytes:
    """JSON, which has no infinities and nan: raises ValueError for them."""
    try:
        return json.dumps(value, allow_nan=False, default=_plain_in_json).encode()
    except ValueError as failure:
        raise ValueError(f"{failure}: JSON has no inf and nan; where one is meant, give the text 'inf', '-inf' or "
                         "'nan'") from None


def encoded(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def path_bytes(path: str | bytes | os.PathLike) -> bytes:
    return os.fsencode(path)
