#!/usr/bin/env python3
"""Reads while others edit: every answer is old or new, or says who is at work.

    readers.py --tare BINARY --corpus FOLDER [--seconds N]

One process edits all rank files to and fro, with and without history; two others inspect and get meanwhile. Exit 1 where
an answer mixes old and new without a word.
"""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile
import threading
import time

from command import Tare

CASE = "deepspeed/zero2_4ranks_tags/ckpt"
SCALES = ("1024.0", "32768.0")
DONE, FAILED = 0, 3


def edit_until(tare, target, end, edits):
    while time.monotonic() < end:
        history = [] if edits["made"] % 2 else ["--no-history"]
        answer = tare("edit", target, f"scale={SCALES[edits['made'] % 2]}", "--yes", *history)
        if answer.code != DONE:
            edits["failed"].append(str(answer))
        edits["made"] += 1


def wrong_inspection(answer):
    """What is wrong with an answer of inspect, or nothing."""
    told = answer.json()
    if answer.code == FAILED and "is written again each time" in answer.reason:
        return None
    if told is None:
        return str(answer)
    if told["pending"]:
        return None
    scales = {str(scaler["roles"]["scale"]) for scaler in told["scalers"]}
    disagree = any(not scaler["agree"] for scaler in told["scalers"])
    if answer.code != DONE or disagree or len(scales) != 1 or not scales <= set(SCALES):
        return f"exit {answer.code}, {scales}: {json.dumps(told['findings'])[:300]}"
    return None


def wrong_value(answer):
    value, is_busy = answer.out.decode().strip(), "is written again each time" in answer.reason
    if value in SCALES or is_busy or "another tare is editing" in answer.reason:
        return None
    return f"{answer}: {value}"


def read_until(tare, words, is_wrong, end, answers):
    while time.monotonic() < end:
        wrong = is_wrong(tare(*words))
        answers["read"] += 1
        if wrong:
            answers["wrong"].append(wrong)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    ask.add_argument("--seconds", type=float, default=5)
    options = ask.parse_args()
    tare = Tare(options.tare)
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder, "ckpt")
        shutil.copytree(options.corpus / CASE, target)
        first = tare("edit", target, f"scale={SCALES[1]}", "--yes")
        assert first.code == DONE, first
        end = time.monotonic() + options.seconds
        edits, answers = {"made": 0, "failed": []}, {"read": 0, "wrong": []}
        threads = [threading.Thread(target=edit_until, args=(tare, target, end, edits))]
        for words, is_wrong in ((("inspect", target, "--json"), wrong_inspection),
                                (("get", target, "scale"), wrong_value)):
            threads.append(threading.Thread(target=read_until, args=(tare, words, is_wrong, end, answers)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for failure in edits["failed"] + answers["wrong"]:
        print(f"falls short: {failure}")
    print(f"{answers['read']} answers during {edits['made']} edits, {len(answers['wrong'])} wrong; "
          f"{len(edits['failed'])} edits failed")
    too_few = answers["read"] == 0 or edits["made"] == 0
    return 1 if edits["failed"] or answers["wrong"] or too_few else 0


if __name__ == "__main__":
    sys.exit(main())
