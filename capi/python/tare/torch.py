"""tare.torch.GradScaler: torch.amp.GradScaler whose state is a scaler of libtare's.

    scaler = tare.torch.GradScaler("cpu", init_scale=65536.0)
    scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()

It is a subclass: what is not here is torch's own, and what others override is called. `_scale` and `_growth_tracker` are
tensors over the library's memory, so that whatever is written into them counts; another tensor that is put in their
place is carried there and back at each update. Gradients are unscaled in one pass of the library's, on the CPU and on
CUDA devices, in every bit as torch does it but for those of a nan. torch's own kernels do what the library has no word
for: gradients that are not dense tensors of float32, float64, float16 or bfloat16 (those of distributed tensors,
complex ones, views with gaps), and scalers on other devices.
"""
from __future__ import annotations

from array import array
from collections import defaultdict
from typing import Any

import torch

from . import _library
from .errors import Mismatch
from .scaler import Memory, Scaler
from .state import State
from .tensors import BF16, F16, F32, F64, _dense

if not hasattr(torch.amp, "GradScaler"):
    raise ImportError(f"torch {torch.__version__} has no torch.amp.GradScaler: 2.3 is the first that has")

from torch.amp.grad_scaler import _refresh_per_optimizer_state  # noqa: E402

_DTYPES = {torch.float32: F32, torch.float64: F64, torch.float16: F16, torch.bfloat16: BF16}
_count_write = getattr(torch.autograd.graph, "increment_version", lambda tensor: tensor.add_(0))
_PLAIN = {torch.Tensor, torch.nn.Parameter}
_NAMES = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")


