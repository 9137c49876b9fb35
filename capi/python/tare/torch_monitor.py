"""tare.torch.Monitor: a model's gradients, weights and activations, watched while it trains."""
from __future__ import annotations

import json
import math
import os
import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from .answers import Answer
from .monitoring import Monitor as _Monitor
from .scaler import Grads, Scaler
from .state import State
from .tensors import _dense

_FLOATS = {torch.float32, torch.float64, torch.float16, torch.bfloat16}
_LOOKS_PER_ACTIVATION = 4  # each look took 1.2 to 1.8 % of ten steps on an H100
_NEAR_THE_BOTTOM = 2.0 ** -20  # of float16: what lies there tells zeros of range from a layer's own


def _is_plain(tensor: Any) -> bool:
    return (isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided and tensor.dtype in _FLOATS
            and not tensor.is_neg() and (tensor.is_contiguous() or _dense(tensor.shape, tensor.stride())))


def _stream_of(device: torch.device) -> int | None:
    if device.type != "cuda":
        return None
    quick = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # a tenth of the time of making a Stream
    return quick(device.index) if quick is not None else torch.cuda.current_stream(device).cuda_stream


class _OnDevice:
    """A scaler of the library's own, whose pass counts; the gradients stay as they are."""

    def __init__(self, device: torch.device):
        self.device = device
        self.scaler = Scaler("torch", device=str(device), underflow_threshold=_NEAR_THE_BOTTOM,
                             finite_statistics=device.type == "cpu")
        self.shape: tuple = ()
        self.grads: Grads | None = None

    def pass_over(self, gradients: list[torch.Tensor], scale: float | None) -> Grads:
        """`scale`: that they bear, where the host knows it."""
        if scale is not None and 0 < scale < math.inf:
            self.scaler.set_scale(scale, _stream_of(self.device))
        shape = tuple((gradient.numel(), gradient.dtype) for gradient in gradients)
        if self.grads is None or shape != self.shape:
            self.grads, self.shape = Grads(self.scaler, gradients), shape
        else:
            self.grads.rebind(gradients, _stream_of(self.device))
        self.grads.observe(_stream_of(self.device))
        return self.grads


class _Course:
    """How often a GradScaler's scale grew and fell, of which torch keeps no count. Counted where the scale lies, so that
    nothing waits."""

    def __init__(self, scaler: torch.amp.GradScaler):
        self.steps = 0
        self._before: Any = scaler.get_scale()
        self._growths: Any = 0
        self._backoffs: Any = 0

    def note(self, scaler: torch.amp.GradScaler) -> None:
        """Behind an update."""
        self.steps += 1
        scale = scaler._scale
        if scale is not None:
            self._growths = self._growths + (scale > self._before).long()
            self._backoffs = self._backoffs + (scale < self._before).long()
            self._before = scale.detach().clone()

    def counts(self) -> dict[str, int]:
        backoffs = int(self._backoffs)  # each is a step that was skipped
        return {"steps": self.steps, "skipped": backoffs, "growths": int(self._growths), "backoffs": backoffs}

    def tell(self, monitor: _Monitor, scale: torch.Tensor) -> None:
        """Where the scale lies, for which nobody waits."""
        numbers = [torch.full((), number, dtype=torch.int64, device=scale.device) if isinstance(number, int) else number
                   for number in (self._growths, self._backoffs)]
        growths, backoffs = (number.data_ptr() for number in numbers)
        monitor.add_scaler_on(str(scale.device), scale.data_ptr(), steps=self.steps, skipped=backoffs, growths=growths,
                              backoffs=backoffs, stream=_stream_of(scale.device))

    def load(self, counts: Mapping[str, int], scaler: torch.amp.GradScaler) -> None:
        self.steps, self._growths, self._backoffs = (counts[name] for name in ("steps", "growths", "backoffs"))
        self._before = scaler.get_scale()


class _Activation(NamedTuple):
    """A tensor that was looked at in the step under way."""
    tensor: Any  # weak: the step's memory is not the monitor's to keep
    version: int
    group: str
    name: str


