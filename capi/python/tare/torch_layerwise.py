"""tare.torch.LayerwiseScaler: a scale for each layer, found from what its gradients and weights are like."""
from __future__ import annotations

import math
from typing import Any

import torch

from .errors import Unsupported
from .scaler import Scaler

_LAYERS = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)


def _statistics(tensor: torch.Tensor) -> tuple[float, float, float, float]:
    """Mean, deviation, least and greatest, as float32."""
    values = tensor.detach().float()
    deviation, mean = torch.std_mean(values, correction=0)
    least, greatest = torch.aminmax(values)
    return tuple(torch.stack([mean, deviation, least, greatest]).tolist())  # type: ignore[return-value]


class _Bearer:
    """What gradients have been multiplied by, from a point of the graph on: behind the loss, or behind one use of a
    layer."""

    def __init__(self, name: str, accumulated: float = 1.0):
        self.name, self.accumulated = name, accumulated
        self.before: _Bearer | None = None  # nearer the loss


class _Layer:
    """What one layer multiplies its gradient by, by policy "layerwise"."""

    def __init__(self, name: str, module: torch.nn.Module, parameters: dict[str, Any]):
        self.name, self.weight = name, module.weight
        self.scaler = Scaler("layerwise", **parameters)
        self.accumulated = 1.0
        products = module.weight.shape[0]
        for size in module.weight.shape[2:]:
            products *= size
        self.fan_in = float(products)

    def scaled(self, gradient: torch.Tensor, use: _Bearer) -> torch.Tensor:
        before = use.before.accumulated if use.before is not None else 1.0
        mean, deviation, least, greatest = _statistics(gradient)
        if math.isfinite(deviation):  # else the step is skipped, and the scale stays
            weight_mean, weight_deviation, weight_least, weight_greatest = _statistics(self.weight)
            largest = max(abs(g * w) for g in (least, greatest) for w in (weight_least, weight_greatest))
            self.scaler.report_layer(fan_in=self.fan_in, prev_scale=before, gradient_mean=mean,
                                     gradient_deviation=deviation, weight_mean=weight_mean,
                                     weight_deviation=weight_deviation, largest_product=largest)
        self.scaler.update()
        scale = self.scaler["fields.scale"]
        use.accumulated = self.accumulated = before * scale
        return gradient * scale


class _Mark(torch.autograd.Function):
    """Leaves a layer's output as it is, and scales the gradient that comes into the layer."""

    @staticmethod
    def forward(ctx: Any, output: torch.Tensor, layer: _Layer) -> torch.Tensor:
        ctx.layer, ctx.use = layer, _Bearer(layer.name)
        return output.view_as(output)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple:  # type: ignore[override]
        return ctx.layer.scaled(gradient, ctx.use), None


class LayerwiseScaler:
    """Adaptive loss scaling (arXiv 1910.12385) of a chain of Linear and Conv layers, with whatever lies between them:

        scaler = tare.torch.LayerwiseScaler(model)
        scaler.scale(loss).backward()
        scaler.step(optimizer)

    Behind backward gradients are as without scaling, so that they can be clipped, added up and looked at. Parameters are
    float32 (as under autocast): gradients of float16 parameters would underflow again. Where a model's paths part and meet
    again, as in residual blocks, gradients of two scales would be added up: that is refused, with the names.

    `loss_scale`: what the loss is multiplied by; `parameters`: those of policy "layerwise" (scale_upper_bound,
    accum_upper_bound, n_uf_threshold, power_of_two ...). Statistics are read by the host: on a GPU each layer waits."""

    def __init__(self, model: torch.nn.Module, *, loss_scale: float = 1.0, **parameters: Any):
        self._model, self._loss_scale = model, loss_scale
        self._layers = [_Layer(name, module, parameters) for name, module in model.named_modules()
                        if isinstance(module, _LAYERS)]
        self._names = {parameter: name for name, parameter in model.named_parameters()}
        self._before: dict[torch.Tensor, _Bearer] = {}
        self.skipped = 0
        self._hooks: list[Any] = []
        halves = [name for parameter, name in self._names.items() if parameter.dtype != torch.float32]
        if halves:
            raise Unsupported(f"parameter {halves[0]} is no float32: its gradients would underflow again")
        by_name = {layer.name: layer for layer in self._layers}
        for name, module in model.named_modules():
            if name in by_name:
                self._hooks.append(module.register_forward_hook(_marking(by_name[name])))
        for parameter in self._names:
            if parameter.requires_grad:
                self._hooks.append(parameter.register_hook(self._unscaling(parameter)))

    def scale(self, loss: torch.Tensor) -> torch.Tensor:
        """The loss, ready for backward. Raises tare.Unsupported where gradients of two scales would meet."""
        scaled = loss * self._loss_scale
        if scaled.grad_fn is not None:
            self._before = _bearers(scaled.grad_fn, _Bearer("the loss", self._loss_scale), self._names)
        return scaled

    def step(self, optimizer: torch.optim.Optimizer, *arguments: Any, **options: Any) -> Any:
        """The optimizer's step, unless a gradient is infinite or nan."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and not bool(torch.isfinite(parameter.grad).all()):
                    self.skipped += 1
                    return None
        return optimizer.step(*arguments, **options)

    def scales(self) -> dict[str, float]:
        """What each layer's gradients were multiplied by in the last backward pass, all layers before it included."""
        return {layer.name: layer.accumulated for layer in self._layers}

    def state_dict(self) -> dict[str, Any]:
        return {layer.name: {key: layer.scaler["fields." + key] for key in _FIELDS} for layer in self._layers}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for layer in self._layers:
            for key in _FIELDS:
                layer.scaler["fields." + key] = state[layer.name][key]

    def close(self) -> None:
        """Takes its hooks off the model."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _unscaling(self, parameter: torch.Tensor) -> Any:
        def unscaled(gradient: torch.Tensor) -> torch.Tensor:
            before = self._before.get(parameter)
            return gradient if before is None else gradient / before.accumulated
        return unscaled


_FIELDS = ("scale", "accumulated", "unbound", "cur_iter")


def _marking(layer: _Layer) -> Any:
    def marked(module: torch.nn.Module, inputs: tuple, output: torch.Tensor) -> torch.Tensor:
        return _Mark.apply(output, layer) if output.requires_grad else output
    return marked


def _bearers(root: Any, loss: _Bearer, names: dict[torch.Tensor, str]) -> dict[torch.Tensor, _Bearer]:
    """Whose scale each parameter's gradient has: a walk through the graph from the loss, in which a node has its turn once
    all that lead to it had theirs."""
    waiting: dict[Any, int] = {}
    nodes, seen = [root], {root}
    while nodes:
        for following, _ in nodes.pop().next_functions:
            if following is not None:
                waiting[following] = waiting.get(following, 0) + 1
                if following not in seen:
                    seen.add(following)
                    nodes.append(following)
    bears = {root: loss}
    found: dict[torch.Tensor, _Bearer] = {}
    ready = [root]
    while ready:
        node = ready.pop()
        before = bears[node]
        use = getattr(node, "use", None)
        if isinstance(use, _Bearer):
            use.before, before = before, use
        parameter = getattr(node, "variable", None)
        if parameter is not None and parameter in names:
            found[parameter] = before
        for following, _ in node.next_functions:
            if following is None:
                continue
            if bears.setdefault(following, before) is not before:
                raise Unsupported(f"gradients of two scales meet: those behind {bears[following].name} and those behind "
                                  f"{before.name}; the layers are no chain")
            waiting[following] -= 1
            if waiting[following] == 0:
                ready.append(following)
    return found


__all__ = ["LayerwiseScaler"]
