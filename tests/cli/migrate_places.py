#!/usr/bin/env python3
"""Changes the places of scalers in the real checkpoints of the test data.

    migrate_places.py --tare BINARY --corpus FOLDER

`migrate --rename` puts a scaler under the key of another release; `migrate --into` fills a place that is empty: `{}`,
None, or a state that lacks something. A dry run writes nothing; undo brings back every byte.
"""
import argparse
import io
import pathlib
import pickle
import shutil
import sys
import tempfile
import zipfile

from command import Tare
from migrate import only_scaler, snapshot

# What each release of Lightning looks for, by its own source.
LIGHTNING_KEYS = {
    "1.5": "native_amp_scaling_state", "1.6": "NativeMixedPrecisionPlugin", "1.8.6": "NativeMixedPrecisionPlugin",
    "1.9": "MixedPrecisionPlugin", "2.1.0": "MixedPrecisionPlugin", "2.1": "MixedPrecision", "2.6.5": "MixedPrecision",
}
DONE, USAGE, FAILED, REFUSED = 0, 2, 3, 4
# Cases whose scaler was off, and where their frameworks keep one.
EMPTY = {
    "torch/disabled": ("torch", "scaler"), "torch/scaler-none": ("torch", "scaler"), "accelerate/disabled": ("torch", ""),
    "megatron/torch_constant": ("megatron", "optimizer.grad_scaler"), "paddle/disabled": ("paddle", ""),
    "lightning/v2_6_fp32": ("torch", "MixedPrecision"),
}
# Formats that cannot take what is not there yet.
FULL = ("mindspore/no_scaler", "keras/no_scaler_tf", "torch/no-scaler")
STATE = {"scale": 512.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 7, "_growth_tracker": 3}


def renamed(tare, case, target, release, key):
    """One release's key for the other's, and nothing else; undo brings the first back."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "case"
        shutil.copytree(case, copy)
        checkpoint, before = copy / target, snapshot(copy)
        scaler = only_scaler(tare, checkpoint)
        dry = tare("migrate", checkpoint, "--rename", release, "--dry-run", "--json")
        if snapshot(copy) != before:
            return "a dry run wrote something"
        done = tare("migrate", checkpoint, "--rename", release, "--yes", "--json")
        if (dry.code, done.code) != (DONE, DONE):
            return str(done)
        after = only_scaler(tare, checkpoint)
        if after["path"] != key or after["fields"] != scaler["fields"] or "Lightning" not in after["place"]:
            return f"it stands at {after['path']!r} with {after['fields']}"
        if (snapshot(copy) == before) != (scaler["path"] == key):
            return "something was written where nothing had to be, or nothing where something had to"
        if scaler["path"] != key and tare("undo", checkpoint, "--yes").code != DONE:
            return "it cannot be undone"
        return None if snapshot(copy) == before else "undo left other bytes"


def renames(tare, corpus):
    """Every rename of a scaler in a file of Lightning's, with what is wrong about it."""
    for folder, target in (("v1_5", "last.ckpt"), ("v2_1", "epoch=0-step=9.ckpt"), ("v2_6", "last.ckpt")):
        for version, key in LIGHTNING_KEYS.items():
            problem = renamed(tare, corpus / "lightning" / folder, target, f"lightning:{version}", key)
            yield f"lightning/{folder} to {version}", problem
    checkpoint = corpus / "lightning/v2_6/last.ckpt"
    for release, code, words in (("lightning:new", USAGE, "no version"), ("lightning", USAGE, "TRAINER:VERSION"),
                                 ("timm:1.0", USAGE, "known: lightning"),
                                 ("transformer_engine:2.0", USAGE, "tare fp8 rename")):
        answer = tare("migrate", checkpoint, "--rename", release, "--yes")
        is_right = answer.code == code and words in answer.reason
        yield f"--rename {release}", None if is_right else str(answer)
    without = tare("migrate", corpus / "torch/disabled", "--rename", "lightning:2.2", "--yes")
    yield "--rename where there is no scaler", None if without.code in (FAILED, REFUSED) else str(without)


