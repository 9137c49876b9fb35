"""tare.torch.LayerwiseScaler: a scale for each layer, found from what its gradients and weights are like."""
from __future__ import annotations

import math
from typing import Any

import torch

from ._gradient_paths import Bearer, Use, bear
from .errors import Unsupported
from .scaler import Scaler

_LAYERS = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)


def _statistics(tensor: torch.Tensor) -> tuple[float, float, float, float]:
    """Mean, deviation, least and greatest, as float32."""
    values = tensor.detach().float()
    deviation, mean = torch.std_mean(values, correction=0)
    least, greatest = torch.aminmax(values)
    return tuple(torch.stack([mean, deviation, least, greatest]).tolist())  # type: ignore[return-value]


class _Layer:
    """What one layer multiplies its gradient by, by policy "layerwise"."""

    def __init__(self, name: str, module: torch.nn.Module, parameters: dict[str, Any]):
        self.name, self.module = name, module
        self.scaler = Scaler("layerwise", **parameters)
        self.accumulated = 1.0
        products = module.weight.shape[0]
        for size in module.weight.shape[2:]:
            products *= size
        self.fan_in = float(products)

    def scaled(self, gradient: torch.Tensor, use: Use) -> torch.Tensor:
        before = use.before.accumulated
        mean, deviation, least, greatest = _statistics(gradient)
        if math.isfinite(deviation):  # else the step is skipped, and the scale stays
            weight_mean, weight_deviation, weight_least, weight_greatest = _statistics(self.module.weight)
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
        ctx.layer, ctx.use = layer, Use()
        return output.view_as(output)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple:  # type: ignore[override]
        return ctx.layer.scaled(gradient, ctx.use), None


class LayerwiseScaler:
    """Adaptive loss scaling (arXiv 1910.12385) of Linear and Conv layers, with whatever lies between them:

        scaler = tare.torch.LayerwiseScaler(model)
        scaler.scale(loss).backward()
        scaler.step(optimizer)

    Behind backward the gradients of parameters, and of other tensors without a graph, are as without scaling, so that they can
    be clipped, added up and looked at. Parameters are float32 (as under autocast): gradients of float16 parameters would
    underflow again. Where paths part and meet again (residual blocks, branches, a layer that is used twice), their gradients
    are brought to one scale before they are added up: the greatest of theirs, or a smaller one where the sum would leave float16's
    range. What hooks of tensors in between see bears scales, and at such points no single one.

    `loss_scale`: what the loss is multiplied by; `parameters`: those of policy "layerwise" (scale_upper_bound,
    accum_upper_bound, n_uf_threshold, power_of_two ...). Statistics are read by the host: on a GPU each layer waits, and each
    meeting."""

    def __init__(self, model: torch.nn.Module, *, loss_scale: float = 1.0, **parameters: Any):
        self._loss_scale = loss_scale
        self._layers = [_Layer(name, module, parameters) for name, module in model.named_modules()
                        if isinstance(module, _LAYERS)]
        self.skipped = 0
        halves = [name for name, parameter in model.named_parameters() if parameter.dtype != torch.float32]
        if halves:
            raise Unsupported(f"parameter {halves[0]} is no float32: its gradients would underflow again")
        by_name = {layer.name: layer for layer in self._layers}
        self._hooks = [module.register_forward_hook(_marking(by_name[name])) for name, module in model.named_modules()
                       if name in by_name]

    def scale(self, loss: torch.Tensor) -> torch.Tensor:
        """The loss, ready for backward."""
        scaled = loss * self._loss_scale
        if scaled.grad_fn is not None:
            bear(scaled.grad_fn, Bearer(self._loss_scale))
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


_FIELDS = ("scale", "accumulated", "unbound", "cur_iter")


def _marking(layer: _Layer) -> Any:
    def marked(module: torch.nn.Module, inputs: tuple, output: torch.Tensor) -> torch.Tensor:
        return _Mark.apply(output, layer) if output.requires_grad else output
    return marked


__all__ = ["LayerwiseScaler"]
