#!/usr/bin/env python3
"""Write a model whose layers carry TransformerEngine's FP8 state, as torch.save lays it out, without either of them.

    make_fp8.py FILE [--layers 2000] [--history 1024]

Each layer has a small weight and an `_extra_state` as TransformerEngine 2.x makes it: a pickle (protocol 4) in a uint8
tensor, its tensors streams of torch.save. Numbers are pseudo-random, the same in every run.
"""
import argparse
import array
import collections
import io
import pickle
import random
import struct
import sys
import types

from make_checkpoint import Archive, Pickler, Tensor, stand_in_for_torch

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
SYSTEM = {"protocol_version": PROTOCOL, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
VARIABLES = {"fp8_checkpoint": True, "num_gemms": 1, "fp8_max_fwd": 448, "fp8_max_bwd": 57344}


class Streamed:
    """A float32 tensor that is pickled without torch.save."""

    def __init__(self, values, shape):
        self.values, self.shape = array.array("f", values), shape

    def __reduce__(self):
        strides = (self.shape[1], 1) if len(self.shape) == 2 else (1,)
        arguments = (Stream(self), 0, self.shape, strides, False, collections.OrderedDict())
        return sys.modules["torch._utils"]._rebuild_tensor_v2, arguments


class Stream:
    def __init__(self, tensor):
        self.tensor = tensor

    def __reduce__(self):
        return sys.modules["torch.storage"]._load_from_bytes, (self.written(),)

    def written(self):
        """As torch wrote files before 1.6."""
        out = io.BytesIO()
        for part in (MAGIC, PROTOCOL, SYSTEM):
            pickle.dump(part, out, protocol=2)
        StreamPickler(out, protocol=2).dump(self)
        pickle.dump(["94000000000001"], out, protocol=2)
        out.write(struct.pack("<Q", len(self.tensor.values)) + self.tensor.values.tobytes())
        return out.getvalue()


class StreamPickler(pickle.Pickler):
    def persistent_id(self, thing):
        if isinstance(thing, Stream):
            return ("storage", sys.modules["torch"].FloatStorage, "94000000000001", "cpu", len(thing.tensor.values), None)
        return None


class Payload(Tensor):
    """The uint8 tensor with a layer's state."""

    def __init__(self, key, content):
        super().__init__(key, (len(content),))
        self.content = content


class OuterPickler(Pickler):
    def persistent_id(self, thing):
        told = super().persistent_id(thing)
        if told is not None and isinstance(thing.tensor, Payload):
            return (told[0], sys.modules["torch"].ByteStorage, *told[2:])
        return told


def stand_in_for_transformer_engine():
    torch = sys.modules["torch"]
    torch.ByteStorage = type("ByteStorage", (), {"__module__": "torch"})
    storage, recipe = types.ModuleType("torch.storage"), types.ModuleType("transformer_engine.common.recipe")

    def _load_from_bytes():
        raise NotImplementedError

    _load_from_bytes.__module__, _load_from_bytes.__qualname__ = "torch.storage", "_load_from_bytes"
    storage._load_from_bytes = _load_from_bytes
    torch.storage = storage
    for name in ("DelayedScaling",):
        setattr(recipe, name, type(name, (), {"__module__": recipe.__name__}))
    sys.modules.update({"torch.storage": storage, recipe.__name__: recipe,
                        "transformer_engine": types.ModuleType("transformer_engine"),
                        "transformer_engine.common": types.ModuleType("transformer_engine.common")})


def state_of(dice, history):
    def amaxes(columns):
        return Streamed([0.0] * columns + [dice.lognormvariate(0, 2) for _ in range((history - 1) * columns)],
                        (history, columns))

    def scales(columns):
        return Streamed([dice.lognormvariate(0, 2) for _ in range(columns)], (columns,))

    recipe = sys.modules["transformer_engine.common.recipe"].DelayedScaling()
    recipe.__dict__.update(margin=0, amax_history_len=history, amax_compute_algo="max", reduce_amax=True)
    return {"recipe": recipe, "scale_fwd": scales(3), "amax_history_fwd": amaxes(3), "scale_bwd": scales(2),
            "amax_history_bwd": amaxes(2), "extra_fp8_variables": VARIABLES}


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("file")
    ask.add_argument("--layers", type=int, default=2000)
    ask.add_argument("--history", type=int, default=1024)
    options = ask.parse_args()
    stand_in_for_torch()
    stand_in_for_transformer_engine()
    dice, model, records = random.Random(1), collections.OrderedDict(), []
    for layer in range(options.layers):
        weight = Tensor(len(records), (16, 16))
        records.append(bytes(4 * weight.count))
        state = Payload(len(records), pickle.dumps(state_of(dice, options.history), protocol=4))
        records.append(state.content)
        model[f"layers.{layer}.weight"], model[f"layers.{layer}._extra_state"] = weight, state
    pickled = io.BytesIO()
    OuterPickler(pickled, protocol=2).dump(model)
    with open(options.file, "wb") as file:
        archive = Archive(file, "model")
        archive.add("data.pkl", pickled.getvalue())
        archive.add(".format_version", b"1")
        archive.add(".storage_alignment", b"64")
        archive.add("byteorder", b"little")
        for key, content in enumerate(records):
            archive.add(f"data/{key}", content)
        archive.add("version", b"3\n")
        archive.add(".data/serialization_id", b"0" * 40)
        archive.close()


if __name__ == "__main__":
    main()
