"""tare.megatron.DynamicGradScaler: the one of megatron.core.optimizer.grad_scaler, run by libtare, with what its users see
of it: `scale`, `inv_scale`, `update`, `state_dict`, `load_state_dict`, and the attributes that they read and write."""
from __future__ import annotations

from typing import Any

import torch

from .errors import Mismatch
from .scaler import Scaler
from .torch import tensor_over

_STATE = ("scale", "growth_tracker", "hysteresis_tracker")


def _value(key: str, kind: Any) -> property:
    """A number that the rule goes by."""
    def get(self: DynamicGradScaler) -> Any:
        return kind(self._scaler[key])

    def put(self: DynamicGradScaler, value: Any) -> None:
        self._scaler[key] = kind(value)
    return property(get, put)


class DynamicGradScaler:
    min_scale, growth_factor, backoff_factor = (_value(key, float) for key in ("min_scale", "growth_factor",
                                                                               "backoff_factor"))
    growth_interval, hysteresis, _growth_tracker, _hysteresis_tracker = (
        _value(key, int) for key in ("growth_interval", "params.hysteresis", "growth_tracker", "hysteresis_tracker"))

    def __init__(self, initial_scale: float, min_scale: float, growth_factor: float, backoff_factor: float,
                 growth_interval: int, hysteresis: int, device: str | torch.device | None = None):
        """`device`: the current CUDA device where there is one, else the CPU."""
        if device is None:
            device = f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else "cpu"
        self._device = torch.device(device)
        self._scaler = Scaler("megatron", initial_scale=initial_scale, min_scale=min_scale, growth_factor=growth_factor,
                              backoff_factor=backoff_factor, growth_interval=growth_interval, hysteresis=hysteresis,
                              device=str(self._device))
        self._live = tensor_over(self._scaler.memory("scale"), self._device, torch.float32).view(1)

    def _stream(self) -> int | None:
        return torch.cuda.current_stream(self._device).cuda_stream if self._device.type == "cuda" else None

    @property
    def _scale(self) -> torch.Tensor:
        """A tensor of the caller's, as Megatron makes a new one with each change."""
        return self._live.clone()

    @_scale.setter
    def _scale(self, scale: torch.Tensor) -> None:
        self._live.copy_(scale)

    @property
    def scale(self) -> torch.Tensor:
        return self._scale

    @property
    def inv_scale(self) -> torch.Tensor:
        return self._live.double().reciprocal().float()

    def update(self, found_inf: bool | torch.Tensor) -> None:
        self._scaler.report_overflow(bool(found_inf), self._stream())
        self._scaler.update(self._stream())

    def state_dict(self) -> dict[str, Any]:
        return {"scale": self._scale, "growth_tracker": self._growth_tracker,
                "hysteresis_tracker": self._hysteresis_tracker}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Raises Mismatch, before anything changes, for a state that is none of this scaler's."""
        missing = [key for key in _STATE if key not in state_dict]
        if missing:
            raise Mismatch(f"no {missing[0]!r} in the state: it is none of Megatron's DynamicGradScaler")
        state = self._scaler.save(self._stream())
        for key in _STATE:
            state[key] = float(state_dict[key]) if key == "scale" else int(state_dict[key])
        self._scaler.load(state, self._stream())


__all__ = ["DynamicGradScaler"]
