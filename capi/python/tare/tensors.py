"""Buffers of others as the library takes them: torch's tensors, NumPy's and CuPy's arrays, whatever has DLPack (JAX,
TensorFlow ...) or is a writable Python buffer. No copies: the library reads and writes that very memory."""
from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Union

from ._library import TensorStruct, struct

F32, F64, F16, BF16, F8E4M3FN, F8E5M2 = 1, 2, 3, 4, 5, 6

_NAMES = {"float32": F32, "float64": F64, "float16": F16, "bfloat16": BF16, "float8_e4m3fn": F8E4M3FN,
          "float8_e5m2": F8E5M2}
_SIZES = {F32: 4, F64: 8, F16: 2, BF16: 2, F8E4M3FN: 1, F8E5M2: 1}
_FORMATS = {"f": F32, "d": F64, "e": F16}
_OWN_ORDER = "@=<" if sys.byteorder == "little" else "@=>"  # before a format: ctypes' arrays say it
_TYPESTRS = {"<f4": F32, "<f8": F64, "<f2": F16}
_DLPACK = {(2, 32): F32, (2, 64): F64, (2, 16): F16, (4, 16): BF16, (10, 8): F8E4M3FN, (12, 8): F8E5M2}  # by code and bits


class Tensor(NamedTuple):
    """Memory that something else owns: `address` of `count` elements; `dtype` is one of tare.F32, F64, F16, BF16,
    F8E4M3FN, F8E5M2. What any buffer becomes, and what callers may give who know better."""
    address: int
    count: int  # type: ignore[assignment]
    dtype: int


Order = Union[tuple[tuple[int, int], ...], None]
"""Of the elements in their memory: none where they lie row after row, else size and stride of each dimension that has
more than one; None where nobody knows."""


class Found(NamedTuple):
    """The memory of a buffer; `kept` must live as long as it is used."""
    tensor: Tensor
    kept: Any
    order: Order


def tensor_of(buffer: Any, writes: bool = True) -> tuple[Tensor, Any]:
    """The memory of a buffer, and what must live as long as it is used. Raises TypeError for what is none, ValueError
    for one that has gaps or (where it is to be written) may only be read."""
    return found_in(buffer, writes)[:2]


def found_in(buffer: Any, writes: bool = True) -> Found:
    """The same, and in which order the elements lie."""
    if isinstance(buffer, Tensor):
        struct(TensorStruct, *buffer)  # refuses numbers that do not fit
        return Found(buffer, None, None)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(buffer, torch.Tensor):
        return _of_torch(buffer)
    buffer = _with_memory(buffer, writes)
    for attribute in ("__cuda_array_interface__", "__array_interface__"):
        interface = getattr(buffer, attribute, None)
        if interface is not None:
            return _of_interface(buffer, interface, writes)
    if hasattr(buffer, "__dlpack__"):
        return _of_dlpack(buffer, writes)
    return _of_memory(buffer)


