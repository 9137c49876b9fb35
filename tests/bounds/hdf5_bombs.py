"""Bombs in HDF5: headers, B-trees and heaps that are read again and again. The format: superblock 0, headers of version 1."""

import struct

from blocks import many, shape, shapes

NO_ADDRESS = (1 << 64) - 1
SUPERBLOCK = 96
SYMBOL_TABLE, ATTRIBUTE, CONTINUATION = 0x11, 0x0C, 0x10


class File:
    """Blocks one behind the other; the root's header is at `root`."""

    def __init__(self):
        self.body = bytearray(SUPERBLOCK)

    def here(self):
        return len(self.body)

    def add(self, block):
        at = self.here()
        self.body += block + bytes(-len(block) % 8)
        return at

    def finish(self, root):
        self.body[:SUPERBLOCK] = (
            b"\x89HDF\r\n\x1a\n" + bytes([0, 0, 0, 0, 0, 8, 8, 0]) + struct.pack("<HHI", 4, 16, 0) +
            struct.pack("<QQQQ", 0, NO_ADDRESS, len(self.body), NO_ADDRESS) +
            struct.pack("<QQII16x", 0, root, 0, 0))
        return bytes(self.body)


def message(kind, data):
    data += bytes(-len(data) % 8)
    return struct.pack("<HHB3x", kind, len(data), 0) + data


def header(messages):
    body = b"".join(messages)
    return struct.pack("<BxHII4x", 1, len(messages) & 0xFFFF, 1, len(body)) + body


def group(tree, heap):
    return header([message(SYMBOL_TABLE, struct.pack("<QQ", tree, heap))])


def heap(file, names):
    data = file.add(names)
    return file.add(b"HEAP" + bytes(4) + struct.pack("<QQQ", len(names), NO_ADDRESS, data))


def table(links):
    """Links of (name's place in the heap, header)."""
    return b"SNOD\1\0" + struct.pack("<H", len(links)) + b"".join(
        struct.pack("<QQII16x", name, to, 0, 0) for name, to in links)


def tree(children):
    return b"TREE\0\0" + struct.pack("<HQQ", len(children), NO_ADDRESS, NO_ADDRESS) + b"".join(
        struct.pack("<QQ", 0, child) for child in children) + bytes(8)


def tree_of(file, links):
    tables = [file.add(table(links[i:i + 60000])) for i in range(0, len(links), 60000)]
    return file.add(tree(tables))


def attribute(name, kind, space, value):
    return message(ATTRIBUTE, struct.pack("<BxHHH", 1, len(name), len(kind), len(space)) + b"".join(
        part + bytes(-len(part) % 8) for part in (name, kind, space)) + value)


def empty():
    """A file without anything in it."""
    file = File()
    names = heap(file, b"a\0")
    return file.finish(file.add(group(file.add(tree([])), names)))


FLOAT = bytes([0x11, 0x20, 0x1F, 0]) + struct.pack("<IHHBBBBI", 4, 0, 32, 23, 8, 0, 23, 127)
VARIABLE_TEXT = bytes([0x19, 1, 0, 0]) + struct.pack("<I", 16) + bytes([0x13, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0])
SCALAR = bytes([1, 0, 0, 0, 0, 0, 0, 0])


