"""tare: loss-scaler state of mixed-precision training: inspected, edited, migrated and run.

    tare.inspect("run/global_step4200").scalers[0].roles.scale
    tare.edit("run/global_step4200", scale=65536)
    tare.undo("run/global_step4200")
    scaler = tare.Scaler("torch", initial_scale=65536); scaler.unscale(gradients); scaler.update()
    from tare.torch import GradScaler

Nothing stored in a checkpoint is ever run. Only the standard library is needed; modules are read when they are used.
"""
from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import fp8
    from .answers import Answer
    from .checkpoint import (attest, diff, doctor, edit, history, inspect, ls, migrate, policies, simulate, timeline, trace,
                             undo)
    from .comm import Comm
    from .errors import (BackendError, Busy, Conflict, Corrupt, Error, FileError, FileMissing, InternalError,
                         InvalidArgument, Mismatch, NotFound, OutOfMemory, Refused, RuleRaised, Unsupported, WrongKind)
    from .fp8_slots import Fp8, Fp8Casts
    from .monitoring import Monitor
    from .quantizer import Matrix, Quantizer, Side
    from .scaler import Grads, Outcome, Scaler
    from .state import State
    from .tensors import BF16, F8E4M3FN, F8E5M2, F16, F32, F64, Tensor
    from .watching import Watch

    __version__: str

_WHERE = {
    "answers": "Answer",
    "checkpoint": "attest diff doctor edit history inspect ls migrate policies simulate timeline trace undo",
    "comm": "Comm",
    "errors": "BackendError Busy Conflict Corrupt Error FileError FileMissing InternalError InvalidArgument Mismatch "
              "NotFound OutOfMemory Refused RuleRaised Unsupported WrongKind",
    "fp8_slots": "Fp8 Fp8Casts",
    "monitoring": "Monitor",
    "quantizer": "Matrix Quantizer Side",
    "scaler": "Grads Outcome Scaler",
    "state": "State",
    "tensors": "BF16 F16 F32 F64 F8E4M3FN F8E5M2 Tensor",
    "watching": "Watch",
}
_MODULE_OF = {name: module for module, names in _WHERE.items() for name in names.split()}

__all__ = [*sorted(_MODULE_OF), "fp8"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _import_module("._library", __name__).version
    if name == "fp8":
        return _import_module(".fp8", __name__)
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'tare' has no attribute {name!r}")
    value = globals()[name] = getattr(_import_module("." + _MODULE_OF[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
