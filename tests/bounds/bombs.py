"""Files of at most SIZE bytes that ask for as much of a reader as they can: one function a shape, all deterministic.

    tests/bounds/bombs.py FOLDER [--size BYTES] [NAME...]     writes them, or those named
    tests/bounds/bombs.py --list
"""

import argparse
import base64
import io
import json
import pathlib
import pickle
import struct
import sys
import zipfile

sys.dont_write_bytecode = True
from blocks import (PROTO, SCALER, archive, commas, get, listed, many, put, safetensors, shape, shapes, text, times,
                    unpacked, varint)
import folder_bombs  # noqa: F401: their shapes are in the table, too
import fp8_bombs
import hdf5_bombs

# ---- pickles: one short opcode again and again

for name, unit in {
    "none": b"N", "true": b"\x88", "bytes1": b"K\1", "dicts": b"}", "lists": b"]", "tuples": b")", "sets": b"\x8f",
    "lists_memo": b"]\x94", "dict_of_one": b"}K\1Ns", "dict_in_list": b"]}a", "floats_text": b"F1\n",
    "ints_text": b"I1\n", "long1": b"\x8a\1\5", "texts": b"\x8c\0", "bytes": b"C\0", "persistent": b"NQ",
    "persistent_text": b"Px\n", "tuple1": b"N\x85", "globals_same": b"ca\nb\n", "frozen": b"(\x91", "bytearrays":
    b"\x96" + bytes(8), "inst": b"(ia\nb\n", "pop_mark": b"(1N",
}.items():
    shapes[f"pickle_{name}.pkl"] = lambda size, unit=unit: listed(times(unit, size - 6))

