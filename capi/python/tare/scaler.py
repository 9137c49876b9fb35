"""Loss scalers that run, and prepared lists of gradients."""
from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _library
from ._library import Handle, LayerStruct, OutcomeStruct, encoded
from .answers import Answer, answer_of
from .state import State
from .tensors import Tensors, matching

if TYPE_CHECKING:
    from .comm import Comm

SCALE, INVERSE_SCALE, FOUND_INF, NOOP, MULTIPLIER = 1, 2, 3, 4, 5  # TARE_POINTER_

_TYPES = {1: (ctypes.c_float, "<f4"), 2: (ctypes.c_double, "<f8"), 16: (ctypes.c_int32, "<i4"),
          17: (ctypes.c_int64, "<i8"), 18: (ctypes.c_bool, "|b1")}


_OUTSIDE_STATE = ("device", "threads", "underflow_threshold", "finite_statistics")  # parameters that no state has


class Outcome(NamedTuple):
    """What an update did."""
    old_scale: float
    new_scale: float
    found_inf: bool
    skipped: bool
    grew: bool
    backed_off: bool


class Memory:
    """A number in the library's own memory: what is written here it goes by. NumPy takes it by its array interface,
    torch and CuPy on a GPU by CUDA's; `value` is for the CPU."""

    def __init__(self, owner: Handle, address: int, dtype: int, on_device: bool):
        self._owner = owner  # lives as long as whoever looks at this
        self.address = address
        self._type, typestr = _TYPES[dtype]
        interface = {"shape": (), "typestr": typestr, "data": (address, False), "version": 3}
        self.on_device = on_device
        if on_device:
            self.__cuda_array_interface__ = interface
        else:
            self.__array_interface__ = interface

    def cell(self) -> Any:
        """As a ctypes object, which is a Python buffer."""
        if self.on_device:
            raise TypeError("the number is in a GPU's memory")
        found: Any = self._type.from_address(self.address)
        found.owner = self._owner
        return found

    @property
    def value(self) -> Any:
        return self.cell().value

    @value.setter
    def value(self, value: Any) -> None:
        self.cell().value = value


def config_of(policy: str, parameters: dict[str, Any]) -> bytes:
    return _library.json_of({"policy": policy, **parameters})


