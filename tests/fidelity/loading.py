"""Loads checkpoint files with the frameworks themselves and lays out what they give: {path: value}, paths as
truth.json writes them. Nothing is stood in for: a file whose classes are not installed does not load here."""
import dataclasses
import io
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


def distributed_ways(folder):
    """Every way in which this torch loads a distributed checkpoint. Raises what the plainest way raises."""
    from torch.distributed.checkpoint import FileSystemReader
    from torch.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
    from torch.distributed.checkpoint.state_dict_loader import _load_state_dict

    if next(folder.glob("__*.metadata"), None):
        return rank_ways(folder)
    items = {}
    metadata = FileSystemReader(folder).read_metadata()
    for index, info in metadata.storage_data.items():
        with open(folder / info.relative_path, "rb") as file:
            file.seek(info.offset)
            stored = io.BytesIO(file.read(info.length))
        items[index.fqn] = torch.load(stored, map_location="cpu", weights_only=False)
    loaded = {"items": items}
    if metadata.planner_data is not None:
        state = {}
        _load_state_dict(state, storage_reader=FileSystemReader(folder), planner=_EmptyStateDictLoadPlanner(), no_dist=True)
        loaded["dcp.load"] = state
    if (folder / "metadata.json").exists():
        loaded["megatron"] = megatron_objects(folder, items)
    return loaded


def megatron_objects(folder, keys):
    """The scaler's sharded objects as Megatron-core's own loader gives them; tensors are put on the CPU."""
    from megatron.core.dist_checkpointing.mapping import ShardedObject
    from megatron.core.dist_checkpointing.strategies.torch import TorchDistLoadShardedStrategy

    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    wanted = {key: ShardedObject(key.removesuffix("/shard_0_1"), None, (1,), (0,)) for key in keys
              if key == "common_state/shard_0_1" or key.endswith(".grad_scaler/shard_0_1")}
    load = torch.load
    torch.load = lambda *arguments, **options: load(*arguments, **{**options, "map_location": "cpu"})
    try:
        objects = TorchDistLoadShardedStrategy().load(wanted, folder)
    finally:
        torch.load = load
    return {key: [value] for key, value in objects.items()}


def rank_ways(folder):
    """Metadata of single ranks: what each rank would read, through torch's own reader."""
    from torch.distributed.checkpoint import FileSystemReader

    loaded = {}
    for rank in range(len(list(folder.glob("__*.metadata")))):
        items = {}
        for index, info in FileSystemReader(folder).read_metadata(rank=rank).storage_data.items():
            with open(folder / info.relative_path, "rb") as file:
                file.seek(info.offset)
                items[index.fqn] = torch.load(io.BytesIO(file.read(info.length)), weights_only=False)
        loaded[f"rank {rank}"] = items
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
