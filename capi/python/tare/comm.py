"""Ranks that reduce with one another: a scaler or FP8 slots that are given one go by what all of them found."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from . import _library
from ._library import ALL_REDUCE, EXCHANGE, CollectivesStruct, Handle
from .errors import InvalidArgument, Unsupported

MAX_U64, SUM_F64 = 1, 2  # TARE_


def _memory(address: int, size: int) -> memoryview:
    return memoryview((ctypes.c_ubyte * size).from_address(address)).cast("B")


def _guarded(function: Callable) -> Callable:
    """Nothing may be thrown through the library."""
    def call(_context: Any, *arguments: Any) -> int:
        try:
            function(*arguments)
        except BaseException as failure:
            _library.failed_in_callback(failure)
            return 1
        return 0

    return call


class Comm(Handle):
    """`Comm(all_reduce)`: ranks by a function of yours. `all_reduce(numbers, operation)` makes each of `numbers`, a
    memoryview of int64 for "max" and of float64 for "sum", that of all ranks, in place, with the same bits on every one.
    `all_to_all(given, got)` and `all_gather(given, got)`, of bytes of all `ranks` in their order, are for Fp8.all_reduce
    alone. What a function raises is the cause of the tare.BackendError that the step raises. `Comm.of_torch(group)`: a
    process group of torch.distributed; `Comm.of_mpi(communicator)`: a communicator of MPI.

    Every rank makes the same calls in the same order; tare/comm.h says which, and what is told where they do not."""

    _kind = "comm"
    _on_device = False  # and nowhere else

    def __init__(self, all_reduce: Callable[[memoryview, str], Any],
                 all_to_all: Callable[[memoryview, memoryview], Any] | None = None,
                 all_gather: Callable[[memoryview, memoryview], Any] | None = None, ranks: int = 0):
        if (all_to_all is None) != (all_gather is None):
            raise InvalidArgument("all_to_all and all_gather are given together, or neither of them")
        if all_to_all is not None and ranks < 1:
            raise InvalidArgument(f"all_to_all and all_gather exchange bytes of {ranks} ranks", "ranks=: how many there are.")

        def reduce(data: int, count: int, operation: int, _stream: Any) -> None:
            name, kind = ("max", "q") if operation == MAX_U64 else ("sum", "d")
            all_reduce(_memory(data, 8 * count).cast(kind), name)

        def exchange(function: Callable[[memoryview, memoryview], Any], given: int, got: int) -> Callable:
            """Of so many times the bytes of one rank, given and got."""
            return lambda source, target, count, _stream: function(_memory(source, given * count),
                                                                    _memory(target, got * count))

        if all_to_all is not None and all_gather is not None:
            self._of_functions(reduce, exchange(all_to_all, ranks, ranks), exchange(all_gather, 1, ranks))
        else:
            self._of_functions(reduce)

    def _of_functions(self, all_reduce: Callable, all_to_all: Callable | None = None, all_gather: Callable | None = None,
                      on_device: bool = False) -> None:
        """Of functions that take addresses and the stream."""
        self._collectives = CollectivesStruct(ctypes.sizeof(CollectivesStruct), None, ALL_REDUCE(_guarded(all_reduce)),
                                              int(on_device))
        if all_to_all is not None and all_gather is not None:
            self._collectives.all_to_all = EXCHANGE(_guarded(all_to_all))
            self._collectives.all_gather = EXCHANGE(_guarded(all_gather))
        self._on_device = on_device
        self._own(_library.made("comm_from_callbacks", ctypes.byref(self._collectives)))

    def handle_for(self, on_device: bool) -> Any:
        """The handle. Raises tare.Unsupported for who computes elsewhere; of other engines the library tells."""
        if self._on_device and not on_device:
            raise Unsupported("the comm reduces in memory of a GPU, and this computes on the CPU",
                              "Comm.of_torch of a gloo group, or with device=\"cpu\", is for the CPU")
        return self._handle

    @classmethod
    def of_torch(cls, group: Any = None, device: Any = None) -> Comm:
        """A process group of torch.distributed; None is the default one. `device` is where scalers and slots compute that
        have it: by default the CPU for a group that reduces there (gloo, "cpu:gloo,cuda:nccl"), else (nccl) the GPU that is
        current, where the reductions are enqueued on the stream of each call and the host waits for none. What torch does
        about a rank that is gone, its timeout and its watchdog, it does."""
        import torch

        from .torch_ranks import TorchRanks, device_of

        ranks = TorchRanks(group, device_of(group) if device is None else torch.device(device))
        comm = cls.__new__(cls)
        comm._of_functions(ranks.all_reduce, ranks.all_to_all, ranks.all_gather, ranks.on_device)
        return comm

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
        comm._own(_library.made("comm_from_mpi", _library.json_of(given)))
        return comm
