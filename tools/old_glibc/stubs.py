#!/usr/bin/env python3
"""Makes what a library is linked with so that an older glibc suffices: stubs of the C library with its functions and objects, each
in the newest version that the older one has. What came later has no name in them, so that linking fails where it is asked for.

    stubs.py GLIBC CC FOLDER       e.g. stubs.py 2.27 cc build/old_glibc; CC: a compiler of the C library that is to be

What is linked with them names libpthread.so.0 and libdl.so.2, too, where an older glibc has what is in libc.so.6 today.
"""
import pathlib
import re
import subprocess
import sys

BEFORE_THE_MERGER = ["libpthread.so.0", "libdl.so.2"]  # of 2.34; they have no symbol of their own any more
SYMBOL = re.compile(r"^\s*\d+: [0-9a-f]+\s+(\S+) (FUNC|IFUNC|OBJECT)\s+(?:GLOBAL|WEAK) +DEFAULT +\d+ (\w+)@@?GLIBC_([0-9.]+)$")


def number(version):
    return tuple(map(int, version.split(".")))


def kept_symbols(library, limit):
    """-> {name: (kind, size, version)} of the library's symbols, the newest version up to the limit of each."""
    listed = subprocess.run(["readelf", "--dyn-syms", "--wide", library], capture_output=True, text=True, check=True).stdout
    kept = {}
    for size, kind, name, version in filter(None, (found and found.groups() for found in map(SYMBOL.match, listed.splitlines()))):
        if number(version) <= limit and (name not in kept or number(version) > number(kept[name][2])):
            kept[name] = ("object" if kind == "OBJECT" else "function", int(size, 0), version)
    return kept


def make_stub(compiler, soname, symbols, folder):
    lines = ['.section .note.GNU-stack,"",%progbits', ".data"]
    for place, (name, (kind, size, version)) in enumerate(sorted(symbols.items())):
        lines += [f".globl stub_{place}", f".type stub_{place},%{kind}", f".size stub_{place},{size}",
                  f"stub_{place}: .skip {max(size, 1) if kind == 'object' else 1}", f".symver stub_{place},{name}@@GLIBC_{version}"]
    assembly, versions = folder / f"{soname}.s", folder / f"{soname}.map"
    assembly.write_text("\n".join(lines) + "\n")
    nodes = sorted({version for _, _, version in symbols.values()}, key=number)
    versions.write_text("".join(f"GLIBC_{version} {{}};\n" for version in nodes) or "{local: *;};\n")
    with versions.open("a") as script:
        script.write("NONE {local: stub_*;};\n" if nodes else "")
    subprocess.run([compiler, "-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script={versions}", assembly,
                    "-o", folder / soname], check=True)


def main(oldest, compiler, folder):
    def library(name):
        return subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()

    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    needs = subprocess.run(["readelf", "--dynamic", "--wide", library("libc.so.6")], capture_output=True, text=True, check=True).stdout
    loader = re.search(r"\[(ld-linux[^]]*)\]", needs)[1]
    for soname in ["libc.so.6", "libm.so.6", loader]:
        make_stub(compiler, soname, kept_symbols(library(soname), number(oldest)), folder)
    for soname in BEFORE_THE_MERGER:
        make_stub(compiler, soname, {}, folder)
        (folder / soname.partition(".so")[0]).with_suffix(".so").write_text(f"INPUT({folder / soname})\n")
    (folder / "libm.so").write_text(f"INPUT({folder / 'libm.so.6'})\n")
    (folder / "libc.so").write_text(f"GROUP({folder / 'libc.so.6'} {library('libc_nonshared.a')} AS_NEEDED({folder / loader}))\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
