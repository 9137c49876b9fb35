"""GradScaler with torch.amp.GradScaler's interface, over libtare and torch tensors. Any of tare's policies:

    scaler = GradScaler("cpu", init_scale=65536.0)                 # torch's own rule
    scaler = GradScaler("cpu", config='{"policy":"megatron"}')
    scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()

As torch's own, it starts on the device of the first tensor that it scales; all gradients must be there. On a GPU
everything is enqueued on torch's current stream; only what asks for the state (get_scale, state_dict ...) or sets a
parameter waits, and a step of an optimizer that cannot skip by itself (one that is not fused).
"""
import ctypes
import inspect
import json
import warnings
import weakref
from collections import defaultdict
from collections.abc import Iterable

import torch
from torch.cuda.amp.grad_scaler import OptState

import tare

_DTYPES = {torch.float32: tare.F32, torch.float64: tare.F64, torch.float16: tare.F16, torch.bfloat16: tare.BF16}
_STATE = {
    "scale": float, "growth_factor": float, "backoff_factor": float, "growth_interval": int, "_growth_tracker": int}


class _OnDevice:
    """A float in device memory, as torch takes such things; its owner lives as long as the tensor made of it."""

    def __init__(self, owner, address):
        self._owner = owner
        self.__cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (address, False), "version": 2}


def _gradients(optimizer, fp16):
    for parameter in (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None):
        if parameter.grad.dtype == torch.float16:
            if not fp16:
                raise ValueError("Attempting to unscale FP16 gradients.")
            if parameter.grad.is_sparse:
                parameter.grad = parameter.grad.coalesce()  # what has one index may overflow when added
        yield parameter.grad._values() if parameter.grad.is_sparse else parameter.grad


def _dense(gradient):
    """The gradient itself where its elements fill one piece of memory, in whatever order; else a copy."""
    filled = gradient.is_contiguous() or torch.empty_like(gradient, device="meta").stride() == gradient.stride()
    return gradient if filled else gradient.contiguous()


class _Running:
    """A scaler on a device, and the lists of gradients that it has seen."""

    def __init__(self, options, device, state):
        self.device = device
        self._scaler = tare.Scaler(json.dumps({**options, "device": str(device)}))
        self.scale = self._view(self._scaler, tare.SCALE)
        self._found_inf = self._view(self._scaler, tare.FOUND_INF)
        self._lists = weakref.WeakKeyDictionary()  # by optimizer
        self.load(state)

    def _stream(self):
        return torch.cuda.current_stream(self.device).cuda_stream if self.device.type == "cuda" else None

    def _view(self, owner, which):
        address = owner.pointer(which)
        if self.device.type == "cuda":
            return torch.as_tensor(_OnDevice(owner, address), device=self.device)[0]
        return torch.frombuffer(ctypes.c_float.from_address(address), dtype=torch.float32)[0]

    def save(self):
        return self._scaler.save()

    def load(self, state):
        self._scaler.load(state)
        self._scaler.report_overflow(False, self._stream())  # it forgot whether gradients were seen, GradScaler did not

    def set_scale(self, scale):
        self._scaler.set_scale(scale, self._stream())

    def update(self, found_inf):
        self._found_inf.copy_(found_inf)
        self._scaler.update(self._stream())

    def unscale(self, optimizer):
        return self._pass(optimizer, tare.Grads.unscale, fp16=False)

    def observe(self, optimizer):
        return self._pass(optimizer, tare.Grads.observe, fp16=True)

    def _pass(self, optimizer, look, fp16):
        """Found-inf by device, as torch has it: of this optimizer's gradients alone, and none where there are none."""
        gradients = list(_gradients(optimizer, fp16))
        for gradient in gradients:
            if gradient.dtype not in _DTYPES:
                raise NotImplementedError(f"Gradients of {gradient.dtype} cannot be unscaled.")
            if gradient.device != self.device:
                raise ValueError(f"Gradients must be on {self.device}, where the scaler is.")
        if not gradients:
            return {}
        dense = [_dense(gradient) for gradient in gradients]
        tensors = [tare.Tensor(d.data_ptr(), d.numel(), _DTYPES[d.dtype], 0) for d in dense]
        grads = self._lists.get(optimizer)
        if grads is None or not grads.rebind(tensors, self._stream()):
            grads = self._lists[optimizer] = self._scaler.grads(tensors)
        look(grads, self._stream())
        with torch.no_grad():
            for gradient, copy in zip(gradients, dense):
                if copy is not gradient:
                    gradient.copy_(copy)
        found_inf = self._view(grads, tare.FOUND_INF)
        return {self.device: found_inf if self.device.type == "cuda" else found_inf.clone()}


