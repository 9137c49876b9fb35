#!/usr/bin/env python3
"""Pack a folder of checkpoint cases into corpus.tar.xz, beside this script.

    pack.py FOLDER

A case is a folder with a truth.json; it goes in with all its files. Nothing else does (the scripts that made the cases
stay behind). The same folder always gives the same archive: entries are sorted, and owners, times and modes are set
here. A transport that lost modes and links is made good by the tables below.
"""
import fnmatch
import io
import lzma
import os
import pathlib
import sys
import tarfile

ARCHIVE = pathlib.Path(__file__).with_name("corpus.tar.xz")
MODIFIED = 1704164645  # any fixed moment

# MindSpore leaves its checkpoints readable by their owner alone.
OWNER_READS = ("mindspore/*.ckpt", "mindformers/*.ckpt")
# These are symbolic links even where they arrive as text files that hold the target's name.
LINKS = {
    "hostile/symlink/link.pt": "real.pt",
    "hostile/symlink-loop/loop.pt": "loop.pt",
    "hostile/symlink-dangling/gone.pt": "nothing-here.pt",
    "lerobot/scaler_state_json/checkpoints/last": "001000",
}


def entries(folder):
    """All paths of all cases, parents before children, always in one order."""
    found = set()
    for truth in folder.rglob("truth.json"):
        case = truth.parent
        found |= {case, *case.rglob("*")}
        found |= {parent for parent in case.parents if folder in parent.parents}
    return sorted(path.relative_to(folder).as_posix() for path in found)


def header(folder, name):
    """The tar header of one path: (header, content)."""
    path = folder / name
    entry, content = tarfile.TarInfo(name), b""
    entry.mtime, entry.mode = MODIFIED, 0o644
    if name in LINKS or path.is_symlink():
        entry.type, entry.mode = tarfile.SYMTYPE, 0o777
        entry.linkname = LINKS.get(name) or os.readlink(path)
    elif path.is_dir():
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
    else:
        content = path.read_bytes()
        entry.size = len(content)
        if any(fnmatch.fnmatch(name, pattern) for pattern in OWNER_READS):
            entry.mode = 0o400
    return entry, content


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    names = entries(folder)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            entry, content = header(folder, name)
            tar.addfile(entry, io.BytesIO(content))
    ARCHIVE.write_bytes(lzma.compress(plain.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    cases = sum(name.endswith("/truth.json") for name in names)
    print(f"{ARCHIVE.name}: {cases} cases, {len(names)} entries, {ARCHIVE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
