#!/usr/bin/env python3
"""Holds the command to what large checkpoints may cost, in counts: bytes of memory, bytes looked at, edits that come through.

    scale.py --tare TARE

As many FP8 modules and tensors as large models have are read; state goes into thousands of places with one look at the
pickle, which has a budget; who edits beside others waits for them. Exit 1 where one does not hold.
"""
import argparse
import concurrent.futures
import fcntl
import os
import pathlib
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import command
import make_scale
from command import Tare

command.WALL_LIMIT_S = 120  # what it holds to is no time

MIB = 1 << 10  # in KiB
OF_THE_PROCESS = 8  # MiB that any answer takes
OF_CODECS = 16  # MiB of what packs and unpacks, on all threads
JOURNAL_FACTOR = 2.1  # what changes is in it as it was and as it becomes
FILL_FACTOR = 2  # of memory to the bytes of the histories that are filled, beside what a look at them takes


def wrong(answer, most_mib):
    """What is: it failed, or took more memory."""
    if answer.code != 0 or answer.peak_kib > most_mib * MIB:
        yield f"{answer.peak_kib} KiB of {most_mib} MiB: {answer}"


def many_modules(tare, folder):
    """More than 16,384, which was the most."""
    model, most = folder / "model.pt", 320 << 20
    make_scale.fp8_modules(model, 17_000, 4)
    for words in (["inspect", model], ["inspect", model, "--json"], ["doctor", model]):
        yield from wrong(tare(*words, address_bytes=most), 160)
    answer = tare("attest", model, address_bytes=most)
    refused = answer.code == 1 and b"refused 17000" in answer.out
    if not refused or answer.peak_kib > 160 * MIB:
        yield f"{answer.peak_kib} KiB: {answer}: {answer.out[-200:]}"


def many_ranks(tare, folder):
    """What is known of each file is little: all of them are inspected, edited and restored in bounded memory."""
    step, most = folder / "step", 256 << 20
    make_scale.rank_files(step, 16_384)
    for words in (["inspect", step], ["edit", step, "scale=4096", "--yes"], ["undo", step, "--yes"], ["doctor", step]):
        yield from wrong(tare(*words, address_bytes=most), 96)


def long_header(tare, folder):
    """More than 16 MiB, which was the most; the format's own limit is 100 MB."""
    model = folder / "model.safetensors"
    make_scale.run("make_scale.py", "safetensors", model, 160_000)  # on its own: a child's peak is its parent's at least
    yield from wrong(tare("inspect", model), 120)


