#!/usr/bin/env python3
"""Runs each command that a document shows inside a sentence or a table, and each example of --help, as they stand, by a shell,
on real checkpoints and logs under the names that they use. What stands in blocks is run by readme.py and cookbook.py; a block
with commands in any other document is told.

    shown_commands.py --tare TARE --data FOLDER --source FOLDER

Objects of a store are files of the same path here, and what commands are piped from and to (kubectl, man) stands for itself.
"""
import argparse
import itertools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from command import Tare, commands_of

RUN_IN_BLOCKS = {"README.md", "tools/docs/cookbook.md"}  # by readme.py, by cookbook.py
TELLS_OF_OTHERS = {"CHANGELOG.md"}  # what commands were like, by their synopsis
TE, DEEPSPEED = "corpus/transformer_engine/te1.13_4layers/model.pt", "corpus/deepspeed/zero2_2ranks/ckpt"
TRAINER, LOG = "corpus/transformers/run_collapse/run", "traces/deepspeed/engine-0.19.5/log.txt"
SCALER = "corpus/torch/scaler-file-t2.15/scaler.pt"
STEP = DEEPSPEED + "/global_step5"
#: What lies under a name that commands use: a word's longest beginning counts.
NAMES = {
    "checkpoint.pt": SCALER, "scaler.pt": SCALER, "FILE": SCALER, "PATH": SCALER, "gan.pt": "corpus/torch/gan/gan.pt",
    "epoch=9.ckpt": "corpus/lightning/v2_1/epoch=0-step=9.ckpt", "state.msgpack": "corpus/flax/fp8_to_bytes/state.msgpack",
    "model.safetensors": "corpus/safetensors_fp8/static_input/model/model.safetensors", "model.pt": TE, "old.pt": TE,
    "run": TRAINER, "RUN": TRAINER, "runs": TRAINER, "RUNS": TRAINER, "train.log": LOG, "logs": "traces/deepspeed/engine-0.19.5",
    "run/global_step4200": STEP, "run/step100": STEP, "run/step": STEP, "CHECKPOINT": STEP, "run/iter_0004000": TE,
    "checkpoint-4200": TRAINER + "/checkpoint-4000",
}
#: What is done before a command that has these words.
BEFORE = {"undo run/global_step4200": "edit run/global_step4200 scale=2048 --yes", "undo run": "edit run scale=2048 --yes",
          "migrate grad_scaler.pt": "migrate scaler.pt --to megatron -o grad_scaler.pt",
          "layers.3.mlp": "fp8 rename model.pt --from layers.3 --to layers.3.mlp --yes",
          "layers.1?": "fp8 rename model.pt --from layers.1 --to decoder.layers.11 --yes"}
#: Words -> another exit code than 0 and 1, and why that is right here.
CODES = {"--id 3f9a0c2e51d7": 4}
SPAN = re.compile(r"`((?:source <\()?(?:tare|tare-remote) [a-z-][^`]*)`")
EXAMPLE = re.compile(r"^  ((?:\w[\w ]* \| |source <\()?tare .*)$", re.M)
COMMENT = re.compile(r"\s{2,}.*$")
WRITES = re.compile(r"\btare (edit|undo|fp8 \w+|migrate) ")
STUBS = {"kubectl": "cat train.log", "man": "cat >/dev/null"}
#: What stands for something that is not here, and for what the reader puts in.
INSTEAD = {"s3://bucket/": "", "/var/lib/node_exporter/": "", "VERB": "edit", "PATH...": "PATH", "tare watch": "tare watch --once"}


def lie_down(data, folder, command):
    """Puts what the words of the command name where they name it."""
    for word in shlex.split(re.sub(r"[<>|()]", " ", command)):
        name = max((name for name in NAMES if word.startswith(name)), key=len, default=None)
        there = name and folder / name
        if name is None or there.exists():
            continue
        there.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (data / NAMES[name]).is_dir() else shutil.copy)(data / NAMES[name], there)


def as_typed(shown):
    typed = COMMENT.sub("", shown)
    for word, instead in INSTEAD.items():
        typed = typed.replace(word, instead)
    return typed + " --yes" if WRITES.search(typed) and "--yes" not in typed else typed


def falls_short(tare, options, scratch, shown):
    """What is wrong with it, or None."""
    typed, folder = as_typed(shown), scratch / "here"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    lie_down(options.data, folder, typed + (" train.log" if "kubectl" in typed else ""))
    for words, before in BEFORE.items():
        if words in typed:
            lie_down(options.data, folder, before)
            done = tare(*shlex.split(before), folder=folder)
            assert done.code == 0, done
            break
    script = f"set -o pipefail; fpath=(. '{folder}'); shopt -s expand_aliases\n{typed}"
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, timeout=60, stdin=subprocess.DEVNULL,
                          env={**os.environ, "PATH": f"{scratch / 'bin'}:{os.environ['PATH']}", "HOME": str(folder)})
    wanted = next(({code} for words, code in CODES.items() if words in typed), {0, 1})
    if done.returncode in wanted:
        return None
    return f"`{typed}`: exit {done.returncode}: {(done.stdout + done.stderr).decode(errors='replace')[-400:]}"


def shown_in_documents(source, verbs):
    """-> (document, command) of each that stands inside a sentence. The name of a verb with some of its options is none."""
    for path in sorted(source.rglob("*.md")):
        document, text = str(path.relative_to(source)), path.read_text()
        if document.startswith("build/") or document in TELLS_OF_OTHERS:
            continue
        blocks = re.findall(r"^```.*?^```", text, re.M | re.S)
        if document not in RUN_IN_BLOCKS and any(re.search(r"^\$? *tare ", block, re.M) for block in blocks):
            yield document, None
        for command in SPAN.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
            led = tuple(itertools.takewhile(lambda word: not word.startswith("-"), command.split()[1:]))
            if led not in verbs or set(re.findall(r"--[\w-]+", command)) - set(re.findall(r"--[\w-]+", verbs[led])):
                yield document, command


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--data", required=True, type=pathlib.Path)
    ask.add_argument("--source", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare = Tare(options.tare)
    verbs = dict(commands_of(tare))
    shown = list(shown_in_documents(options.source, verbs))
    shown += [(" ".join(["tare", *led, "--help"]), command) for led, text in verbs.items()
              for command in EXAMPLE.findall(text.partition("\nExamples:\n")[2])]
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "bin").mkdir()
        (scratch / "bin/tare").symlink_to(tare.binary)
        for name, does in STUBS.items():
            (scratch / "bin" / name).write_text(f"#!/bin/sh\n{does}\n")
            (scratch / "bin" / name).chmod(0o755)
        for place, command in shown:
            wrong = "shows commands in a block: let a test run them" if command is None else falls_short(tare, options, scratch, command)
            if wrong is not None:
                failed += 1
                print(f"{place}: {wrong}")
    print(f"{len(shown)} commands that documents and --help show, {failed} fall short")
    return 1 if failed or len(shown) < 80 else 0


if __name__ == "__main__":
    sys.exit(main())
