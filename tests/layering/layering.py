#!/usr/bin/env python3
"""Holds a source tree to the arrows between its rooms, from the includes.

    layering.py REPOSITORY

Prints one line an offence; exit 1 if there are any. The tables below are the law: a new room, or a new third-party
library, gets its line here first.
"""
import fnmatch
import pathlib
import posixpath
import re
import sys

# What each room may include and link, besides itself: all that an arrow leads to, in one step or several.
BELOW = {
    "kernels": [],
    "lib/base": ["kernels"],
    "lib/remote": ["lib/json", "lib/tree", "lib/base", "kernels"],
    "lib/chart": ["lib/base", "kernels"],
    "lib/tree": ["lib/base", "kernels"],
    "lib/json": ["lib/tree", "lib/base", "kernels"],
    "lib/hdf5": ["lib/tree", "lib/base", "kernels"],
    "lib/container": ["lib/json", "lib/hdf5", "lib/tree", "lib/base", "kernels"],
    "lib/state": ["lib/tree", "lib/base", "kernels"],
    "lib/dialect": ["lib/state", "lib/tree", "lib/base", "kernels"],
    "lib/codec": ["lib/hdf5", "lib/state", "lib/tree", "lib/base", "kernels"],
    "lib/device": ["lib/base", "kernels"],
    "lib/collective": ["lib/codec", "lib/hdf5", "lib/state", "lib/tree", "lib/base", "kernels"],
    "lib/scaler": ["lib/device", "lib/collective", "lib/codec", "lib/hdf5", "lib/state", "lib/tree", "lib/base", "kernels"],
}
BELOW["lib/monitor"] = ["lib/scaler", *BELOW["lib/scaler"]]
BELOW["lib/checkpoint"] = ["lib/container", "lib/dialect", *BELOW["lib/dialect"]]
BELOW["lib/attest"] = ["lib/checkpoint", *BELOW["lib/checkpoint"]]
BELOW["lib/trace"] = ["lib/checkpoint", "lib/json", *BELOW["lib/checkpoint"]]
BELOW["lib/transaction"] = ["lib/container", *BELOW["lib/container"]]
BELOW["lib/objects"] = ["lib/transaction", *BELOW["lib/transaction"]]
BELOW["lib/edit"] = ["lib/objects", "lib/transaction", "lib/checkpoint", "lib/codec", "lib/json", *BELOW["lib/checkpoint"]]
BELOW["lib/migrate"] = ["lib/edit", *BELOW["lib/edit"]]
BELOW["lib/health"] = ["lib/chart", "lib/trace", *BELOW["lib/trace"]]
BELOW["lib/watch"] = ["lib/health", *BELOW["lib/health"]]
BELOW["lib/report"] = ["lib/migrate", "lib/attest", "lib/watch", "lib/health", "lib/chart", "lib/trace", *BELOW["lib/migrate"]]
BELOW["tools"] = BELOW["capi"] = [*BELOW]

# What folders inside a room may include, besides themselves and what lies in the room's own folder, which includes none
# of them but through its DOORS.
INSIDE = {
    "kernels": {"rule": [], "fp8": ["rule"], "cpu": ["fp8", "rule"], "cuda": ["fp8", "rule"]},
    "lib/dialect": {"frameworks": []},
    "lib/container": {
        "json": [], "mindspore": [], "msgpack": [], "oneflow": [], "orbax": [], "paddle": [], "safetensors": [],
        "tensorflow": [], "zip": [],
        "pickle/globals/dangerous": [],
        "pickle/globals": ["pickle/globals/dangerous"],
        "pickle/read": ["pickle/globals"],
        "pickle/write": ["pickle/read"],
        "pickle": ["pickle/read", "pickle/write"],
        "hdf5": ["pickle", "pickle/read"],
        "numpy": ["pickle", "zip"],
        "keras": ["hdf5", "json", "numpy", "zip"],
        "torch": ["pickle", "pickle/read", "pickle/write", "safetensors", "zip"],
    },
}
DOORS = ["kernels/scaler_core.hpp",
         *(f"lib/dialect/{name}.cpp" for name in ("dialects", "policy", "release_keys", "stored_weight", "trainer")),
         "lib/container/open.cpp", "lib/container/new_container.cpp"]

