#!/usr/bin/env python3
"""Write a large distributed checkpoint as torch.distributed.checkpoint lays it out, without torch or the disk space.

    make_distributed.py FOLDER [--items 20000] [--ranks 8] [--bytes 400000000000] [--scaler-files 1]

Parameters, Adam's step and two moments for each, spread over the files of the ranks, and a GradScaler's five values.
Tensors are holes: the files occupy a few kilobytes. torch reads the metadata and the scaler,
whose values it spreads over the files of several ranks.
"""
import argparse
import collections
import io
import pathlib
import pickle
import sys
import types
import zipfile

SCALER = {"scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 1234}
SHAPE = (8192, 1024)


def stand_in(module, name, **members):
    """A class of that module and name: all that a pickle says of one."""
    made = type(name, (), {"__module__": module, "__qualname__": name, **members})
    sys.modules.setdefault(module, types.ModuleType(module)).__dict__[name] = made
    return made


def attributes(self, **fields):
    self.__dict__.update(fields)


METADATA = "torch.distributed.checkpoint.metadata"
Metadata, TensorStorageMetadata, ChunkStorageMetadata, BytesStorageMetadata, MetadataIndex, StorageMeta = (
    stand_in(METADATA, name, __init__=attributes)
    for name in ("Metadata", "TensorStorageMetadata", "ChunkStorageMetadata", "BytesStorageMetadata", "MetadataIndex",
                 "StorageMeta"))
StorageInfo = stand_in("torch.distributed.checkpoint.filesystem", "_StorageInfo", __init__=attributes)
Size = stand_in("torch", "Size", __init__=lambda self, *sizes: setattr(self, "sizes", sizes),
                __reduce__=lambda self: (Size, (self.sizes,)))


class Named:
    """A function or value that a pickle names, and perhaps calls."""

    def __init__(self, module, name, *arguments):
        self.module, self.name, self.arguments = module, name, arguments

    def __reduce__(self):
        function = sys.modules.setdefault(self.module, types.ModuleType(self.module)).__dict__.setdefault(
            self.name, type(self.name, (), {"__module__": self.module, "__qualname__": self.name}))
        return function, self.arguments


FLOAT32 = stand_in("torch", "float32")
PROPERTIES = (FLOAT32, Named("torch.serialization", "_get_layout", "torch.strided"), False,
              Named(METADATA, "_MEM_FORMAT_ENCODING", 0), False, (1024, 1))
TensorProperties = stand_in(METADATA, "TensorProperties", __getstate__=lambda self: PROPERTIES,
                            __setstate__=lambda self, state: None)


def stored_value(value):
    """What torch.save makes of a number."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(value, 2))
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/version", "3\n")
    return stream.getvalue()


def make(folder, items, ranks, size, scaler_files):
    folder.mkdir(parents=True, exist_ok=True)
    metadata = Metadata(state_dict_metadata={}, planner_data={}, storage_data={},
                        storage_meta=StorageMeta(checkpoint_id=None, save_id="bench", load_id=None, modules=[]), version="1.0.0")
    ends = collections.Counter()

    def add(key, path, file, length, is_tensor):
        offset = {"offset": Size(0, 0)} if is_tensor else {}
        metadata.planner_data[key] = path
        metadata.storage_data[MetadataIndex(fqn=key, index=0 if is_tensor else None, **offset)] = StorageInfo(
            relative_path=file, offset=ends[file], length=length)
        metadata.state_dict_metadata[key] = TensorStorageMetadata(
            properties=TensorProperties(), size=Size(*SHAPE),
            chunks=[ChunkStorageMetadata(offsets=Size(0, 0), sizes=Size(*SHAPE))]) if is_tensor else BytesStorageMetadata()
        ends[file] += length

    files = [f"__{rank}_0.distcp" for rank in range(ranks)]
    for number, (name, value) in enumerate(SCALER.items()):  # objects come first in a file
        blob, own = stored_value(value), files[number % scaler_files]
        with open(folder / own, "ab") as file:
            file.write(blob)
        add(f"scaler.{name}", ("scaler", name), own, len(blob), False)
    tensors = items - len(SCALER)
    for number in range(tensors):
        parameter, part = divmod(number, 4)
        name = f"layers.{parameter // 10}.block.{parameter % 10}.weight"
        path = [("model", name), *(("optim", f"state.{name}.{what}") for what in ("step", "exp_avg", "exp_avg_sq"))][part]
        add(".".join(path), path, files[number % ranks], size // tensors, True)
    for file in files:
        with open(folder / file, "ab") as stream:
            stream.truncate(ends[file])
    (folder / ".metadata").write_bytes(pickle.dumps(metadata, 4))


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("folder", type=pathlib.Path)
    ask.add_argument("--items", type=int, default=20_000)
    ask.add_argument("--ranks", type=int, default=8)
    ask.add_argument("--bytes", type=int, default=400_000_000_000)
    ask.add_argument("--scaler-files", type=int, default=1)
    options = ask.parse_args()
    make(options.folder, options.items, options.ranks, options.bytes, options.scaler_files)


if __name__ == "__main__":
    main()
