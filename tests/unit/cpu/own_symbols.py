"""What is compiled for one instruction set must not be linked into another's code.

An inline function of a shared header, compiled with AVX-512 switched on, is a weak symbol; the linker keeps any one of
the copies, and a CPU without AVX-512 may get that one. So each object of kernels/cpu/piece_*.cpp and panel_*.cpp may define weak
symbols only in the namespace of its own target.

usage: own_symbols.py NM OBJECT...
"""

import re
import subprocess
import sys

# NEON has several names, by the release of Highway.
NAMESPACES = {"portable": "N_SCALAR::", "sse4": "N_SSE4::", "avx2": "N_AVX2::", "avx512": "N_AVX3::", "neon": "N_NEON",
              "sve256": "N_SVE_256::"}


def strangers(nm, path, namespace):
    """Weak definitions of the object that another object might define as well."""
    lines = subprocess.run([nm, "-C", path], check=True, capture_output=True, text=True).stdout.splitlines()
    weak = [line.split(maxsplit=2)[2] for line in lines if re.match(r"[0-9a-f]+ [WVu] ", line)]
    return [name for name in weak if namespace not in name and not name.startswith("DW.ref.")], len(weak)


def main():
    nm, objects = sys.argv[1], sys.argv[2:]
    checked, bad = 0, 0
    for path in objects:
        match = re.search(r"(?:piece|panel)_(\w+)\.cpp", path)
        if not match:
            continue
        names, weak = strangers(nm, path, NAMESPACES[match[1]])
        checked += weak > 0
        for name in names:
            bad += 1
            print(f"{path}: {name} may be linked into the code for other CPUs")
    if checked == 0:
        print("no object of kernels/cpu/piece_*.cpp or panel_*.cpp was found to check")
    print(f"{checked} objects checked, {bad} symbols that do not belong there")
    return 0 if checked and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
