#!/usr/bin/env python3
"""Holds `tare doctor`, `timeline` and `simulate` against runs whose every step is known, and against healthy ones.

    doctor.py --tare TARE --cases FOLDER --corpus FOLDER
"""
import argparse
import json
import pathlib
import re
import shutil
import sys
import tempfile
import xml.dom.minidom

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "trace"))
import check
from command import Tare

# Of the cases without a diagnosis: what the doctor may say of them, since it is so.
TRUE_OF_THEM = {
    "restart": {"reset-on-resume"},
    "three-restarts": {"restart-loop", "reset-on-resume"},
    "zero1-skips-not-counted": {"count-contradiction", "falling"},
    "four-ranks-interleaved": {"collapse", "falling", "ranks-disagree"},
}


def graver_than_notes(answer):
    return [finding["code"] for finding in answer["findings"] if finding["severity"] != "note"]


def diagnoses(tare, cases):
    """Each case says what it is; one that has no diagnosis is no sick run."""
    for truth_file in sorted(cases.rglob("truth.json")):
        case, truth = truth_file.parent, json.loads(truth_file.read_text())
        done = tare("doctor", case / truth["target"], "--json", "--fail-on", "never")
        if done.code not in (0, 3, 4) or (done.code and truth["records"]):
            yield f"{case}: exit {done.code}, {done.err[-200:]}"
            continue
        if done.code:
            continue
        answer = done.json()
        if "diagnosis" in truth:
            yield from (f"{case}: {problem}" for problem in check.diagnose(truth, answer))
            continue
        allowed = set().union(*(codes for name, codes in TRUE_OF_THEM.items() if name in case.name))
        for code in graver_than_notes(answer):
            if code not in allowed:
                yield f"{case}: {code} of a run that is well: {json.dumps(answer['findings'])[:400]}"


def gates(tare, cases):
    sick, well = cases / "apex/to-zero", cases / "megatron/core-0.12.0-every10"
    for target, wanted in ((sick, 1), (well, 0)):
        for words in ((), ("--json",), ("--sarif",), ("--fail-on", "warning")):
            done = tare("doctor", target, *words)
            if done.code != wanted:
                yield f"{target} {words}: exit {done.code}, {done.err}"
    if tare("doctor", sick, "--fail-on", "never").code:
        yield "--fail-on never fails"
    if tare("doctor", sick, "--threshold", "no-such=3").code != 2:
        yield "an unknown threshold is taken"
    text = tare("doctor", sick).out.decode()
    if not re.search(r"^error: .*\[collapse-to-zero\]$", text, re.M) or not re.search(r"^  at .*log.txt:\d+", text, re.M):
        yield f"the text: {text[:500]}"


def sarif(tare, cases):
    log = json.loads(tare("doctor", cases / "apex/to-zero", "--sarif").out)
    run = log["runs"][0]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    if log["version"] != "2.1.0" or not run["results"]:
        yield f"SARIF: {json.dumps(log)[:300]}"
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        if result["ruleId"] not in rules or result["level"] not in ("note", "warning", "error") or not result["message"]["text"]:
            yield f"SARIF result: {result}"
        if place.get("region", {}).get("startLine", 1) < 1 or not place["artifactLocation"]["uri"].endswith("log.txt"):
            yield f"SARIF place: {place}"


def run_folder(tare, corpus):
    """A run whose last checkpoint is dead: found without a log, and the last healthy one is named."""
    run = corpus / "transformers/run_collapse/run"
    done = tare("doctor", run, "--json", "--fail-on", "warning")
    answer = done.json()
    if done.code != 1 or "scale-zero" not in graver_than_notes(answer):
        yield f"{run}: exit {done.code}, {json.dumps(answer)[:400]}"
    healthy = answer["last_healthy"]
    if not healthy or healthy["fields"]["scale"] < 1:
        yield f"{run}: last healthy is {healthy}"
    timeline = tare("timeline", run, "--json").json()
    sick = [row["step"] for row in timeline["checkpoints"] if row["sick"]]
    marked = [row["step"] for row in timeline["checkpoints"] if row["last_healthy"]]
    if not sick or marked != [healthy["step"]] or marked[0] >= min(sick):
        yield f"{run}: sick {sick}, last healthy {marked}"


