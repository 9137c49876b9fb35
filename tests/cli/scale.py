#!/usr/bin/env python3
"""Holds the command to what large checkpoints may cost, in counts: bytes of memory, bytes looked at, edits that come through.

    scale.py --tare TARE

As many FP8 modules and tensors as large models have are read; state goes into thousands of places with one look at the
pickle, which has a budget; who edits beside others waits for them. Exit 1 where one does not hold.
"""
import argparse
import concurrent.futures
import fcntl
import pathlib
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import make_scale
from command import Tare

MIB = 1 << 10  # in KiB


def many_modules(tare, folder):
    """More than 16,384, which was the most."""
    make_scale.fp8_modules(folder / "model.pt", 17_000, 4)
    answer = tare("inspect", folder / "model.pt")
    if answer.code != 0 or answer.peak_kib > 160 * MIB:
        yield f"{answer.peak_kib} KiB: {answer}"


def long_header(tare, folder):
    """More than 16 MiB, which was the most; the format's own limit is 100 MB."""
    make_scale.safetensors(folder / "model.safetensors", 160_000)
    answer = tare("inspect", folder / "model.safetensors")
    if answer.code != 0 or answer.peak_kib > 192 * MIB:
        yield f"{answer.peak_kib} KiB: {answer}"


def many_places(tare, folder):
    """A look at the whole pickle for each place would be more than the file's budget of steps."""
    model, state = folder / "model.pt", folder / "state.json"
    make_scale.fp8_modules(model, 3000, 4)
    before = tare("inspect", model, "--save", state)
    for words in (["fp8", "strip", model], ["fp8", "inject", model, state]):
        answer = tare(*words, "--yes", "--no-history")
        if answer.code != 0:
            yield str(answer)
    again = folder / "again.json"
    after = tare("inspect", model, "--save", again)
    if before.code != 0 or after.code != 0 or state.read_bytes() != again.read_bytes():
        yield f"{before}; {after}: the state that was injected is another"


def editors_of_one_folder(tare, folder):
    make_scale.rank_files(folder / "step", 8)
    files = sorted((folder / "step").iterdir())
    with concurrent.futures.ThreadPoolExecutor(len(files)) as pool:
        def edits(path):
            return [tare("edit", path, f"scale={2 ** power}", "--yes") for power in range(1, 6)]
        for answer in (answer for answers in pool.map(edits, files) for answer in answers):
            if answer.code != 0:
                yield str(answer)
    undone = [tare("undo", path, "--yes") for path in files]
    yield from (str(answer) for answer in undone if answer.code != 0)


def a_lock_that_stays(tare, folder):
    make_scale.rank_file(folder / "rank0.pt", 1)
    (folder / ".tare").mkdir(mode=0o700)
    with (folder / ".tare/pending").open("w+b") as pending:
        whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
        fcntl.fcntl(pending, 37, whole)  # F_OFD_SETLK
        answer = tare("edit", folder / "rank0.pt", "scale=4", "--yes", "--wait", "1")
    if answer.code != 3 or "another tare is editing" not in answer.reason or "waited for 1 second" not in answer.reason:
        yield str(answer)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    tare = Tare(ask.parse_args().tare)
    failed = []
    for case in (many_modules, long_header, many_places, editors_of_one_folder, a_lock_that_stays):
        with tempfile.TemporaryDirectory() as scratch:
            found = list(case(tare, pathlib.Path(scratch)))
        print(f"{case.__name__}: {len(found)} wrong")
        failed += found
    print("\n".join(failed[:20]))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