def many_tensors(tare, folder):
    """A number is changed in little more memory than looking at it takes; the rest of the pickle is not taken apart."""
    model = folder / "model.pt"
    make_scale.zip_of_tensors(model, 120_000)
    plain = tare("inspect", model)
    yield from wrong(tare("edit", model, "scale=4096", "--yes", "--no-history"), plain.peak_kib * 3 // 2 // MIB)
    if tare("get", model, "scale").out.strip() != b"4096.0":
        yield "the scale is another"


def many_items(tare, folder):
    """Of a distributed checkpoint the directory is most: its text and as much again, of which an edit holds one, too."""
    model = folder / "model"
    make_scale.run("make_scale.py", "distributed", model, 60_000)
    text_kib = (model / ".metadata").stat().st_size >> 10
    plain = tare("inspect", model)
    yield from wrong(plain, OF_THE_PROCESS + 2 * text_kib // MIB)
    yield from wrong(tare("edit", model, "scale=4096", "--yes", "--no-history"), plain.peak_kib * 5 // 4 // MIB)
    if tare("get", model, "scale").out.strip() != b"4096.0":
        yield "the scale is another"


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


def long_history(tare, folder):
    """Of 10,000 edits none but the one that is told, or taken back, is in memory."""
    step, most = folder / "step", 256 << 20
    make_scale.rank_files(step, 16)
    yield from wrong(tare("edit", step, "scale=2", "--yes"), 64)
    first = step / ".tare/000001.edit"
    for number in range(2, 10_001):
        os.link(first, step / f".tare/{number:06}.edit")
    words = (["history"], ["history", "--json"], ["inspect"], ["undo", "--yes"])
    answers = [tare(verb, step, *rest, address_bytes=most) for verb, *rest in words]
    for answer in answers:
        yield from wrong(answer, 64)
    if answers[0].out.count(b"16 files  applied") != 10_000:
        yield f"{answers[0].out.count(b'applied')} edits are told"
    if [len(edit["files"]) for edit in answers[1].json()["edits"]] != [16] * 10_000:
        yield "--json tells other edits"
    if not (step / ".tare/010000.undone").exists() or (step / ".tare/010000.edit").exists():
        yield "undo took another one back"


def modules_as_json(tare, folder):
    """Histories that are many are left out unless they are asked for; the answer is written module by module."""
    model, count, length = folder / "model.pt", 600, 128
    make_scale.fp8_modules(model, count, length)
    plain = tare("inspect", model)
    asked = ((["--json"], False), (["--json", "--histories"], True))
    answers = [tare("inspect", model, *words) for words, _ in asked]
    for answer, (words, has_histories) in zip(answers, asked):
        yield from wrong(answer, plain.peak_kib // MIB + 32)
        scaler = answer.json()["scalers"][-1]
        history = [len(row) for row in scaler["fields"].get("amax_history_fwd", [])]
        if history != ([3] * length if has_histories else []):
            yield f"{words}: the history has {len(history)} rows"
        if scaler.get("left_out") != (None if has_histories else {"amax_history_fwd": [length, 3], "amax_history_bwd": [length, 2]}):
            yield f"{words}: left out is {scaler.get('left_out')}"
        if ("histories-left-out" in {f["code"] for f in answer.json()["findings"]}) == has_histories:
            yield f"{words}: the findings are {answer.json()['findings']}"


def states_in_json(tare, folder):
    """Numbers are held as numbers and as text: a state is written, and put into a checkpoint, in three times its file."""
    model, state = folder / "model.pt", folder / "state.json"
    make_scale.fp8_modules(model, 400, 1024)
    plain = tare("inspect", model)
    saved = tare("inspect", model, "--save", state)
    most = (plain.peak_kib + 3 * (state.stat().st_size >> 10)) // MIB
    yield from wrong(saved, most)
    yield from wrong(tare("inspect", state), most)
    before = model.read_bytes()
    tare("fp8", "strip", model, "--yes", "--no-history")
    yield from wrong(tare("fp8", "inject", model, state, "--yes", "--no-history"), most)
    again = folder / "again.json"
    tare("inspect", model, "--save", again)
    if model.read_bytes() == before or again.read_bytes() != state.read_bytes():
        yield "the state that was injected is another"


def states_in_hdf5(tare, folder):
    """Written from one image, and read a history after the other; of 10 million numbers all are read, unpacked and taken over."""
    model, state, again = folder / "model.pt", folder / "state.h5", folder / "again.h5"
    count, length = 2000, 1024
    make_scale.run("make_scale.py", "fp8_long_histories", model, count)
    numbers_mib = count * length * 5 * 4 >> 20
    plain = tare("inspect", model)
    yield from wrong(tare("inspect", model, "--save", state), plain.peak_kib // MIB + OF_CODECS + 5 * numbers_mib // 2)
    yield from wrong(tare("inspect", state), OF_THE_PROCESS + OF_CODECS + 3 * numbers_mib)
    tare("fp8", "strip", model, "--yes", "--no-history")
    yield from wrong(tare("fp8", "inject", model, state, "--yes", "--no-history"), 10 * numbers_mib)
    tare("inspect", model, "--save", again)
    if not again.exists() or again.read_bytes() != state.read_bytes():
        yield "the state that was injected is another"


def histories_filled(tare, folder):
    """A fill is one value and a range, in memory and wherever it goes; what changes is held as it was and as it becomes."""
    model, count, length = folder / "model.pt", 800, 1024
    make_scale.fp8_modules(model, count, length)
    plain = tare("inspect", model)
    changes_kib = count * length * 5 * 4 >> 10
    answer = tare("fp8", "reset", model, "--yes")
    journal_kib = (folder / ".tare/000001.edit").stat().st_size >> 10
    if not changes_kib < journal_kib <= JOURNAL_FACTOR * changes_kib:
        yield f"the journal has {journal_kib} KiB, of {changes_kib} that change"
    yield from wrong(answer, (plain.peak_kib + FILL_FACTOR * changes_kib) // MIB)
    before = tare("inspect", model)
    yield from wrong(tare("undo", model, "--yes"), (plain.peak_kib + FILL_FACTOR * changes_kib) // MIB)
    if before.out == plain.out or tare("inspect", model).out != plain.out:
        yield "the histories are not filled, or not back"


def ranks_that_differ(tare, folder):
    """Of thousands of states the text shows a few, and says how many there are."""
    make_scale.rank_files(folder / "step", 3000, 2999)
    answer = tare("inspect", folder / "step")
    text = answer.out.decode()
    if answer.code != 1 or len(text) > 8000 or "and 2991 more states, in 2991 files" not in text or "in 2 files" not in text:
        yield f"exit {answer.code}, {len(text)} characters: {text[-300:]}"
    if len(tare("inspect", folder / "step", "--json").json()["scalers"]) != 2999:
        yield "--json does not show all"


def editors_of_one_folder(tare, folder):
    make_scale.rank_files(folder / "step", 8)
    files = sorted((folder / "step").iterdir())
    with concurrent.futures.ThreadPoolExecutor(len(files)) as pool:
        def edits(path):
            return [tare("edit", path, f"scale={2 ** power}", "--yes", "--wait", 60) for power in range(1, 6)]
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


def held(case, tare):
    with tempfile.TemporaryDirectory() as scratch:
        return list(case(tare, pathlib.Path(scratch)))


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    tare = Tare(ask.parse_args().tare)
    failed = []
    cases = (many_modules, many_ranks, long_header, many_tensors, many_items, many_places, modules_as_json, states_in_json,
             states_in_hdf5, histories_filled, ranks_that_differ, long_history, editors_of_one_folder, a_lock_that_stays)
    # A process for each: what a command takes at most is counted from the memory of who starts it.
    with concurrent.futures.ProcessPoolExecutor(1, max_tasks_per_child=1) as fresh:
        for case in cases:
            found = fresh.submit(held, case, tare).result()
            print(f"{case.__name__}: {len(found)} wrong", flush=True)
            failed += found
    print("\n".join(failed[:20]))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