#: What a crash, a full disk and a clone without Git LFS leave of a file.
BROKEN = {"empty": b"", "zeros": bytes(1383), "cut": None,
          "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e\nsize 12345\n"}


def broken_newest(tare, corpus, scratch):
    """A run whose newest save cannot be read is not healthy, whatever the saves before it say: a job would resume from it."""
    good = (corpus / "transformers/run_collapse/run/checkpoint-500/scaler.pt").read_bytes()
    for name, contents in BROKEN.items():
        run = scratch / f"broken-{name}"
        files = [run / f"checkpoint-{step}/scaler.pt" for step in (100, 200, 300)]
        for file in files:
            file.parent.mkdir(parents=True)
            file.write_bytes(good)
        contents = good[:700] if contents is None else contents
        if name == "cut":  # a log beside them hides nothing
            (run / "train.log").write_text("".join(f" iteration {step:8}/ 300 | loss scale: 131072.0 | number of skipped iterations: 0 |\n"
                                                   for step in range(1, 301)))
        for broken, place, code in (files[2], "newest", 1), (files[1], "in between", 0):
            broken.write_bytes(contents)
            done = tare("doctor", run, "--json")
            codes = graver_than_notes(done.json())
            if done.code != code or ("file-not-read" if code else "save-not-read") not in codes:
                yield f"{name}, {place}: exit {done.code}, {codes}"
            listed = tare("ls", run, "--json")
            rows = [json.loads(line) for line in listed.out.splitlines()]
            if listed.code != 1 or len(rows) != 3 or rows[files.index(broken)]["findings"][0]["code"] != "file-not-read":
                yield f"{name}, {place}: ls: exit {listed.code}, {rows}"
            warnings = tare("trace", run, "--json").json()["warnings"]
            if [warning["code"] for warning in warnings] != ["save-not-read"] or "checkpoint-" not in warnings[0]["text"]:
                yield f"{name}, {place}: trace: {warnings}"
            broken.write_bytes(good)
        files[2].write_bytes(contents)
        both = tare("doctor", files[2], files[0], "--json")
        if both.code != 1 or "file-not-read" not in graver_than_notes(both.json()):
            yield f"{name}, beside another: exit {both.code}"
        if tare("doctor", files[2]).code != 3:
            yield f"{name}, alone: is no error"


def markers(tare, corpus, scratch):
    """What lies beside saves and is none, by whatever step in its name, makes no healthy run sick."""
    run = scratch / "markers"
    saved = run / "checkpoint-100"
    saved.mkdir(parents=True)
    shutil.copy(corpus / "transformers/run_collapse/run/checkpoint-500/scaler.pt", saved)
    others = {"checkpoint-500.done": b"", "global_step500.complete": b"", "step_100.lock": b"", "logs_step_100.xz": b"\xfd7zXZ\0" + bytes(64),
              "report_step_100.html": b"<!DOCTYPE html><html></html>"}
    for name, contents in others.items():
        (run / name).write_bytes(contents)
    done = tare("doctor", run, "--fail-on", "warning")
    if done.code or b"not-read" in done.out:
        yield f"markers beside a save: exit {done.code}, {done.out}"
    if len(tare("ls", run).out.splitlines()) != 2:
        yield f"markers are listed: {tare('ls', run).out}"


def fp8_run(tare, corpus, scratch):
    """FP8 layers that come before the loss scaler hide neither its fall nor the checkpoint before it."""
    run = scratch / "fp8_run"
    for step in (100, 200):
        folder = run / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        shutil.copy(corpus / "transformer_engine/te1.13_4layers/model.pt", folder)
        shutil.copy(corpus / "transformers/run_collapse/run/checkpoint-500/scaler.pt", folder)
    tare("edit", run / "checkpoint-200/scaler.pt", "scale=0", "--force", "--yes")
    answer = tare("doctor", run, "--json").json()
    healthy = answer["last_healthy"]
    if "collapse-to-zero" not in graver_than_notes(answer) or not healthy or not healthy["path"].endswith("checkpoint-100"):
        yield f"FP8 layers beside a dead scale: {json.dumps(answer)[:600]}"


