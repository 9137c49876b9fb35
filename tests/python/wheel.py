#!/usr/bin/env python3
"""Looks at a wheel: the C library that its tag promises is enough for each of its files, nothing else of the system's is
linked to than is said here, the licences of what is linked in come with it, and it is no larger than it may be. Prints a line a file.

    wheel.py WHEEL
"""
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

MOST_BYTES = 15_000_000  # without CUDA
#: What every Linux with glibc has, and what the module for MPI wants besides. The C++ library is not among them: an old one does not do.
RUNTIME = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
#: tare's own licence, and tools/notices.py's files of all others.
LICENCES = {"LICENSE", "THIRD_PARTY_NOTICES.txt", "LICENSES.txt", "tare.spdx.json"}
OPTIONAL = {"libmpi.so.40", "libmpich.so.12"}


def said_by_readelf(option, file):
    return subprocess.run(["readelf", option, "--wide", file], capture_output=True, text=True, check=True).stdout


def glibc_of(file):
    """-> the highest version of the C library that a symbol of it is asked in, as (major, minor)."""
    needs = said_by_readelf("--version-info", file).partition("Version needs section")[2]
    return max((tuple(map(int, found)) for found in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", needs)), default=(0, 0))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wheel = pathlib.Path(sys.argv[1])
    promised = tuple(map(int, re.search(r"-manylinux_(\d+)_(\d+)_\w+\.whl$", wheel.name).groups()))
    content, failed, elves = wheel.read_bytes(), 0, 0
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(io.BytesIO(content)) as archive:
        own = {pathlib.PurePath(name).name for name in archive.namelist()}
        for name in archive.namelist():
            if archive.read(name)[:4] != b"\x7fELF":
                continue
            file, elves = archive.extract(name, folder), elves + 1
            wanted, linked = glibc_of(file), set(re.findall(r"\(NEEDED\)\s+Shared library: \[(.*)\]", said_by_readelf("--dynamic", file)))
            strange = linked - RUNTIME - OPTIONAL - own
            wrong = wanted > promised or bool(strange)
            failed += wrong
            print(f"{'WRONG ' if wrong else ''}{name}: glibc {'.'.join(map(str, wanted)) if any(wanted) else 'none'}"
                  f"{', linked to ' + ', '.join(sorted(strange)) if strange else ''}")
        held = {pathlib.PurePath(name).name for name in archive.namelist() if ".dist-info/licenses/" in name and archive.getinfo(name).file_size}
    if LICENCES - held:
        failed += 1
        print(f"WRONG {wheel.name}: without {', '.join(sorted(LICENCES - held))}")
    if len(content) > MOST_BYTES:
        failed += 1
        print(f"WRONG {wheel.name}: {len(content)} bytes, more than {MOST_BYTES}")
    print(f"{elves} files, {failed} of them other than {wheel.name} says; {len(content)} bytes")
    return 1 if failed or elves < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
