"""Bombs of modules with FP8 state: TransformerEngine's, a pickle in a tensor of bytes that many modules share."""
import pickle
import struct
import zipfile

from blocks import PROTO, archive, many, shape, text

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
DICT = b"ccollections\nOrderedDict\n)R"
REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n"


def number(n):
    return b"J" + struct.pack("<i", n)


def tensor(storage, count):
    return REBUILD + b"(" + storage + number(0) + number(count) + b"\x85" + number(1) + b"\x85\x89" + DICT + b"tR"


def stream(values):
    """A tensor that torch.save wrote into bytes."""
    head = b"".join(pickle.dumps(part, 2) for part in (MAGIC, PROTOCOL, {"protocol_version": PROTOCOL, "little_endian": True}))
    storage = PROTO + b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("1") + text("cpu") + number(len(values)) + b"NtQ."
    image = head + storage + pickle.dumps(["1"], 2) + struct.pack(f"<Q{len(values)}f", len(values), *values)
    return tensor(b"ctorch.storage\n_load_from_bytes\nB" + struct.pack("<I", len(image)) + image + b"\x85R", len(values))


def state():
    """Numbers that take much room as text."""
    long = [-1.2345678e-38]
    tensors = {"scale_fwd": long * 3, "amax_history_fwd": long * 9, "scale_bwd": long * 2, "amax_history_bwd": long * 6}
    recipe = {"margin": 0, "amax_history_len": 16, "amax_compute_algo": "max", "reduce_amax": True}
    others = {"fp8_checkpoint": True, "num_gemms": 1, "fp8_max_fwd": 448, "fp8_max_bwd": 57344}
    return (PROTO + b"}(" + text("recipe") + b"ctransformer_engine.common.recipe\nDelayedScaling\n)\x81" +
            pickle.dumps(recipe, 2)[2:-1] + b"b" + b"".join(text(key) + stream(values) for key, values in tensors.items()) +
            text("extra_fp8_variables") + pickle.dumps(others, 2)[2:-1] + b"u.")


@shape("fp8_shared_state.pt")
def shared_state(size):
    """As many as are read, within the share of a small file."""
    content = state()
    storage = b"(" + text("storage") + b"ctorch\nByteStorage\n" + text("0") + text("cpu") + number(len(content)) + b"tQ"
    modules = many(lambda i: text(b"%d._extra_state" % i) + tensor(storage, len(content)), min(size, 600_000))
    return archive([("a/data.pkl", PROTO + b"}(" + modules + b"u."), ("a/data/0", content), ("a/version", b"3\n")],
                   zipfile.ZIP_STORED)