shapes["pickle_marks.pkl"] = lambda size: PROTO + b"(" * (size - 3) + b"."
shapes["pickle_stops.pkl"] = lambda size: PROTO + b"N." + b"." * (size - 4)
shapes["pickle_dup.pkl"] = lambda size: listed(b"]" + b"2" * (size - 7))
shapes["pickle_dup_dict.pkl"] = lambda size: listed(b"}" + b"2" * (size - 7))
shapes["pickle_frames.pkl"] = lambda size: listed(times(b"\x95" + bytes(8), size - 5))
shapes["pickle_deep_tuples.pkl"] = lambda size: PROTO + b")" + b"\x85" * (size - 4) + b"."
shapes["pickle_deep_lists.pkl"] = lambda size: PROTO + b"]" * (size // 2) + b"a" * (size // 2 - 1) + b"."
shapes["pickle_memo_far.pkl"] = lambda size: PROTO + b"]" + many(lambda i: put(0xffffffff - i), size - 5) + b"."
shapes["pickle_memo_text.pkl"] = lambda size: PROTO + b"]" + many(lambda i: b"p%d\n" % (10**17 + i), size - 5) + b"."
shapes["pickle_memo_step.pkl"] = lambda size: PROTO + b"]" + put(size - 10) + put((1 << 26) - 1) + b"." + bytes(size - 20)
shapes["pickle_call.pkl"] = lambda size: listed(b"ca\nb\n\x94" + times(b"h\0)R", size - 12))
shapes["pickle_new.pkl"] = lambda size: listed(b"ca\nb\n\x94" + times(b"h\0)\x81", size - 12))
shapes["pickle_build.pkl"] = lambda size: listed(b"ca\nb\n\x94" + times(b"h\0)\x81}b", size - 12))
shapes["pickle_dict_keys.pkl"] = lambda size: PROTO + b"}(" + many(lambda i: b"M" + struct.pack("<H", i & 0xffff) + b"N",
                                                                   size - 5) + b"u."
shapes["pickle_dict_wide.pkl"] = lambda size: PROTO + b"}(" + many(lambda i: b"J" + struct.pack("<i", i) + b"N",
                                                                   size - 5) + b"u."
shapes["pickle_dict_texts.pkl"] = lambda size: PROTO + b"}(" + many(lambda i: b"\x8c\5%05x" % (i & 0xfffff) + b"N",
                                                                    size - 5) + b"u."
shapes["pickle_globals.pkl"] = lambda size: listed(many(lambda i: b"ca%x\nb\n" % i, size - 5))
shapes["pickle_eval.pkl"] = lambda size: listed(many(
    lambda i: b"cbuiltins\neval\n" if i % 300 == 0 else b"ca%x\nb\n" % i, size // 4) + times(b"N", size - size // 4))
shapes["pickle_digits.pkl"] = lambda size: listed(times(b"I" + b"9" * 4300 + b"\n", size - 5))
shapes["pickle_long.pkl"] = lambda size: listed(times(b"\x8b" + struct.pack("<i", 2100) + b"\x7f" * 2100, size - 5))
shapes["pickle_huge_long.pkl"] = lambda size: PROTO + b"\x8b" + struct.pack("<i", size) + b"\x7f" * size + b"."
shapes["pickle_escapes.pkl"] = lambda size: listed(times(b"S'" + b"\\x41" * 1000 + b"'\n", size - 5))
shapes["pickle_scalers.pkl"] = lambda size: listed(times(
    b"}(" + text("scale") + b"G@\0\0\0\0\0\0\0" + text("growth_factor") + b"G@\0\0\0\0\0\0\0" + text("backoff_factor") +
    b"G?\xe0\0\0\0\0\0\0" + text("growth_interval") + b"M\xd0\7" + text("_growth_tracker") + b"K\0u", size - 5))


# ---- pickles: what is written once and met again and again

@shape("pickle_laughs.pkl")
def laughs(size):
    body = b"]" + put(0) + b"0"
    for i in range(min(size // 40, 5000)):
        body += b"(" + get(i) + get(i) + b"l" + put(i + 1) + b"0"
    return PROTO + body + get(i + 1) + b"."


@shape("pickle_laughs_scaler.pkl")
def laughs_scaler(size):
    body = SCALER + put(1000) + b"0"
    for i in range(min(size // 50, 5000)):
        body += b"}(" + text("a") + get(1000 + i) + text("b") + get(1000 + i) + b"u" + put(1001 + i) + b"0"
    return PROTO + body + get(1001 + i) + b"."


@shape("pickle_shared_scalers.pkl")
def shared_scalers(size):
    """Each of 300 scalers has as many places as there is room for."""
    body = b"".join(SCALER + put(1000 + i) + b"0" for i in range(max(1, min(300, size // 400))))
    return PROTO + body + b"(" + many(lambda i: get(1000 + i % 300), size - len(body) - 10) + b"l."


@shape("pickle_shared_key.pkl")
def shared_key(size):
    """20 keys of an eighth of the file together, in a dict each time."""
    keys = max(1, size // 160)
    body = b"".join(text(b"%02d" % i + b"k" * keys) + put(i) + b"0" for i in range(20))
    return PROTO + body + b"(" + many(lambda i: b"}" + b"h" + bytes([i % 20]) + b"C\0s", size - len(body)) + b"l."


@shape("pickle_fields.pkl")
def fields(size):
    """Scalers of 60 fields, all met before."""
    others = b"".join(text("field%02d" % i) + put(1000 + i) + b"0" for i in range(55)) + text("v" * 4000) + put(1055) + b"0"
    one = SCALER + b"(" + b"".join(get(1000 + i) + get(1055) for i in range(55)) + b"u"
    return PROTO + others + b"(" + times(one, size - len(others) - 8) + b"l."


@shape("pickle_shared_value.pkl")
def shared_value(size):
    """One long text is a field of every scaler."""
    body = text(b"v" * (size // 4)) + put(1000) + b"0"
    one = SCALER + text("note") + get(1000) + b"s"
    return PROTO + body + b"(" + times(one, size - len(body) - 8) + b"l."


@shape("pickle_shared_arguments.pkl")
def shared_arguments(size):
    """A call with the same large tuple each time."""
    body = b"ccollections\nOrderedDict\nq\x000((" + times(b"N", size // 4) + b"lq\x01tq\x020"
    return PROTO + body + b"(" + times(b"h\0h\2R", size - len(body) - 8) + b"l."


@shape("pickle_shared_set.pkl")
def shared_set(size):
    body = b"cbuiltins\nset\nq\x000((" + times(b"N", size // 4) + b"lq\x01tq\x020"
    return PROTO + body + b"(" + times(b"h\0h\2R", size - len(body) - 8) + b"l."


@shape("pickle_shared_encode.pkl")
def shared_encode(size):
    """_codecs.encode of one long text, which its last character makes in vain."""
    body = b"c_codecs\nencode\nq\x000(" + text("e" * (size // 4) + "\u20ac") + b"tq\x020"
    return PROTO + body + b"(" + times(b"h\0h\2R", size - len(body) - 8) + b"l."


@shape("pickle_shared_name.pkl")
def shared_name(size):
    """STACK_GLOBAL with long names that take turns."""
    body = b"".join(text(b"%03d" % i + b"n" * (size // 1200)) + put(i) + b"0" for i in range(300))
    return PROTO + body + b"(" + many(lambda i: get(i % 300) + get(i // 300 % 300) + b"\x93", size - len(body)) + b"l."


@shape("pickle_build_merge.pkl")
def build_merge(size):
    """BUILD after BUILD of an object: attributes are merged each time."""
    body = b"ca\nb\n)\x81(}(" + many(lambda i: b"M" + struct.pack("<H", i & 0xffff) + b"N", size // 4)[:size // 4 & ~3] + b"uq\x011"
    return PROTO + body + times(b"h\1b", size - len(body) - 8) + b"."


@shape("pickle_subclasses.pkl")
def subclasses(size):
    """_rebuild_from_type_v2 of _rebuild_from_type_v2 of ..."""
    body = b"ctorch._tensor\n_rebuild_from_type_v2\nq\x000h\0"
    levels = (size - len(body)) // 6
    return PROTO + body + b"h\0N" * levels + b")" + b"\x87" * levels + b"R."


@shape("pickle_deep_path.pkl")
def deep_path(size):
    """A scaler behind as many keys as there is room for."""
    levels = (size - 200) // 8
    return PROTO + text("k") + put(0) + b"0" + b"}h\0" * levels + SCALER + b"s" * levels + b"."


@shape("pickle_deep_bytes.pkl")
def deep_bytes(size):
    """Bytes at every depth: each has a path of its own."""
    levels = (size - 20) // 12
    return PROTO + text("k") + put(0) + b"0" + text("b") + put(1) + b"0" + b"}h\1C\2\x80\4sh\0" * levels + b"N" + b"s" * levels + b"."


@shape("pickle_objects_deep.pkl")
def objects_deep(size):
    levels = (size - 40) // 8
    return PROTO + b"ca\nb\n\x940" + b"h\0)\x81" * levels + b"N" + b"b" * levels + b"."


# ---- documents in documents

@shape("nested_wide.pkl")
def nested_wide(size):
    return listed(times(b"C\4\x80\2N.", size - 5))


@shape("nested_deep.pkl")
def nested_deep(size):
    """More levels than are looked into, each as large as all that is in it."""
    inner = listed(b"}" * (size >> 12))
    while 2 * len(inner) + 20 < size:
        padding = b"B" + struct.pack("<I", len(inner)) + b"x" * len(inner)
        inner = PROTO + padding + b"B" + struct.pack("<I", len(inner)) + inner + b"\x86."
    return inner


@shape("nested_zip_bombs.pkl")
def nested_zip_bombs(size):
    one = archive([("a/data.pkl", listed(b"}" * (unpacked(size))))])
    return listed(times(b"B" + struct.pack("<I", len(one)) + one, size - 5))


@shape("nested_small_zips.pkl")
def nested_small_zips(size):
    one = archive([("a/data.pkl", listed(b"}" * min(60000, unpacked(size))))])
    return listed(times(b"B" + struct.pack("<I", len(one)) + one, size - 5))


@shape("nested_shared.pkl")
def nested_shared(size):
    """One document, and a name for each time it is an extra state."""
    inner = listed(b"}" * (size // 8))
    body = b"B" + struct.pack("<I", len(inner)) + inner + put(0) + b"0"
    return PROTO + body + b"}(" + many(lambda i: text("l%x._extra_state" % i) + get(0), size - len(body)) + b"u."


@shape("nested_pops.pkl")
def nested_pops(size):
    """As nested_shared, of values that are forgotten at once."""
    inner = PROTO + b"N0" * (size // 4) + b"N."
    body = b"B" + struct.pack("<I", len(inner)) + inner + put(0) + b"0"
    return PROTO + body + b"}(" + many(lambda i: text("l%x._extra_state" % i) + get(0), size - len(body)) + b"u."


@shape("nested_streams.pkl")
def nested_streams(size):
    inner = pickle.dumps({"scale_fwd": [1.0], "recipe": None}, 2)
    return PROTO + b"c_io\nBytesIO\nq\x000}(" + many(
        lambda i: text("l%x._extra_state" % i) + b"h\0)\x81C" + bytes([len(inner)]) + inner + b"K\0N\x87b", size) + b"u."


# ---- zips

shapes["zip_dicts.pt"] = lambda size: archive([("a/data.pkl", listed(b"}" * (unpacked(size))))])
shapes["zip_marks.pt"] = lambda size: archive([("a/data.pkl", PROTO + b"(" * (unpacked(size)) + b".")])
shapes["zip_dup.pt"] = lambda size: archive([("a/data.pkl", listed(b"]" + b"2" * (unpacked(size))))])
shapes["zip_memo.pt"] = lambda size: archive([("a/data.pkl", listed(b"]\x94" * (unpacked(size) // 2)))])
shapes["zip_memo_far.pt"] = lambda size: archive([("a/data.pkl", PROTO + b"]" + put(unpacked(size)) + b"." +
                                                   bytes(unpacked(size) - 200))])
shapes["zip_long.pt"] = lambda size: archive([("a/data.pkl", listed(times(
    b"\x8b" + struct.pack("<i", 2100) + b"\x7f" * 2100, unpacked(size))))])
shapes["zip_claims.pt"] = lambda size: archive([("a/data.pkl", b"x" * 10)]).replace(
    struct.pack("<I", 10), struct.pack("<I", unpacked(size)))
shapes["zip_members.pt"] = lambda size: archive(
    [("a/data.pkl", PROTO + SCALER + b".")] + [("a/%x" % i, b"") for i in range(size // 100)], zipfile.ZIP_STORED)
shapes["zip_unsafe_names.npz"] = lambda size: archive(
    [("../%x.npy" % i, b"") for i in range(size // 110)], zipfile.ZIP_STORED)
shapes["zip_nested.pt"] = lambda size: archive([("a/data.pkl", archive([("a/data.pkl", listed(b"}" * (unpacked(size) >> 1)))]))])


@shape("npz_deflated.npz")
def npz_deflated(size):
    head = b"\x93NUMPY\1\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (7900, ), }".ljust(128)
    member = head + bytes(7900 * 8)
    return archive([("k%d.npy" % i, member) for i in range(max(1, size // 300))])


@shape("npz_dots.npz")
def npz_dots(size):
    name = "." * 2000
    return archive([("%x%s.npy" % (i, name), b"") for i in range(max(1, size // 4200))], zipfile.ZIP_STORED)


@shape("keras_config.keras")
def keras_config(size):
    return archive([("metadata.json", b'{"keras_version":"3.0.0"}'),
                    ("config.json", b'{"a":[' + b"[]," * (unpacked(size) // 3) + b"[]]}"),
                    ("model.weights.h5", hdf5_bombs.empty())])


# ---- msgpack

for name, unit in {"none": b"\xc0", "lists": b"\x90", "maps": b"\x80", "texts": b"\xa0", "bytes": b"\xc4\0", "ext":
                   b"\xd4\1\0", "map_of_one": b"\x81\xa0\xc0", "uint64": b"\xcf" + b"\xff" * 8}.items():
    shapes[f"msgpack_{name}.msgpack"] = lambda size, unit=unit: (
        b"\x81\xa1a\xdd" + struct.pack(">I", (size - 10) // len(unit)) + unit * ((size - 10) // len(unit)))


@shape("msgpack_keys.msgpack")
def msgpack_keys(size):
    count = (size - 10) // 7
    return b"\xdf" + struct.pack(">I", count) + b"".join(b"\xa5%05x\xc0" % (i & 0xfffff) for i in range(count))


@shape("msgpack_same_key.msgpack")
def msgpack_same_key(size):
    count = (size - 10) // 3
    return b"\xdf" + struct.pack(">I", count) + b"\xa1a\xc0" * count


@shape("msgpack_chunks.msgpack")
def msgpack_chunks(size):
    """A chunked array of chunks without elements, whose names stand in the wrong order."""
    chunk = b"\xc7\x0b\1\x93\x91\0\xa5uint8\xc4\0"
    count = (size - 100) // (len(chunk) + 8)
    names = [b"%d" % i for i in reversed(range(count))]
    chunks = b"".join(bytes([0xa0 | len(n)]) + n + chunk for n in names)
    return (b"\x83\xb9__msgpack_chunked_array__\xc3\xa5shape\x81\xa10\0\xa6chunks\xdf" + struct.pack(">I", count) + chunks)


shapes["msgpack_claims.msgpack"] = lambda size: b"\x81\xa1a\xdd\xff\xff\xff\xff"
shapes["msgpack_deep.msgpack"] = lambda size: b"\x81\xa1a" * (size // 3) + b"\xc0"

# ---- JSON

shapes["json_lists.json"] = lambda size: b'{"a":[' + commas(lambda i: b"[]", size - 10) + b"]}"
shapes["json_maps.json"] = lambda size: b'{"a":[' + commas(lambda i: b"{}", size - 10) + b"]}"
shapes["json_numbers.json"] = lambda size: b'{"a":[' + commas(lambda i: b"1", size - 10) + b"]}"
shapes["json_keys.json"] = lambda size: b"{" + commas(lambda i: b'"%x":1' % i, size - 4) + b"}"
shapes["json_same_key.json"] = lambda size: b"{" + commas(lambda i: b'"a":1', size - 4) + b"}"
shapes["json_deep.json"] = lambda size: b'{"a":' + b"[" * (size - 5)
shapes["json_digits.json"] = lambda size: b'{"scale":1' + b"0" * (size - 12) + b"}"
shapes["json_exponents.json"] = lambda size: b'{"a":[' + commas(lambda i: b"1e999999999", size - 10) + b"]}"
shapes["json_escapes.json"] = lambda size: b'{"a":"' + times(b"\\u0041", size - 8) + b'"}'

# ---- safetensors

shapes["st_empty.safetensors"] = lambda size: safetensors(b"{" + commas(
    lambda i: b'"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}' % i, size - 12) + b"}")
shapes["st_shape.safetensors"] = lambda size: safetensors(
    b'{"a":{"dtype":"U8","shape":[' + times(b"1,", size - 60) + b'1],"data_offsets":[0,1]}}', b"\0")
shapes["st_metadata.safetensors"] = lambda size: safetensors(
    b'{"__metadata__":{' + commas(lambda i: b'"%x":""' % i, size - 40) + b"}}")
shapes["st_dots.safetensors"] = lambda size: safetensors(
    b'{"' + b"." * (size - 60) + b'":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}')

@shape("st_scales.safetensors")
def st_scales(size):
    count = max(1, (size - 20) // 150)
    rows = ",".join(f'"l{i:x}.weight_scale":{{"dtype":"F32","shape":[],"data_offsets":[{4 * i},{4 * i + 4}]}},'
                    f'"l{i:x}.weight":{{"dtype":"F8_E4M3","shape":[0],"data_offsets":[{4 * i + 4},{4 * i + 4}]}}'
                    for i in range(count))
    return safetensors("{" + rows + "}", bytes(4 * count))


# ---- pickles in bytes and texts, each with another name

def in_bytes(make, size):
    return listed(many(lambda i: b"C" + bytes([len(make(i))]) + make(i), size - 6))


shapes["nested_lines.pkl"] = lambda size: in_bytes(lambda i: b"ca%06d\nb\n." % i, size)
shapes["nested_names.pkl"] = lambda size: in_bytes(lambda i: PROTO + b"ca%06d\nb\n." % i, size)


# ---- texts that are taken for names, and for documents

def json_list(make, size):
    return b'{"loss_scale":2.0,"a":[' + commas(make, size - 40) + b"]}"


shapes["json_names.json"] = lambda size: json_list(lambda i: b'{"_target_":"a.b%06d"}' % i, size)
shapes["json_short_pickles.json"] = lambda size: json_list(lambda i: b'"KE5JMQpJMQpJMQo="', size)
shapes["json_pickles.json"] = lambda size: json_list(lambda i: b'"' + base64.b64encode(b"ca%06d\nb\n." % i) + b'"', size)
shapes["json_documents.json"] = lambda size: json_list(lambda i: b'"{\\"a%05d\\":[1,2,3]}"' % (i % 100000), size)
shapes["json_layers.json"] = lambda size: b'{"class_name":"a","config":[' + commas(
    lambda i: b'{"class_name":"a%05x"}' % i, size - 40) + b"]}"


@shape("json_document.json")
def json_document(size):
    """A document in a document, as deep as there is room for backslashes."""
    inner = text = "[" * 60 + "]" * 60
    while len(inner) < size - 40:
        text, inner = inner, json.dumps([inner, inner])
    return b'{"loss_scale":2.0,"a":' + text.encode() + b"}"


@shape("yaml_names")
def yaml_names(size):
    return {"scaler.pkl": PROTO + SCALER + b".", "config.yaml": many(lambda i: b"_target_: a.b%d\n" % i, size - 200)}


@shape("yaml_no_names")
def yaml_no_names(size):
    return {"scaler.pkl": PROTO + SCALER + b".", "config.yaml": times(b"_target_ :\n", size - 200)}


# ---- others

@shape("mindspore_many.ckpt")
def mindspore_many(size):
    one = b"\x0a\1a\x12\x0b\x08\1\x12\4Int8\x1a\1\0"
    return times(b"\x0a" + bytes([len(one)]) + one, size)


@shape("mindspore_unknown.ckpt")
def mindspore_unknown(size):
    one = b"\x0a\1a\x12\x0b\x08\1\x12\4Int8\x1a\1\0" + b"\x48\1" * 40
    return times(b"\x0a" + bytes([len(one)]) + one, size)


def mindspore_record(name):
    tensor = b"\x0a\x14" + b"\1" * 20 + b"\x12\4Int8" + b"\x1a\1\0"
    value = b"\x0a" + varint(len(name)) + name + b"\x12" + varint(len(tensor)) + tensor
    return b"\x0a" + varint(len(value)) + value


shapes["mindspore_names.ckpt"] = lambda size: many(lambda i: mindspore_record(b"%06x" % i), size)


@shape("mindspore_collisions.ckpt")
def mindspore_collisions(size):
    """Names that the hash of libstdc++ (MurmurHash64A) gives one value, whatever its seed: two blocks that differ in
    what becomes the highest bit of both do not differ together."""
    factor, mask = 0xC6A4A7935BD1E995, (1 << 64) - 1
    inverse = pow(factor, -1, 1 << 64)

    def block(mixed):
        before = mixed * inverse & mask
        return struct.pack("<Q", (before ^ before >> 47) * inverse & mask)

    def name(number):
        return b"".join(block(0x0123456789ABCDEF + i ^ (number >> i & 1) << 63) * 2 for i in range(15))
    return many(lambda i: mindspore_record(name(i)), min(size, 300 << 15))


@shape("npy_shape.npy")
def npy_shape(size):
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + times(b"1,", size - 100) + b"), }"
    return b"\x93NUMPY\2\0" + struct.pack("<I", len(head)) + head


@shape("npy_stream.npy")
def npy_stream(size):
    head = b"\x93NUMPY\1\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (0, ), }".ljust(127) + b"\n"
    return times(head, size)


@shape("tar_members.tar")
def tar_members(size):
    import tarfile
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for i in range(max(1, size // 1100)):
            info = tarfile.TarInfo("storages" if i == 0 else "x%x" % i)
            info.size = 1
            tar.addfile(info, io.BytesIO(b"N"))
    return out.getvalue()[:size]


@shape("legacy_dicts.pt")
def legacy_dicts(size):
    magic = pickle.dumps(0x1950a86a20f9469cfc6c, 2)
    protocol = pickle.dumps(1001, 2)
    system = pickle.dumps({"protocol_version": 1001, "little_endian": True, "type_sizes": {}}, 2)
    return magic + protocol + system + listed(b"}" * (size - 200)) + pickle.dumps([], 2)


def write(folder, size, names):
    for name in names or shapes:
        body = shapes[name](size)
        for path, part in ({name: body} if isinstance(body, bytes) else
                           {f"{name}/{inner}": part for inner, part in body.items()}).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(part)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--size", type=int, default=4_900_000, help="about the bytes of each file (4900000)")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    if given.list:
        print("\n".join(shapes))
    elif given.folder:
        write(given.folder, given.size, given.names)
    else:
        parser.error("FOLDER is missing")


if __name__ == "__main__":
    main()
