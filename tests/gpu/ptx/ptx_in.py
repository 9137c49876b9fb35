#!/usr/bin/env python3
"""Takes the PTX out of objects that nvcc made with --no-compress: FOLDER/observe.90.ptx of observe.cu.o, a file for each generation.

    ptx_in.py FOLDER OBJECT...
"""
import pathlib
import re
import sys

# What nvcc embeds is text that ends in a zero, its comments blanked.
TEXT = re.compile(rb"\.version [0-9.]+\n\.target sm_(\d+)[^\0]*")


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:]:
        path = pathlib.Path(name)
        for text in TEXT.finditer(path.read_bytes()):
            (folder / f"{path.name.split('.')[0]}.{text[1].decode()}.ptx").write_bytes(text[0])


main()
