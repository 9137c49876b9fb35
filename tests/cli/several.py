#!/usr/bin/env python3
"""Names several checkpoints in one command: each has its answer, none keeps another from its own, and the exit code is the
highest.

    several.py --tare TARE --corpus FOLDER
"""
import argparse
import json
import pathlib
import sys
import tempfile

from command import Tare
from corpus import require

DONE, NO, WRONG_USAGE, FAILED = 0, 1, 2, 3


def documents(text):
    """-> the JSON documents of a text, one after another."""
    decoder, text = json.JSONDecoder(), text.decode().strip()
    while text:
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:].strip()


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare = Tare(options.tare)
    sound = options.corpus / "torch/align1/aligned.pt"
    model = options.corpus / "transformer_engine/te1.13_4layers/model.pt"
    absent = options.corpus / "absent.pt"
    for verb in "inspect", "attest":
        alone = [tare(verb, path) for path in (sound, model)]
        together = tare(verb, sound, model)
        require(all(one.out.strip() in together.out for one in alone), "an answer is missing:", together)
        require(together.code == max(one.code for one in alone), together)
        broken = tare(verb, sound, absent, model)
        require(broken.code == FAILED and "absent.pt" in broken.reason, broken)
        require(all(one.out.strip() in broken.out for one in alone), "one file kept others from their turn:", broken)
        for jobs in "1", "2", "7":
            again = tare(verb, sound, absent, model, "--jobs", jobs)
            require((again.code, again.out) == (broken.code, broken.out), f"--jobs {jobs} tells something else:", again)
        told = list(documents(tare(verb, "--json", sound, model).out))
        require([one["target"] for one in told] == [str(sound), str(model)], "JSON tells of", [sorted(one) for one in told])
    with tempfile.TemporaryDirectory() as scratch:
        state = pathlib.Path(scratch, "state.json")
        for verb, option in ("inspect", "--save"), ("attest", "--write-plain"):
            answer = tare(verb, sound, model, option, state)
            require(answer.code == WRONG_USAGE and option in answer.reason and not state.exists(), answer)
    print("several checkpoints in one command: each is answered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