def filled(tare, source, target, dialect, path):
    """The place holds the source's scale afterwards, and undo empties it again."""
    before = snapshot(target if target.is_dir() else target.parent)
    folder = target if target.is_dir() else target.parent
    if tare("migrate", source, "--into", target, "--dry-run").code != DONE or snapshot(folder) != before:
        return "a dry run fails, or wrote something"
    done = tare("migrate", source, "--into", target, "--yes", "--json")
    if done.code != DONE:
        return str(done)
    wanted = next(value["after"] for value in done.json()["values"] if value["key"] == "fields.scale")
    scaler = only_scaler(tare, target)
    if scaler is None or (scaler["dialect"], scaler["path"]) != (dialect, path):
        return f"found {scaler and (scaler['dialect'], scaler['path'])}"
    if scaler["roles"]["scale"] not in (wanted, [wanted]):
        return f"its scale is {scaler['roles']['scale']}, not {wanted}"
    undone = tare("undo", target, "--yes")
    return None if undone.code == DONE and snapshot(folder) == before else f"undo: {undone}"


def torch_file(contents):
    """As torch.save writes what holds no tensor."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("made/data.pkl", pickle.dumps(contents, 2))
        archive.writestr("made/version", "3\n")
    return made.getvalue()


def broken():
    """Files with a state that is not whole, and where it is."""
    yield "without a counter", "model.pt", torch_file({"epoch": 3, "scaler": {**STATE, "_growth_tracker": None}})
    lacking = {key: value for key, value in STATE.items() if key != "_growth_tracker"}
    yield "without a key", "model.pt", torch_file({"scaler": lacking, "epoch": 3})
    yield "whose scale is nan", "model.pt", torch_file({"scaler": {**STATE, "scale": float("nan")}, "epoch": 3})
    for protocol in range(2, 6):
        yield f"None, protocol {protocol}", "scaler.pdparams", pickle.dumps({"a": 1, "scaler": None}, protocol)
        yield f"{{}}, protocol {protocol}", "scaler.pdparams", pickle.dumps({"a": 1, "scaler": {}}, protocol)


def flags(tare, corpus):
    """What a framework takes from its configuration is said as it is passed."""
    source = corpus / "torch/scaler-file-t2.15/scaler.pt"
    with tempfile.TemporaryDirectory() as scratch:
        for framework, name, wanted in (("megatron", "scaler.pt", "--loss-scale-window 2000 --hysteresis 1"),
                                        ("flax", "scaler.msgpack", "DynamicScale(growth_interval=1999)"),
                                        ("torch", "scaler.pt", None)):
            answer = tare("migrate", source, "--to", framework, "-o", pathlib.Path(scratch) / name, "--force", "--json").json()
            yield f"flags of {framework}", None if answer["flags"] == wanted else f"{answer['flags']!r}"
    for case in ("tensorflow/saver_contrib", "mindformers/common_json"):
        for way in (("--to", "torch", "-o", "new.pt", "--dry-run"), ("--into", source, "--dry-run")):
            refused = tare("migrate", corpus / case, *way)
            yield f"from {case}, {way[0]}", None if is_without_rule(refused) else str(refused)
        into = tare("migrate", source, "--into", corpus / case, "--dry-run")
        saved = tare("inspect", corpus / case, "--save", "new.json")
        yield f"into {case}", None if is_without_rule(into) else str(into)
        yield f"{case} saved", None if is_without_rule(saved) else str(saved)


def is_without_rule(answer):
    """Nothing is wrong with such a checkpoint: it was understood, and is refused."""
    return answer.code == REFUSED and "no policy runs" in answer.reason and "carry the scale by hand" in answer.reason


def resaved(folder, release):
    """As DeepSpeed of that release would have saved it."""
    for path in folder.rglob("*.pt"):
        with zipfile.ZipFile(path) as archive:
            contents = {name: archive.read(name) for name in archive.namelist()}
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in contents.items():
                archive.writestr(name, content.replace(b"0.19.8", release) if name.endswith("data.pkl") else content)


def releases(tare, corpus):
    """A release of DeepSpeed whose scaler grows otherwise than the rule that a migration goes by is told of, either way."""
    source, early = corpus / "torch/scaler-file-t2.15/scaler.pt", "one clean step earlier"
    for release, is_told in ((b"0.16.9", True), (b"0.17.0", True), (b"0.17.1", False), (b"0.19.8", False)):
        with tempfile.TemporaryDirectory() as scratch:
            copy = pathlib.Path(scratch) / "case"
            shutil.copytree(corpus / "deepspeed/zero1_2ranks/ckpt", copy)
            resaved(copy, release)
            into = tare("migrate", source, "--into", copy, "--dry-run", "--json")
            warnings = [one for one in into.json()["warnings"] if early in one]
            yield f"into DeepSpeed {release}", None if bool(warnings) == is_told else str(into)
            out = tare("migrate", copy, "--to", "torch", "-o", "new.pt", "--dry-run")
            yield f"from DeepSpeed {release}", None if (early in out.reason) == is_told else str(out)
            shown = tare("inspect", copy).out.decode()
            yield f"DeepSpeed {release}", None if ("after DeepSpeed 0.17.0)" in shown) == is_told else shown


def names(tare, corpus):
    """--to says of every name what is true: what is listed is made, as a state for tare itself, too, and listed once; of
    what is not made there is the reason, and not that nobody knows it."""
    source = corpus / "torch/scaler-file-t2.15/scaler.pt"

    def to(framework, file):
        return tare("migrate", source, "--to", framework, "-o", file, "--dry-run")
    unknown = to("nobody", "new.pt")
    listed = unknown.reason.split("loss scalers migrate to: ")[1].split(";")[0].split(", ")
    again = to("nobody fused", "new.pt").reason.split("loss scalers migrate to: ")[1].split(";")[0].split(", ")
    yield "--to nobody", None if unknown.code == USAGE and listed == again == sorted(set(listed)) else str(unknown)
    for framework in listed:
        made = to(framework, "new.json")
        yield f"--to {framework}, for tare", None if made.code == DONE else str(made)
    yield "--to internevo", None if "internevo" in listed and "mmcv" in listed else f"{listed}"
    for framework, why in (("tf_contrib", "no policy runs"), ("metaseq", "no policy runs"), ("keras", "--into")):
        for file in ("new.pt",) if framework == "keras" else ("new.pt", "new.json"):
            refused = to(framework, file)
            yield f"--to {framework} -o {file}", None if refused.code == REFUSED and why in refused.reason else str(refused)
    for policy in ("constant", "deepspeed static"):
        refused = to(policy, "new.pt")
        yield f"--to {policy}", None if refused.code == REFUSED and "for tare" in refused.reason else str(refused)
    endings = to("jmp", "new.pt")
    yield "the endings of jmp", None if endings.code == REFUSED and ".msgpack .npz" in endings.reason else str(endings)
    statistics = to("layerwise", "new.json")
    yield "--to layerwise", None if statistics.code == REFUSED and "statistics" in statistics.reason else str(statistics)


def fillings(tare, corpus):
    source = corpus / "torch/scaler-file-t2.15/scaler.pt"
    with tempfile.TemporaryDirectory() as scratch:
        for case, (dialect, path) in EMPTY.items():
            copy = pathlib.Path(scratch) / case
            shutil.copytree(corpus / case, copy)
            (target,) = (entry for entry in copy.iterdir() if entry.name != "truth.json")
            yield f"into {case}", filled(tare, source, target, dialect, path)
        for case in FULL:
            refused = tare("migrate", source, "--into", corpus / case, "--yes")
            yield f"into {case}", None if refused.code in (FAILED, REFUSED) and refused.reason else str(refused)
        for number, (what, name, contents) in enumerate(broken()):
            target = pathlib.Path(scratch) / str(number) / name
            target.parent.mkdir()
            target.write_bytes(contents)
            yield f"into a scaler {what}", filled(tare, source, target, "torch" if name.endswith("pt") else "paddle", "scaler")
        wrong = pathlib.Path(scratch) / "wrong.pt"
        wrong.write_bytes(torch_file({"scaler": {"scale": "much", "growth_factor": 2.0}}))
        refused = tare("migrate", source, "--into", wrong, "--yes")
        yield "into a scaler of text", None if refused.code == REFUSED and "is no number" in refused.reason else str(refused)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", type=pathlib.Path, required=True)
    options = ask.parse_args()
    tare = Tare(options.tare)
    results = [*renames(tare, options.corpus), *fillings(tare, options.corpus), *flags(tare, options.corpus),
               *names(tare, options.corpus), *releases(tare, options.corpus)]
    failed = [(what, problem) for what, problem in results if problem is not None]
    for what, problem in failed:
        print(f"falls short: {what}: {problem}", flush=True)
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or len(results) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
