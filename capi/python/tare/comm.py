"""Ranks that reduce with one another: a scaler or FP8 slots that are given one go by what all of them found."""
from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from typing import Any

from . import _library
from ._library import ALL_REDUCE, EXCHANGE, CollectivesStruct, Handle

MAX_U64, SUM_F64 = 1, 2  # TARE_


class Comm(Handle):
    """`Comm(all_reduce)`: ranks by a function of yours. `all_reduce(numbers, operation)` makes each of `numbers`, a
    memoryview of int64 for "max" and of float64 for "sum", that of all ranks, in place, with the same bits on every one.
    `all_to_all(given, got)` and `all_gather(given, got)`, of bytes of all `ranks` in their order, are for Fp8.all_reduce
    alone. What a function raises is the cause of the tare.BackendError that the step raises. `Comm.of_torch(group)`: a
    process group of torch.distributed; `Comm.of_mpi(communicator)`: a communicator of MPI.

    Every rank makes the same calls in the same order; tare/comm.h says which, and what is told where they do not."""

    _kind = "comm"

    def __init__(self, all_reduce: Callable[[memoryview, str], Any],
                 all_to_all: Callable[[memoryview, memoryview], Any] | None = None,
                 all_gather: Callable[[memoryview, memoryview], Any] | None = None, ranks: int = 0):
        def reduce(_context: Any, data: int, count: int, operation: int, _stream: Any) -> int:
            name, kind = ("max", "q") if operation == MAX_U64 else ("sum", "d")
            try:
                all_reduce(memoryview((ctypes.c_char * (8 * count)).from_address(data)).cast("B").cast(kind), name)
            except BaseException as failure:  # nothing may be thrown through the library
                _library.failed_in_callback(failure)
                return 1
            return 0

        self._collectives = CollectivesStruct(ctypes.sizeof(CollectivesStruct), None, ALL_REDUCE(reduce), 0)
        if all_to_all is not None and all_gather is not None:
            self._collectives.all_to_all = self._exchange(all_to_all, ranks, ranks)
            self._collectives.all_gather = self._exchange(all_gather, 1, ranks)
        self._own(_library.made("comm_from_callbacks", ctypes.byref(self._collectives)))

    @staticmethod
    def _exchange(function: Callable[[memoryview, memoryview], Any], given: int, got: int) -> Any:
        """Of so many times the bytes of one rank, given and got."""
        def exchange(_context: Any, source: int, target: int, count: int, _stream: Any) -> int:
            try:
                function(memoryview((ctypes.c_ubyte * (given * count)).from_address(source)).cast("B"),
                         memoryview((ctypes.c_ubyte * (got * count)).from_address(target)).cast("B"))
            except BaseException as failure:  # nothing may be thrown through the library
                _library.failed_in_callback(failure)
                return 1
            return 0

        return EXCHANGE(exchange)

    @classmethod
    def of_torch(cls, group: Any = None) -> Comm:
        """A process group of torch.distributed that reduces tensors of the CPU (gloo, mpi); None is the default one."""
        import torch
        from torch import distributed

        kinds = {"max": (torch.int64, distributed.ReduceOp.MAX), "sum": (torch.float64, distributed.ReduceOp.SUM)}

        def all_reduce(numbers: memoryview, operation: str) -> None:
            dtype, how = kinds[operation]
            distributed.all_reduce(torch.frombuffer(numbers, dtype=dtype), op=how, group=group)

        ranks = distributed.get_world_size(group)
        numbers = [rank if group is None else distributed.get_global_rank(group, rank) for rank in range(ranks)]

        def all_to_all(given: memoryview, got: memoryview) -> None:
            sources = list(torch.frombuffer(given, dtype=torch.uint8).chunk(ranks))
            for number, target in zip(numbers, torch.frombuffer(got, dtype=torch.uint8).chunk(ranks)):
                own = distributed.get_rank() == number
                distributed.scatter(target, sources if own else None, src=number, group=group)

        def all_gather(given: memoryview, got: memoryview) -> None:
            into = list(torch.frombuffer(got, dtype=torch.uint8).chunk(ranks))
            distributed.all_gather(into, torch.frombuffer(given, dtype=torch.uint8), group=group)

        return cls(all_reduce, all_to_all, all_gather, ranks)

    @classmethod
    def of_nccl(cls, communicator: int) -> Comm:
        """A communicator of NCCL's (the address of its ncclComm_t; torch's `ProcessGroupNCCL._comm_ptr()`), for scalers and
        slots on its GPU. It must outlive them."""
        comm = cls.__new__(cls)
        comm._own(_library.made("comm_from_nccl", communicator))
        return comm

    @classmethod
    def of_mpi(cls, communicator: Any = None, timeout_seconds: float | None = None) -> Comm:
        """A communicator of mpi4py's, or the number of its Fortran handle; None is MPI_COMM_WORLD. A call of all its
        ranks. Needs libtare_mpi.so of the same MPI beside the library."""
        if communicator is not None and not isinstance(communicator, int):
            communicator = communicator.py2f()
        config = {"communicator": communicator, "timeout_seconds": timeout_seconds}
        given = {key: value for key, value in config.items() if value is not None}
        comm = cls.__new__(cls)
        comm._own(_library.made("comm_from_mpi", json.dumps(given).encode()))
        return comm
