#!/usr/bin/env python3
"""Counts what many rank files cost: on a network file system every call is a journey.

    system_calls.py --tare TARE --corpus FOLDER

300 rank files are inspected, edited and restored by a process that may have 64 files open; of an edit and an undo those calls
are counted that ask about names, and none of their threads waits for more than its share. And an Orbax item of 2,000
arrays, of which none but the scaler's is looked at; an edit of a distributed checkpoint of 20,000 items, whose directory is
read once; a zip of 20,000 tensors, whose directory an edit reads once more to check what it made; and an npz of 3,000 arrays,
which are read many at once. Exit 1 if a file takes more calls than it should, 77 (skipped) where
strace may not trace.
"""
import argparse
import collections
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import make_scale

RANKS = 300
PER_FILE = {"openat": 1, "pread64": 1, "newfstatat": 2, "fstat": 1, "close": 1}  # of a small file; looked at
# once more when all are read
EDITED = 8  # calls that ask for names or what is known of a file, for each: opens, looks, links read
OF_NAMES = ("openat", "openat2", "newfstatat", "fstat", "readlink", "lstat", "statx")
BETWEEN_THREADS = {"futex": 3, "rt_sigprocmask": 1}  # how many there are is the scheduler's choice; no journeys
ANYTHING_ELSE = 60  # calls of the process itself
SLOW = 1000  # microseconds, as on a network file system
ALONE = 0.25  # of the calls about names, by one of 16 threads
FOR_JOURNALS = 140  # of an edit: looks for journals in each folder above, and the key
ARRAYS = 2000
FOR_ALL_ARRAYS = 400  # calls of any kind: those of the process, a few listings, the scaler's own files, a look for
# journals and records in each folder above


READS_OF_A_FILE = {"edit": 4, "undo": 5}  # times its bytes: the look, the plan's check, the bytes that go to the journal ...
ITEMS = 20_000
READS_OF_DIRECTORY = 1.2  # of its bytes: it is read once, and of the items little
TENSORS = 20_000
READS_OF_ZIP = {"inspect": 1.1, "edit": 2.2}  # of its directory and its pickle: the change is checked as a file that nobody knows
MEMBERS = 3000
FOR_ALL_MEMBERS = 250  # calls of any kind


def limit_open_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def calls_in(trace):
    return collections.Counter(re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE))


def alone(trace):
    """The share of the calls about names that one thread makes."""
    threads = re.findall(rf"^(\d+) +(?:{'|'.join(OF_NAMES)})\(", trace.read_text(), re.MULTILINE)
    return max(collections.Counter(threads).values()) / len(threads)


def arrays(run, tare, corpus, scratch):
    """What is wrong with an Orbax item of many arrays."""
    case, trace = pathlib.Path(scratch, "run"), pathlib.Path(scratch, "arrays")
    shutil.copytree(pathlib.Path(corpus, "flax/orbax_zarr/run"), case)
    item = case / "10/default"
    for number in range(ARRAYS):
        array = item / f"params.layer_{number:05}"
        array.mkdir()
        (array / "0").write_bytes(b"")
    run("strace", "-f", "-o", trace, tare, "inspect", item)
    count = calls_in(trace).total()
    if count > FOR_ALL_ARRAYS:
        yield f"{count} calls for an item of {ARRAYS} arrays"
    for verb, *rest in (("edit", "scale=64"), ("undo",)):  # one array's file: its record lies deep inside
        done = run(tare, verb, item, *rest, "--yes")
        if done.returncode != 0:
            yield f"{verb} of an item: {done}"


def bytes_read(trace):
    return sum(map(int, re.findall(r"^\d+ +(?:pread64|read)\(.* = (\d+)$", trace.read_text(), re.MULTILINE)))


