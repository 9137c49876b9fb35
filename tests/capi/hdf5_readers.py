#!/usr/bin/env python3
"""Opens states that tare wrote as HDF5 with h5py and h5dump, and compares every value; and reads with tare what h5py wrote or
changed, which it tells to be another's.

    hdf5_readers.py LIBTARE REPOSITORY          exit 77 where h5py or h5dump is not installed
"""
import ctypes.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True
try:
    import h5py
    shares_libhdf5 = not (pathlib.Path(h5py.__file__).parents[1] / "h5py.libs").exists()  # PyPI's has one of its own
except ImportError:
    shares_libhdf5 = False
if not shares_libhdf5:  # Debian's h5py belongs to Debian's Python
    if sys.executable == "/usr/bin/python3" or not pathlib.Path("/usr/bin/python3").exists():
        print("no h5py that shares libhdf5 with tare: not run")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
import numpy

library, root = sys.argv[1:]
if shutil.which("h5dump") is None:
    print("no h5dump: not run")
    sys.exit(77)
sys.path.insert(0, f"{root}/capi/examples")
import tare

tare.open_library(library)
ROWS, COLUMNS = 10000, 1024
ZSTD = 32015
differences = []


def compare(what, got, wanted):
    if got != wanted:
        differences.append(f"{what}: {got!r}, not {wanted!r}")


def write(state, folder, compression):
    path = folder / f"{compression}.h5"
    state.write(str(path), json.dumps({"compression": compression}))
    return path


def plain(dataset):
    """A dataset's value as JSON has it."""
    if dataset.shape is None:
        return None
    if dataset.dtype.kind == "S":
        texts = dataset.asstr()[()]
        return texts if isinstance(texts, str) else list(texts)
    value = dataset[()]
    return value.tolist() if isinstance(value, numpy.ndarray) else value.item()


def as_json(dataset):
    value = plain(dataset)
    return json.loads(value) if dataset.attrs.get("kind") == "json" else value


def dumped(path, dataset, kind):
    """The numbers of a dataset as h5dump writes them to a file, byte for byte."""
    out = path.with_suffix(".raw")
    subprocess.run(["h5dump", "-d", dataset, "-b", "LE", "-o", out, path], check=True, capture_output=True)
    return numpy.fromfile(out, kind)


def small_state(folder):
    """Every kind of value, each under its name, with its role and unit."""
    scaler = tare.Scaler('{"policy":"mindformers_adaptive"}')
    text = json.loads(scaler.save().json())
    text["later"] = {"nothing": None, "nested": [1, {"a": "b"}]}
    text.update(flag=True, words=["layer.0", "größer"], rows=[[1.5, 2.0], [0.1, -0.0]], none=None, integer=-(2**63), blank="")
    state = tare.State.from_json(json.dumps(text))
    wanted = json.loads(state.json())
    for compression in ("none", "gzip", "zstd"):
        path = write(state, folder, compression)
        with h5py.File(path, "r") as file:
            compare("schema", file.attrs["schema"], "tare.state/1")
            compare("policy", file.attrs["policy"], "mindformers_adaptive")
            for section in ("params", "fields", "statistics"):
                got = {name: as_json(dataset) for name, dataset in file[section].items()}
                compare(section, got, wanted[section])
            others = {name: as_json(dataset) for name, dataset in file["other"].items()}
            compare("other", others, {name: text[name] for name in text if name not in
                                      ("schema", "policy", "params", "fields", "roles", "roles_crc32", "statistics")})
            scale = file["fields/scale_sense"]
            compare("the scale's attributes", dict(scale.attrs), {"role": "scale", "units": "1"})
            compare("a step counter's unit", file["statistics/steps"].attrs["units"], "steps")
        shown = subprocess.run(["h5dump", "-d", "/other/integer", path], check=True, capture_output=True, text=True).stdout
        compare("h5dump", "(0): -9223372036854775808" in shown, True)
        compare("h5dump of the scale", dumped(path, "/fields/scale_sense", "<f8").tolist(), [wanted["fields"]["scale_sense"]])
        compare("read back", json.loads(tare.State.read(str(path)).json()), wanted)


def unpacked(dataset):
    """What a reader with a zstd plugin makes of the chunks: the stored frames, by libzstd itself, then unshuffled."""
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    zstd.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    size = dataset.dtype.itemsize
    chunk = int(numpy.prod(dataset.chunks)) * size
    plain_chunk = ctypes.create_string_buffer(chunk)
    rows = []
    for i in range(dataset.id.get_num_chunks()):
        info = dataset.id.get_chunk_info(i)
        mask, frame = dataset.id.read_direct_chunk(info.chunk_offset)
        compare("filters left out of a chunk", mask, 0)
        compare("bytes of a chunk", zstd.ZSTD_decompress(plain_chunk, chunk, frame, len(frame)), chunk)
        planes = numpy.frombuffer(plain_chunk.raw, numpy.uint8).reshape(size, -1)
        rows.append(numpy.ascontiguousarray(planes.T).view(dataset.dtype).reshape(dataset.chunks))
    return numpy.concatenate(rows)[: dataset.shape[0]]