@shape("h5_long_names.h5")
def long_names(size):
    """Every link has the same name, of half of the file."""
    file = File()
    names = heap(file, b"n" * (size // 2) + b"\0")
    leaf = file.add(header([]))
    links = [(i, leaf) for i in range(min(size // 90, size // 2))]
    return file.finish(file.add(group(tree_of(file, links), names)))


@shape("h5_shared_tree.h5")
def shared_tree(size):
    """Every group has the links of the root."""
    file = File()
    count = max(4, size // 90)
    names = heap(file, b"".join(b"%07d\0" % i for i in range(count)))
    start = file.here() + (len(table([])) + 40 * count + 4096)
    start += -start % 8
    shared = tree_of(file, [(8 * i, start + 40 * i) for i in range(count)])
    file.body += bytes(start - file.here())
    for _ in range(count):
        file.add(group(shared, names))
    return file.finish(start)


@shape("h5_branching_tree.h5")
def branching_tree(size):
    """B-tree nodes that lead to all others."""
    file = File()
    names = heap(file, b"a\0")
    count = max(2, int((size / 16) ** 0.5))
    node = 24 + 16 * count + 8
    node += -node % 8
    start = file.here()
    for _ in range(count):
        file.add(tree([start + node * i for i in range(count)]))
    return file.finish(file.add(group(start, names)))


@shape("h5_overlapping_headers.h5")
def overlapping_headers(size):
    """Headers inside of one another: each of messages that take the rest of the file."""
    file = File()
    count = 200
    names = heap(file, b"".join(b"%03d\0" % i for i in range(count)))
    links = file.here() + 48 + 40 * count + 256
    links += -links % 8
    tree_at = tree_of(file, [(4 * i, links + 24 * i) for i in range(count)])
    root = file.add(group(tree_at, names))
    file.body += bytes(links - file.here())
    for i in range(count):
        rest = min(size - links - 4096, 15 << 20) - 24 * i
        file.body += struct.pack("<BxHII4x", 1, 1, 1, max(8, rest)) + bytes(8)
    file.body += bytes(max(0, size - file.here() + 4096))
    return file.finish(root)


@shape("h5_empty_messages.h5")
def empty_messages(size):
    file = File()
    rest = min(size - 300, 15 << 20) // 8 * 8
    return file.finish(file.add(struct.pack("<BxHII4x", 1, 1, 1, rest) + bytes(rest)))


@shape("h5_continuations.h5")
def continuations(size):
    """A header that goes on in its own last block."""
    file = File()
    root = file.here()
    block = root + 16 + 24 * 2000
    rest = max(8 * 2000, size - 50000)
    body = b"".join(message(CONTINUATION, struct.pack("<QQ", block + 8 * i, rest - 8 * i)) for i in range(2000))
    file.add(struct.pack("<BxHII4x", 1, 1, 1, len(body)) + body)
    file.body += bytes(max(8, rest))
    return file.finish(root)


@shape("h5_attributes.h5")
def attributes(size):
    file = File()
    names = heap(file, b"a\0")
    empty = file.add(tree([]))
    return file.finish(file.add(header([message(SYMBOL_TABLE, struct.pack("<QQ", empty, names))] + [
        attribute(b"%05x\0" % i, FLOAT, SCALAR, bytes(8)) for i in range(max(1, size // 80))])))


@shape("h5_heap_texts.h5")
def heap_texts(size):
    """Texts that stand last in a heap of many, which is gone through for each."""
    file = File()
    count = max(1, size // 64)
    objects = b"".join(struct.pack("<HHIQ", 1, 1, 0, 0) for _ in range(count)) + struct.pack("<HHIQ", 2, 1, 0, 8) + b"t" * 8
    collection = file.add(b"GCOL\1\0\0\0" + struct.pack("<Q", 16 + len(objects)) + objects)
    text = struct.pack("<IQI", 8, collection, 2)
    names = heap(file, b"a\0")
    texts = [attribute(b"%05x\0" % i, VARIABLE_TEXT, SCALAR, text) for i in range(max(1, size // 160))]
    empty = file.add(tree([]))
    return file.finish(file.add(header([message(SYMBOL_TABLE, struct.pack("<QQ", empty, names))] + texts)))


@shape("h5_deep_groups.h5")
def deep_groups(size):
    """Groups in groups, each with a name of a thousand bytes: paths as long as the file."""
    file = File()
    names = heap(file, b"n" * 1000 + b"\0")
    root = file.add(header([]))
    for _ in range(max(2, size // 150)):
        root = file.add(group(file.add(tree([file.add(table([(0, root)]))])), names))
    return file.finish(root)


shapes["h5_zeros.h5"] = lambda size: File().finish(0) + bytes(size)