def _with_memory(buffer: Any, writes: bool) -> Any:
    """A NumPy scalar tells the address of an array that is gone when it is told: an array in its place."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(buffer, numpy.generic):
        return buffer
    if writes:
        raise TypeError(f"a NumPy scalar ({type(buffer).__name__}) has no memory to write into: give an array")
    return numpy.asarray(buffer)


class Piece(NamedTuple):
    """Memory of any dtype, without gaps and in C order: `address` of `size` bytes; `kept` must live as long as it is used."""
    address: int
    size: int
    kept: Any


def piece_of(buffer: Any, writes: bool = True) -> Piece:
    """The memory of a buffer, whatever its elements are. Raises as tensor_of does, and ValueError where its elements do not
    lie row after row."""
    if isinstance(buffer, Tensor):
        return Piece(buffer.address, buffer.count * _SIZES[buffer.dtype], None)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(buffer, torch.Tensor):
        if buffer.is_neg() or buffer.is_conj():
            _refuse_signs()
        if not buffer.is_contiguous():
            _refuse_order("the torch tensor")
        return Piece(buffer.data_ptr(), buffer.numel() * buffer.element_size(), buffer)
    buffer = _with_memory(buffer, writes)
    for attribute in ("__cuda_array_interface__", "__array_interface__"):
        interface = getattr(buffer, attribute, None)
        if interface is not None:
            return _piece_of_interface(buffer, interface, writes)
    if hasattr(buffer, "__dlpack__"):
        found, shape, capsule = _dlpack(buffer, writes)
        size = found.bits * found.lanes // 8
        if found.strides and not _in_rows(shape, found.strides[:found.ndim]):
            _refuse_order("the DLPack tensor")
        return Piece((found.data or 0) + found.byte_offset, _count(shape) * size, capsule)
    return _piece_of_memory(buffer, writes)


class Tensors:
    """One buffer, or a list, tuple or iterator of some, as the library takes them; keeps them alive."""

    def __init__(self, buffers: Any, writes: bool = True):
        if isinstance(buffers, Tensor) or not isinstance(buffers, (list, tuple, Iterator)):
            buffers = [buffers]
        found = [found_in(buffer, writes) for buffer in buffers]
        self.kept = [one.kept for one in found]
        self.orders = [one.order for one in found]
        self.count = len(found)
        self.array = (TensorStruct * self.count)(*(TensorStruct(*one.tensor, 0) for one in found))


def matching(out: Any, orders: Sequence[Order]) -> Tensors:
    """Buffers that are written from others whose elements lie in these orders. Raises ValueError where an element would
    come to another place than it has in its source: the library goes through memory."""
    into = Tensors(out)
    for index, (target, source) in enumerate(zip(into.orders, orders)):
        if None not in (target, source) and target != source:
            raise ValueError(f"buffer {index} has its elements in another order in memory than what is written into "
                             "it: make both contiguous first")
    return into


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


def _in_rows(shape: Any, strides: Any) -> bool:
    """Is it C order? `strides` count whatever a step along the last dimension counts 1 of."""
    expected = 1
    for stride, size in zip(reversed(strides), reversed(shape)):
        if size != 1 and stride != expected:
            return 0 in shape
        expected *= size
    return True


def _count(shape: Any) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _refuse_gaps(what: str) -> None:
    raise ValueError(f"{what} has gaps between its elements: make it contiguous first")


def _refuse_order(what: str) -> None:
    raise ValueError(f"{what} does not lie row after row: make it contiguous first")


def _refuse_signs() -> None:
    raise ValueError("the torch tensor is a view whose memory has other signs than its values: give its resolve_neg() "
                     "or resolve_conj()")


def _known(name: str, what: str) -> int:
    dtype = _NAMES.get(name)
    if dtype is None:
        raise TypeError(f"{what} is of {name}; there are: {', '.join(_NAMES)}")
    return dtype


def _order(shape: Any, strides: Any) -> Order:
    """Of what is dense. `strides` count elements; None: C order."""
    if strides is None or _in_rows(shape, strides):
        return ()
    return tuple((int(size), int(stride)) for size, stride in zip(shape, strides) if size != 1)


def _of_torch(tensor: Any) -> Found:
    if tensor.layout is not sys.modules["torch"].strided:
        raise TypeError("a sparse tensor has no one piece of memory: give its values()")
    dtype = _known(str(tensor.dtype).removeprefix("torch."), "the torch tensor")
    if tensor.is_neg():  # the conjugate ones are complex
        _refuse_signs()
    strides = None if tensor.is_contiguous() else tensor.stride()
    if not _dense(tensor.shape, strides):
        _refuse_gaps("the torch tensor")
    return Found(Tensor(tensor.data_ptr(), tensor.numel(), dtype), tensor, _order(tensor.shape, strides))


def _of_interface(array: Any, interface: dict, writes: bool) -> Found:
    dtype = _TYPESTRS.get(interface["typestr"]) or _known(str(getattr(array, "dtype", interface["typestr"])), "the array")
    address, read_only = interface["data"]
    if writes and read_only:
        raise ValueError("the array may only be read")
    shape, strides = interface["shape"], interface.get("strides")
    if strides is not None:
        strides = [stride / _SIZES[dtype] for stride in strides]
    if not _dense(shape, strides):
        _refuse_gaps("the array")
    return Found(Tensor(address, _count(shape), dtype), array, _order(shape, strides))


def _piece_of_interface(array: Any, interface: dict, writes: bool) -> Piece:
    address, read_only = interface["data"]
    if writes and read_only:
        raise ValueError("the array may only be read")
    size = int(interface["typestr"][2:])
    strides = interface.get("strides")
    if strides is not None and not _in_rows(interface["shape"], [stride / size for stride in strides]):
        _refuse_order("the array")
    return Piece(address, _count(interface["shape"]) * size, array)


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_READ_ONLY, _COPIED = 1, 2  # DLPACK_FLAG_BITMASK_


def _capsule(buffer: Any) -> Any:
    """One that has flags, of who knows DLPack 1.0."""
    try:
        return buffer.__dlpack__(max_version=(1, 0))
    except TypeError:
        return buffer.__dlpack__()


def _content(capsule: Any, name: bytes) -> int | None:
    """Its address; None where the capsule is not of that name."""
    is_valid, take = ctypes.pythonapi.PyCapsule_IsValid, ctypes.pythonapi.PyCapsule_GetPointer
    is_valid.argtypes = take.argtypes = (ctypes.py_object, ctypes.c_char_p)
    is_valid.restype, take.restype = ctypes.c_int, ctypes.c_void_p
    return take(capsule, name) if is_valid(capsule, name) else None


def _is_immutable(buffer: Any) -> bool:
    """By its kind: JAX's arrays share memory with one another and with constants, and their capsules have no flags."""
    return type(buffer).__module__.partition(".")[0] in ("jax", "jaxlib")


