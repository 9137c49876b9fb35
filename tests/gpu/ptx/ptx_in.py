#!/usr/bin/env python3
"""Takes the PTX out of objects that nvcc made with --no-compress: FOLDER/observe.90.ptx of observe.cu.o, a file for each generation.

    ptx_in.py FOLDER GENERATION... OBJECT...      exit 1 where an object has not just one text for each
"""
import pathlib
import re
import sys

# What nvcc embeds is text that ends in a zero, its comments blanked.
TEXT = re.compile(rb"\.version [0-9.]+\n\.target sm_(\d+)[^\0]*")


def main():
    folder, wanted = pathlib.Path(sys.argv[1]), [word for word in sys.argv[2:] if word.isdecimal()]
    for path in map(pathlib.Path, sys.argv[2 + len(wanted):]):
        texts = list(TEXT.finditer(path.read_bytes()))
        found = [text[1].decode() for text in texts]
        if sorted(found) != sorted(wanted):
            sys.exit(f"{path}: has PTX for {found}, not for {wanted}")
        for text, generation in zip(texts, found):
            (folder / f"{path.name.split('.')[0]}.{generation}.ptx").write_bytes(text[0])


main()
