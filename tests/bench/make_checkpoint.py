#!/usr/bin/env python3
"""Write a large training checkpoint as torch.save lays it out, without torch and without the disk space.

    make_checkpoint.py FILE [--parameters 1200] [--bytes 4400000000]

A transformer's parameters, Adam's two moments for each, and a GradScaler's state: {"model", "optimizer", "scaler",
"epoch", "global_step"}. Every storage is a record of its own, all zeros and sparse: the file occupies a few megabytes.
Records beyond 4 GiB have the zip64 fields that torch's writer gives them. torch.load reads the file.
"""
import argparse
import collections
import io
import pickle
import struct
import sys
import types
import zlib

ALIGNMENT = 64
FULL32 = 0xFFFFFFFF
SCALER = {"scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 1234}


class Tensor:
    """What a pickle says of a contiguous float32 tensor that has a storage of its own."""

    def __init__(self, key, shape):
        self.key, self.shape = key, shape
        self.count = 1
        for size in shape:
            self.count *= size

    def __reduce__(self):
        strides, step = [], 1
        for size in reversed(self.shape):
            strides.insert(0, step)
            step *= size
        arguments = (Storage(self), 0, self.shape, tuple(strides), False, collections.OrderedDict())
        return sys.modules["torch._utils"]._rebuild_tensor_v2, arguments


class Storage:
    def __init__(self, tensor):
        self.tensor = tensor


class Pickler(pickle.Pickler):
    def persistent_id(self, thing):
        if isinstance(thing, Storage):
            return ("storage", sys.modules["torch"].FloatStorage, str(thing.tensor.key), "cpu", thing.tensor.count)
        return None


def stand_in_for_torch():
    """Modules with the two names that the pickle mentions."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})

    def _rebuild_tensor_v2():
        raise NotImplementedError

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    torch._utils = utils
    sys.modules.update({"torch": torch, "torch._utils": utils})


def parameter_names(count):
    """Names as in a GPT: twelve a block."""
    parts = [f"{module}.{kind}" for module in ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")
             for kind in ("weight", "bias")]
    return [f"transformer.h.{i // len(parts)}.{parts[i % len(parts)]}" for i in range(count)]


def checkpoint(parameters, total_bytes):
    """-> (the object, its tensors in the order of their keys)"""
    elements = total_bytes // 4 // (3 * parameters)
    shape = (elements // 512, 512)
    tensors = [Tensor(key, shape) for key in range(3 * parameters)]
    model = collections.OrderedDict(zip(parameter_names(parameters), tensors))
    moments = {i: {"step": 4200, "exp_avg": tensors[parameters + 2 * i], "exp_avg_sq": tensors[parameters + 2 * i + 1]}
               for i in range(parameters)}
    group = {"lr": 3e-4, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1, "params": list(range(parameters))}
    state = {"model": model, "optimizer": {"state": moments, "param_groups": [group]}, "scaler": SCALER, "epoch": 3,
             "global_step": 4200}
    return state, tensors


class Archive:
    """A zip as torch's writer makes it: stored, aligned, data descriptors, zip64 fields only where they are needed."""

    def __init__(self, file, prefix):
        self.file, self.prefix, self.rows = file, prefix, []
        self.zeros = {}

    def add(self, name, content=None, zeros=0):
        name = f"{self.prefix}/{name}".encode()
        header, size = self.file.tell(), len(content) if content is not None else zeros
        crc = zlib.crc32(content) if content is not None else self.crc_of_zeros(zeros)
        wide = struct.pack("<HHQ", 1, 8, header) if header >= FULL32 else b""
        padding = -(header + 30 + len(name) + len(wide) + 4) % ALIGNMENT
        extra = wide + b"FB" + struct.pack("<H", padding) + b"Z" * padding
        self.file.write(struct.pack("<IHHHHHIIIHH", 0x04034B50, 0, 0x808, 0, 0, 0, 0, 0, 0, len(name), len(extra)))
        self.file.write(name + extra)
        self.file.write(content) if content is not None else self.file.seek(size, io.SEEK_CUR)
        self.file.write(struct.pack("<IIQQ" if wide else "<IIII", 0x08074B50, crc, size, size))
        self.rows.append(struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 0, 0, 0x808, 0, 0, 0, crc, size, size, len(name),
                                     len(wide), 0, 0, 0, 0, min(header, FULL32)) + name + wide)

    def crc_of_zeros(self, count):
        if count not in self.zeros:
            crc, block = 0, bytes(1 << 20)
            for at in range(0, count, len(block)):
                crc = zlib.crc32(block[: count - at], crc)
            self.zeros[count] = crc
        return self.zeros[count]

    def close(self):
        directory, start, count = b"".join(self.rows), self.file.tell(), len(self.rows)
        self.file.write(directory)
        self.file.write(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 0, 0, 0, 0, count, count, len(directory), start))
        self.file.write(struct.pack("<IIQI", 0x07064B50, 0, start + len(directory), 1))
        self.file.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, min(count, 0xFFFF), min(count, 0xFFFF),
                                    min(len(directory), FULL32), min(start, FULL32), 0))


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("file")
    ask.add_argument("--parameters", type=int, default=1200)
    ask.add_argument("--bytes", type=int, default=4_400_000_000)
    options = ask.parse_args()
    stand_in_for_torch()
    state, tensors = checkpoint(options.parameters, options.bytes)
    pickled = io.BytesIO()
    Pickler(pickled, protocol=2).dump(state)
    with open(options.file, "wb") as file:
        archive = Archive(file, "checkpoint")
        archive.add("data.pkl", pickled.getvalue())
        archive.add(".format_version", b"1")
        archive.add(".storage_alignment", b"64")
        archive.add("byteorder", b"little")
        for tensor in tensors:
            archive.add(f"data/{tensor.key}", zeros=4 * tensor.count)
        archive.add("version", b"3\n")
        archive.add(".data/serialization_id", b"0" * 40)
        archive.close()


if __name__ == "__main__":
    main()