def tensor_over(memory: Memory, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """Without dimensions; keeps whose memory it is alive."""
    if device.type == "cuda":
        return torch.as_tensor(memory, device=device)
    return torch.frombuffer(memory.cell(), dtype=dtype)[0]


class _Descriptors:
    """A list of gradients as the library takes it. Shapes and dtypes seldom change from step to step, addresses do."""

    def __init__(self, shape: tuple):
        counts, dtypes = shape
        self.count = len(counts)
        self.array = (_library.TensorStruct * self.count)()
        words = memoryview(self.array).cast("B").cast("Q")
        words[1::3] = array("Q", counts)
        words[2::3] = array("Q", [_DTYPES[dtype] for dtype in dtypes])
        self._addresses = words[0::3]

    def bind(self, gradients: list[torch.Tensor]) -> None:
        self._addresses[:] = array("Q", map(torch.Tensor.data_ptr, gradients))


class _Running:
    """The library's scaler on one device."""

    def __init__(self, device: torch.device):
        self.device = device
        self._scaler = Scaler("torch", device=str(device))
        self.scale = self._over("scale", torch.float32)
        self.growth_tracker = self._over("_growth_tracker", torch.int32)
        self._inverse_scale = self._over("inverse_scale", torch.float32)
        self._found_inf = self._over("found_inf", torch.float32)
        self._parameters: tuple = ()
        self._lists: dict[tuple, _Descriptors] = {}
        self._has_looked = False

    def _over(self, key: str, dtype: torch.dtype) -> torch.Tensor:
        return tensor_over(self._scaler.memory(key), self.device, dtype)

    def _stream(self) -> int | None:
        return torch.cuda.current_stream(self.device).cuda_stream if self.device.type == "cuda" else None

    def unscale(self, gradients: list[torch.Tensor], shape: tuple, inverse_scale: torch.Tensor) -> torch.Tensor:
        """Multiplies by `inverse_scale` and gives found-inf, a tensor of the caller's."""
        descriptors = self._lists.get(shape)
        if descriptors is None:
            if len(self._lists) == 16:  # optimizers have few
                self._lists.clear()
            descriptors = self._lists[shape] = _Descriptors(shape)
        descriptors.bind(gradients)
        self._inverse_scale.copy_(inverse_scale)
        self._found_inf.zero_()
        _library.call("scaler_unscale", self._scaler._handle, descriptors.array, descriptors.count, self._stream())
        self._has_looked = True
        return self._found_inf.clone()

    def update(self, scale: torch.Tensor, growth_tracker: torch.Tensor, found_inf: torch.Tensor,
               parameters: tuple) -> None:
        """A step of the rule, of these tensors, whether they are its own or not."""
        if parameters != self._parameters:
            self._tell(parameters)
        is_own = self.is_of(scale, growth_tracker)
        if not is_own:
            self.scale.copy_(scale)
            self.growth_tracker.copy_(growth_tracker)
        self._found_inf.copy_(found_inf)
        if not self._has_looked:  # somebody else did: the rule wants to hear of it
            self._scaler.report_overflow(False, self._stream())
        self._scaler.update(self._stream())
        self._has_looked = False
        if is_own and not scale.is_inference():
            _count_write(scale)  # of which autograd knows nothing: a loss scaled before wants the scale of then
        elif not is_own:
            scale.copy_(self.scale)
            growth_tracker.copy_(self.growth_tracker)

    def is_of(self, scale: torch.Tensor, growth_tracker: torch.Tensor) -> bool:
        return scale is self.scale and growth_tracker is self.growth_tracker

    def _tell(self, parameters: tuple) -> None:
        state = self._scaler.save(self._stream())
        for name, value in zip(("growth_factor", "backoff_factor", "growth_interval"), parameters):
            state[name] = value
        self._scaler.load(state, self._stream())
        self._has_looked = False
        self._parameters = parameters


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler, run by libtare; takes what that takes. `load_state_dict` also takes a state of tare's own
    (a dict of "tare.state/1") of policy "torch"."""

    def _running_on(self, device: torch.device) -> _Running | None:
        """None on devices that the library does not compute on."""
        return self._kept(device, "_running") if device.type in ("cpu", "cuda") else None

    def _kept(self, device: torch.device, name: str) -> _Running:
        kept = self.__dict__.setdefault(name, {})
        if device not in kept:
            kept[device] = _Running(device)
        return kept[device]

    def _lazy_init_scale_growth_tracker(self, dev: torch.device) -> None:
        running = self._running_on(torch.device(dev))
        if running is None or self._growth_tracker is not None:
            return super()._lazy_init_scale_growth_tracker(dev)
        self._scale = running.scale.fill_(self._init_scale)
        self._growth_tracker = running.growth_tracker.fill_(self._init_growth_tracker)

    def _unscale_grads_(self, optimizer: torch.optim.Optimizer, inv_scale: torch.Tensor, found_inf: torch.Tensor,
                        allow_fp16: bool) -> dict[torch.device, torch.Tensor]:
        gradients = _gradients(optimizer, allow_fp16)
        by_device = None if gradients is None else _by_device(gradients, allow_fp16)
        if by_device is None:
            return super()._unscale_grads_(optimizer, inv_scale, found_inf, allow_fp16)
        found = {}
        for device, (some, shape) in by_device.items():
            running = self._running_on(device)
            assert running is not None
            found[device] = running.unscale(some, shape, inv_scale)
        return found

    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        running = self._running_on(self._scale.device) if self._enabled and self._scale is not None else None
        if new_scale is not None or running is None:
            return super().update(new_scale)
        scale, growth_tracker = self._check_scale_growth_tracker("update")
        found = [one.to(device=scale.device, non_blocking=True) for state in self._per_optimizer_states.values()
                 for one in state["found_inf_per_device"].values()]
        if not found:
            raise AssertionError("No inf checks were recorded prior to update.")
        for one in found[1:]:
            found[0] += one
        if not running.is_of(scale, growth_tracker):  # others may still hold what was put aside: it stays as it is
            running = self._kept(scale.device, "_apart")
        running.update(scale, growth_tracker, found[0], self._parameters())
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _parameters(self) -> tuple:
        """The rule's. Raises TypeError for what torch's own rule raises it for."""
        growth_factor, backoff_factor, interval = self._growth_factor, self._backoff_factor, self._growth_interval
        if isinstance(interval, bool) or not hasattr(interval, "__index__"):
            raise TypeError(f"growth_interval must be int, not {type(interval).__name__}")
        for name, factor in (("growth_factor", growth_factor), ("backoff_factor", backoff_factor)):
            if not hasattr(factor, "__float__"):
                raise TypeError(f"{name} must be float, not {type(factor).__name__}")
        return growth_factor, backoff_factor, interval

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Raises, before anything changes, for a state that is not of torch's rule."""
        if self._enabled and len(state_dict) > 0:
            state_dict = _of_torch(state_dict)
        super().load_state_dict(state_dict)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key not in ("_running", "_apart", "_reduced")}


