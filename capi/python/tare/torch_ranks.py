"""Ranks of a torch.distributed process group, as the library reduces by them: in memory of the host, or of a GPU in the
stream of the call."""
from __future__ import annotations

import collections
import contextlib
import ctypes
from typing import Any

import torch
from torch import distributed

# By TARE_MAX_U64 and TARE_SUM_F64.
_KINDS = {1: (torch.int64, distributed.ReduceOp.MAX), 2: (torch.float64, distributed.ReduceOp.SUM)}
_TYPESTRS = {torch.int64: "<i8", torch.float64: "<f8", torch.uint8: "|u1"}


# gloo's threads drop what they worked on after the call has returned. Was that the last reference, they want Python's lock,
# which destroy_process_group holds while it waits for them: neither would ever go on. So views outlive their calls.
_views: collections.deque[torch.Tensor] = collections.deque(maxlen=256)


class _DeviceMemory:
    """What torch makes a tensor over."""

    def __init__(self, address: int, count: int, dtype: torch.dtype):
        self.__cuda_array_interface__ = {"shape": (count,), "typestr": _TYPESTRS[dtype], "data": (address, False),
                                         "version": 3}


def device_of(group: Any) -> torch.device:
    """Where the group reduces: the CPU where it can, else the GPU that is current."""
    group = distributed.group.WORLD if group is None else group
    if "cpu" in {device.type for device in group._device_types}:
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())


class TorchRanks:
    """The functions of a comm, by addresses. NCCL's only enqueue, on the stream that they are given."""

    def __init__(self, group: Any, device: torch.device):
        self.group = group
        self.device = device
        self.on_device = device.type == "cuda"
        self.count = distributed.get_world_size(group)
        self._numbers = list(range(self.count)) if group is None else distributed.get_process_group_ranks(group)

    def all_reduce(self, address: int, count: int, operation: int, stream: int | None) -> None:
        dtype, how = _KINDS[operation]
        if count > 0:
            with self._on(stream):
                distributed.all_reduce(self._view(address, count, dtype), op=how, group=self.group)

    def all_to_all(self, given: int, got: int, count: int, stream: int | None) -> None:
        with self._on(stream):
            sources, targets = self._parts(given, count), self._parts(got, count)
            if distributed.get_backend(self.group) == "nccl":
                distributed.all_to_all(targets, sources, group=self.group)
                return
            with self._at_host(sources, targets) as (sources, targets):
                for number, target in zip(self._numbers, targets):  # gloo has no all_to_all of lists
                    own = distributed.get_rank() == number
                    distributed.scatter(target, sources if own else None, src=number, group=self.group)

    def all_gather(self, given: int, got: int, count: int, stream: int | None) -> None:
        with self._on(stream):
            source, targets = self._view(given, count, torch.uint8), self._parts(got, count)
            if distributed.get_backend(self.group) == "nccl":
                distributed.all_gather(targets, source, group=self.group)
                return
            with self._at_host([source], targets) as (sources, targets):
                distributed.all_gather(targets, sources[0], group=self.group)

    @contextlib.contextmanager
    def _at_host(self, sources: list[torch.Tensor], targets: list[torch.Tensor]) -> Any:
        """gloo exchanges what is on the host."""
        if not self.on_device:
            yield sources, targets
            return
        given, arrived = [one.cpu() for one in sources], [torch.empty_like(one, device="cpu") for one in targets]
        _views.extend([*given, *arrived])
        yield given, arrived
        for target, one in zip(targets, arrived):
            target.copy_(one)

    def _parts(self, address: int, count: int) -> list[torch.Tensor]:
        """`count` bytes of each rank."""
        return [self._view(address + rank * count, count, torch.uint8) for rank in range(self.count)]

    def _view(self, address: int, count: int, dtype: torch.dtype) -> torch.Tensor:
        if self.on_device:
            view = torch.as_tensor(_DeviceMemory(address, count, dtype), device=self.device)
        else:
            view = torch.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(address), dtype=dtype)
        _views.append(view)
        return view

    def _on(self, stream: int | None) -> Any:
        if not self.on_device:
            return contextlib.nullcontext()
        if stream is None:
            return torch.cuda.stream(torch.cuda.default_stream(self.device))
        return torch.cuda.stream(torch.cuda.ExternalStream(stream, self.device))
