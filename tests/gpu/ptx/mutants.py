#!/usr/bin/env python3
"""Takes fences, barriers, reads past the first cache and atomic additions out of the kernels' PTX, one at a time, and sees
that the interpreter notices: what is there is needed, and is watched.

    mutants.py GPU_PTX PTX_FOLDER [--module observe] [--entry NAME] [--sample N]

GPU_PTX is the interpreter with the tests. One line a mutant; exit 1 if the kernels as they are fail, or a mutant passes.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TEST = "many small tensors of one dtype*"  # section by section, one a dtype
OTHERS = {"rank_kernels": "gradients of ranks on a GPU*",  # modules with a test of their own
          "matrix_kernels": "a list of matrices*"}
MODULES = ("observe", "unscale", "rewrite", "write", *OTHERS)
ARCH = "90"
DTYPES = {"E1EEE": "f32", "E3EEE": "f16", "E4EEE": "bf16"}  # what a kernel for one dtype has in its name; others: f64
SEEDS = 16  # other turns of blocks and warps, until one shows it
KINDS = {
    "fence": (re.compile(r"^\s*membar\.gl;", re.MULTILINE), ""),
    "barrier": (re.compile(r"^\s*bar\.sync\s+0;", re.MULTILINE), ""),
    "read past the cache": (re.compile(r"ld\.global\.cg\."), "ld.global."),
    "atomic": (re.compile(r"^\s*atom\.global\.(max\.u32|add\.u64)[^;]*;", re.MULTILINE), ""),
}
# What is tried: counts are atomic where blocks add to one another's; behind fences of the others nobody reads.
OF_PASSES, OF_OTHERS = ("fence", "barrier", "read past the cache"), ("barrier", "atomic")


def entries(text):
    """(name, start, end) of each kernel."""
    starts = [(match.group(1), match.start()) for match in re.finditer(r"\.entry\s+(\w+)\(", text)]
    ends = [start for _, start in starts[1:]] + [len(text)]
    return [(name, start, end) for (name, start), end in zip(starts, ends)]


def mutants(text, wanted, kinds):
    """(what was done, the changed text) for every place in every kernel."""
    for name, start, end in entries(text):
        if wanted not in name:
            continue
        for kind in kinds:
            pattern, instead = KINDS[kind]
            places = [match.span() for match in pattern.finditer(text, start, end)]
            ends = {0: "first", len(places) - 2: "next to last", len(places) - 1: "last"}
            for number, (begin, stop) in enumerate(places):
                where = ends.get(number, str(number + 1))
                yield name, kind, where, text[:begin] + instead + text[stop:]


def section_of(module, entry):
    """The test's section that runs a kernel; of a test that has none nothing."""
    if module in OTHERS:
        return None
    return next((dtype for part, dtype in DTYPES.items() if f"DtypeE{part[1:]}" in entry), "f64")


def passes(program, folder, module, section, seed=1):
    environment = dict(os.environ, PTX_FOLDER=str(folder), PTX_ARCH=ARCH, PTX_WATCH="1", PTX_SEED=str(seed))
    chosen = [OTHERS.get(module, TEST), *(["-c", section] if section else [])]
    return subprocess.run([program, *chosen], env=environment, capture_output=True, timeout=600, check=False,
                          cwd=pathlib.Path(program).parent).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--module", choices=MODULES, action="append")
    parser.add_argument("--entry", default="")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every N-th read, of which kernels have many")
    arguments = parser.parse_args()
    wanted = {(module, section_of(module, name)) for module in arguments.module or MODULES
              for name, _, _ in entries((arguments.folder / f"{module}.{ARCH}.ptx").read_text())
              if arguments.entry in name}
    for module, section in sorted(wanted, key=str):
        if not passes(arguments.program, arguments.folder.resolve(), module, section):
            sys.exit(f"the kernels of {module} as they are do not pass with {section or 'their test'}")
    caught, escaped = 0, 0
    for module in arguments.module or MODULES:
        text = (arguments.folder / f"{module}.{ARCH}.ptx").read_text()
        reads = 0
        for name, kind, where, changed in mutants(text, arguments.entry, OF_OTHERS if module in OTHERS else OF_PASSES):
            if kind == "read past the cache":
                reads += 1
                if reads % arguments.sample != 0:
                    continue
            with tempfile.TemporaryDirectory() as scratch:
                for other in arguments.folder.glob(f"*.{ARCH}.ptx"):
                    (pathlib.Path(scratch) / other.name).symlink_to(other.resolve())
                (pathlib.Path(scratch) / f"{module}.{ARCH}.ptx").unlink()
                (pathlib.Path(scratch) / f"{module}.{ARCH}.ptx").write_text(changed)
                survived = all(
                    passes(arguments.program, scratch, module, section_of(module, name), seed) for seed in range(1, SEEDS + 1))
            caught += not survived
            escaped += survived
            print(f"{'ESCAPED' if survived else 'caught':8} {module}: {kind}, {where}, of {name}", flush=True)
    print(f"{caught} caught, {escaped} escaped")
    sys.exit(1 if escaped or not caught else 0)


if __name__ == "__main__":
    main()