# These run on machines without a GPU: nothing that they reach through any chain of includes may be of it.
HOST_ONLY = ["lib/base", "lib/tree", "lib/json", "lib/hdf5", "lib/container", "lib/dialect", "lib/state", "lib/checkpoint", "lib/attest",
             "lib/trace", "lib/health", "lib/watch", "lib/chart", "lib/transaction", "lib/objects", "lib/edit", "lib/migrate", "lib/codec", "lib/report", "tools"]
DEVICE = ["lib/device/*", "kernels/cuda/*"]
DEVICE_HEADERS = ["cuda*", "cub/*", "thrust/*", "nccl*", "nv/*"]

# Third-party headers, and the only files that may name them.
OWNERS = [
    ("hdf5*.h", ["lib/codec/hdf5*"]),
    ("H5*.h", ["lib/codec/hdf5*"]),
    ("nlohmann/*", ["lib/codec/*", "lib/remote/google_keys.cpp"]),
    ("CLI/*", ["tools/command_line.cpp"]),
    ("zlib.h", ["lib/base/*", "lib/codec/hdf5_module/*", "lib/chart/png.cpp", "lib/container/*", "lib/hdf5/*"]),
    ("libdeflate.h", ["lib/base/*"]),
    ("curl/*", ["lib/remote/*"]),
    ("expat.h", ["lib/remote/xml_walk.cpp"]),
    ("openssl/*", ["lib/remote/google_keys.cpp", "lib/remote/aws_sign_on.cpp"]),
    ("lzma.h", ["lib/container/compressed.cpp"]),
    ("zstd*.h", ["lib/codec/hdf5_module/*", "lib/hdf5/*", "lib/container/zstd_frame.cpp", "lib/container/unpacking_stream.cpp"]),
    ("protozero/*", ["lib/container/*"]),
    ("leveldb/*", ["lib/container/*"]),
    ("fmt/*", ["lib/*", "capi/*", "tools/*"]),
    ("hwy/*", ["kernels/cpu/*"]),
    ("mpi.h", ["lib/collective/mpi_module/*", "capi/examples/*"]),
    ("cuda_fp*.h", ["kernels/element.hpp"]),
    *((header, DEVICE) for header in DEVICE_HEADERS),
]
# The language's and the system's own: anything without a dot or a slash, and these.
SYSTEM = ["sys/*", "linux/*", "*intrin.h", "arpa/inet.h", "assert.h", "cpuid.h", "ctype.h", "dirent.h", "dlfcn.h",
          "elf.h", "errno.h", "fcntl.h", "float.h", "inttypes.h", "limits.h", "link.h", "locale.h", "malloc.h", "math.h",
          "netinet/in.h", "poll.h", "pthread.h", "pwd.h", "signal.h", "spawn.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h",
          "stdio.h", "stdlib.h", "string.h", "termios.h", "time.h", "unistd.h"]

TOP_LEVEL = {"lib", "capi", "kernels", "tools", "tests", "build", "CMakeLists.txt", "CMakePresets.json", "README.md",
             "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"}