class Scaler(Handle):
    """A loss scaler with the arithmetic of one framework: `Scaler("torch", initial_scale=65536)`. `policy` is one of
    tare.policies(); parameters bear the framework's names or tare's words, besides "device" ("cpu", "cuda:0"),
    "threads", "floor", "ceiling", "underflow_threshold" and "finite_statistics".

    Buffers are what tare.tensors takes, one or a list. `stream`: the address of a CUDA stream; None is the legacy
    default stream, and the CPU ignores it."""

    _kind = "scaler"

    def __init__(self, policy: str = "torch", **parameters: Any):
        self._own(_library.made("scaler_create", config_of(policy, parameters)))
        self._set_up(parameters)

    @classmethod
    def from_state(cls, state: State, **parameters: Any) -> Scaler:
        """Goes on where `state` stands; parameters go before its own."""
        scaler = cls.__new__(cls)
        scaler._own(_library.made("scaler_create_from_state", state._handle, _library.json_of(parameters)))
        scaler._set_up(parameters)
        return scaler

    def _set_up(self, parameters: dict[str, Any]) -> None:
        self.on_device = str(parameters.get("device", "cpu")).startswith("cuda")
        self._outside_state = {key: parameters[key] for key in _OUTSIDE_STATE if key in parameters}

    @property
    def scale(self) -> float:
        """What to multiply the loss by. Waits, on a GPU."""
        return _library.number(ctypes.c_double, "scaler_scale", self._handle, None)

    @scale.setter
    def scale(self, scale: float) -> None:
        self.set_scale(scale)

    def set_scale(self, scale: float, stream: int | None = None) -> None:
        _library.call("scaler_set_scale", self._handle, scale, stream)

    def unscale(self, gradients: Any, stream: int | None = None) -> None:
        """Multiplies by the inverse scale, in place, and notes infinities and nan."""
        tensors = Tensors(gradients)
        _library.call("scaler_unscale", self._handle, tensors.array, tensors.count, stream)

    def observe(self, gradients: Any, stream: int | None = None) -> None:
        """The same without writing."""
        tensors = Tensors(gradients, writes=False)
        _library.call("scaler_observe", self._handle, tensors.array, tensors.count, stream)

    def scale_tensors(self, tensors: Any, stream: int | None = None) -> None:
        """Multiplies by the scale, in place: a loss before backward."""
        given = Tensors(tensors)
        _library.call("scaler_scale_tensors", self._handle, given.array, given.count, stream)

    def report_overflow(self, overflow: bool, stream: int | None = None) -> None:
        _library.call("scaler_report_overflow", self._handle, int(bool(overflow)), stream)

    def report_layer(self, stream: int | None = None, *, fan_in: float, prev_scale: float, gradient_mean: float,
                     gradient_deviation: float, weight_mean: float, weight_deviation: float,
                     largest_product: float) -> None:
        """What policy "layerwise" goes by: one layer's weights, and the gradient that comes into the layer, still
        scaled. `prev_scale`: "accumulated" of the layer nearer the loss, 1 for the nearest."""
        layer = LayerStruct(struct_size=ctypes.sizeof(LayerStruct), fan_in=fan_in, prev_scale=prev_scale,
                            gradient_mean=gradient_mean, gradient_deviation=gradient_deviation,
                            weight_mean=weight_mean, weight_deviation=weight_deviation,
                            largest_product=largest_product)
        _library.call("scaler_report_layer", self._handle, ctypes.byref(layer), stream)

    def update(self, stream: int | None = None) -> None:
        """One step of the rule with what was found since the last."""
        _library.call("scaler_update", self._handle, stream)

    def update_outcome(self, stream: int | None = None) -> Outcome:
        """The same, and what it did. Waits, on a GPU."""
        outcome = OutcomeStruct(struct_size=ctypes.sizeof(OutcomeStruct))
        _library.call("scaler_update_outcome", ctypes.byref(outcome), self._handle, stream)
        return Outcome(outcome.old_scale, outcome.new_scale, bool(outcome.found_inf), bool(outcome.skipped),
                       bool(outcome.grew), bool(outcome.backed_off))

    def update_elsewhere(self, scale: int, growth_tracker: int, found_inf: int, stream: int | None = None) -> None:
        """Policy "torch": its rule on a scale (float32), a tracker (int32) and a found-inf (float32) at these addresses,
        where the scaler computes, as torch._amp_update_scale_ does it."""
        tracker = _library.pointer(ctypes.c_int32, growth_tracker)
        _library.call("scaler_update_elsewhere", self._handle, scale, tracker, found_inf, stream)

    def pointer(self, which: int) -> int:
        """The address of SCALE, INVERSE_SCALE, FOUND_INF, NOOP or MULTIPLIER, where the scaler computes."""
        return _library.made("scaler_pointer", self._handle, which).value or 0

    def memory(self, key: str) -> Memory:
        """The memory of a field ("scale", "_growth_tracker"), of "inverse_scale" or of "found_inf"."""
        if key == "found_inf":
            return Memory(self, self.pointer(FOUND_INF), 1, self.on_device)
        dtype = ctypes.c_int32()
        address = _library.made("scaler_field", ctypes.byref(dtype), self._handle, encoded(key)).value or 0
        return Memory(self, address, dtype.value, self.on_device)

    @property
    def found_inf(self) -> bool:
        """Was anything infinite or nan since the last update? On the CPU."""
        return self.memory("found_inf").value != 0

    def set_comm(self, comm: Comm | None, gradients: str = "sharded") -> None:
        """From here on what unscale, observe, report_overflow and the passes of lists find is joined with what the other
        ranks find; None: no longer. `gradients`: "sharded", each rank looks at its own, or "replicated", all look at the
        same, which count once."""
        given = None if comm is None else comm.handle_for(self.on_device)
        _library.call("scaler_set_comm", self._handle, given, _library.json_of({"gradients": gradients}))
        self._comm = comm  # lives as long as who calls it

    def report_reduced(self, stream: int | None = None) -> None:
        """Behind an all-reduce of your own of memory("found_inf"): noop and the lists say what it says."""
        _library.call("scaler_report_reduced", self._handle, stream)

    def statistics(self, stream: int | None = None) -> Answer:
        return answer_of(_library.text("scaler_statistics", self._handle, stream))

    def save(self, stream: int | None = None) -> State:
        return State._of(_library.made("scaler_save", self._handle, stream))

    def load(self, state: State, stream: int | None = None) -> None:
        _library.call("scaler_load", self._handle, state._handle, stream)

    def __getitem__(self, key: str) -> Any:
        """A field, parameter or counter, by any key of a State."""
        return self.save()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        number = _library.plain(value)
        if isinstance(number, int):
            _library.set_whole("scaler_set", self._handle, encoded(key), number, None)
        else:
            _library.call("scaler_set_number", self._handle, encoded(key), number, None)

    def grads(self, gradients: Any) -> Grads:
        return Grads(self, gradients)

    def __repr__(self) -> str:
        state = self.save()
        return f"Scaler({state.policy!r}, scale={state['scale'] if 'scale' in state else self.scale})"

    def __reduce__(self):
        """A scaler that goes on alike, without a comm; what was found since the last update stays behind."""
        return _again, (self.save().to_json(), self._outside_state)