def _new_state():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _parameter(name):
    def put(self, value):
        if self._enabled:
            state = self._save()
            state[name] = value
            self._load(state)
    return property(lambda self: _STATE[name](self._save()[name]), put)


class GradScaler:
    def __init__(self, device="cuda", init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
                 enabled=True, *, config=None):
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not torch.cuda.is_available():
            warnings.warn("GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        self._options = json.loads(config) if config else {
            "policy": "torch", "init_scale": init_scale, "growth_factor": growth_factor,
            "backoff_factor": backoff_factor, "growth_interval": growth_interval}
        self._state = tare.Scaler(json.dumps({**self._options, "device": "cpu"})).save().json()  # until it runs
        self._running = None
        self._per_optimizer_states = defaultdict(_new_state)  # by id, since the last update

    # Names of torch's own with an underscore, below and above, are those that other code is known to use.
    _growth_factor = _parameter("growth_factor")
    _backoff_factor = _parameter("backoff_factor")
    _growth_interval = _parameter("growth_interval")

    def _save(self):
        return self._running.save() if self._running else tare.State.from_json(self._state)

    def _load(self, state):
        if self._running:
            self._running.load(state)
        else:
            self._state = state.json()

    def _require_running(self, caller):
        if not self._running:
            raise AssertionError(f"Attempted {caller} but scaler.scale(loss or outputs) was not called before.")

    @property
    def _scale(self):
        return self._running.scale.clone() if self._running else None

    @_scale.setter
    def _scale(self, scale):
        self._running.set_scale(float(scale))

    @property
    def _growth_tracker(self):
        return torch.tensor(self._get_growth_tracker(), dtype=torch.int32) if self._running else None

    def _get_growth_tracker(self):
        return int(self._save()["growth_tracker"]) if self._enabled else 0

    def _get_scale_async(self):
        return self._scale

    def is_enabled(self):
        return self._enabled

    def get_scale(self):
        return self._save()["scale"] if self._enabled else 1.0

    def get_growth_factor(self):
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        self._growth_interval = new_interval

    def scale(self, outputs):
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            self._running = self._running or _Running(self._options, outputs.device, self._save())
            return outputs * self._scale.to(outputs.device, non_blocking=True)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer):
        if not self._enabled:
            return
        self._require_running("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state["found_inf_per_device"] = self._running.unscale(optimizer)
        state["stage"] = OptState.UNSCALED

    def _check_inf_per_device(self, optimizer):
        self._require_running("_check_inf_per_device")
        found = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = self._running.observe(optimizer)
        return found

    def _found_inf_per_device(self, optimizer):
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    def step(self, optimizer, *args, **kwargs):
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._require_running("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_that_skips_itself(optimizer, state, *args, **kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            found = sum(float(found) for found in state["found_inf_per_device"].values())
            result = None if found else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_that_skips_itself(self, optimizer, state, *args, **kwargs):
        """A fused optimizer unscales and skips on the device, as it is told here."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:  # it asks for itself, as Apex's do
            return optimizer.step(*args, grad_scaler=self, **kwargs)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
            optimizer.grad_scale = self._scale * getattr(optimizer, "grad_scale", 1)
        else:
            optimizer.grad_scale = getattr(optimizer, "grad_scale", None)
        optimizer.found_inf = sum(state["found_inf_per_device"].values())
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale=None):
        if not self._enabled:
            return
        self._require_running("update")
        if new_scale is not None:
            if isinstance(new_scale, torch.Tensor) and (new_scale.device.type != self._running.device.type
                                                        or new_scale.numel() != 1 or new_scale.requires_grad):
                raise AssertionError(f"new_scale should be a float or a tensor of one float on {self._running.device}.")
            self._scale = new_scale
        else:
            # Not what the passes left in the scaler: between them and here a process group may have reduced these.
            found = [f for state in self._per_optimizer_states.values() for f in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._running.update(sum(found))
        self._per_optimizer_states = defaultdict(_new_state)

    def state_dict(self):
        if not self._enabled:
            return {}
        state = self._save()
        if self._options["policy"] != "torch":
            return json.loads(state.json())
        return {name: kind(state[name]) for name, kind in _STATE.items()}

    def load_state_dict(self, state_dict):
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled scaler.")
        if "policy" in state_dict:
            state = tare.State.from_json(json.dumps(state_dict))
        else:
            state = self._save()
            for name in _STATE:
                state[name] = state_dict[name]
        self._load(state)

    def __getstate__(self):
        if not self._enabled:
            return vars(self).copy()
        if self._per_optimizer_states:
            raise AssertionError("A GradScaler may only be pickled at the start of an iteration, or after update().")
        return {**vars(self), "_state": self._save().json(), "_running": None}

    def __setstate__(self, state):
        vars(self).update(state)
