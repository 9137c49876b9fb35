#!/usr/bin/env python3
"""Holds `tare ls` against runs whose every checkpoint is known, and against what `tare inspect` says of each.

    ls.py --tare TARE --corpus FOLDER
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from command import Tare
from corpus import Short, cases_of, require

SCALER = "torch/scaler-file-t2.15/scaler.pt"
MANY = 10_000


def lines_of(answer):
    return [json.loads(line) for line in answer.out.splitlines()]


def every_case(tare, corpus):
    """A checkpoint that inspect shows is listed, as inspect shows it."""
    for case in cases_of(corpus, "*"):
        inspected = tare("inspect", case.target, "--json").json()
        if not inspected or not inspected["scalers"]:
            continue
        rows = {os.path.normpath(row["path"]): row for row in lines_of(tare("ls", case.target, "--json"))}
        shown = os.path.normpath(inspected["checkpoint"])
        require(any(f"{path}/".startswith(f"{shown}/") for path in rows), case.name, "is not listed:", list(rows), shown)
        if shown not in rows:
            continue  # a folder of checkpoints that inspect reads as one
        row = rows[shown]
        scales = [s for s in inspected["scalers"] if s["kind"] == "loss_scale"]
        require(row["loss_scales"] == len(scales) and row["files"] == len(inspected["files"]), case.name, row)
        require(not scales or row["scale"] == scales[0]["roles"].get("scale"), case.name, row, scales[:1])
        codes = [f["code"] for f in inspected["findings"] if f["severity"] != "note"]
        require([f["code"] for f in row["findings"]] == codes, case.name, row["findings"], codes)


def make_runs(corpus, folder):
    """-> what is to be listed, by path: step, scale, the codes of what is wrong."""
    shutil.copytree(corpus / "transformers/run_collapse", folder / "runs/hf", ignore=shutil.ignore_patterns("truth.json"))
    shutil.copytree(corpus / "deepspeed/zero2_4ranks_tags/ckpt", folder / "runs/deep")
    shutil.copytree(corpus / "torch/dcp-plain-1rank-t2.15", folder / "runs/dcp", ignore=shutil.ignore_patterns("truth.json"))
    flat = folder / "runs/flat\x1b[31m"
    flat.mkdir()
    for name in ("last.pt", "step100.pt", "step20.pt"):
        shutil.copy(corpus / SCALER, flat / name)
    (flat / "step3.pt").write_bytes((corpus / SCALER).read_bytes()[:300])
    (folder / "runs/notes/old").mkdir(parents=True)
    (folder / "runs/notes/old/readme.md").write_text("scale: 65536")
    (folder / "runs/.hidden").mkdir()
    shutil.copy(corpus / SCALER, folder / "runs/.hidden/step1.pt")


def a_folder_of_runs(tare, corpus, folder):
    make_runs(corpus, folder)
    done = tare("ls", folder / "runs", "--json")
    rows = lines_of(done)
    paths = [os.path.relpath(row["path"].encode().decode("unicode_escape") if "\\x1b" in row["path"] else row["path"],
                             folder / "runs") for row in rows]
    saves = sorted((path.name for path in (folder / "runs/hf").glob("**/checkpoint-*")), key=lambda n: int(n.split("-")[1]))
    hf = [path for path in paths if path.startswith("hf/")]
    require([os.path.basename(path) for path in hf] == saves and len(saves) > 3, "the Trainer's saves:", paths)
    require([path for path in paths if path.startswith("deep/")] == ["deep/global_step2"] or
            all(path.startswith("deep/") for path in paths if "step" in path and path.startswith("deep")), paths)
    require("dcp/step_20" in paths, paths)
    require([path for path in paths if path.startswith("flat")] ==
            [f"flat\x1b[31m/{name}" for name in ("last.pt", "step3.pt", "step20.pt", "step100.pt")], paths)
    require(not [path for path in paths if "hidden" in path or "notes" in path], paths)
    by_path = dict(zip(paths, rows))
    require(by_path["flat\x1b[31m/step20.pt"]["step"] == 20, by_path)
    broken = by_path["flat\x1b[31m/step3.pt"]
    require([f["code"] for f in broken["findings"]] == ["file-not-read"] and broken["files"] == 0, broken)
    require(done.code == 1, done)
    shown = tare("ls", folder / "runs")
    require(shown.raw_control() is None and shown.code == 1, "control characters of a name:", shown.out)
    require(len(shown.out.splitlines()) == len(rows) + 1 and b"file-not-read" in shown.out, shown.out)
    (folder / "runs/flat\x1b[31m/step3.pt").unlink()
    clean = tare("ls", folder / "runs/flat\x1b[31m", folder / "runs/dcp", "--json")
    require(clean.code == 0 and len(lines_of(clean)) == 4, clean)
    for nothing in ("runs/notes", "runs/absent"):
        done = tare("ls", folder / nothing)
        require(done.code == 3 and not done.out, done)


def a_folder_of_many_runs_leads_to_the_list(tare, corpus, folder):
    """Where inspect finds no checkpoint, as what is there lies deeper, it names the command that finds them all."""
    runs = folder / "my detections"
    for run in "train", "train2", "train3":
        (runs / "runs/detect" / run / "weights").mkdir(parents=True)
        for name in "best.pt", "last.pt":
            shutil.copy(corpus / SCALER, runs / "runs/detect" / run / "weights" / name)
    answer = tare("inspect", runs)
    hint = re.search(r"`tare (ls .*?)`", answer.reason)
    require(answer.code == 3 and hint, answer)
    listed = tare(*shlex.split(hint[1]))
    require(listed.code == 0 and listed.out.count(b"/weights/") == 6, listed, listed.out)
    (folder / "alone").mkdir()
    require("tare ls" not in tare("inspect", folder / "alone").reason, "nothing is below, and yet it is hinted at")


def at_once(tare, corpus, folder):
    """Whatever --jobs says, the answer is the same."""
    told = {jobs: tare("ls", folder / "runs", "--json", "--jobs", str(jobs)).out for jobs in (1, 2, 7)}
    require(len(set(told.values())) == 1, told)


def many(tare, corpus, folder):
    run = folder / "many"
    run.mkdir()
    data = (corpus / SCALER).read_bytes()
    first = run / "first"
    first.write_bytes(data)
    for step in range(MANY):
        (run / f"checkpoint-{step}").mkdir()
        os.link(first, run / f"checkpoint-{step}/scaler.pt")
    first.unlink()
    begin = time.monotonic()
    done = subprocess.run([tare.binary, "ls", run, "--json"], capture_output=True, timeout=300)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    require([row["step"] for row in rows] == list(range(MANY)), "of many:", len(rows), rows[:2], done.stderr)
    require(all(row["scale"] == rows[0]["scale"] and row["loss_scales"] == 1 for row in rows), "of many: other scales")
    print(f"{MANY} checkpoints in {time.monotonic() - begin:.1f} s")


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare = Tare(options.tare)
    try:
        every_case(tare, options.corpus)
        with tempfile.TemporaryDirectory() as folder:
            for check in (a_folder_of_runs, a_folder_of_many_runs_leads_to_the_list, at_once, many):
                check(tare, options.corpus, pathlib.Path(folder))
    except Short as short:
        sys.exit(f"FAILED {short}")


if __name__ == "__main__":
    main()