def _again(state: str, parameters: dict[str, Any]) -> Scaler:
    return Scaler.from_state(State(state), **parameters)


def _read_at_least(gradients: Any) -> tuple[Tensors, str | None]:
    """The buffers, and why they are not to be written, where they are not."""
    if isinstance(gradients, Iterator):
        gradients = list(gradients)
    try:
        return Tensors(gradients), None
    except ValueError as failure:
        return Tensors(gradients, writes=False), str(failure)


class Grads(Handle):
    """A list of gradients made ready once and used every step; it has a found-inf of its own, and adds to its
    scaler's. Of buffers that may only be read, unscale raises ValueError."""

    _kind = "grads"

    def __init__(self, scaler: Scaler, gradients: Any):
        tensors, self._unwritable = _read_at_least(gradients)
        self._scaler = scaler  # lives as long as its lists
        self._kept, self._orders = tensors.kept, tensors.orders
        self._own(_library.made("grads_create", scaler._handle, tensors.array, tensors.count))

    def rebind(self, gradients: Any, stream: int | None = None) -> None:
        """Other buffers of the same counts and dtypes; raises Mismatch for others."""
        tensors, unwritable = _read_at_least(gradients)
        _library.call("grads_rebind", self._handle, tensors.array, tensors.count, stream)
        self._kept, self._orders, self._unwritable = tensors.kept, tensors.orders, unwritable

    def _require_writable(self) -> None:
        if self._unwritable is not None:
            raise ValueError(self._unwritable)

    def unscale(self, stream: int | None = None) -> None:
        self._require_writable()
        _library.call("grads_unscale", self._handle, stream)

    def observe(self, stream: int | None = None) -> None:
        _library.call("grads_observe", self._handle, stream)

    def unscale_and_update(self, stream: int | None = None) -> None:
        self._require_writable()
        _library.call("grads_unscale_and_update", self._handle, stream)

    def observe_and_update(self, stream: int | None = None) -> None:
        _library.call("grads_observe_and_update", self._handle, stream)

    def write(self, out: Any, *, unscale: bool = True, clip_norm: float | None = None, clip_value: float | None = None,
              stream: int | None = None) -> None:
        """Each gradient, unscaled, clipped and cast, into its place in `out`."""
        tensors = matching(out, self._orders)
        clips = {"clip_norm": clip_norm, "clip_value": clip_value}
        options = {"unscale": unscale, **{key: value for key, value in clips.items() if value is not None}}
        _library.call("grads_write", self._handle, tensors.array, tensors.count, _library.json_of(options), stream)

    def pointer(self, which: int) -> int:
        return _library.made("grads_pointer", self._handle, which).value or 0

    def memory(self, which: int) -> Memory:
        return Memory(self, self.pointer(which), 16 if which == NOOP else 1, self._scaler.on_device)

    def report_reduced(self, stream: int | None = None) -> None:
        """Behind an all-reduce of your own of memory(FOUND_INF): noop says what it says, and the scaler takes it in."""
        _library.call("grads_report_reduced", self._handle, stream)

    @property
    def found_inf(self) -> bool:
        """On the CPU."""
        return self.memory(FOUND_INF).value != 0

    @property
    def multiplier(self) -> float:
        """What an optimizer multiplies these gradients by. On the CPU."""
        return self.memory(MULTIPLIER).value

    def statistics(self, stream: int | None = None) -> Answer:
        return answer_of(_library.text("grads_statistics", self._handle, stream))
