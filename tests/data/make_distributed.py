#!/usr/bin/env python3
"""Adds distributed checkpoints to a folder of cases, for pack.py: layouts that the other cases do not have.

    make_distributed.py FOLDER

Needs a torch with torch.distributed.checkpoint (2.15 made those that are packed), numpy and safetensors. What a
framework other than torch lays out here follows its published names; `writer` in truth.json says so.
"""
import argparse
import json
import pathlib
import pickle
import shutil
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing
from torch.distributed.checkpoint._extension import ExtensionRegistry, StreamTransformExtension
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from torch.distributed.checkpoint.filesystem import SerializationFormat, _FileSystemWriter

VERSION = torch.__version__.split("+")[0]
TORCH_ROLES = {"scale": "scale", "growth_factor": "growth_factor", "backoff_factor": "backoff_factor",
               "growth_interval": "growth_interval", "_growth_tracker": "growth_tracker"}
MEGATRON_ROLES = {name: name for name in ("scale", "growth_tracker", "hysteresis_tracker")}


def torch_scaler(scale=16384.0, tracker=2, interval=2000):
    return {"scale": scale, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": interval,
            "_growth_tracker": tracker}


def megatron_scaler(scale=32768.0, tracker=3, hysteresis=2):
    return {"scale": torch.tensor([scale]), "growth_tracker": tracker, "hysteresis_tracker": hysteresis}


def model(seed=1):
    generator = torch.Generator().manual_seed(seed)
    return {"stem.weight": torch.randn(6, 4, generator=generator), "stem.bias": torch.zeros(6)}


def shown(value):
    """A field as truth.json has it: (value, type)."""
    if not torch.is_tensor(value):
        return value, type(value).__name__
    return value.tolist(), f"tensor:{str(value.dtype)[6:]}{list(value.shape)}".replace(" ", "")


def entry(dialect, path, fields, roles, files, authority="every_rank"):
    alone = {name: value.item() if torch.is_tensor(value) else value for name, value in fields.items()}
    return {"kind": "loss_scale", "dialect": dialect, "files": sorted(files), "path": path, "authority": authority,
            "fields": {name: shown(value)[0] for name, value in fields.items()},
            "types": {name: shown(value)[1] for name, value in fields.items()},
            "roles": {role: alone[name] for name, role in roles.items()}}


class Case:
    def __init__(self, root, name, writer, target="step_20", container="torch_dcp", **more):
        self.folder = root / name
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / target).mkdir(parents=True)
        self.target = self.folder / target
        self.truth = {"framework": name.split("/")[0], "version": VERSION, "writer": writer, "target": target,
                      "container": container, "scalers": [], "notes": "", **more}

    def scaler(self, *what):
        self.truth["scalers"].append(entry(*what))

    def done(self):
        (self.folder / "truth.json").write_text(json.dumps(self.truth, indent=1) + "\n")


def save(state, folder, flatten=True, **options):
    """As dcp.save does in one process."""
    dcp.state_dict_saver._save_state_dict(state, _FileSystemWriter(folder, **options), no_dist=True,
                                          planner=DefaultSavePlanner(flatten_state_dict=flatten))


def files_of(case, prefix, metadata=".metadata"):
    """The files in which torch's own metadata says that the items of that prefix are."""
    with open(case.target / metadata, "rb") as file:
        stored = pickle.load(file).storage_data
    name = case.truth["target"]
    return {f"{name}/{info.relative_path}" for index, info in stored.items() if index.fqn.startswith(prefix)}


# ---- torch ----------------------------------------------------------------------------------------------------------

def safetensors_tensors(root):
    case = Case(root, "torch/dcp-safetensors-tensors", "dcp.save of tensors, SerializationFormat.SAFETENSORS")
    fields = {name: torch.tensor(value, dtype=torch.float32 if isinstance(value, float) else torch.int32)
              for name, value in torch_scaler().items()}
    save({"model": model(), "scaler": fields}, case.target, serialization_format=SerializationFormat.SAFETENSORS)
    case.scaler("torch", "scaler", fields, TORCH_ROLES, files_of(case, "scaler."))
    case.done()


