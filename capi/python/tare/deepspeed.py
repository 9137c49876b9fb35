"""tare.deepspeed: the loss scalers of deepspeed.runtime.fp16.loss_scaler, run by libtare, with their attributes: what is
written into one counts. They are pickled as DeepSpeed's are, by their attributes: what reads or edits a checkpoint finds
them there."""
from __future__ import annotations

import math
import sys
from typing import Any

from .scaler import Scaler


def _value(key: str) -> property:
    """A number that the rule goes by."""
    def get(self: _LossScaler) -> Any:
        return self._scaler[key]

    def put(self: _LossScaler, value: Any) -> None:
        self._scaler[key] = value
    return property(get, put)


class _LossScaler:
    _variant = ""
    _pickled: tuple[str, ...] = ("cur_scale",)
    cur_scale = _value("fields.cur_scale")
    dynamic = False

    def __init__(self, **parameters: Any):
        self._scaler = Scaler("deepspeed", variant=self._variant, **parameters)

    def __getstate__(self) -> dict[str, Any]:
        others = {name: value for name, value in self.__dict__.items() if name != "_scaler"}
        return {**{name: getattr(self, name) for name in self._pickled}, **others}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update((name, value) for name, value in state.items() if name not in self._pickled)
        if "_scaler" in state:  # as tare 0.1.0 pickled it
            return
        self._scaler = Scaler("deepspeed", variant=self._variant)
        for name in self._pickled:
            if name in state:
                setattr(self, name, state[name])

    @property
    def loss_scale(self) -> float:
        return self.cur_scale

    def scale_gradient(self, module: Any, grad_in: Any, grad_out: Any) -> tuple:
        return tuple(self.loss_scale * gradient for gradient in grad_in)

    def scale_loss(self, loss: Any) -> Any:
        return loss * self.loss_scale

    def backward(self, loss: Any, retain_graph: bool = False) -> None:
        self.scale_loss(loss).backward(retain_graph=retain_graph)

    def update_scale(self, overflow: bool) -> None:
        """Raises RuleRaised where DeepSpeed raises: at the minimum."""
        self._scaler.report_overflow(bool(overflow))
        self._scaler.update()


class LossScaler(_LossScaler):
    """A scale that stays."""

    _variant = "static"

    def __init__(self, scale: float = 1):
        super().__init__(scale=scale)

    def has_overflow(self, params: Any) -> bool:
        return False


class DynamicLossScaler(_LossScaler):
    """The scaler of ZeRO, with its hysteresis."""

    cur_iter, last_overflow_iter, cur_hysteresis = (_value("fields." + key) for key in (
        "cur_iter", "last_overflow_iter", "cur_hysteresis"))
    scale_factor, scale_window, min_scale, delayed_shift, consecutive_hysteresis, raise_error_at_min_scale = (
        _value("params." + key) for key in ("scale_factor", "scale_window", "min_scale", "delayed_shift",
                                            "consecutive_hysteresis", "raise_error_at_min_scale"))
    dynamic = True
    _variant = "zero"
    _pickled = ("cur_scale", "cur_iter", "last_overflow_iter", "scale_factor", "scale_window", "min_scale", "delayed_shift",
                "cur_hysteresis", "consecutive_hysteresis", "raise_error_at_min_scale")

    def __init__(self, init_scale: float = 2**32, scale_window: int = 1000, min_scale: float = 1, delayed_shift: int = 1,
                 consecutive_hysteresis: bool = False, raise_error_at_min_scale: bool = True, dtype: Any = None, *,
                 scale_factor: float = 2.0):
        """In the order of DeepSpeed 0.19. `scale_factor`, and defaults for all, are of older releases. `dtype`: torch.half
        where none is given, as there."""
        super().__init__(init_scale=init_scale, scale_factor=scale_factor, scale_window=scale_window, min_scale=min_scale,
                         delayed_shift=delayed_shift, consecutive_hysteresis=consecutive_hysteresis,
                         raise_error_at_min_scale=raise_error_at_min_scale)
        self.dtype = getattr(sys.modules.get("torch"), "half", None) if dtype is None else dtype

    def has_overflow_serial(self, params: Any) -> bool:
        gradients = [param.grad.data for param in params if param.grad is not None]
        return any(not math.isfinite(float(gradient.float().sum())) for gradient in gradients)


__all__ = ["DynamicLossScaler", "LossScaler"]
