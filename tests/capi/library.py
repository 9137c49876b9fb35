#!/usr/bin/env python3
"""Holds the built libtare.so to what is promised of it from outside.

    library.py exports|archive|needed|quiet|abi LIBTARE [ARGUMENT]

exports  LIBTARE tare.map   the symbols are those of the version script, and of the header
archive  LIBTARE.a tare.map libtare.a lets other objects see those symbols and no other
needed   LIBTARE            nothing but the C and C++ runtime is loaded with it; the SONAME is the major version's
quiet    LIBTARE            nothing of ours runs when it is loaded [P2], and nothing is imported that reads the
                            environment, sets the locale or handles signals [P3]
abi      LIBTARE tare.abi   libabigail finds nothing taken away or changed since the committed dump
"""
import pathlib
import re
import subprocess
import sys

RUNTIME = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

COMPILERS_OWN = {"frame_dummy", "__cpu_indicator_init"}  # gcc's: what it knows of the CPU
LOUD = {"getenv", "secure_getenv", "environ", "__environ", "setenv", "putenv", "setlocale", "uselocale", "signal",
        "sigaction", "pthread_atfork"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exports(library, version_script):
    lines = output("nm", "-D", "--defined-only", library).splitlines()
    have = {line.split()[-1].split("@")[0] for line in lines if line.split()[-2] != "A"}
    script = pathlib.Path(version_script)
    listed = set(re.findall(r"\b(tare_\w+);", script.read_text()))
    header = "".join(h.read_text() for h in sorted((script.parent / "include/tare").glob("*.h")))
    declared = set(re.findall(r"^TARE_API [^;(]*?\b(tare_\w+)\(", header, re.MULTILINE))
    return [f"{name}: exported {name in have}, in tare.map {name in listed}, in a header {name in declared}"
            for name in sorted(have | listed | declared) if not (name in have and name in listed and name in declared)]


def archive(library, version_script):
    have = set(re.findall(r"^[0-9a-f]+ [A-Zu] (\w+)$", output("nm", "-g", "--defined-only", library), re.MULTILINE))
    listed = set(re.findall(r"\b(tare_\w+);", pathlib.Path(version_script).read_text()))
    return [f"{name}: to be seen {name in have}, in tare.map {name in listed}" for name in sorted(have ^ listed)]


def needed(library):
    dynamic = output("readelf", "-d", library)
    offences = [f"needs {name}" for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic) if name not in RUNTIME]
    soname = re.findall(r"SONAME.*\[(.*)\]", dynamic)
    if soname != ["libtare.so.0"]:
        offences.append(f"SONAME is {soname}")
    return offences


def quiet(library):
    sections = output("readelf", "-SW", library)
    constructors = re.search(r"\.init_array +INIT_ARRAY +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", sections)
    begin, size = int(constructors[1], 16), int(constructors[2], 16)
    names = {int(address, 16): name for address, _, name in map(str.split, output("nm", "--defined-only", library).splitlines())}
    relocations = re.findall(r"^([0-9a-f]+) +[0-9a-f]+ R_\w+_RELATIVE +([0-9a-f]+)", output("readelf", "-rW", library), re.M)
    run = [names.get(int(to, 16), to) for at, to in relocations if begin <= int(at, 16) < begin + size]
    offences = [f"{name} runs when the library is loaded" for name in run if name not in COMPILERS_OWN]
    if len(run) * 8 != size:
        offences.append(f"{size // 8} constructors, of which {len(run)} could be told")
    imported = {line.split()[-1].split("@")[0] for line in output("nm", "-D", "--undefined-only", library).splitlines()}
    return offences + [f"imports {name}" for name in sorted(imported & LOUD)]


def abi(library, dump):
    root = pathlib.Path(dump).parent.parent
    changes = subprocess.run(["abidiff", "--no-added-syms", "--headers-dir1", root / "include", "--headers-dir2",
                              root / "include", dump, library],
                             capture_output=True, text=True)
    return [] if changes.returncode == 0 else [changes.stdout + changes.stderr]


def main():
    checks = {"exports": exports, "archive": archive, "needed": needed, "quiet": quiet, "abi": abi}
    if len(sys.argv) < 3 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    offences = checks[sys.argv[1]](*sys.argv[2:])
    print("\n".join(offences) or f"{sys.argv[1]}: as promised")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