def unflattened(root):
    case = Case(root, "torch/dcp-unflattened", "dcp.save with flatten_state_dict=False: the scaler's dict is one object")
    save({**model(), "scaler": torch_scaler()}, case.target, flatten=False)
    case.scaler("torch", "scaler", torch_scaler(), TORCH_ROLES, files_of(case, "scaler"))
    case.done()


def protocols(root):
    for protocol in range(6):
        case = Case(root, f"torch/dcp-protocol{protocol}",
                    f"dcp.save; its metadata pickled again at protocol {protocol}, as torch's pickle.dump would under "
                    f"another default")
        save({"model": model(), "scaler": torch_scaler()}, case.target)
        metadata = case.target / ".metadata"
        with open(metadata, "rb") as file:
            loaded = pickle.load(file)
        metadata.write_bytes(pickle.dumps(loaded, protocol))
        case.scaler("torch", "scaler", torch_scaler(), TORCH_ROLES, files_of(case, "scaler."))
        case.done()


def rank_metadata_worker(rank, ranks, folder, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)
    dcp.save({"model": model(rank), "scaler": torch_scaler()}, storage_writer=_FileSystemWriter(folder),
             use_collectives=False)
    dist.barrier()
    dist.destroy_process_group()


def rank_metadata(root):
    ranks = 2
    case = Case(root, "torch/dcp-rank-metadata", f"dcp.save with use_collectives=False, {ranks} ranks, gloo")
    torch.multiprocessing.spawn(rank_metadata_worker, (ranks, case.target, 29517), nprocs=ranks)
    files = set().union(*(files_of(case, "scaler.", f"__{rank}.metadata") for rank in range(ranks)))
    case.scaler("torch", "scaler", torch_scaler(), TORCH_ROLES, files, "own_rank")
    case.done()


class Inverting(StreamTransformExtension):
    """Every byte's bits turned round: a transform that any reader must undo."""

    @staticmethod
    def from_descriptor(version):
        return Inverting()

    @staticmethod
    def registry_name():
        return "stream.inverting"

    def get_descriptor(self):
        return "stream.inverting/1"

    def transform_to(self, output):
        class Stream:
            def write(self, data):
                output.write(bytes(b ^ 0xff for b in bytes(data)))
                return len(data)

            def flush(self):
                output.flush()

            def close(self):
                pass
        return Stream()

    def transform_from(self, input):
        return input


def transformed(root):
    case = Case(root, "torch/dcp-transformed", "dcp.save with a stream transform of our own", expect="warn")
    ExtensionRegistry().register(Inverting)
    save({"model": model(), "scaler": torch_scaler()}, case.target, _extensions=[Inverting()])
    case.truth["notes"] = "its items cannot be read without the transform, and must not be edited"
    case.done()


# ---- trainers -------------------------------------------------------------------------------------------------------

def accelerate_fsdp(root):
    case = Case(root, "accelerate/fsdp_sharded", "the layout of accelerator.save_state with FSDP, SHARDED_STATE_DICT",
                target="state", container="torch_zip")
    save({"model": model()}, case.target / "pytorch_model_fsdp_0")
    save({"optimizer": {"state": {"stem.weight": {"step": torch.tensor(3.0)}}}}, case.target / "optimizer_0")
    torch.save(torch_scaler(), case.target / "scaler.pt")
    case.scaler("torch", "", torch_scaler(), TORCH_ROLES, {"state/scaler.pt"})
    case.done()


def lightning_fsdp(root):
    case = Case(root, "lightning/fsdp_sharded", "the layout of ModelCheckpoint with FSDPStrategy(state_dict_type='sharded')",
                target="last.ckpt", container="torch_zip")
    save({"model": model(), "optimizer_0": {"state": {"stem.weight": {"step": torch.tensor(3.0)}}}}, case.target)
    torch.save({"epoch": 1, "global_step": 20, "FSDPPrecision": torch_scaler()}, case.target / "meta.pt")
    case.scaler("torch", "FSDPPrecision", torch_scaler(), TORCH_ROLES, {"last.ckpt/meta.pt"})
    case.done()


# ---- Megatron-core --------------------------------------------------------------------------------------------------