# Sources of a room that are never compiled as one with its others: of a module, of one of two programs.
APART = ["lib/*/*_module", "tools/local", "tools/remote"]
# What both majors of Catch2 have, one of them by tests/catch.hpp.
CATCH_WORDS = {"Approx", "Contains", "EndsWith", "Session", "StartsWith"}
LINES_MAX = 600
CODE = {".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp"}
COUNTED = CODE | {".py", ".sh", ".txt", ".cmake"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
ROOM = re.compile(r"tare_room\(\s*(\w+)([^)]*)\)")


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def room_of(path):
    """"lib/tree" for lib/tree/node.hpp, "tools" for tools/main.cpp; None where there are no rooms."""
    parts = path.split("/")
    room = "/".join(parts[:2]) if parts[0] == "lib" else parts[0]
    return room if room in BELOW else None


class Source:
    """One file of C or C++: what it includes of ours (as paths from the root) and of others."""

    def __init__(self, root, path):
        self.path = path
        self.ours, self.others, self.unknown = [], [], []
        for bracket, name in INCLUDE.findall((root / path).read_text(errors="replace")):
            if bracket == "<" and not name.startswith("tare/"):
                self.others.append(name)
            elif posixpath.normpath(name) == name and (root / name).is_file():
                self.ours.append(name)
            elif (root / "capi/include" / name).is_file():
                self.ours.append(f"capi/include/{name}")
            else:
                self.unknown.append(name)


def include_offences(source):
    room = room_of(source.path)
    for name in source.unknown:
        yield f'{source.path}: "{name}" is not the plain path of a file of ours, from the root of the repository'
    for name in source.ours:
        target = room_of(name)
        if target != room and target not in BELOW[room]:
            yield f"{source.path}: {room} may not include {name}"
    yield from folder_offences(source)
    for name in source.others:
        if ("." not in name and "/" not in name) or matches(name, SYSTEM):
            continue
        owners = [folder for header, folders in OWNERS if matches(name, [header]) for folder in folders]
        if not owners:
            yield f"{source.path}: <{name}> has no owner: give it one in {pathlib.Path(__file__).name}"
        elif not matches(source.path, owners):
            yield f"{source.path}: <{name}> belongs to {', '.join(owners)}"


def folder_offences(source):
    """Arrows inside a room whose folders have some."""
    room = room_of(source.path)
    folders = INSIDE.get(room)
    if folders is None or source.path in DOORS:
        return
    here = folder_of(source.path, room)
    if here and here not in folders:
        yield f"{source.path}: its folder has no arrows: give it some in {pathlib.Path(__file__).name}"
        return
    for name in source.ours:
        there = folder_of(name, room)
        if room_of(name) == room and there not in ("", here, *folders.get(here, [])):
            yield f"{source.path}: {room}/{here} may not include {name}"


def folder_of(path, room):
    """"pickle/read" for lib/container/pickle/read/machine.hpp; "" for what lies in the room's own folder."""
    return posixpath.dirname(path)[len(room) + 1:]


def device_offences(sources):
    """Chains of includes that lead from a host-only room to the device."""
    for start in sources.values():
        if room_of(start.path) not in HOST_ONLY:
            continue
        seen, todo = {start.path}, [start.path]
        while todo:
            here = sources.get(todo.pop())
            if here is None:
                continue
            for name in here.others:
                if matches(name, DEVICE_HEADERS):
                    yield f"{start.path}: reaches <{name}>, through {here.path}"
            for name in here.ours:
                if matches(name, DEVICE):
                    yield f"{start.path}: reaches {name}, through {here.path}"
            todo += [name for name in here.ours if name not in seen]
            seen.update(here.ours)


def types_of(text):
    """The types that a header defines at the top of a namespace, with its name."""
    namespaces = []
    for line in text.splitlines():
        if opened := re.match(r"(?:inline )?namespace ([\w:]+) \{", line):
            namespaces.append(opened[1])
        elif line.startswith("}  // namespace") and namespaces:
            namespaces.pop()
        elif defined := re.match(r"(?:struct|class|union|enum class) (\w+)\b(?!<)[^;]*[{:]", line):
            yield "::".join([*namespaces, defined[1]])


def type_offences(root, headers):
    """A type is defined once. Of two by one name the linker keeps the functions of either, for both."""
    seen = {}
    for path in headers:
        for name in types_of((root / path).read_text()):
            if seen.get(name, path) != path:
                yield f"{path}: {name} is another type in {seen[name]}"
            seen[name] = path


def hidden_names_of(text):
    """(name with its namespace, what it is) of the types and constants at the top of unnamed namespaces."""
    namespaces = []
    for line in text.splitlines():
        if opened := re.match(r"(?:inline )?namespace (?:([\w:]+) )?\{", line):
            namespaces.append(opened[1] or "")
        elif line.startswith("}  // namespace") and namespaces:
            namespaces.pop()
        elif "" not in namespaces:
            continue
        elif alias := re.match(r"using (\w+) = (.*)", line):
            yield "::".join([*namespaces, alias[1]]), alias[2]
        elif defined := (re.match(r"(?:struct|class|union|enum class|enum) (\w+)\b(?!<)[^;(]*[{:]", line)
                         or re.match(r"(?:constexpr|constinit|const) [^(;={]*?(\w+)(?:\[[^]]*\])*(?: =|\{|;)", line)):
            yield "::".join([*namespaces, defined[1]]), None


def hidden_offences(root, sources):
    """The sources of a room are compiled some at a time: a name of an unnamed namespace means one thing in all of them."""
    seen = {}
    for path in sources:
        folder = posixpath.dirname(path)
        room = folder if matches(folder, APART) else room_of(path)
        for name, meaning in hidden_names_of((root / path).read_text()):
            before, there = seen.setdefault((room, name), (meaning, path))
            if there != path and (meaning is None or meaning != before):
                yield f"{path}: {name.rpartition('::')[2]} is in the unnamed namespace of {there}, too: one place, or names of their own"


def kernel_offences(root, path):
    """nvcc names what stands in an unnamed namespace by the folder that it runs in: no two builds would be alike."""
    for number, line in enumerate((root / path).read_text().splitlines(), 1):
        if line.startswith("namespace {"):
            yield f"{path}:{number}: an unnamed namespace: give it the file's name, inline namespace {pathlib.PurePath(path).stem}_cu"


def catch_offences(root, path):
    for word in sorted(set(re.findall(r"\bCatch::(\w+)", (root / path).read_text())) - CATCH_WORDS):
        yield f"{path}: Catch::{word} is not in both majors of Catch2: let tests/catch.hpp give it"


def link_offences(root, path):
    """tare_room(NAME LINKS...) links what the includes may name, and nothing else."""
    for name, links in ROOM.findall((root / path).read_text()):
        for other in re.findall(r"\btare_(\w+)", links):
            if f"lib/{name}" in BELOW and f"lib/{other}" in BELOW and f"lib/{other}" not in BELOW[f"lib/{name}"]:
                yield f"{path}: lib/{name} may not link lib/{other}"


def files_of(root):
    for top in sorted(root.iterdir()):
        if top.is_dir() and top.name != "build" and not top.name.startswith("."):
            yield from sorted(p for p in top.rglob("*") if p.is_file())
        elif top.is_file():
            yield top


def offences(root):
    for top in sorted(root.iterdir()):
        if top.name not in TOP_LEVEL and not top.name.startswith("."):
            yield f"{top.name}: does not belong at the top"
    files = [path.relative_to(root).as_posix() for path in files_of(root)]
    for room in BELOW:
        if not any(path.startswith(f"{room}/") for path in files):
            yield f"{room}: has arrows, and there is no such room"
    for path in files:
        if pathlib.PurePath(path).suffix in COUNTED:
            lines = (root / path).read_bytes().count(b"\n")
            if lines > LINES_MAX:
                yield f"{path}: {lines} lines, at most {LINES_MAX}"
        if path.startswith("lib/") and path.count("/") >= 2 and room_of(path) is None:
            yield f"{path}: its room has no arrows: give it some in {pathlib.Path(__file__).name}"
        if path.endswith("CMakeLists.txt"):
            yield from link_offences(root, path)
        if path.startswith("tests/") and path != "tests/catch.hpp" and pathlib.PurePath(path).suffix in CODE:
            yield from catch_offences(root, path)
        if path.endswith((".cu", ".cuh")):
            yield from kernel_offences(root, path)
    sources = {path: Source(root, path) for path in files if pathlib.PurePath(path).suffix in CODE and room_of(path)}
    for source in sources.values():
        yield from include_offences(source)
    yield from device_offences(sources)
    yield from type_offences(root, [path for path in sources if path.endswith(".hpp")])
    yield from hidden_offences(root, [path for path in sources if path.endswith(".cpp") and not path.startswith("kernels/")])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = list(offences(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "every include follows the arrows")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