def _require_writable(buffer: Any, flags: int) -> None:
    if flags & _READ_ONLY or _is_immutable(buffer):
        raise ValueError(f"the array ({type(buffer).__name__}) may only be read")
    if flags & _COPIED:
        raise ValueError(f"the array ({type(buffer).__name__}) gives a copy by DLPack: what is written there is lost")


def _dlpack(buffer: Any, writes: bool) -> tuple[_DLTensor, Any, Any]:
    """What the capsule says, the shape, and the capsule, which is never consumed: it keeps the memory, and gives it back
    itself."""
    capsule = _capsule(buffer)
    address, flags = _content(capsule, b"dltensor_versioned"), 0
    if address is None:
        found = _DLTensor.from_address(_content(capsule, b"dltensor"))
    else:
        managed = _DLManagedTensorVersioned.from_address(address)
        if managed.major != 1:
            raise TypeError(f"the array is exported by DLPack {managed.major}.{managed.minor}; versions 0 and 1 are known")
        found, flags = managed.tensor, managed.flags
    if writes:
        _require_writable(buffer, flags)
    return found, found.shape[:found.ndim], capsule


def _of_dlpack(buffer: Any, writes: bool) -> Found:
    found, shape, capsule = _dlpack(buffer, writes)
    dtype = _DLPACK.get((found.code, found.bits)) if found.lanes == 1 else None
    if dtype is None:
        raise TypeError(f"the DLPack tensor is of type code {found.code} and {found.bits} bits; there are: "
                        f"{', '.join(_NAMES)}")
    strides = found.strides[:found.ndim] if found.strides else None
    if not _dense(shape, strides):
        _refuse_gaps("the DLPack tensor")
    return Found(Tensor((found.data or 0) + found.byte_offset, _count(shape), dtype), capsule, _order(shape, strides))


def _view(buffer: Any) -> memoryview:
    try:
        return memoryview(buffer)
    except TypeError:
        raise TypeError(f"{type(buffer).__name__} is no buffer: give a torch tensor, a NumPy array, what has DLPack, "
                        "or a tare.Tensor") from None


def _piece_of_memory(buffer: Any, writes: bool) -> Piece:
    view = _view(buffer)
    if not view.c_contiguous:
        _refuse_order("the buffer")
    if view.readonly:
        raise ValueError("the buffer may only be read" if writes else "a buffer that may only be read has no address: copy it")
    if view.nbytes == 0:
        return Piece(0, 0, view)
    memory = (ctypes.c_char * view.nbytes).from_buffer(view)
    return Piece(ctypes.addressof(memory), view.nbytes, memory)


def _of_memory(buffer: Any) -> Found:
    view = _view(buffer)
    dtype = _FORMATS.get(view.format[1:] if view.format[0] in _OWN_ORDER else view.format)
    if dtype is None:
        raise TypeError(f"a buffer of format {view.format!r}; there are: {', '.join(_FORMATS)}")
    if not view.c_contiguous:
        _refuse_order("the buffer")
    if view.readonly:
        raise ValueError("the buffer may only be read")
    count = _count(view.shape)
    if count == 0:
        return Found(Tensor(0, 0, dtype), view, ())
    memory = (ctypes.c_char * view.nbytes).from_buffer(view)
    return Found(Tensor(ctypes.addressof(memory), count, dtype), memory, ())