class Monitor:
    """
        monitor = tare.torch.Monitor(model, scaler, log_dir="runs/a")
        ...
        scaler.scale(loss).backward()
        monitor.gradients()                          # before anything unscales them
        scaler.step(optimizer); scaler.update()
        for finding in monitor.step(loss=loss): print(finding.message, finding.advice)

    `scaler`: torch's GradScaler or tare's; None, or one that is not enabled: the gradients are in bfloat16 or float32,
    of which nothing becomes zero for want of range. `log_dir`: a folder of TensorBoard's; `sinks`, `every`, `warn`: as for
    tare.Monitor. `weights`, `activations` (what goes into modules without children, and comes out) and, of `optimizer`,
    `moments` (exp_avg_sq): looked at too, in steps that are looked at, where they lie. So are the gradients with
    `histograms`, without their scale, as group "gradients": `at_scale` then tells what another scale, or format, would do
    to them.
    `groups`, as for tare.Monitor, chooses among that: {"weights": {"every": 100}, "inputs": {"names": ["*.up.*"]}}. Of
    activations, which take most of the time, every fourth look is enough unless it says more ("inputs", "outputs").

    A run that is resumed goes on with `load_state_dict` of what `state_dict` gave, behind that of the scaler."""

    def __init__(self, model: torch.nn.Module, scaler: torch.amp.GradScaler | None = None, *, every: int = 10,
                 log_dir: str | os.PathLike | None = None, sinks: tuple[Mapping[str, str], ...] = (),
                 warn: Mapping[str, Any] | None = None, weights: bool = False, activations: bool = False,
                 optimizer: torch.optim.Optimizer | None = None, moments: bool = False,
                 histograms: bool = False, groups: Mapping[str, Mapping[str, Any]] | None = None):
        self._model, self._scaler, self._optimizer, self._every = model, scaler, optimizer, every
        self._weights, self._moments, self._histograms = weights, moments, histograms
        chosen = {name: dict(group) for name, group in (groups or {}).items()}
        for name in ("inputs", "outputs"):
            chosen[name] = {"every": _LOOKS_PER_ACTIVATION * every, **chosen.get(name, {})}
        self._groups = set(chosen)
        self._steps = 0
        self._devices: dict[torch.device, _OnDevice] = {}
        self._told: set[tuple[str, str]] = set()
        self._activations: dict[int, _Activation] = {}
        self._followed: list[tuple[Any, str]] = []
        self._has_gradients = False
        self._awaits = False  # whether a look's findings were not given yet
        self._signals: dict[str, float] | None = None  # of the last look, once they were asked for
        folder = [{"tensorboard": os.fspath(log_dir)}] if log_dir is not None else []
        is_scaled = scaler is not None and scaler.is_enabled()
        self._course = _Course(scaler) if scaler is not None and is_scaled else None
        self._monitor = _Monitor(every=every, sinks=[*folder, *sinks], format="f16" if is_scaled else "bf16", warn=warn,
                                 groups=chosen)
        self._hooks = [module.register_forward_hook(self._hook_of(name)) for name, module in model.named_modules()
                       if activations and not any(module.children())]

    @property
    def looks(self) -> bool:
        """Is the step under way one that is looked at?"""
        return self._steps % self._every == 0

    def gradients(self) -> None:
        """Looks at the gradients, still scaled: behind backward (the last, where several add up), before anything
        unscales or clips them. Gradients that are sparse, have gaps or are negative views are left out."""
        self._has_gradients = True
        if not self.looks:
            return
        there = self._scale_on_gpu()
        scale: float | None = None
        if there is None:
            scale = self._scaler.get_scale() if self._scaler is not None else 1.0
        found: dict[torch.device, dict[str, torch.Tensor]] = {}
        for name, parameter in self._model.named_parameters():
            if parameter.grad is not None and _is_plain(parameter.grad):
                found.setdefault(parameter.grad.device, {})[name] = parameter.grad
        for device, gradients in found.items():
            if device.type not in ("cpu", "cuda"):
                continue
            if device not in self._devices:
                self._devices[device] = _OnDevice(device)
            on = self._devices[device]
            stream = _stream_of(device)
            self._monitor.add_grads(on.pass_over(list(gradients.values()), scale), list(gradients), stream)
            on.scaler.update(stream)
        if self._course is not None and found:
            if scale is None:
                self._course.tell(self._monitor, there)
            else:
                self._monitor.add_scaler(scale, **self._course.counts())
        if self._histograms and (scale is None or 0 < scale < math.inf):
            for gradients in found.values():
                self._observe("gradients", gradients, there if scale is None else scale)

    def follow(self) -> None:
        """From now on `gradients` is called by the scaler, before it first unscales or steps in a step of the monitor's:
        for loops that are not yours."""
        for name in ("unscale_", "step") if self._scaler is not None and not self._followed else ():
            setattr(self._scaler, name, self._looking_first(getattr(self._scaler, name)))
            self._followed.append((self._scaler, name))

    @property
    def is_followed(self) -> bool:
        """Does the scaler call `gradients`?"""
        return bool(self._followed)

    def observe(self, group: str, tensors: Mapping[str, Any]) -> None:
        """Looks at tensors of yours, if the step is one that is looked at."""
        self._observe(group, tensors, 1.0)

    def _observe(self, group: str, tensors: Mapping[str, Any], scale: float | torch.Tensor) -> None:
        if not self.looks:
            return
        found: dict[torch.device, dict[str, torch.Tensor]] = {}
        for name, tensor in tensors.items():
            if _is_plain(tensor) and self._chooses(group, name):
                if tensor.device.type not in ("cpu", "cuda"):
                    tensor = tensor.detach().cpu()
                found.setdefault(tensor.device, {})[name] = tensor
        for device, some in found.items():
            if isinstance(scale, torch.Tensor) and scale.device == device:
                self._monitor.observe(group, some, scale_at=scale.data_ptr(), device=str(device), stream=_stream_of(device))
            elif (known := float(scale)) > 0 and math.isfinite(known):
                self._monitor.observe(group, some, scale=known, device=str(device), stream=_stream_of(device))

    def _chooses(self, group: str, name: str) -> bool:
        return group not in self._groups or self._monitor.looks(group, name)

    def step(self, number: int | None = None, *, loss: torch.Tensor | None = None) -> list[Answer]:
        """Ends the step, whose number is counted from 0 unless it is given. Gives what is wrong since the last look and
        was not before it: severity, code, message, advice, path (the tensor), step, evidence. With looks at tensors of a
        GPU, for which nothing waits, that is given at the end of a later step, the first that finds the GPU done, or by
        `close`."""
        news: list[Answer] = []
        if self.looks:
            news += self._awaited()
            self._observe_all(loss)
            self._awaits = True
        self._monitor.step(self._steps if number is None else number)
        self._steps += 1
        self._has_gradients = False
        self._activations.clear()
        if self._course is not None and self._scaler is not None:
            self._course.note(self._scaler)
        if self._awaits and self._monitor.settled():
            news += self._news()
        return news

    def findings(self) -> list[Answer]:
        """All that was wrong at the last look. Waits for a GPU's, as `report`, `at_scale` and `state_dict` do."""
        self._monitor.wait()
        return self._monitor.findings()

    def report(self) -> Answer:
        self._monitor.wait()
        return self._monitor.report()

    def at_scale(self, scale: float, format: str = "f16") -> Answer:
        """What the tensors of the last look, with `histograms` the gradients too, would become at that loss scale in
        "f16", "bf16", "f8e5m2" or "f8e4m3fn"."""
        self._monitor.wait()
        return self._monitor.at_scale(scale, format)

    def signals(self) -> dict[str, float]:
        """What a log of the run wants, of the last look that is settled: "loss_scale", "skipped" (steps so far),
        "underflow", the percentage of the gradients that became zero for want of range, and "underflow_layers", the
        percentage of the layers that lost more than the monitor's limit. What is not known is not there."""
        if self._signals is not None:
            return dict(self._signals)
        report = self._monitor.report()
        told: dict[str, float] = {}
        if self._course is not None and report.get("scaler") is not None:
            told.update(loss_scale=report.scaler.scale, skipped=report.scaler.skipped)
        if "signals" in report and report.signals.lost is not None:
            told["underflow"] = 100 * report.signals.lost
        if "signals" in report and report.signals.layers_lost is not None:
            told["underflow_layers"] = 100 * report.signals.layers_lost
        self._signals = told
        return dict(told)

    def state_dict(self) -> dict[str, Any]:
        """Plain data, which torch.load takes with weights_only."""
        self._monitor.wait()
        return {"monitor": json.loads(self._monitor.save().to_json()), "told": sorted(map(list, self._told), key=str),
                "course": self._course.counts() if self._course is not None else None}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._monitor.load(State(state["monitor"]))
        self._steps = self._monitor.report().steps
        self._told = {(code, path) for code, path in state["told"]}
        self._awaits = False
        self._signals = None
        if self._course is not None and self._scaler is not None and state["course"] is not None:
            self._course.load(state["course"], self._scaler)

    def close(self) -> list[Answer]:
        """Takes its hooks off the model and the scaler, and gives what no `step` has given, for which it waits. What is
        waiting for the sinks is written when the monitor is collected."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        for scaler, name in self._followed:
            delattr(scaler, name)
        self._followed.clear()
        return self._awaited()

    def _awaited(self) -> list[Answer]:
        if not self._awaits:
            return []
        self._monitor.wait()
        return self._news()

    def _news(self) -> list[Answer]:
        """Of a look that is settled, what the one before did not tell."""
        self._awaits = False
        self._signals = None
        findings = self._monitor.findings()
        before, self._told = self._told, {(finding.code, finding.path) for finding in findings}
        return [finding for finding in findings if (finding.code, finding.path) not in before]

    def _scale_on_gpu(self) -> torch.Tensor | None:
        """The scale, where it lies on a GPU and the host need not know it."""
        scale = getattr(self._scaler, "_scale", None) if self._course is not None else None
        return scale if scale is not None and scale.device.type == "cuda" else None

    def _looking_first(self, method: Any) -> Any:
        def looking(*arguments: Any, **options: Any) -> Any:
            if not self._has_gradients:
                self.gradients()
            return method(*arguments, **options)
        return looking

    def _observe_all(self, loss: torch.Tensor | None) -> None:
        if loss is not None:
            self.observe("loss", {"value": loss})
        if self._weights:
            self.observe("weights", dict(self._model.named_parameters()))
        if self._moments and self._optimizer is not None:
            states = self._optimizer.state
            self.observe("exp_avg_sq", {name: states[parameter]["exp_avg_sq"]
                                        for name, parameter in self._model.named_parameters()
                                        if "exp_avg_sq" in states.get(parameter, ())})

    def _hook_of(self, name: str) -> Any:
        def hook(module: torch.nn.Module, inputs: tuple, output: Any) -> None:
            if module.training and self.looks:
                for i, tensor in enumerate(inputs):
                    self._observe_once("inputs", f"{name}.{i}", tensor)
                self._observe_once("outputs", name, output)
        return hook

    def _observe_once(self, group: str, name: str, tensor: Any) -> None:
        """What one module gives is what the next one takes, mostly: the same object, unwritten since."""
        if not _is_plain(tensor) or tensor.is_inference():  # whose writes are not counted
            return self.observe(group, {name: tensor})
        known = self._activations.get(id(tensor))
        if known is not None and known.tensor() is tensor and known.version == tensor._version:
            return self._monitor.observe_again(group, name, known.group, known.name)
        self.observe(group, {name: tensor})
        if self._chooses(group, name):
            self._activations[id(tensor)] = _Activation(weakref.ref(tensor), tensor._version, group, name)


__all__ = ["Monitor"]
