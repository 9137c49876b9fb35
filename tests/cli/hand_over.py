#!/usr/bin/env python3
"""When tare leaves a command to tare-remote, and what it says where that cannot be started.

    hand_over.py --tare BINARY --remote BINARY --module LIBRARY --corpus FOLDER

Only URLs and writing states in HDF5 need tare-remote; reading HDF5 does not, nor does refusing to edit where nothing can
be edited. Where tare-remote is missing, may not run, or lacks what its loader looks for, the answer is exit 3 with a
sentence, never the loader's own exit code.
"""
import argparse
import pathlib
import shutil
import sys
import tempfile

from command import Tare

DONE, NO, FAILED, REFUSED = 0, 1, 3, 4
URL = "http://127.0.0.1:9/a.pt"


def without(remote):
    remote.unlink()


def not_executable(remote):
    remote.chmod(0o644)


def library_missing(remote):
    replace(remote, b"libcurl.so.4\0", b"libcurl.so.X\0")


def older_system(remote):
    replace(remote, b"GLIBC_2.34\0", b"GLIBC_9.34\0")


def symbol_missing(remote):
    replace(remote, b"curl_multi_perform\0", b"curl_multi_perforX\0")


def replace(file, old, new):
    data = file.read_bytes()
    assert old in data, old
    file.write_bytes(data.replace(old, new))


# what keeps it from starting -> a word that the sentence must have
BREAKAGES = {without: "there is no", not_executable: "denied", library_missing: "libcurl.so.X",
             older_system: "GLIBC_9.34", symbol_missing: "curl_multi_perforX"}


class Installation:
    def __init__(self, options, folder):
        self.folder = pathlib.Path(folder)
        self.remote = self.folder / "tare-remote"
        shutil.copy(options.tare, self.folder / "tare")
        shutil.copy(options.remote, self.remote)
        shutil.copy(options.module, self.folder)
        self.tare = Tare(self.folder / "tare")
        self.scaler = options.corpus.resolve() / "torch/scaler-file-t2.15/scaler.pt"
        shutil.copy(options.hdf5, self.folder / "weights.h5")
        shutil.copy(options.hdf5, self.folder / "weights.hdf5")
        self.state = self.folder / "made.h5"  # before anything is broken
        saved = self("inspect", self.scaler, "--save", self.state)
        assert saved.code == DONE, saved

    def __call__(self, *words):
        return self.tare(*words, folder=self.folder)


def alone(here):
    """What tare does by itself, whatever tare-remote is."""
    for name in ("weights.h5", "weights.hdf5"):
        for words in (("inspect", name), ("inspect", name, "--json"), ("diff", name, "weights.h5"), ("history", name)):
            answer = here(*words)
            if answer.code != DONE:
                yield answer
        if here("attest", name).code not in (DONE, NO):
            yield here("attest", name)
    for words, why in ((("edit", URL, "scale=1"), "not edited in place"), (("undo", URL), "not edited in place"),
                       (("edit", "HF://owner/name/a.pt", "scale=1"), "the Hub takes changes as commits alone")):
        answer = here(*words, "--yes")
        if answer.code != REFUSED or why not in answer.reason:
            yield answer
    for words in (("migrate", here.state, "--to", "torch", "-o", "alone.pt", "--force"), ("inspect", here.state)):
        answer = here(*words)
        if answer.code != DONE or "checksum" in answer.reason:
            yield answer
    answer = here("diff", here.scaler, "alone.pt")
    if answer.code != DONE:
        yield answer


def cases_of_need(here):
    for ending in ("h5", "hdf5"):
        yield "inspect", here.scaler, "--save", f"state.{ending}"
        yield "attest", here.scaler, "--write-plain", f"state.{ending}"
        yield "migrate", here.scaler, "--to", "torch", "-o", f"new.{ending}"
    yield "inspect", URL
    yield "get", URL, "scale"
    yield "diff", here.scaler, URL
    for store in ("s3://bucket", "GS://bucket", "az://container"):
        yield "edit", f"{store}/a.pt", "scale=1", "--yes"
        yield "undo", f"{store}/a.pt", "--yes"


def broken(here, breakage):
    """What is wrong with the answers where tare-remote cannot be started."""
    for words in cases_of_need(here):
        answer = here(*words)
        told = "tare-remote, which" in answer.reason and BREAKAGES[breakage] in answer.reason
        if answer.code != FAILED or not told or "hint: " not in answer.reason or answer.out or answer.raw_control():
            yield answer
        if list(here.folder.glob("state.*")) + list(here.folder.glob("new.*")):
            yield f"{answer}, and a file is written"


def working(here):
    """Exit codes, answers and files are those of one command."""
    for ending in ("h5", "hdf5"):
        answer = here("inspect", here.scaler, "--save", f"state.{ending}")
        if answer.code != DONE or (here.folder / f"state.{ending}").read_bytes()[:4] != b"\x89HDF":
            yield answer
        answer = here("migrate", f"state.{ending}", "--to", "torch", "-o", f"back_{ending}.pt")
        if answer.code != DONE:
            yield answer
        answer = here("diff", here.scaler, f"back_{ending}.pt")
        if answer.code != DONE:
            yield answer
    answer = here("inspect", URL)
    if answer.code != FAILED or "tare-remote" in answer.reason:
        yield answer


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--remote", required=True)
    ask.add_argument("--module", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    options.hdf5 = options.corpus.resolve() / "tensorflow/tf_keras_h5/model.h5"
    failures = []
    for breakage in (None, *BREAKAGES):
        with tempfile.TemporaryDirectory() as folder:
            here = Installation(options, folder)
            if breakage:
                breakage(here.remote)
            found = [*alone(here), *(broken(here, breakage) if breakage else working(here))]
            failures += [f"{breakage.__name__ if breakage else 'whole'}: {failure}" for failure in found]
    for failure in failures:
        print(f"falls short: {failure}")
    print(f"{len(BREAKAGES) + 1} installations, {len(failures)} answers fall short")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
