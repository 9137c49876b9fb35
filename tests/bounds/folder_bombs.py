"""Bombs of several files: databases, bundles and shards that name the same bytes again and again, and many files."""

import json
import struct

from blocks import PROTO, SCALER, archive, crc32c, listed, many, shape, text, times, varint, zstd_of, zstd_runs
from hdf5_bombs import File, group, header, heap, tree_of

ZARRAY = {"zarr_format": 2, "dtype": "|u1", "order": "C", "filters": None, "fill_value": None}


def zarray(shape, compressor=None):
    return json.dumps({**ZARRAY, "shape": shape, "chunks": shape, "compressor": compressor}).encode()


# ---- zarr

@shape("zarr_unpacking")
def zarr_unpacking(size):
    """Chunks of zeros, 32 MiB each."""
    files = {"_METADATA": b"{}"}
    frame = zstd_of(b"\0", 32 << 20)
    for i in range(max(1, min(1000, size // (len(frame) + 300)))):
        files[f"l{i}.kernel_scale/.zarray"] = zarray([32 << 20], {"id": "zstd"})
        files[f"l{i}.kernel_scale/0"] = frame
    return files


@shape("zarr_documents")
def zarr_documents(size):
    """Documents of empty lists."""
    files = {"_METADATA": b"{}"}
    for i in range(max(1, size // 1_000_000)):
        rest = min(size, 1_000_000) - 20
        files[f"l{i}.kernel_scale/.zarray"] = b'{"a":[' + b"[]," * (rest // 3) + b"[]]}"
    return files


@shape("zarr_small_arrays")
def zarr_small_arrays(size):
    files = {"_METADATA": b"{}"}
    for i in range(max(1, min(3000, size // 200))):
        files[f"l{i}.kernel_scale/.zarray"] = zarray([1])
        files[f"l{i}.kernel_scale/0"] = b"\1"
    return files


@shape("zarr_metadata")
def zarr_metadata(size):
    return {"_METADATA": b'{"tree_metadata":{"a":{"key_metadata":[' + b"{}," * (size // 3) + b"{}]}}}",
            "l.kernel_scale/.zarray": zarray([]).replace(b"|u1", b"<i8"), "l.kernel_scale/0": bytes(8)}


# ---- OCDBT

NODE, MANIFEST = 0x0CDB20DE, 0x0CDB3A2A


def envelope(magic, body, is_zstd=False):
    rest = varint(0) + varint(int(is_zstd)) + body
    whole = struct.pack(">I", magic) + struct.pack("<Q", 12 + len(rest) + 4) + rest
    return whole + struct.pack("<I", crc32c(whole))


def files_table(paths):
    """Paths that share their beginnings with the one before: (bytes shared, the others)."""
    return (varint(len(paths)) + b"".join(varint(kept) for kept, _ in paths[1:]) +
            b"".join(varint(len(own)) for _, own in paths) + varint(0) * len(paths) + b"".join(own for _, own in paths))


def manifest(root_size, height=0):
    configuration = bytes(16) + varint(0) + varint(100) + varint(1 << 20) + bytes([4]) + varint(0)
    version = (varint(1) + varint(1) + bytes([height]) + varint(0) + varint(0) + varint(root_size) + varint(1) +
               varint(root_size) + varint(0) + bytes(8))
    return envelope(MANIFEST, configuration + files_table([(0, b"d/0")]) + version)


def leaf_body(keys, values, places=(), files=((0, b"d/0"),)):
    """Keys as files_table has paths; the values in it, or (offset, size) in a data file."""
    sizes = [len(value) for value in values] + [size for _, size in places]
    return (bytes([0]) + files_table(list(files)) + varint(len(keys)) + b"".join(varint(kept) for kept, _ in keys[1:]) +
            b"".join(varint(len(own)) for _, own in keys) + b"".join(own for _, own in keys) +
            b"".join(varint(size) for size in sizes) + bytes(len(values)) + b"\1" * len(places) +
            varint(0) * len(places) + b"".join(varint(offset) for offset, _ in places) + b"".join(values))


def keys_of(names):
    return [(0, name.encode()) for name in sorted(names)]


def database(data, root_size=None, height=0):
    return {"manifest.ocdbt": manifest(root_size or len(data), height), "d/0": data}


@shape("ocdbt_unpacking")
def ocdbt_unpacking(size):
    """A node of 250 MB of zeros."""
    return database(envelope(NODE, zstd_of(b"\0", min(250 << 20, size * 20000)), True))


@shape("ocdbt_columns")
def ocdbt_columns(size):
    """A node that names millions of files, all by one path of a hundred bytes."""
    count = min(1000 * size, 10_000_000)
    table = zstd_runs([(b"\0" + varint(count), 1), (b"d", count - 1), (b"d", 1), (b"\0", count - 1), (b"\0", count),
                       (b"p" * 100, 1)])
    return database(envelope(NODE, table, True))


@shape("ocdbt_paths")
def ocdbt_paths(size):
    """A node that names files by paths of 4000 bytes that share all but one."""
    count = max(2, size // 8)
    return database(envelope(NODE, leaf_body([(0, b"a")], [b"x"], files=[(0, b"p" * 4000)] + [(3999, b"p")] * count)))


@shape("ocdbt_keys")
def ocdbt_keys(size):
    """Keys of 4000 bytes that share all but four of them."""
    count = max(2, min(size // 12, 300_000))
    keys = [(0, b"k" * 3990 + b"%06d" % 0)] + [(3990, b"%06d" % i) for i in range(1, count)]
    return database(envelope(NODE, leaf_body(keys, [b""] * count)))


@shape("ocdbt_same_bytes")
def ocdbt_same_bytes(size):
    """Every chunk stands in the same two megabytes."""
    count = max(2, min(20000, size // 400))
    length = size // 2
    document = zarray([length])
    keys, values = [], []
    for i in range(count):
        keys += [(0, b"l%05d.kernel_scale/.zarray" % i)]
    leaf = leaf_body(sorted(keys + [(0, b"l%05d.kernel_scale/0" % i) for i in range(count)], key=lambda key: key[1]), [],
                     [(0, len(document)), (200, length)][::1] * count)
    data = bytes(length + 200)
    data = document + data[len(document):]
    node = envelope(NODE, leaf)
    files = database(node)
    files["d/0"] = data + node
    files["manifest.ocdbt"] = manifest_at(len(data), len(node))
    return files


def manifest_at(offset, size):
    configuration = bytes(16) + varint(0) + varint(100) + varint(1 << 20) + bytes([4]) + varint(0)
    version = (varint(1) + varint(1) + bytes([0]) + varint(0) + varint(offset) + varint(size) + varint(1) +
               varint(size) + varint(0) + bytes(8))
    return envelope(MANIFEST, configuration + files_table([(0, b"d/0")]) + version)


@shape("ocdbt_same_document")
def ocdbt_same_document(size):
    """Every array has the same document, of a megabyte."""
    count = max(2, min(20000, size // 400))
    document = b'{"a":[' + b"[]," * (min(size, 1_000_000) // 3 - 10) + b"[]]}"
    leaf = leaf_body([(0, b"l%05d.kernel_scale/.zarray" % i) for i in range(count)], [], [(0, len(document))] * count)
    node = envelope(NODE, leaf)
    return {"manifest.ocdbt": manifest_at(len(document), len(node)), "d/0": document + node}


@shape("ocdbt_versions")
def ocdbt_versions(size):
    """A manifest of as many versions as unpack from it."""
    count = min(1_000_000, size * 100)
    configuration = bytes(16) + varint(0) + varint(100) + varint(1 << 20) + bytes([4]) + varint(1) + bytes(4)
    body = configuration + files_table([(0, b"d/0")]) + varint(count)
    return {"manifest.ocdbt": envelope(MANIFEST, zstd_runs([(body, 1), (b"\0", 16 * count)]), True), "d/0": b""}


# ---- TensorFlow

def block(rows):
    return b"".join(varint(kept) + varint(len(own)) + varint(len(value)) + own + value for kept, own, value in rows) + \
        struct.pack("<II", 0, 1)


def checked(body):
    crc = crc32c(body + b"\0")
    return body + b"\0" + struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def leveldb(rows):
    """Rows of (bytes of the key shared, the others, value), in one block."""
    data = block(rows)
    index = block([(0, b"\xff", varint(0) + varint(len(data)))])
    table = checked(data) + checked(index)
    handles = varint(0) + varint(0) + varint(len(data) + 5) + varint(len(index))
    return table + handles.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def bundle(entries, shards=1):
    return leveldb([(0, b"", b"\x08" + varint(shards))] + entries)


def entry(offset, size, shape):
    dims = b"".join(b"\x12\2\x08" + varint(dim) if dim < 128 else b"\x12" + varint(1 + len(varint(dim))) + b"\x08" +
                    varint(dim) for dim in shape)
    return b"\x08\4\x12" + varint(len(dims)) + dims + b"\x20" + varint(offset) + b"\x28" + varint(size) + b"\x35" + bytes(4)


@shape("tf_keys")
def tf_keys(size):
    """Keys of 60,000 bytes that share all but a few."""
    count = max(2, size // 30)
    rows = [(0, b"k" * 60000 + b"%07d" % 0, b"")] + [(60000, b"%07d" % i, b"") for i in range(1, count)]
    return {"ckpt-1.index": bundle(rows), "ckpt-1.data-00000-of-00001": b""}


@shape("tf_items")
def tf_items(size):
    count = max(2, size // 24)
    return {"ckpt-1.index": bundle([(0, b"%07d" % i, entry(0, 0, [])) for i in range(count)]),
            "ckpt-1.data-00000-of-00001": b"x"}


@shape("tf_same_bytes")
def tf_same_bytes(size):
    """Every item is the whole data file, as large as a field may be."""
    length = min(size // 2, 64 << 10)
    count = max(2, size // 2 // 60)
    rows = [(0, b"l%07d/kernel_scale/.ATTRIBUTES/VARIABLE_VALUE" % i, entry(0, length, [length])) for i in range(count)]
    return {"ckpt-1.index": bundle(rows), "ckpt-1.data-00000-of-00001": bytes(length)}


@shape("tf_shards")
def tf_shards(size):
    return {"ckpt-1.index": bundle([(0, b"a", entry(0, 4, []))], 131072), "ckpt-1.data-00000-of-131072": bytes(4)}


# ---- torch's distributed checkpoints

METADATA = b"ctorch.distributed.checkpoint.metadata\nMetadata\n)\x81"
INDEX = b"ctorch.distributed.checkpoint.metadata\nMetadataIndex\nr\1\0\0\x000"
INFO = b"ctorch.distributed.checkpoint.filesystem\n_StorageInfo\nr\2\0\0\x000"
WORDS = b"".join(text(word) + b"r" + struct.pack("<I", 3 + i) + b"0" for i, word in enumerate(
    ["fqn", "offset", "index", "relative_path", "length", "__0_0.distcp", "transform_descriptors"]))


def dcp(items, before=b""):
    """Items as (pickle of the key, offset, length, more of the info's state)."""
    rows = b"".join(
        b"h\1)\x81}(h\3" + key + b"h\4Nh\5NubH".replace(b"H", b"") +
        b"h\2)\x81}(h\6h\x08h\4J" + struct.pack("<i", offset) + b"h\7J" + struct.pack("<i", length) + more + b"ub"
        for key, offset, length, more in items)
    state = b"}(" + text("state_dict_metadata") + b"}" + text("planner_data") + b"N" + text("storage_data") + b"}(" + rows + b"uu"
    return PROTO + INDEX + INFO + WORDS + before + METADATA + state + b"b."


@shape("dcp_items")
def dcp_items(size):
    """As many items as there is room for."""
    one = b"\x80\2N."
    count = max(1, size // 55)
    return {".metadata": dcp([(b"\x8c\6%06d" % i, 4 * i, 4, b"") for i in range(count)]), "__0_0.distcp": one * count}


@shape("dcp_names")
def dcp_names(size):
    """Every item has the same long name."""
    before = text(b"n" * (size // 2)) + b"r" + struct.pack("<I", 99) + b"0"
    return {".metadata": dcp([(b"h\x63", 4 * i, 4, b"") for i in range(max(1, size // 120))], before),
            "__0_0.distcp": b"\x80\2N." * max(1, size // 120)}


@shape("dcp_transforms")
def dcp_transforms(size):
    """Every item went through the same long list."""
    before = b"(" + times(b"N", size // 3) + b"lr" + struct.pack("<I", 99) + b"0"
    count = max(1, size // 160)
    return {".metadata": dcp([(b"\x8c\6%06d" % i, 4 * i, 4, b"h\x09h\x63") for i in range(count)], before),
            "__0_0.distcp": b"\x80\2N." * count}


@shape("dcp_attributes")
def dcp_attributes(size):
    """What stands where is behind as many other attributes, of one dict, for each item."""
    count = max(1, size // 60)
    others = b"}(" + many(lambda i: b"J" + struct.pack("<i", i) + b"N", size // 3) + \
        b"h\3\x8c\1kh\4Nh\x05NuR"[:-1] + b"r" + struct.pack("<I", 98) + b"0"
    rows = b"".join(b"h\1)\x81h\x62b" + b"h\2)\x81}(h\6h\x08h\4K\0h\7K\4ub" for _ in range(count))
    state = b"}(" + text("planner_data") + b"N" + text("storage_data") + b"}(" + rows + b"uu"
    return {".metadata": PROTO + INDEX + INFO + WORDS + others + METADATA + state + b"b.", "__0_0.distcp": b"\x80\2N."}


@shape("dcp_zip_bombs")
def dcp_zip_bombs(size):
    one = archive([("a/data.pkl", listed(b"}" * (8 << 20)))])
    count = max(1, size // (len(one) + 60))
    return {".metadata": dcp([(b"\x8c\6%06d" % i, len(one) * i, len(one), b"") for i in range(count)]),
            "__0_0.distcp": one * count}


# ---- Keras's shards

def weights(links):
    file = File()
    names = heap(file, b"".join(b"%07d\0" % i for i in range(links)))
    leaf = file.add(header([]))
    return file.finish(file.add(group(tree_of(file, [(8 * i, leaf) for i in range(links)]), names)))


@shape("keras_shards")
def keras_shards(size):
    """Two shards of the same groups."""
    shard = weights(max(2, size // 100))
    names = ["m_00000.weights.h5", "m_00001.weights.h5"]
    return {"m.weights.json": json.dumps({"weight_map": {"a": names}}).encode(), **{name: shard for name in names}}


@shape("keras_same_shard")
def keras_same_shard(size):
    """One shard under as many names."""
    names = ["./" * i + "m_00000.weights.h5" for i in range(min(300, max(2, size // 1000)))]
    return {"m.weights.json": json.dumps({"weight_map": {"a": names}}).encode(),
            "m_00000.weights.h5": weights(max(2, size // 60))}


@shape("keras_map")
def keras_map(size):
    return {"m.weights.json": b'{"weight_map":{"a":[' + b",".join(b'"%x"' % i for i in range(size // 9)) + b"]}}"}


# ---- many files

@shape("files_zip_bombs")
def files_zip_bombs(size):
    one = archive([("a/data.pkl", listed(b"}" * (15 << 20)))])
    return {f"mp_rank_{i:02}_model_states.pt": one for i in range(max(1, size // len(one)))}


@shape("files_zip_scalers")
def files_zip_scalers(size):
    """Files that unpack to as many scalers as one may have."""
    one = archive([("a/data.pkl", listed(SCALER * 16000))])
    return {f"r{i}.pt": one for i in range(max(1, size // len(one)))}


@shape("files_pickles")
def files_pickles(size):
    return {f"r{i}.pt": listed(b"}" * 2000) for i in range(max(1, size // 2000))}


@shape("files_damaged")
def files_damaged(size):
    return {f"{i}.pt": b"\x80\2(" for i in range(min(8000, max(1, size // 3)))}


@shape("files_of_ranks")
def files_of_ranks(size):
    """Ranks that all disagree."""
    return {f"zero_pp_rank_{i}_mp_rank_00_optim_states.pt": PROTO + SCALER.replace(b"G@\xf0\0\0\0\0\0\0", b"G" + struct.pack(
        ">d", 1.0 + i)) + b"." for i in range(min(8000, max(1, size // 200)))}


@shape("files_metadata")
def files_metadata(size):
    return {f"__{i}_.metadata" if i % 2 else f"__{i}.metadata": b"\x80\2N." for i in range(min(8000, max(1, size // 4)))}


@shape("files_items")
def files_items(size):
    """Orbax items side by side."""
    return {f"i{i}/{name}": b"{}" for i in range(min(3000, max(1, size // 4))) for name in ("_METADATA", "_sharding")}


def paddle_variable(count):
    description = b"\x08\5\x10" + varint(count)
    return bytes(16) + struct.pack("<i", len(description)) + description + bytes(4 * count)


@shape("paddle_variables")
def paddle_variables(size):
    """A scaler's variables, of as many elements as there is room for."""
    return {name: paddle_variable(max(1, size // 16)) for name in ("loss_scaling_0", "num_bad_steps_0", "num_good_steps_0")}
