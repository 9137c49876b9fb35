"""FP8 slots that run: casts, and the scales that they go by."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any

from . import _library
from ._library import Handle
from .answers import Answer, answer_of
from .scaler import Memory, config_of
from .state import State
from .tensors import Tensors, matching

if TYPE_CHECKING:
    from .comm import Comm

SCALE, SCALE_INV = 1, 2  # TARE_FP8_


def _numbers(slots: Sequence[int] | None, count: int) -> Any:
    if slots is None:
        return None
    if len(slots) != count:
        raise ValueError(f"{len(slots)} slots for {count} tensors")
    return _library.numbers(ctypes.c_uint32, slots)


class Fp8(Handle):
    """Many slots in one handle: `Fp8("transformer_engine", slots=["fc1.input", "fc1.weight"], format="e4m3",
    amax_history_len=1024)`. `policy` is one of tare.fp8.policies(). Buffers and `stream` as for tare.Scaler; `slots`
    of a call: which slot each tensor is of, by default the i-th of slot i."""

    _kind = "fp8"

    def __init__(self, policy: str = "transformer_engine", **parameters: Any):
        self._own(_library.made("fp8_create", config_of(policy, parameters)))
        self.on_device = str(parameters.get("device", "cpu")).startswith("cuda")

    @classmethod
    def from_state(cls, state: State, device: str = "cpu", threads: int = 1, **history: int) -> Fp8:
        """`history`: another length of the histories, by the policy's name for it (amax_history_len=16)."""
        fp8 = cls.__new__(cls)
        config = _library.json_of({"device": device, "threads": threads, **history})
        fp8._own(_library.made("fp8_create_from_state", state._handle, config))
        fp8.on_device = device.startswith("cuda")
        return fp8

    def __len__(self) -> int:
        return _library.number(ctypes.c_uint64, "fp8_count", self._handle)

    def slot(self, name: str) -> int:
        """The number of the slot with that name."""
        return _library.number(ctypes.c_uint32, "fp8_slot", self._handle, name.encode())

    def observe(self, tensors: Any, slots: Sequence[int] | None = None, stream: int | None = None) -> None:
        """Raises the slots' amax by the greatest magnitude of each tensor."""
        given = Tensors(tensors, writes=False)
        _library.call("fp8_observe", self._handle, given.array, _numbers(slots, given.count), given.count, stream)

    def update(self, stream: int | None = None) -> None:
        """A step of every slot's rule."""
        _library.call("fp8_update", self._handle, stream)

    def set_comm(self, comm: Comm | None) -> None:
        """A call of all ranks: from here on an update goes by the greatest amaxes of any rank (TransformerEngine's
        reduce_amax); None: no longer."""
        _library.call("fp8_set_comm", self._handle, None if comm is None else comm.handle_for(self.on_device))
        self._comm = comm  # lives as long as who calls it

    def all_reduce(self, gradients: Any, slots: Sequence[int] | None = None, operation: str = "mean", adder: str = "ranks",
                   stream: int | None = None) -> None:
        """A call of all ranks of the comm: gradients (f32, f16, bf16; in place) become their mean, or their "sum", over the
        ranks, in fp8 on the way (FP8-LM's all-reduce; tare/comm.h has the arithmetic). Slots of policy "fp8_lm" note what
        saturates, and their update moves mu. `adder`: "engine" lets NCCL add the fp8, as it rounds."""
        given = Tensors(gradients)
        options = _library.json_of({"operation": operation, "adder": adder})
        _library.call("fp8_all_reduce", self._handle, given.array, _numbers(slots, given.count), given.count, options, stream)

    def quantize(self, out: Any, tensors: Any, slots: Sequence[int] | None = None, stream: int | None = None) -> None:
        """Writes each tensor, scaled by its slot, into its place in `out`, which is fp8."""
        self._cast("fp8_quantize", out, tensors, slots, stream)

    def dequantize(self, out: Any, tensors: Any, slots: Sequence[int] | None = None, stream: int | None = None) -> None:
        self._cast("fp8_dequantize", out, tensors, slots, stream)

    def _cast(self, name: str, out: Any, tensors: Any, slots: Sequence[int] | None, stream: int | None) -> None:
        given = Tensors(tensors, writes=False)
        into = matching(out, given.orders)
        if into.count != given.count:
            raise ValueError(f"{given.count} tensors into {into.count}")
        _library.call(name, self._handle, into.array, given.array, _numbers(slots, given.count), given.count, stream)

    def pointer(self, which: int) -> int:
        """The address of one float a slot: SCALE or SCALE_INV."""
        return _library.made("fp8_scale_pointer", self._handle, which).value or 0

    def scale(self, slot: int) -> float:
        """What values of that slot are multiplied by to become fp8. On the CPU."""
        if not 0 <= slot < len(self):
            raise IndexError(f"slot {slot} of {len(self)}")
        return Memory(self, self.pointer(SCALE) + 4 * index(slot), 1, self.on_device).value

    def statistics(self, stream: int | None = None) -> Answer:
        return answer_of(_library.text("fp8_statistics", self._handle, stream))

    def save(self, stream: int | None = None) -> State:
        return State._of(_library.made("fp8_save", self._handle, stream))

    def freeze(self, stream: int | None = None) -> State:
        """The scales as they are now, as a state of policy fp8_static: for inference, where no step moves them."""
        return State._of(_library.made("fp8_freeze", self._handle, stream))

    def load(self, state: State, stream: int | None = None) -> None:
        _library.call("fp8_load", self._handle, state._handle, stream)

    def __repr__(self) -> str:
        return f"Fp8({len(self)} slots)"


class Fp8Casts(Handle):
    """A list of tensors made ready once and cast every step, as tare.Grads is for a scaler; `slots` as for tare.Fp8's
    calls, which know only the last 16 lists."""

    _kind = "fp8_casts"

    def __init__(self, fp8: Fp8, tensors: Any, slots: Sequence[int] | None = None):
        given = Tensors(tensors, writes=False)
        self._fp8 = fp8  # lives as long as its lists
        self._kept, self._orders = given.kept, given.orders
        self._own(_library.made("fp8_casts_create", fp8._handle, given.array, _numbers(slots, given.count), given.count))

    def rebind(self, tensors: Any, stream: int | None = None) -> None:
        """Other buffers of the same counts and dtypes; raises Mismatch for others."""
        given = Tensors(tensors, writes=False)
        _library.call("fp8_casts_rebind", self._handle, given.array, given.count, stream)
        self._kept, self._orders = given.kept, given.orders

    def observe(self, stream: int | None = None) -> None:
        _library.call("fp8_casts_observe", self._handle, stream)

    def quantize(self, out: Any, stream: int | None = None) -> None:
        into = matching(out, self._orders)
        _library.call("fp8_casts_quantize", self._handle, into.array, into.count, stream)

    def dequantize(self, out: Any, stream: int | None = None) -> None:
        into = matching(out, self._orders)
        _library.call("fp8_casts_dequantize", self._handle, into.array, into.count, stream)