def states(tare, corpus):
    """What inspect tells of a state the doctor tells too, and edit warns before it writes it."""
    checkpoint = corpus / "deepspeed/zero2_2ranks/ckpt/global_step5"
    warned = tare("edit", checkpoint, "scale=1", "hysteresis_tracker=1", "--dry-run")
    if warned.code or b"overflow-stops-run" not in warned.err:
        yield f"an edit to the brink is not warned of: exit {warned.code}, {warned.err}"
    if b"overflow-stops-run" in tare("edit", checkpoint, "scale=1024", "--dry-run").err:
        yield "an edit to 1024 is warned of"
    scaler = corpus / "torch/scaler-file-t2.15/scaler.pt"
    for tracker, code in (2**31 - 1, 0), (2**31, 4):  # PyTorch makes an int32 of it
        if tare("edit", scaler, f"growth_tracker={tracker}", "--dry-run").code != code:
            yield f"growth_tracker={tracker}: exit {tare('edit', scaler, f'growth_tracker={tracker}', '--dry-run')}, not {code}"
    for truth in sorted(corpus.glob("*/*/truth.json")):
        target = truth.parent / json.loads(truth.read_text()).get("target", ".")
        seen = tare("inspect", target, "--json").json()
        told = tare("doctor", target, "--json", "--fail-on", "never").json()
        if not seen or not told:
            continue
        missing = {f["code"] for f in seen["findings"]} - {f["code"] for f in told["findings"]}
        if missing:
            yield f"{target}: inspect tells {missing}, the doctor does not"


# What an empty extra state of TransformerEngine means, by release and recipe.
EMPTY_FP8 = {
    "te2.5_no_fp8": "2 empty: FP8 was off", "te2.0_no_fp8": "2 empty: FP8 was off", "te2.20_mxfp8": "2 empty: FP8 was off",
    "te2.20_current_scaling": "2 empty: FP8 was off", "te2.5_current_scaling": "2 of recipe Float8CurrentScaling",
    "te2.20_delayed": None, "te2.5_zeros": None, "te1.13_4layers": None, "te2.20_dcp": None,
}


def empty_fp8(tare, corpus):
    for name, wanted in EMPTY_FP8.items():
        case = corpus / "transformer_engine" / name
        target = case / json.loads((case / "truth.json").read_text()).get("target", ".")
        for verb in ("inspect", "doctor"):
            told = [f["message"] for f in tare(verb, target, "--json").json()["findings"] if f["code"] == "fp8-state-empty"]
            if wanted is None and told or wanted and not any(wanted in message for message in told):
                yield f"{verb} {name}: {told}, wanted {wanted}"


# A checkpoint, what is taken out of it, and what says that it belongs there.
TAKEN = [
    ("deepspeed/zero2_4ranks_tags/ckpt/global_step7", "zero_pp_rank_3_mp_rank_00_optim_states.pt", "rank-missing"),
    ("deepspeed/zero2_4ranks_tags/ckpt/global_step7", "zero_pp_rank_*_optim_states.pt", "rank-missing"),
    ("deepspeed/zero3_2ranks/ckpt/global_step4", "zero_pp_rank_1_mp_rank_00_model_states.pt", "rank-missing"),
    ("deepspeed/pipeline_2stages/ckpt/global_step4", "mp_rank_01_model_states.pt", "rank-missing"),
    ("deepspeed/pipeline_2stages/ckpt/global_step4", "*mp_rank_01*", "rank-missing"),
    ("deepspeed/zero2_2ranks/ckpt/global_step5", "mp_rank_00_model_states.pt", "rank-missing"),
    ("megatron/torch_tp2_pp2/ckpt/iter_0000100", "mp_rank_01_001", "rank-missing"),
    ("megatron/dist_tp2/ckpt/iter_0000200", "__1_0.distcp", "incomplete-checkpoint"),
    ("megatron/dist_tp2/ckpt/iter_0000200", "metadata.json", "incomplete-checkpoint"),
    ("torch/dcp-plain-4rank-t2.15/step_20", "__2_0.distcp", "incomplete-checkpoint"),
    ("torch/dcp-plain-4rank-t2.15/step_20", "__3_0.distcp", "incomplete-checkpoint"),
    ("torch/dcp-plain-4rank-t2.15/step_20", ".metadata", "incomplete-checkpoint"),
]
LACKS = {"rank-missing", "incomplete-checkpoint", "copies-missing"}


