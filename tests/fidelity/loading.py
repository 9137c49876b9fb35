"""Loads checkpoint files with the frameworks themselves and lays out what they give: {path: value}, paths as
truth.json writes them. Nothing is stood in for: a file whose classes are not installed does not load here."""
import dataclasses
import os
import pickle
import types
import warnings

os.environ.update(DS_ACCELERATOR="cpu", DS_BUILD_OPS="0")
warnings.simplefilter("ignore")

import numpy
import torch

try:
    import deepspeed  # its LossScaler is pickled as an object
except ImportError:
    deepspeed = None

LEAVES = (type(None), bool, int, float, str, bytes, type, types.FunctionType, types.ModuleType)


def ways(file):
    """Every way in which this torch loads the file: {name: loaded object}. Raises what the plainest way raises."""
    knows = torch.load.__code__.co_varnames
    plain = {"map_location": "cpu", **({"weights_only": False} if "weights_only" in knows else {})}
    options = {"load": plain}
    if "weights_only" in knows:
        options["weights_only"] = {**plain, "weights_only": True}
    if "mmap" in knows:
        options["mmap"] = {**plain, "mmap": True}
    loaded = {"load": torch.load(file, **plain)}
    for name in list(options)[1:]:
        try:
            loaded[name] = torch.load(file, **options[name])
        except (pickle.UnpicklingError, RuntimeError, ValueError):
            continue  # a class that weights_only refuses, or a format that has no mmap
    return loaded


def children(value):
    """(suffix of the path, child) of everything that holds others."""
    if isinstance(value, dict):
        yield from ((f".{key}", child) for key, child in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((f"[{number}]", child) for number, child in enumerate(value))
    elif not isinstance(value, (torch.Tensor, numpy.ndarray, numpy.generic, *LEAVES)):
        yield from ((f".{key}", child) for key, child in getattr(value, "__dict__", {}).items())


def layout(root):
    """{path: object} of all that is reachable; what is reachable twice stands at its first place."""
    places, seen, todo = {}, set(), [("", root)]
    while todo:
        path, value = todo.pop()
        below = list(children(value))
        if below:
            if id(value) in seen:
                continue
            seen.add(id(value))
        places[path] = value
        todo += [((path + suffix).lstrip("."), child) for suffix, child in reversed(below)]
    return places


@dataclasses.dataclass(frozen=True)
class Value:
    """A value as it was at the time of loading: a mapped file would show later edits."""

    kind: str
    content: bytes | str
    number: float | int | None = dataclasses.field(compare=False)  # out of its tensor or array

    @staticmethod
    def of(value):
        return Value(*kind_and_content(value), number(value))


def kind_and_content(value):
    """What must be equal for two leaves to be the same value of the same kind."""
    if isinstance(value, torch.Tensor):
        kind = f"tensor:{value.dtype}{list(value.shape)}"
        if value.layout is not torch.strided or value.is_quantized or value.is_meta:
            return kind, repr(value)
        plain = value.detach().cpu().contiguous().reshape(-1)
        return kind, plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b""
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return f"numpy:{value.dtype}{list(value.shape)}", value.tobytes()
    if isinstance(value, float):
        return "float", value.hex()
    if isinstance(value, LEAVES):
        return type(value).__name__, repr(value)
    return f"object:{type(value).__module__}.{type(value).__qualname__}", ""


def number(value):
    if isinstance(value, (torch.Tensor, numpy.ndarray, numpy.generic)):
        flat = value.reshape(-1)
        return flat[0].item() if len(flat) == 1 else None
    return value if isinstance(value, (int, float)) else None
