"""Matrices to fp8 and fp4 with scales of their own values: current and delayed scaling, MXFP8, NVFP4, blocks of 128."""
from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from . import _library
from ._library import Handle, MatrixStruct, SideStruct, struct
from .tensors import F32, piece_of, tensor_of


class _Blocks(NamedTuple):
    """How many rows and columns of a side, as its data lies in memory, share a scale; None: all of them."""
    rows: int | None
    columns: int | None
    scale_size: int
    values_a_byte: int = 1
    is_transposed: bool = True  # columnwise data


_RECIPES = {
    "current": _Blocks(None, None, 4),
    "delayed": _Blocks(None, None, 4),
    "mxfp8": _Blocks(1, 32, 1, is_transposed=False),
    "blockwise_1d": _Blocks(1, 128, 4),
    "blockwise_2d": _Blocks(128, 128, 4),
    "nvfp4": _Blocks(1, 16, 1, values_a_byte=2),
}


class Side(NamedTuple):
    """A matrix quantised along its rows or columns: buffers of any dtype, and where scales do not lie row after row the
    distances between them (tare/quantizer.h)."""
    data: Any
    scales: Any = None
    row_stride: int = 0
    column_stride: int = 0


class Matrix(NamedTuple):
    """`values`: a buffer of float32, float16 or bfloat16, row after row; all its dimensions but the last are rows. `shape`:
    (rows, columns), for a buffer that has none. A side may be given as the pair (data, scales), or be None. `amax`, `scale`:
    buffers of one float32, where the recipe has them."""
    values: Any
    rowwise: Any = None
    columnwise: Any = None
    amax: Any = None
    scale: Any = None
    shape: tuple[int, int] | None = None


class SideShape(NamedTuple):
    """What a side needs: rows and bytes a row of its data, rows and columns of its scales, and bytes of each scale."""
    data: tuple[int, int]
    scales: tuple[int, int]
    scale_size: int


class Quantizer(Handle):
    """Quantises matrices by one recipe, and keeps nothing of them: `Quantizer("mxfp8", format="e4m3")`. `recipe`:
    "current", "delayed", "mxfp8", "blockwise_1d", "blockwise_2d" or "nvfp4"; tare/quantizer.h says what each does, where it
    writes, and its other parameters (device, threads, amax_epsilon, force_pow_2_scales). Buffers and `stream` as for
    tare.Scaler; buffers that are too short for the recipe are a ValueError."""

    _kind = "quantizer"

    def __init__(self, recipe: str, **parameters: Any):
        self.recipe = recipe
        self._own(_library.made("quantizer_create", _library.json_of({"recipe": recipe, **parameters})))

    def shape_of_side(self, rows: int, columns: int, columnwise: bool = False) -> SideShape:
        """Of a side of a matrix of that shape, where its scales have no gaps."""
        blocks = _RECIPES[self.recipe]
        if columnwise and blocks.is_transposed:
            rows, columns = columns, rows
        down, along = blocks.rows, blocks.columns
        if columnwise and not blocks.is_transposed:
            down, along = along, down
        return SideShape((rows, columns // blocks.values_a_byte),
                         (1 if down is None else -(-rows // down), 1 if along is None else -(-columns // along)),
                         blocks.scale_size)

    def quantize(self, matrices: Matrix | Iterable[Matrix], stream: int | None = None) -> None:
        """Writes into those sides of each matrix that there are; one at least."""
        self._run("quantizer_quantize", matrices, stream, values_are_written=False)

    def dequantize(self, matrices: Matrix | Iterable[Matrix], stream: int | None = None) -> None:
        """Writes `values` from the rowwise side, or from the columnwise one where there is no other."""
        self._run("quantizer_dequantize", matrices, stream, values_are_written=True)

    def _run(self, name: str, matrices: Matrix | Iterable[Matrix], stream: int | None, values_are_written: bool) -> None:
        given = [matrices] if isinstance(matrices, Matrix) else list(matrices)
        kept: list[Any] = []
        structs = (MatrixStruct * len(given))(*(self._struct(one, values_are_written, kept) for one in given))
        _library.call(name, self._handle, structs, len(given), stream)

    def _struct(self, matrix: Matrix, values_are_written: bool, kept: list[Any]) -> MatrixStruct:
        values, keep = tensor_of(matrix.values, values_are_written)
        kept += [keep, piece_of(matrix.values, values_are_written)]  # the latter refuses other orders than rows
        rows, columns = _shape_of(matrix)
        if rows * columns != values.count:
            raise ValueError(f"{values.count} values for a matrix of {rows} x {columns}")
        sides = [self._side(side, self.shape_of_side(rows, columns, is_columnwise), not values_are_written, kept)
                 for side, is_columnwise in ((matrix.rowwise, False), (matrix.columnwise, True))]
        return struct(MatrixStruct, ctypes.sizeof(MatrixStruct), values.address, rows, columns, values.dtype, 0, *sides,
                      _one_float(matrix.amax, "amax", kept), _one_float(matrix.scale, "scale", kept))

    def _side(self, side: Any, shape: SideShape, is_written: bool, kept: list[Any]) -> SideStruct:
        if side is None:
            return SideStruct(None, None, 0, 0)
        data, scales, row_stride, column_stride = Side(*side)
        if row_stride < 0 or column_stride < 0:
            raise ValueError(f"strides of {row_stride} and {column_stride}: scales lie behind one another, not before")
        down, along = shape.scales
        last = (down - 1) * row_stride + (along - 1) * column_stride if row_stride or column_stride else down * along - 1
        needed = shape.data[0] * shape.data[1], (last + 1) * shape.scale_size
        addresses = [_room(buffer, size, what, is_written, kept)
                     for buffer, size, what in ((data, needed[0], "data"), (scales, needed[1], "scales"))]
        return struct(SideStruct, *addresses, row_stride, column_stride)


def _shape_of(matrix: Matrix) -> tuple[int, int]:
    shape: Sequence[int] | None = matrix.shape or getattr(matrix.values, "shape", None)
    if not shape:
        raise ValueError("values have no shape: give Matrix(..., shape=(rows, columns))")
    if min(shape) < 0:
        raise ValueError(f"a shape of {tuple(shape)}")
    rows = 1
    for size in shape[:-1]:
        rows *= size
    return rows, shape[-1]


def _room(buffer: Any, needed: int, what: str, is_written: bool, kept: list[Any]) -> int | None:
    if buffer is None:
        return None
    piece = piece_of(buffer, is_written)
    if piece.size < needed:
        raise ValueError(f"{what} of {piece.size} bytes, of which the matrix needs {needed}")
    kept.append(piece)
    return piece.address


def _one_float(buffer: Any, what: str, kept: list[Any]) -> int | None:
    if buffer is None:
        return None
    tensor, keep = tensor_of(buffer)
    if tensor.dtype != F32 or tensor.count < 1:
        raise ValueError(f"{what} is one float32")
    kept.append(keep)
    return tensor.address