def missing_files(tare, corpus, scratch):
    """What a checkpoint's own words say it has, and the folder lacks: told, and nothing else is called missing."""
    for number, (place, taken, code) in enumerate(TAKEN):
        folder = scratch / f"lacking{number}" / pathlib.Path(place).name
        shutil.copytree(corpus / place, folder)
        def told():
            answer = tare("doctor", folder, "--json").json()
            return {f["code"] for f in answer["findings"]} & LACKS
        if told():
            yield f"{place}: {told()} of a whole checkpoint"
        for path in sorted(folder.glob(taken)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if told() != {code}:
            yield f"{place} without {taken}: {told()}, wanted {code}"
        if code != "incomplete-checkpoint" or taken != "metadata.json":
            if tare("doctor", folder).code != 1:
                yield f"{place} without {taken}: exit {tare('doctor', folder).code}, so that no job script stops"


# A run's pointer, what it says in place of the save that is there, and what the doctor makes of it.
POINTERS = [
    ("deepspeed/zero1_1rank/ckpt", "latest", None, set()),
    ("deepspeed/zero1_1rank/ckpt", "latest", "global_step99", {"pointer-astray"}),
    ("deepspeed/zero1_1rank/ckpt", "latest", "/scratch/run/global_step99", set()),
    ("megatron/torch_tp2_pp2/ckpt", "latest_checkpointed_iteration.txt", "900", {"pointer-astray"}),
]


def astray(tare, corpus, scratch):
    """Good saves beside a pointer that names none of them: the framework resumes from nothing, so the run is not well."""
    for number, (place, pointer, says, wanted) in enumerate(POINTERS):
        run = scratch / f"astray{number}"
        shutil.copytree(corpus / place, run)
        save = next(path for path in sorted(run.iterdir()) if path.is_dir())
        shutil.copytree(save, run / re.sub(r"\d+$", lambda step: str(int(step[0]) * 2).zfill(len(step[0])), save.name))
        if says is not None:
            (run / pointer).write_text(says)
        done = tare("doctor", run, "--json")
        told = {f["code"] for f in done.json()["findings"]} & {"pointer-astray", "file-not-read"}
        if (told, done.code) != (wanted, 1 if wanted else 0):
            yield f"{place}, {pointer}: {says}: {told}, exit {done.code}; wanted {wanted}"


def far_apart(tare, corpus, scratch):
    """A GAN's two scalers: told from 2^10 on, and not before."""
    gan = scratch / "gan.pt"
    shutil.copy(corpus / "torch/gan/gan.pt", gan)
    tare("edit", gan, "--at", "scaler_G", "scale=65536", "--yes")
    for scale, wanted in ((64, True), (65, False)):
        done = tare("edit", gan, "--at", "scaler_D", f"scale={scale}", "--yes")
        told = [f for f in tare("doctor", gan, "--json").json()["findings"] if f["code"] == "scales-far-apart"]
        if done.code or bool(told) != wanted:
            yield f"scales of 65536 and {scale}: exit {done.code}, {told} {done.err}"


# Logs that tell no scale, and no step: what the doctor says of them, and its exit code.
WITHOUT_SCALE = [
    ("lost.log", "Epoch 1, Batch {}, Loss: 2.3\n" * 3 + "Epoch 1, Batch {}, Loss: nan\n" * 12, "nan-loss", 1),
    ("tutorial.log", "[1, {}] loss: 2.3\n" * 3 + "[1, {}] loss: nan\n" * 12, "nan-loss", 1),
    ("mean.log", "Epoch: [0][{}/5005]\tLoss 7.0e+00 (7.1e+00)\n" * 3 + "Epoch: [0][{}/5005]\tLoss nan (nan)\n" * 12, "nan-loss", 1),
    ("well.log", "Epoch 1, Batch {}, Loss: 2.3\n" * 15, "no-scale-trace", 0),
    ("best.log", "Epoch {} acc 0.5, best loss: nan\n" * 15, "no-scale-trace", 0),
    ("texts.jsonl", '{{"text":"hello {}"}}\n' * 15, "no-scale-trace", 0),
    ("metrics.json", '{{"step": [0, {}], "data": {{"precision": 0.5}}}}\n' * 15, "no-scale-trace", 0),
    ("bracket.log", "[1, {}] hello\n" * 15, "no-scale-trace", 0),
]


def without_scale(tare, scratch):
    for name, text, code, wanted in WITHOUT_SCALE:
        path = scratch / name
        path.write_text(text.format(*range(10, 160, 10)))
        done = tare("doctor", path, "--json")
        gravest = done.json()["findings"][0]["code"] if done.json() else done.err
        if (gravest, done.code) != (code, wanted):
            yield f"{name}: {gravest}, exit {done.code}; wanted {code}, {wanted}"


def pictures(tare, cases, scratch):
    log = cases / "deepspeed/floor-tqdm-0.9.5"
    for columns in (40, 100):
        shown = tare("timeline", log, "--width", str(columns), "--ascii").out.decode().splitlines()
        picture = [line for line in shown if "|" in line[:9]]
        if len(picture) != 12 or max(map(len, picture)) > columns:
            yield f"--width {columns}: {picture}"
    done = tare("timeline", log, "--svg", scratch / "a.svg", "--html", scratch / "a.html")
    if done.code:
        yield f"timeline --svg --html: exit {done.code}, {done.err}"
    xml.dom.minidom.parse(str(scratch / "a.svg"))
    if tare("timeline", log, "--svg", scratch / "a.svg").code != 4:
        yield "a picture is replaced unasked"


def simulations(tare, cases):
    case = cases / "megatron/core-0.12.0-tensorboard"
    target = case / json.loads((case / "truth.json").read_text())["target"]
    found = tare("simulate", target, "--explain", "--json").json()["explanation"]
    if not found["exact"]:
        yield f"{case}: nothing explains it: {json.dumps(found)[:400]}"
        return
    own = found["exact"][0]
    words = [f"--set={key}={value}" for key, value in own["parameters"].items() if key != "initial_scale"]
    policy = (own["policy"] + " " + own["variant"]).strip()
    again = tare("simulate", target, "--policy", policy, *words, "--json").json()
    skipped, overflows = again["settings"][0]["skipped"], again["trace"]["overflows"]
    if skipped != [overflows, overflows]:
        yield f"{case}: its own policy skips {skipped}, the run {overflows}"
    swept = tare("simulate", target, "--policy", "megatron", "--window", "20,2^6", "--hysteresis", "1,2", "--json").json()
    if len(swept["settings"]) != 4 or any(s["skipped"][0] > s["skipped"][1] for s in swept["settings"]):
        yield f"{case}: {json.dumps(swept)[:400]}"
    if tare("simulate", target, "--policy", "torch", "--hysteresis", "2").code != 2:
        yield "torch takes a hysteresis"
    if tare("simulate", cases / "apex/one-rank", "--window", "100").code != 4:
        yield "overflows alone are simulated"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--cases", required=True, type=pathlib.Path)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare = Tare(options.tare)
    with tempfile.TemporaryDirectory() as folder:
        problems = [*diagnoses(tare, options.cases), *gates(tare, options.cases), *sarif(tare, options.cases),
                    *run_folder(tare, options.corpus), *states(tare, options.corpus), *empty_fp8(tare, options.corpus),
                    *far_apart(tare, options.corpus, pathlib.Path(folder)),
                    *fp8_run(tare, options.corpus, pathlib.Path(folder)),
                    *broken_newest(tare, options.corpus, pathlib.Path(folder)), *markers(tare, options.corpus, pathlib.Path(folder)),
                    *missing_files(tare, options.corpus, pathlib.Path(folder)),
                    *astray(tare, options.corpus, pathlib.Path(folder)),
                    *without_scale(tare, pathlib.Path(folder)),
                    *pictures(tare, options.cases, pathlib.Path(folder)),
                    *simulations(tare, options.cases)]
    print("\n".join(problems) or "every diagnosis, gate, picture and simulation is as it should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
