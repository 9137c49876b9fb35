"""Buffers of others as the library takes them: torch's tensors, NumPy's and CuPy's arrays, whatever has DLPack (JAX,
TensorFlow ...) or is a writable Python buffer. No copies: the library reads and writes that very memory."""
from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from ._library import TensorStruct

F32, F64, F16, BF16, F8E4M3FN, F8E5M2 = 1, 2, 3, 4, 5, 6

_NAMES = {"float32": F32, "float64": F64, "float16": F16, "bfloat16": BF16, "float8_e4m3fn": F8E4M3FN,
          "float8_e5m2": F8E5M2}
_SIZES = {F32: 4, F64: 8, F16: 2, BF16: 2, F8E4M3FN: 1, F8E5M2: 1}
_FORMATS = {"f": F32, "d": F64, "e": F16}
_TYPESTRS = {"<f4": F32, "<f8": F64, "<f2": F16}
_DLPACK = {(2, 32): F32, (2, 64): F64, (2, 16): F16, (4, 16): BF16}  # by code and bits


class Tensor(NamedTuple):
    """Memory that something else owns: `address` of `count` elements; `dtype` is one of tare.F32, F64, F16, BF16,
    F8E4M3FN, F8E5M2. What any buffer becomes, and what callers may give who know better."""
    address: int
    count: int  # type: ignore[assignment]
    dtype: int


def tensor_of(buffer: Any, writes: bool = True) -> tuple[Tensor, Any]:
    """The memory of a buffer, and what must live as long as it is used. Raises TypeError for what is none, ValueError
    for one that has gaps or (where it is to be written) may only be read."""
    if isinstance(buffer, Tensor):
        return buffer, None
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(buffer, torch.Tensor):
        return _of_torch(buffer), buffer
    for attribute, take in (("__cuda_array_interface__", _of_interface), ("__array_interface__", _of_interface)):
        interface = getattr(buffer, attribute, None)
        if interface is not None:
            return take(buffer, interface, writes), buffer
    if hasattr(buffer, "__dlpack__"):
        return _of_dlpack(buffer)
    return _of_memory(buffer)


class Tensors:
    """One buffer, or a list, tuple or iterator of some, as the library takes them; keeps them alive."""

    def __init__(self, buffers: Any, writes: bool = True):
        if isinstance(buffers, Tensor) or not isinstance(buffers, (list, tuple, Iterator)):
            buffers = [buffers]
        found = [tensor_of(buffer, writes) for buffer in buffers]
        self.kept = [kept for _, kept in found]
        self.count = len(found)
        self.array = (TensorStruct * self.count)(*(TensorStruct(*tensor, 0) for tensor, _ in found))


def _dense(shape: Any, strides: Any) -> bool:
    """Do the elements fill one piece of memory, in whatever order? `strides` count elements; None: C order."""
    if strides is None or 0 in shape:
        return True
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(strides, shape) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def _count(shape: Any) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _refuse_gaps(what: str) -> None:
    raise ValueError(f"{what} has gaps between its elements: make it contiguous first")


def _known(name: str, what: str) -> int:
    dtype = _NAMES.get(name)
    if dtype is None:
        raise TypeError(f"{what} is of {name}; there are: {', '.join(_NAMES)}")
    return dtype


def _of_torch(tensor: Any) -> Tensor:
    if tensor.layout is not sys.modules["torch"].strided:
        raise TypeError("a sparse tensor has no one piece of memory: give its values()")
    if not tensor.is_contiguous() and not _dense(tensor.shape, tensor.stride()):
        _refuse_gaps("the torch tensor")
    return Tensor(tensor.data_ptr(), tensor.numel(), _known(str(tensor.dtype).removeprefix("torch."), "the torch tensor"))


def _of_interface(array: Any, interface: dict, writes: bool) -> Tensor:
    dtype = _TYPESTRS.get(interface["typestr"]) or _known(str(getattr(array, "dtype", interface["typestr"])), "the array")
    address, read_only = interface["data"]
    if writes and read_only:
        raise ValueError("the array may only be read")
    strides = interface.get("strides")
    size = _SIZES[dtype]
    if strides is not None and not _dense(interface["shape"], [stride / size for stride in strides]):
        _refuse_gaps("the array")
    return Tensor(address, _count(interface["shape"]), dtype)


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


def _of_dlpack(buffer: Any) -> tuple[Tensor, Any]:
    """The capsule is never consumed: it keeps the memory, and gives it back itself."""
    capsule = buffer.__dlpack__()
    take = ctypes.pythonapi.PyCapsule_GetPointer
    take.argtypes, take.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    found = _DLTensor.from_address(take(capsule, b"dltensor"))
    dtype = _DLPACK.get((found.code, found.bits)) if found.lanes == 1 else None
    if dtype is None:
        raise TypeError(f"the DLPack tensor is of type code {found.code} and {found.bits} bits; there are float32, "
                        "float64, float16 and bfloat16")
    shape = found.shape[:found.ndim]
    if found.strides and not _dense(shape, found.strides[:found.ndim]):
        _refuse_gaps("the DLPack tensor")
    return Tensor((found.data or 0) + found.byte_offset, _count(shape), dtype), capsule


def _of_memory(buffer: Any) -> tuple[Tensor, Any]:
    try:
        view = memoryview(buffer)
    except TypeError:
        raise TypeError(f"{type(buffer).__name__} is no buffer: give a torch tensor, a NumPy array, what has DLPack, "
                        "or a tare.Tensor") from None
    dtype = _FORMATS.get(view.format)
    if dtype is None:
        raise TypeError(f"a buffer of format {view.format!r}; there are: {', '.join(_FORMATS)}")
    if not view.contiguous:
        _refuse_gaps("the buffer")
    if view.readonly:
        raise ValueError("the buffer may only be read")
    count = _count(view.shape)
    if count == 0:
        return Tensor(0, 0, dtype), view
    memory = (ctypes.c_char * view.nbytes).from_buffer(view)
    return Tensor(ctypes.addressof(memory), count, dtype), memory
