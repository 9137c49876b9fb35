#!/usr/bin/env python3
"""Whatever stands where a number is wanted, inspect, doctor, get, edit and migrate answer with an exit code of theirs, and an
error names the file.

    odd_values.py --tare TARE --corpus FOLDER [--verbose]

Takes real checkpoints of torch.save in turn and puts an odd value in place of each opcode of a number in their pickles: ints
that no double holds, texts, lists, None, NaN.

What `get` reads of an int that no double holds, `edit` and `migrate` write to its last digit.
"""
import argparse
import pathlib
import pickletools
import sys
import tempfile
import zipfile

from command import Tare

FILES = ("accelerate/fsdp_sharded/state/scaler.pt", "apex/fp16-optimizer/fp16.pt", "msamp/adamw/checkpoint.pt",
         "deepspeed/zero2_2ranks/ckpt/global_step5/mp_rank_00_model_states.pt", "torch/train-t2.15/checkpoint.pth")
NUMBERS = {"BINFLOAT", "BININT", "BININT1", "BININT2", "LONG1", "NEWTRUE", "NEWFALSE"}
MOST_PLACES = 12  # of a file: the last ones, where most keep their scaler, and as many spread over the others


def long4(number):
    digits = number.to_bytes((number.bit_length() + 8) // 8, "little", signed=True)
    return b"\x8b" + len(digits).to_bytes(4, "little") + digits


ODD = {"10^400": long4(10 ** 400), "-10^400": long4(-10 ** 400), "2^63": long4(2 ** 63), "None": b"N", "a text": b"X\1\0\0\0x",
       "a list": b"]", "a dict": b"}", "NaN": b"G\x7f\xf8" + bytes(6), "a tuple": b")"}
VERBS = (("inspect", "--json"), ("doctor",), ("get", "scale"), ("edit", "scale=1024", "--dry-run"),
         ("migrate", "--to", "torch", "-o", "MADE", "--force"))


def places(pickle):
    operations = list(pickletools.genops(pickle))
    found = [(place, behind[2]) for (code, _, place), behind in zip(operations, operations[1:]) if code.name in NUMBERS]
    half = MOST_PLACES // 2
    return found[-half:] + found[:-half][::max(1, len(found[:-half]) // half)]


def with_pickle(source, target, pickle):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for member in old.infolist():
            is_pickle = member.filename.endswith("/data.pkl")
            new.writestr(member.filename, pickle if is_pickle else old.read(member.filename))


def wrong(tare, path):
    for verb, *arguments in VERBS:
        answer = tare(verb, path, *(str(path.with_name("made.pt")) if given == "MADE" else given for given in arguments))
        if answer.code not in range(5):
            yield f"{answer}: no exit code of tare's"
        elif answer.code > 1 and path.name not in answer.reason:
            yield f"{answer}: names no file"


def rounded(tare, scalers, scratch):
    """Ints that a double takes for its neighbours, in a pickle and in JSON."""
    for scaler in scalers:
        path = scratch / scaler.name
        path.write_bytes(scaler.read_bytes())
        for number in "9223372036854775807", "9007199254740993":
            done = tare("edit", path, f"growth_interval={number}", "--yes")
            read = tare("get", path, "growth_interval")
            if done.code != 0 or read.out.decode().strip() != number:
                yield f"{path.name}: growth_interval={number} is read as {read.out}: {done}"
            told = (done.out + tare("inspect", path).out).decode().splitlines()
            if any(number in line and "2^" in line for line in told):
                yield f"{path.name}: {number} is called a power of two"


def rounded_on_the_way(tare, source, scratch):
    """The same where a migration is given what the source does not hold."""
    made = scratch / "anew.pt"
    done = tare("migrate", source, "--to", "torch", "--set", "growth_interval=9007199254740993", "-o", made)
    read = tare("get", made, "growth_interval")
    if read.out.decode().strip() != "9007199254740993":
        yield f"growth_interval=9007199254740993 is read as {read.out}: {done}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tare", required=True)
    parser.add_argument("--corpus", required=True, type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    tare, tried, failures = Tare(given.tare), 0, []
    with tempfile.TemporaryDirectory() as scratch:
        for file in FILES:
            source = given.corpus / file
            with zipfile.ZipFile(source) as archive:
                name, = (n for n in archive.namelist() if n.endswith("/data.pkl"))
                pickle = archive.read(name)
            path = pathlib.Path(scratch) / source.name
            for begin, end in places(pickle):
                for value, code in ODD.items():
                    with_pickle(source, path, pickle[:begin] + code + pickle[end:])
                    tried += 1
                    failures += [f"{file}, {value} at {begin}: {why}" for why in wrong(tare, path)]
        files = "torch/scaler-file-t2.15/scaler.pt", "lerobot/scaler_state_json/checkpoints/001000/training_state/scaler_state.json"
        failures += rounded(tare, [given.corpus / file for file in files], pathlib.Path(scratch))
        failures += rounded_on_the_way(tare, given.corpus / "apex/contrib-static/contrib.pt", pathlib.Path(scratch))
    for failure in failures[:20]:
        print(failure)
    print(f"{tried} files with an odd value, {len(failures)} wrong answers")
    return 1 if failures or tried < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
