"""GradScaler with torch.amp.GradScaler's interface, over libtare and torch tensors. Any of tare's policies:

    scaler = GradScaler(init_scale=65536.0)                        # torch's own rule, on the CPU
    scaler = GradScaler(config='{"policy":"megatron"}', device="cuda:0")
    scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()

On a GPU everything is enqueued on torch's current stream; only get_scale, state_dict and a step of an optimizer that
cannot skip by itself (one that is not fused) wait.
"""
import json
import weakref

import torch

import tare

_DTYPES = {torch.float32: tare.F32, torch.float64: tare.F64, torch.float16: tare.F16, torch.bfloat16: tare.BF16}


class _OnDevice:
    """A float in device memory, as torch takes such things; its owner lives as long as the tensor made of it."""

    def __init__(self, owner, address):
        self._owner = owner
        self.__cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (address, False), "version": 2}


class GradScaler:
    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True,
                 config=None, device="cpu"):
        self._enabled = enabled
        self._found = {}  # by optimizer, since the last update: whether its gradients were not finite
        self._stepped = set()
        self._lists = weakref.WeakKeyDictionary()  # by optimizer: its gradients, made ready
        self._device = torch.device(device)
        if not enabled:
            return
        options = json.loads(config) if config else {
            "policy": "torch", "init_scale": init_scale, "growth_factor": growth_factor,
            "backoff_factor": backoff_factor, "growth_interval": growth_interval}
        if self._on_gpu():
            self._device = torch.device("cuda", self._device.index or 0)
            options["device"] = str(self._device)
        self._scaler = tare.Scaler(json.dumps(options))
        self._scale = self._view(self._scaler, tare.SCALE) if self._on_gpu() else None

    def _on_gpu(self):
        return self._device.type == "cuda"

    def _stream(self):
        return torch.cuda.current_stream(self._device).cuda_stream if self._on_gpu() else None

    def _view(self, owner, which):
        return torch.as_tensor(_OnDevice(owner, owner.pointer(which)), device=self._device)

    def _list_of(self, optimizer, gradients):
        tensors = [tare.Tensor(g.data_ptr(), g.numel(), _DTYPES[g.dtype], 0) for g in gradients]
        known = self._lists.get(optimizer)
        if known is None or not known.rebind(tensors, self._stream()):
            known = self._lists[optimizer] = self._scaler.grads(tensors)
        return known

    def is_enabled(self):
        return self._enabled

    def get_scale(self):
        return self._scaler.scale if self._enabled else 1.0

    def scale(self, outputs):
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            if self._on_gpu():
                return outputs * self._scale.to(outputs.device, non_blocking=True)[0]
            return outputs * torch.tensor(self.get_scale(), dtype=torch.float32)
        return type(outputs)(self.scale(output) for output in outputs)

    def unscale_(self, optimizer):
        if not self._enabled:
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._found:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(g.dtype == torch.float16 for g in gradients):
            raise ValueError("Attempting to unscale FP16 gradients.")
        if not gradients:
            return
        if not all(g.is_contiguous() for g in gradients):
            raise ValueError("Gradients must be contiguous.")
        if any(g.device.type != self._device.type for g in gradients):
            raise ValueError(f"Gradients must be on {self._device}, where the scaler is.")
        # A list has a found-inf of its own, beside the scaler's.
        grads = self._list_of(optimizer, gradients)
        grads.unscale(self._stream())
        self._found[id(optimizer)] = self._view(grads, tare.FOUND_INF) if self._on_gpu() else grads.found_inf()

    def step(self, optimizer, *args, **kwargs):
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        if id(optimizer) not in self._found:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        self._stepped.add(id(optimizer))
        found = self._found[id(optimizer)]
        if self._on_gpu() and getattr(optimizer, "_step_supports_amp_scaling", False):
            optimizer.grad_scale, optimizer.found_inf = None, found[0]  # a fused optimizer skips on the device
            try:
                return optimizer.step(*args, **kwargs)
            finally:
                del optimizer.grad_scale, optimizer.found_inf
        return None if float(found) != 0 else optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        if not self._enabled:
            return
        if new_scale is not None:
            self._scaler.set_scale(float(new_scale), self._stream())
        elif self._on_gpu() and not self._found:
            raise AssertionError("No inf checks were recorded prior to update.")  # the device could only tell later
        else:
            self._scaler.update(self._stream())
        self._found.clear()
        self._stepped.clear()

    def state_dict(self):
        if not self._enabled:
            return {}
        state = json.loads(self._scaler.save().json())
        names = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")
        if state["policy"] != "torch":
            return state
        return {name: {**state["params"], **state["fields"]}[name] for name in names}

    def load_state_dict(self, state):
        if not self._enabled:
            return
        if not state:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled scaler.")
        if "policy" not in state:
            state = {"policy": "torch", "fields": state}
        self._scaler.load(tare.State.from_json(json.dumps(state)))
