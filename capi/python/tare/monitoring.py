"""A run's numbers, watched from inside: what its gradients and tensors are like, and what is wrong with them."""
from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _library
from ._library import Handle
from .answers import Answer, answer_of
from .scaler import Grads
from .state import State
from .tensors import Tensors


def _names(names: Sequence[str]) -> Any:
    return _library.texts([name.encode() for name in names])


class Monitor(Handle):
    """Looks at one step of `every`, the first one among them. `sinks`: {"jsonl": FILE}, {"tensorboard": FOLDER} or
    {"openmetrics": FILE} each; a file that cannot be written stops nothing and is told in `report`. `format`: what the
    gradients are computed in, "f16" or "bf16". `warn`: from where on things are told (tare/monitor.h has all):
    {"underflow": 0.05, "looks": 10, "ignore": ["*embed*"]}. `groups`: of tensors that are observed, which and how often:
    {"weights": {"every": 100, "names": ["*.weight"]}, "inputs": {"every": 0}}."""

    _kind = "monitor"

    def __init__(self, *, every: int = 10, sinks: Iterable[Mapping[str, str]] = (), format: str = "f16",
                 warn: Mapping[str, Any] | None = None, groups: Mapping[str, Mapping[str, Any]] | None = None):
        config = {"every": every, "sinks": [dict(sink) for sink in sinks], "format": format, "warn": dict(warn or {}),
                  "groups": {name: dict(group) for name, group in (groups or {}).items()}}
        self._own(_library.made("monitor_create", _library.json_of(config)))

    def looks(self, group: str, name: str) -> bool:
        """Is a tensor of that group and name looked at in the step under way?"""
        return bool(_library.number(ctypes.c_int32, "monitor_looks", self._handle, group.encode(), name.encode()))

    def observe(self, group: str, tensors: Mapping[str, Any], *, scale: float = 1.0, scale_at: int | None = None,
                device: str = "cpu", stream: int | None = None) -> None:
        """Looks at buffers, by name: `group` says what they are ("weights", "exp_avg_sq"). One of a single number, such as
        a loss, is told as that. A loss scale that the values bear is divided out; `scale_at` is the address of one that
        lies on the device, as float32. Buffers of a `device` "cuda:0" are looked at there, in their turn on the `stream`,
        and nothing waits: see `settled`."""
        given = Tensors(list(tensors.values()), writes=False)
        if scale_at is not None:
            return _library.call("monitor_observe_scaled_on", self._handle, device.encode(), group.encode(),
                                 _names(list(tensors)), given.array, given.count, scale_at, stream)
        _library.call("monitor_observe_on", self._handle, device.encode(), group.encode(), _names(list(tensors)),
                      given.array, given.count, scale, stream)

    def observe_again(self, group: str, name: str, known_group: str, known_name: str) -> None:
        """A tensor that was observed in this step is told by another group and name, too: a layer's output is the next
        one's input. Nothing looks at it again."""
        _library.call("monitor_observe_again", self._handle, group.encode(), name.encode(), known_group.encode(),
                      known_name.encode())

    def add_grads(self, grads: Grads, names: Sequence[str], stream: int | None = None) -> None:
        """What the last pass of `grads` found, tensor by tensor, without another look at them. On a GPU nothing waits for
        that: see `settled`."""
        _library.call("monitor_add_grads_on", self._handle, grads._handle, _names(names), len(names), stream)

    def add_scaler(self, scale: float, *, steps: int = 0, skipped: int = 0, growths: int = 0, backoffs: int = 0) -> None:
        """How a scaler that is not the library's stands, in the place of the lists': what it has counted so far."""
        _library.call("monitor_add_scaler", self._handle, scale, steps, skipped, growths, backoffs)

    def add_scaler_on(self, device: str, scale: int, *, steps: int = 0, skipped: int | None = None,
                      growths: int | None = None, backoffs: int | None = None, stream: int | None = None) -> None:
        """The same of numbers that lie on a `device`: addresses of a float32 and of int64s, read in their turn on the
        `stream`, for which nothing waits."""
        counts = [_library.pointer(ctypes.c_int64, address) for address in (skipped, growths, backoffs)]
        _library.call("monitor_add_scaler_on", self._handle, device.encode(), scale, steps, *counts, stream)

    def step(self, number: int, stream: int | None = None) -> None:
        """Ends the step under way, whose number in the run this is."""
        _library.call("monitor_step", self._handle, number, stream)

    def settled(self) -> bool:
        """Is the last step that was looked at examined? Until a GPU has finished what `observe` asked of it, the reports
        and findings are those of the look before."""
        return bool(_library.number(ctypes.c_int32, "monitor_settled", self._handle))

    def wait(self) -> None:
        """Waits until it is."""
        _library.call("monitor_wait", self._handle)

    def report(self) -> Answer:
        """All of the last step that was looked at ("tare.monitor/1"). Waits until the sinks have it."""
        return answer_of(_library.text("monitor_report", self._handle))

    def at_scale(self, scale: float, format: str = "f16") -> Answer:
        """What the tensors of the last look would become at that scale, rounded to "f16", "bf16", "f8e5m2" or
        "f8e4m3fn" ("tare.at-scale/1"): of each, how many values would be zero, subnormal, infinite: [surely, at most]."""
        return answer_of(_library.text("monitor_at_scale", self._handle, scale, format.encode()))

    def findings(self) -> list[Answer]:
        """What was wrong at that step, the gravest first, in the words of tare.doctor."""
        return answer_of(_library.text("monitor_findings", self._handle)).findings

    def save(self) -> State:
        """What a resumed run's monitor needs, to go on with its trends: `state.write("monitor.json")`."""
        return State._of(_library.made("monitor_save", self._handle))

    def load(self, state: State) -> None:
        """Goes on where that was saved, with this monitor's own configuration."""
        _library.call("monitor_load", self._handle, state._handle)


__all__ = ["Monitor"]
