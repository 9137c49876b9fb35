#!/usr/bin/env python3
"""Holds every verb to what a file of at most 5 MB may cost: 128 MiB and 2 s of processor time.

    bounds.py --tare TARE [--all] [--table] [NAME...]

The files and folders are those of tests/bounds/bombs.py, shapes that ask for as much as they can. Without --all a few
of them, of every kind, are held against two verbs each, and to four times the processor time; with it all of them against all
verbs, which takes some minutes. --table prints what each shape cost at most. Exit 1 where a bound is passed, a verb dies, or an answer is larger than the bound
on what a file may have printed.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
BOMBS = pathlib.Path(__file__).parent.parent / "bounds" / "bombs.py"
sys.path.insert(0, str(BOMBS.parent))
import blocks
import bombs
import command

MOST_KIB = 128 << 10
MOST_CPU_S = 2.0
#: Processor time doubles where other programs use the machine's cores and caches: in the suite, where they do, what is
#: told is a shape that costs many times the bound, as each did that was found. --all is for an idle machine.
MOST_CPU_BUSY_S = 8.0
MOST_PRINTED = 64 << 20
command.WALL_LIMIT_S = 120  # of a busy machine

#: What a run prints that refuses is short; a run may end in any of these.
ENDINGS = {0, 1, 3, 4}

SAMPLE = ["pickle_dicts.pkl", "pickle_dict_wide.pkl", "pickle_shared_key.pkl", "pickle_shared_name.pkl",
          "pickle_floats_text.pkl", "pickle_fields.pkl", "pickle_subclasses.pkl", "nested_zip_bombs.pkl",
          "nested_shared.pkl", "zip_dicts.pt", "msgpack_same_key.msgpack", "msgpack_chunks.msgpack",
          "st_dots.safetensors", "json_maps.json", "json_numbers.json", "json_pickles.json", "nested_lines.pkl", "nested_names.pkl", "fp8_shared_state.pt", "mindspore_names.ckpt", "h5_long_names.h5", "h5_overlapping_headers.h5",
          "zarr_unpacking", "ocdbt_paths", "ocdbt_same_document", "tf_keys", "tf_same_bytes", "dcp_items", "dcp_names",
          "dcp_attributes", "keras_shards", "keras_same_shard", "files_zip_bombs", "files_zip_scalers"]

#: What once took more with another verb.
MORE_VERBS = {"json_numbers.json": ("migrate",), "files_zip_scalers": ("trace",)}


def verbs(file, scratch):
    """By name: the arguments of each verb; those that change something last."""
    return {
        "attest": ["attest", file],
        "inspect": ["inspect", file],
        "inspect --json": ["inspect", "--json", file],
        "attest --json": ["attest", "--json", file],
        "get": ["get", file, "scale"],
        "diff": ["diff", file, file],
        "edit": ["edit", file, "scale=2", "--dry-run"],
        "migrate": ["migrate", file, "--to", "torch", "-o", scratch / "made.pt"],
        "migrate --into": ["migrate", scratch / "target.pkl", "--into", file, "--dry-run"],
        "fp8": ["fp8", "reset", file, "--dry-run"],
        "history": ["history", file],
        "trace": ["trace", file],
        "doctor": ["doctor", file],
        "timeline": ["timeline", file],
        "edit --yes": ["edit", file, "scale=2", "--yes"],
        "undo": ["undo", file, "--yes"],
    }


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--all", action="store_true")
    ask.add_argument("--table", action="store_true")
    ask.add_argument("names", nargs="*", metavar="NAME")
    options = ask.parse_args()
    tare = command.Tare(options.tare)
    most_cpu_s = MOST_CPU_S if options.all else MOST_CPU_BUSY_S
    failed, runs = [], 0
    for name in options.names or (bombs.shapes if options.all else SAMPLE):
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            # By a process of its own: what a run is said to take at most includes what whoever started it had taken.
            subprocess.run([sys.executable, BOMBS, scratch, name], check=True)
            (scratch / "target.pkl").write_bytes(blocks.PROTO + blocks.SCALER + b".")
            worst = []
            for verb, arguments in verbs(scratch / name, scratch).items():
                if not options.all and verb not in ("attest", "inspect --json", *MORE_VERBS.get(name, ())):
                    continue
                (scratch / "made.pt").unlink(missing_ok=True)
                answer = tare(*arguments)
                runs += 1
                worst.append((answer.peak_kib / 1024, answer.cpu_s, verb))
                printed = len(answer.out) + len(answer.err)
                if (answer.code not in ENDINGS or answer.peak_kib > MOST_KIB or answer.cpu_s > most_cpu_s
                        or printed > MOST_PRINTED):
                    failed.append(f"{answer.peak_kib / 1024:.0f} MiB, {answer.cpu_s:.1f} s, {printed} bytes printed: {answer}")
        if options.table:
            peak, seconds = max(worst), max(worst, key=lambda row: row[1])
            print(f"{name:34} {peak[0]:5.0f} MiB {peak[2]:15} {seconds[1]:5.2f} s {seconds[2]}", flush=True)
    print("\n".join(failed))
    print(f"{runs} runs, {len(failed)} beyond 128 MiB, {most_cpu_s:g} s or {MOST_PRINTED >> 20} MiB of answer")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
