"""What scales gradients bear on their ways back through a graph, and how they become one scale's where ways meet."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .errors import Unsupported

_LARGEST = 65504.0  # of float16


class Bearer:
    """What gradients have been multiplied by, from a point of the graph on: behind the loss, behind one use of a layer, or
    behind a point where ways meet. Known once a backward pass has come there."""

    def __init__(self, accumulated: float | None = None):
        self._accumulated = accumulated

    @property
    def accumulated(self) -> float:
        if self._accumulated is None:
            raise Unsupported("a backward pass runs that does not come from the loss that LayerwiseScaler.scale was last "
                              "given for this graph: give it each loss right before its backward; of checkpointed layers, "
                              "use_reentrant=False")
        return self._accumulated

    @accumulated.setter
    def accumulated(self, value: float) -> None:
        self._accumulated = value


class Use(Bearer):
    """One use of a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Bearer = Bearer()  # nearer the loss; not known before a walk through the graph


class _Meeting(Bearer):
    """Where gradients of several scales are added up, or go on side by side: all get the greatest of these, or a smaller one
    where a sum would leave float16's range."""

    def __init__(self) -> None:
        super().__init__()
        self._arrived: list[tuple[int, torch.Tensor, float]] = []

    def arrival(self, number: int, bearer: Bearer) -> Callable[[torch.Tensor], torch.Tensor]:
        """What is done with a gradient on its way here, as the `number`-th of several: it is kept. What autograd then adds
        up is of no scale, and is not used."""
        def arrived(gradient: torch.Tensor) -> torch.Tensor:
            self._arrived.append((number, gradient, bearer.accumulated))
            return gradient
        return arrived

    def joined(self, sums: tuple) -> tuple:
        arrived, self._arrived = self._arrived, []
        self.accumulated = scale = _common_scale(arrived)
        made: dict[int, torch.Tensor] = {}
        for number, gradient, bears in arrived:
            wide = gradient.to(torch.promote_types(gradient.dtype, torch.float32))
            part = wide * (scale / bears)
            made[number] = made[number] + part if number in made else part
        return tuple(made[i].to(one.dtype) if i in made else one for i, one in enumerate(sums))


def _common_scale(arrived: list[tuple[int, torch.Tensor, float]]) -> float:
    greatest = max((bears for _, _, bears in arrived), default=1.0)
    bounds: dict[int, float] = {}  # of the sums, without any scale
    for number, gradient, bears in arrived:
        largest = float(gradient.detach().abs().max()) if gradient.numel() > 0 else 0.0
        bounds[number] = bounds.get(number, 0.0) + largest / bears
    bound = max(bounds.values(), default=0.0)
    if not 0 < bound < math.inf or bound * greatest <= _LARGEST:  # what is not finite stays so: the step is skipped
        return greatest
    return 2.0 ** math.floor(math.log2(_LARGEST / bound))


def bear(root: Any, loss: Bearer) -> None:
    """Puts hooks on the graph of a loss: what leaves it, at tensors without a graph of their own, is as without scaling.
    A node has its turn once all that lead to it had theirs."""
    waiting = _ways(root)
    bears: dict[Any, Bearer] = {root: loss}
    coming: dict[Any, list[tuple[Any, int, int]]] = {}  # from which node, which of what it gives, as which of what is taken
    changes: dict[Any, dict[int, Callable[[torch.Tensor], torch.Tensor]]] = {}
    ready = [root]
    while ready:
        node = ready.pop()
        _drop_hooks(node)
        if node in coming:
            bears[node] = _borne(node, coming.pop(node), bears, changes)
        use = getattr(node, "use", None)
        if isinstance(use, Use):
            use.before, bears[node] = bears[node], use
        for place, (following, number) in enumerate(node.next_functions):
            if following is None:
                continue
            coming.setdefault(following, []).append((node, place, number))
            waiting[following] -= 1
            if waiting[following] == 0:
                ready.append(following)
    for node, by_place in changes.items():
        _keep_hook(node, node.register_hook(_changing(by_place)))


def _ways(root: Any) -> dict[Any, int]:
    """How many ways lead to each node."""
    waiting: dict[Any, int] = {}
    nodes = [root]
    while nodes:
        for following, _ in nodes.pop().next_functions:
            if following is None:
                continue
            if following not in waiting:
                nodes.append(following)
            waiting[following] = waiting.get(following, 0) + 1
    return waiting


def _borne(node: Any, coming: list[tuple[Any, int, int]], bears: dict[Any, Bearer], changes: dict[Any, dict]) -> Bearer:
    """What gradients bear that come to a node; they are changed on their ways where that must be."""
    if getattr(node, "variable", None) is not None:  # a tensor without a graph
        for source, place, _ in coming:
            changes.setdefault(source, {})[place] = _without(bears[source])
        return Bearer(1.0)
    bearers = {id(bears[source]): bears[source] for source, _, _ in coming}
    if len(bearers) == 1:
        return next(iter(bearers.values()))
    meeting = _Meeting()
    for source, place, number in coming:
        changes.setdefault(source, {})[place] = meeting.arrival(number, bears[source])
    _keep_hook(node, node.register_prehook(meeting.joined))
    return meeting


def _without(bearer: Bearer) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda gradient: gradient if bearer.accumulated == 1 else gradient / bearer.accumulated


def _changing(by_place: dict[int, Callable[[torch.Tensor], torch.Tensor]]) -> Callable[[tuple, tuple], tuple]:
    def changed(gives: tuple, _takes: tuple) -> tuple:
        return tuple(by_place[i](one) if one is not None and i in by_place else one for i, one in enumerate(gives))
    return changed


_HOOKS = "tare.hooks"  # in a node's metadata: those of an earlier loss of the same graph go


def _keep_hook(node: Any, hook: Any) -> None:
    node.metadata.setdefault(_HOOKS, []).append(hook)


def _drop_hooks(node: Any) -> None:
    for hook in node.metadata.pop(_HOOKS, []):
        hook.remove()