class ShardedGradScaler(GradScaler):
    """The scaler of torch.distributed.fsdp (its ShardedGradScaler), run by libtare: where an optimizer's gradients
    overflow on one rank of the process group, all ranks skip its step, and all scales go on alike. float16 gradients are
    unscaled, too."""

    def __init__(self, device: str = "cuda", *arguments: Any, process_group: Any = None, **options: Any):
        super().__init__(device, *arguments, **options)
        self.process_group = process_group  # None: all ranks

    def _unscale_grads_(self, optimizer: torch.optim.Optimizer, inv_scale: torch.Tensor, found_inf: torch.Tensor,
                        allow_fp16: bool) -> dict[torch.device, torch.Tensor]:
        found = super()._unscale_grads_(optimizer, inv_scale, found_inf, True)
        for one in found.values():
            torch.distributed.all_reduce(one, group=self.process_group)
        self._reduced = found  # outlives the group's threads that worked on it (see torch_ranks)
        return found


def _of_torch(state_dict: dict[str, Any]) -> dict[str, Any]:
    """The state with torch's keys."""
    policy = state_dict.get("policy", "torch")
    if policy != "torch":
        raise Mismatch(f"a state of policy {policy!r} does not go into a scaler of torch's rule",
                       "tare.State(state).convert('torch') gives it in torch's terms")
    if "policy" in state_dict:
        state = State(state_dict)
        return {name: state[name] for name in _NAMES}
    missing = [name for name in _NAMES if name not in state_dict]
    if missing:
        raise KeyError(f"{missing[0]} (there are: {', '.join(map(str, state_dict))}: no state of torch's GradScaler)")
    return state_dict


def _gradients(optimizer: torch.optim.Optimizer, allow_fp16: bool) -> list[torch.Tensor] | None:
    """What is to be unscaled; None where one of them is torch's own matter."""
    gradients = []
    for group in optimizer.param_groups:
        for param in group["params"]:
            if not isinstance(param, torch.Tensor):
                raise AssertionError(f"expected param to be torch.Tensor, got {type(param).__name__}")
            gradient = param.grad
            if gradient is None:
                continue
            if gradient.is_sparse:
                if gradient.dtype is torch.float16 and allow_fp16:
                    gradient = param.grad = gradient.coalesce()  # what has one index may overflow when added
                gradient = gradient._values()
            gradients.append(gradient)
    if not _PLAIN.issuperset(map(type, gradients)):
        return None
    if not all(map(torch.Tensor.is_contiguous, gradients)) and not all(_dense(g.shape, g.stride()) for g in gradients):
        return None
    return gradients


def _by_device(gradients: list[torch.Tensor], allow_fp16: bool) -> dict | None:
    """The gradients of each device, with their counts and dtypes; None where one is torch's own matter."""
    dtypes = [gradient.dtype for gradient in gradients]
    if not allow_fp16 and torch.float16 in dtypes:
        raise ValueError("Attempting to unscale FP16 gradients.")
    devices = {gradient.device for gradient in gradients}
    if not _DTYPES.keys() >= set(dtypes) or any(device.type not in ("cpu", "cuda") for device in devices):
        return None
    if len(devices) > 1:
        parts = [[gradient for gradient in gradients if gradient.device == device] for device in devices]
        return {part[0].device: (part, _shape_of(part, [gradient.dtype for gradient in part])) for part in parts}
    return {device: (gradients, _shape_of(gradients, dtypes)) for device in devices}


def _shape_of(gradients: list[torch.Tensor], dtypes: list[torch.dtype]) -> tuple:
    return tuple(map(torch.Tensor.numel, gradients)), tuple(dtypes)


from .torch_layerwise import LayerwiseScaler  # noqa: E402
from .torch_monitor import Monitor  # noqa: E402

__all__ = ["GradScaler", "LayerwiseScaler", "Monitor", "ShardedGradScaler"]