def megatron(root, name, writer, objects, **more):
    """A torch_dist checkpoint: tensors, sharded objects under their literal keys, each a list of one, metadata.json."""
    case = Case(root, f"megatron/{name}", f"torch's DCP writer, with the keys of {writer}", target="ckpt/iter_0000005", **more)
    tensors = {"decoder.final_layernorm.weight": torch.ones(4)}
    save({**tensors, **{key: [value] for key, value in objects.items()}}, case.target, flatten=False)
    (case.target / "metadata.json").write_text('{"sharded_backend": "torch_dist", "sharded_backend_version": 1}')
    (case.target.parent / "latest_checkpointed_iteration.txt").write_text("5")
    return case


def group_key(group, prefix=""):
    return f"{prefix}optimizer.distributed.dp_group_idx_{group}.grad_scaler/shard_0_1"


def two_groups(root):
    keys = [group_key(0), group_key(1)]
    case = megatron(root, "dist_two_groups", "DistributedOptimizer's dp_reshardable state, two data-parallel groups",
                    {key: megatron_scaler() for key in keys} | {"common_state/shard_0_1": {"iteration": 5}})
    for key in keys:
        case.scaler("megatron", f"{key}[0]", megatron_scaler(), MEGATRON_ROLES, files_of(case, key), "rank_group")
    case.done()


def chained_groups(root):
    keys = [group_key(0, "chained_0."), group_key(0, "chained_1.")]
    case = megatron(root, "dist_chained_groups", "ChainedOptimizer over DistributedOptimizers",
                    {key: megatron_scaler(scale) for key, scale in zip(keys, (32768.0, 8192.0))})
    for key, scale in zip(keys, (32768.0, 8192.0)):
        case.scaler("megatron", f"{key}[0]", megatron_scaler(scale), MEGATRON_ROLES, files_of(case, key), "rank_group")
    case.done()


def common_beside(root):
    case = megatron(root, "dist_common_beside", "Float16Optimizer, and a common.pt of an older core beside",
                    {"common_state/shard_0_1": {"optimizer": {"grad_scaler": megatron_scaler(512.0)}}})
    torch.save({"optimizer": {"grad_scaler": megatron_scaler(4096.0)}, "iteration": 5}, case.target / "common.pt")
    case.scaler("megatron", "common_state/shard_0_1[0].optimizer.grad_scaler", megatron_scaler(512.0), MEGATRON_ROLES,
                files_of(case, "common_state/"), "no_rank")
    case.truth["notes"] = "Megatron loads common.pt (scale 4096) where there is one"
    case.scaler("megatron", "optimizer.grad_scaler", megatron_scaler(4096.0), MEGATRON_ROLES,
                {"ckpt/iter_0000005/common.pt"})
    case.truth["scalers"][-1]["container"] = "torch_zip"
    case.done()


def zarr(root):
    case = Case(root, "megatron/dist_zarr", "torch.save and plain bytes, in the layout of Megatron-core's zarr backend",
                target="ckpt/iter_0000005", container="torch_zip")
    torch.save({"optimizer": {"grad_scaler": megatron_scaler()}, "iteration": 5}, case.target / "common.pt")
    for key in ("decoder.final_layernorm.weight", "optimizer.state.exp_avg.decoder.final_layernorm.weight"):
        (case.target / key).mkdir()
        (case.target / key / ".zarray").write_text(json.dumps(
            {"chunks": [4], "compressor": None, "dtype": "<f4", "fill_value": None, "filters": None, "order": "C",
             "shape": [4], "zarr_format": 2}))
        (case.target / key / "0").write_bytes(torch.ones(4).numpy().tobytes())
    (case.target / "metadata.json").write_text(
        '{"sharded_backend": "zarr", "sharded_backend_version": 1, "common_backend": "torch", "common_backend_version": 1}')
    (case.target.parent / "latest_checkpointed_iteration.txt").write_text("5")
    case.scaler("megatron", "optimizer.grad_scaler", megatron_scaler(), MEGATRON_ROLES, {"ckpt/iter_0000005/common.pt"})
    case.done()


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("folder", type=pathlib.Path)
    root = ask.parse_args().folder.resolve()
    for make in (safetensors_tensors, unflattened, protocols, rank_metadata, transformed, accelerate_fsdp, lightning_fsdp,
                 two_groups, chained_groups, common_beside, zarr):
        make(root)


if __name__ == "__main__":
    sys.exit(main())
