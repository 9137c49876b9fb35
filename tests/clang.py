#!/usr/bin/env python3
"""Has a clang read the sources of a build as they are built, warnings as errors, and make nothing.

    tests/clang.py BUILD CLANG [WORDS...] [--only REGEX]     e.g. tests/clang.py build/debug clang++-19

BUILD: a folder with a compile_commands.json that names each source (the preset release joins them). CLANG and WORDS: the
command, such as a wrapper with its own options; clangs of several releases are tried one after the other. --only: the sources
whose path matches. Prints what does not pass, with its first errors; the last line counts. Exit 1 where one does not pass.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

MOST_ERRORS = 4  # told of a source
# What a newer clang says of the standard library of an older GCC, or of words that only GCC knows, is no fault of a source.
KEPT_QUIET = ["-Wno-unused-command-line-argument", "-Wno-unknown-warning-option", "-Wno-deprecated-declarations"]


def syntax_check(entry, clang):
    """-> what is wrong with the source, by its lines; none: nothing."""
    words = shlex.split(entry["command"])
    compiler = next(i for i, word in enumerate(words) if re.fullmatch(r"(.*/)?([a-z0-9_]+-linux-gnu-)?(c\+\+|g\+\+|cc|gcc)(-\d+)?", word))
    options = words[compiler + 1:]
    output = options.index("-o")
    del options[output:output + 2]
    if "-include" in options:  # what GCC has precompiled, no clang reads; the source includes it, too
        precompiled = options.index("-include")
        del options[precompiled:precompiled + 2]
    language = ["-x", "c" if entry["file"].endswith(".c") else "c++"]  # whichever of the two commands of clang it is
    run = subprocess.run([*clang, *language, *options, *KEPT_QUIET, "-fsyntax-only"], cwd=entry["directory"],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if run.returncode == 0:
        return []
    return [line for line in run.stderr.splitlines() if "error" in line][:MOST_ERRORS] or [run.stderr.strip()[-300:]]


def main(arguments):
    only = ""
    if "--only" in arguments:
        at = arguments.index("--only")
        only = arguments[at + 1]
        del arguments[at:at + 2]
    if len(arguments) < 2:
        sys.exit(__doc__)
    build, clang = pathlib.Path(arguments[0]), arguments[1:]
    entries = {entry["file"]: entry for entry in json.loads((build / "compile_commands.json").read_text())
               if not entry["file"].endswith(".cu") and re.search(only, entry["file"])}
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, told in zip(entries, pool.map(lambda entry: syntax_check(entry, clang), entries.values())):
            if not told:
                continue
            wrong += 1
            print(os.path.relpath(file), *told, sep="\n  ", flush=True)
    print(f"{len(entries) - wrong} of {len(entries)} sources pass")
    return 1 if wrong or not entries else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