def told(path):
    """What tare says of a state that it reads."""
    state = tare.State.read(str(path))
    return [finding["code"] for finding in json.loads(tare._text("state_findings", state.handle))["findings"]]


def seal(path):
    """Puts in the checksum that the file's bytes have now."""
    image = bytearray(path.read_bytes())
    digits = slice(image.index(b"crc32:") + 6, image.index(b"crc32:") + 14)
    image[digits] = b"00000000"
    image[digits] = f"{zlib.crc32(image):08x}".encode()
    path.write_bytes(image)


def h5py_file(folder):
    """A state that h5py alone wrote."""
    path = folder / "h5py.h5"
    with h5py.File(path, "w") as file:
        file.attrs.update(schema=numpy.bytes_("tare.state/1"), policy="torch")
        file.create_group("fields").update(scale=1024.0)
    compare("h5py's file", told(path), ["checksum-differs"])
    compare("h5py's scale", json.loads(tare.State.read(str(path)).json())["fields"]["scale"], 1024.0)


def history_state(folder, history, names):
    """A state with this history: of slots that tare made, with other values in its file."""
    config = json.dumps({"policy": "transformer_engine", "variant": "unfused", "slots": names, "amax_history_len": COLUMNS})
    handle = ctypes.c_void_p()
    compare("tare_fp8_create", tare._library.tare_fp8_create(ctypes.byref(handle), config.encode(), None), 0)
    saved = ctypes.c_void_p()
    compare("tare_fp8_save", tare._library.tare_fp8_save(ctypes.byref(saved), handle, None, None), 0)
    tare._library.tare_fp8_destroy(handle)
    path = write(tare.State(saved), folder, "none")
    with h5py.File(path, "r") as file:
        begin = file["fields/amax_history"].id.get_offset()
    with path.open("r+b") as file:
        file.seek(begin)
        file.write(history.tobytes())
    compare("a changed file", told(path), ["checksum-differs"])
    seal(path)
    compare("a sealed file", told(path), [])
    return tare.State.read(str(path))


def bare_h5py(path, history):
    """h5py in a process that never saw tare, and without plugins, reads what is written where nothing is asked for."""
    wanted = path.with_suffix(".npy")
    numpy.save(wanted, history)
    script = ("import sys, h5py, numpy; "
              "sys.exit(not (h5py.File(sys.argv[1])['fields/amax_history'][()] == numpy.load(sys.argv[2])).all())")
    done = subprocess.run([sys.executable, "-c", script, path, wanted], capture_output=True, text=True,
                          env={**os.environ, "HDF5_PLUGIN_PATH": str(path.parent / "none")})
    compare("the default as h5py alone reads it", (done.returncode, done.stderr), (0, ""))


def packed_history(folder):
    """10,000 tensors' histories of 1,024 in one dataset, through tare to each reader."""
    history = numpy.random.default_rng(0).random((ROWS, COLUMNS), numpy.float32)  # what packs to next to nothing is left as it is
    names = [f"layers.{i}.weight" for i in range(ROWS)]
    state = history_state(folder, history, names)
    state.write(str(folder / "default.h5"))
    bare_h5py(folder / "default.h5", history)
    for compression, filters in (("none", []), ("gzip", [2, 1]), ("zstd", [2, ZSTD])):
        path = write(state, folder, compression)
        with h5py.File(path, "r") as file:
            dataset = file["fields/amax_history"]
            compare("datasets", sorted(file["fields"]), ["amax_history", "scale"])
            creation = dataset.id.get_create_plist()
            compare("filters", [creation.get_filter(i)[0] for i in range(creation.get_nfilters())], filters)
            compare("names", plain(file["params/slots"]), names)
            # tare made its zstd filter known to this process's HDF5: h5py has it too.
            compare(f"history, {compression}", bool((dataset[()] == history).all()), True)
            if compression == "zstd":
                compare("history, by libzstd", bool((unpacked(dataset) == history).all()), True)
                continue
        compare(f"history, {compression}, h5dump", bool((dumped(path, "/fields/amax_history", "<f4") == history.ravel()).all()), True)


with tempfile.TemporaryDirectory() as scratch:
    small_state(pathlib.Path(scratch))
    h5py_file(pathlib.Path(scratch))
    packed_history(pathlib.Path(scratch))
print("\n".join(differences) or f"h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}: every value as written")
sys.exit(1 if differences else 0)
