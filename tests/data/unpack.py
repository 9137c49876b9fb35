#!/usr/bin/env python3
"""Unpack an archive of test data into a fresh folder, with modes, times and links as they were packed.

    unpack.py ARCHIVE FOLDER

What was in FOLDER before is gone. The build calls this; a folder that is there is complete.
"""
import pathlib
import shutil
import sys
import tarfile


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    archive, folder = map(pathlib.Path, sys.argv[1:])
    fresh = folder.with_name(folder.name + ".fresh")
    shutil.rmtree(fresh, ignore_errors=True)
    with tarfile.open(archive) as tar:
        # The archive is our own; the careful filters of newer Pythons would take away the modes that the tests need.
        if hasattr(tarfile, "fully_trusted_filter"):
            tar.extraction_filter = staticmethod(tarfile.fully_trusted_filter)
        tar.extractall(fresh)
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)


if __name__ == "__main__":
    main()
