"""GradScaler with torch.amp.GradScaler's interface, over libtare and torch tensors on the CPU. Any of tare's policies:

    scaler = GradScaler(init_scale=65536.0)                        # torch's own rule
    scaler = GradScaler(config='{"policy":"megatron"}')
    scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()
"""
import json

import torch

import tare

_DTYPES = {torch.float32: tare.F32, torch.float64: tare.F64, torch.float16: tare.F16, torch.bfloat16: tare.BF16}


class GradScaler:
    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True,
                 config=None):
        self._enabled = enabled
        self._found = {}  # by optimizer, since the last update: whether its gradients were not finite
        self._stepped = set()
        if not enabled:
            return
        self._scaler = tare.Scaler(config or json.dumps({
            "policy": "torch", "init_scale": init_scale, "growth_factor": growth_factor,
            "backoff_factor": backoff_factor, "growth_interval": growth_interval}))

    def is_enabled(self):
        return self._enabled

    def get_scale(self):
        return self._scaler.scale if self._enabled else 1.0

    def scale(self, outputs):
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
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
        # A list has a found-inf of its own, beside the scaler's.
        grads = self._scaler.grads([tare.Tensor(g.data_ptr(), g.numel(), _DTYPES[g.dtype], 0) for g in gradients])
        grads.unscale()
        self._found[id(optimizer)] = grads.found_inf() != 0

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
        return None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        if not self._enabled:
            return
        if new_scale is not None:
            self._scaler.set_scale(float(new_scale))
        else:
            self._scaler.update()
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