def archives(run, tare, scratch):
    """What is wrong with a zip of many tensors, and with an npz of many arrays."""
    folder, trace = pathlib.Path(scratch, "archives"), pathlib.Path(scratch, "archive")
    folder.mkdir()
    model, arrays = folder / "model.pt", folder / "arrays.npz"
    make_scale.zip_of_tensors(model, TENSORS)
    with zipfile.ZipFile(model) as archive:
        pickled = next(entry for entry in archive.infolist() if entry.filename.endswith("data.pkl"))
        looked_at = model.stat().st_size - archive.start_dir + pickled.file_size
    for verb, *rest in (("inspect",), ("edit", "scale=4096", "--yes", "--no-history")):
        done = run("strace", "-f", "-o", trace, "-e", "trace=pread64,read", tare, verb, model, *rest)
        read = bytes_read(trace)
        if done.returncode != 0 or not looked_at <= read <= READS_OF_ZIP[verb] * looked_at:
            yield f"{verb} of {TENSORS} tensors: {read} bytes, of {looked_at}: {done.stderr}"
    make_scale.npz(arrays, MEMBERS)
    done = run("strace", "-f", "-o", trace, tare, "inspect", arrays)
    count = calls_in(trace).total()
    if "growth_factor" not in done.stdout or count > FOR_ALL_MEMBERS:
        yield f"{count} calls for an npz of {MEMBERS} members: {done}"


def items(run, tare, scratch):
    """What is wrong with an edit of a distributed checkpoint whose directory is large."""
    model, trace = pathlib.Path(scratch, "model"), pathlib.Path(scratch, "items")
    make_scale.distributed(model, ITEMS)
    done = run("strace", "-f", "-o", trace, "-e", "trace=pread64,read", tare, "edit", model, "scale=4096", "--yes")
    if done.returncode != 0:
        yield f"edit of {ITEMS} items: {done}"
    read = bytes_read(trace)
    size = (model / ".metadata").stat().st_size
    if not size <= read <= READS_OF_DIRECTORY * size:
        yield f"an edit reads {read} bytes where the directory has {size}"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True)
    options = ask.parse_args()
    source = pathlib.Path(options.corpus, "torch/rank-files-t2.15/step100/rank0.pt")

    def run(*arguments):
        return subprocess.run(arguments, capture_output=True, text=True, preexec_fn=limit_open_files)

    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_STATE_HOME"] = scratch  # where tare keeps its key
        folder = pathlib.Path(scratch, "step")
        folder.mkdir()
        for rank in range(RANKS):
            shutil.copy(source, folder / f"rank{rank}.pt")
        trace = pathlib.Path(scratch, "trace")
        done = run("strace", "-f", "-o", trace, options.tare, "inspect", folder)
        if "ptrace" in done.stderr.lower() or not trace.exists():
            print("strace may not trace here")
            sys.exit(77)
        if f"in {RANKS} files, which agree" not in done.stdout:
            failed.append(f"inspect: {done}")
        calls = calls_in(trace)
        for call, count in calls.items():
            if count > (PER_FILE | BETWEEN_THREADS).get(call, 0) * RANKS + ANYTHING_ELSE:
                failed.append(f"{call}: {count} calls for {RANKS} files")
        before, size = source.read_bytes(), RANKS * source.stat().st_size
        for arguments, wanted in ((["edit", folder, "scale=2048", "--yes"], "2048.0"), (["undo", folder, "--yes"], None)):
            done = run("strace", "-f", "-o", trace, "-e", f"inject=openat,newfstatat:delay_exit={SLOW}", options.tare, *arguments)
            if done.returncode != 0:
                failed.append(f"{arguments[0]}: {done}")
            if alone(trace) > ALONE:
                failed.append(f"{arguments[0]}: one thread makes {alone(trace):.2f} of all calls about names")
            asked = sum(calls_in(trace)[call] for call in OF_NAMES)
            if asked > EDITED * RANKS + ANYTHING_ELSE + FOR_JOURNALS:
                failed.append(f"{arguments[0]}: {asked} calls about names of {RANKS} files")
            if bytes_read(trace) > READS_OF_A_FILE[arguments[0]] * size:
                failed.append(f"{arguments[0]}: {bytes_read(trace)} bytes are read of {size}")
            got = run(options.tare, "get", folder, "scale").stdout.strip()
            if wanted and float(got) != float(wanted):
                failed.append(f"{arguments[0]}: scale is {got}")
        if any(path.read_bytes() != before for path in folder.glob("*.pt")):
            failed.append("undo: bytes are not back")
        failed.extend(arrays(run, options.tare, options.corpus, scratch))
        failed.extend(items(run, options.tare, scratch))
        failed.extend(archives(run, options.tare, scratch))
    print("\n".join(failed) or f"{dict(calls)}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
