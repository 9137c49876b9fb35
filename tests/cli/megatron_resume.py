#!/usr/bin/env python3
"""Says of Megatron's checkpoints what a resume says and does: which warning it prints, where the scale starts; and puts a
scaler where the checkpoint keeps none.

    megatron_resume.py --tare BINARY --corpus FOLDER
"""
import argparse
import pathlib
import re
import shutil
import struct
import sys
import tempfile
import zlib

from command import Tare
from corpus import require
from migrate import snapshot
from migrate_places import torch_file

DONE = 0
# Of megatron/core/optimizer/optimizer.py, with its spelling.
NOT_LOADED = "***WARNING*** found an old checkpoint, will not load grad scaler ..."
SKIPPED = ("***WARNING*** fould the grad scaler in the checkpoint but it is None in the class. Skipping loading grad "
           "scaler ...")
OLD = "***WARNING*** loading optimizer from an old checkpoint ..."
STATE = {"scale": 65536.0, "growth_tracker": 3, "hysteresis_tracker": 2}
DISTRIBUTED = "megatron/dist_1rank/ckpt/iter_0000005"
MISSING, EMPTY, PASSED_OVER = "grad-scaler-missing", "grad-scaler-empty", "grad-scaler-skipped"

# (arguments, what grad_scaler is) -> (code, severity, words); None: nothing is told
CASES = [
    ({"fp16": True, "bf16": False, "loss_scale": None}, None,
     (MISSING, "warning", [NOT_LOADED, "this run", "anew at 2^32: 17 skipped steps to 2^16"])),
    ({"fp16": True, "initial_loss_scale": 2.0**20, "hysteresis": 4}, None,
     (MISSING, "warning", [NOT_LOADED, "anew at 2^20: 7 skipped steps to 2^16"])),
    ({"fp16": True, "initial_loss_scale": 4096.0}, None, (MISSING, "warning", [NOT_LOADED, "anew at 2^12"])),
    ({}, None, (MISSING, "note", [NOT_LOADED, "a run with --fp16 and without --loss-scale", "2^32: 17 skipped steps"])),
    ({"fp16": False, "bf16": True}, None, None),
    ({"fp16": True, "loss_scale": 4096.0}, None, (MISSING, "note", [NOT_LOADED, "--loss-scale 4096.0"])),
    ({"fp16": True, "loss_scale": 4096.0}, {}, (EMPTY, "note", ["--loss-scale 4096.0", "loads nothing"])),
    ({"fp16": False, "bf16": True, "loss_scale": None}, {}, (EMPTY, "note", [SKIPPED])),
    ({"fp16": True, "loss_scale": None}, {}, (EMPTY, "warning", ["KeyError: 'scale'", SKIPPED])),
    ({}, {}, (EMPTY, "note", ["--loss-scale", "--bf16", SKIPPED, "KeyError: 'scale'"])),
    ({"fp16": True, "bf16": False, "loss_scale": None}, STATE, None),
    ({}, STATE, None),
    ({"fp16": False, "bf16": True, "loss_scale": None}, STATE, (PASSED_OVER, "warning", [SKIPPED])),
    ({"fp16": True, "loss_scale": 512.0}, STATE, (PASSED_OVER, "warning", ["--loss-scale 512.0"])),
]


def optimizer_state(scaler, optimizer="optimizer"):
    inner = {optimizer: {"param_groups": []}}
    if scaler is not None:
        inner["grad_scaler"] = scaler
    return inner


def written(path, arguments, optimizer):
    path.parent.mkdir(parents=True, exist_ok=True)
    contents = {"args": argparse.Namespace(**arguments), "checkpoint_version": 3.0, "iteration": 7, "optimizer": optimizer}
    path.write_bytes(torch_file(contents))
    return path


def checkpoint(folder, arguments, scaler, optimizer="optimizer"):
    """As Megatron's torch format has it."""
    return written(folder / "mp_rank_00/model_optim_rng.pt", arguments, optimizer_state(scaler, optimizer))


def told(tare, path):
    findings = tare("inspect", "--json", path).json()["findings"]
    return [one for one in findings if one["code"] in (MISSING, EMPTY, PASSED_OVER, "optimizer-under-old-key")]


def try_loading(tare, folder):
    for number, (arguments, scaler, wanted) in enumerate(CASES):
        findings = told(tare, checkpoint(folder / str(number), arguments, scaler))
        if wanted is None:
            require(not findings, arguments, scaler, findings)
            continue
        code, severity, words = wanted
        require([(one["code"], one["severity"]) for one in findings] == [(code, severity)], arguments, scaler, findings)
        require(all(word in findings[0]["message"] for word in words), arguments, scaler, findings[0]["message"])
    mixed, on = [optimizer_state(one) for one in (STATE, None, {})], {"fp16": True, "loss_scale": None}
    for chain, paths in ((mixed, ("optimizer[1]", "optimizer[2].grad_scaler")),
                         (dict(enumerate(mixed)), ("optimizer.1", "optimizer.2.grad_scaler"))):
        name = "model_optim_rng.pt" if isinstance(chain, list) else "common.pt"
        findings = told(tare, written(folder / f"chain/{name}", on, chain))
        require([(one["code"], one["path"]) for one in findings] == [(MISSING, paths[0]), (EMPTY, paths[1])], findings)
    findings = told(tare, written(folder / "chain/common.pt", {"fp16": False, "bf16": True}, dict(enumerate(mixed[:1]))))
    require([(one["code"], one["path"]) for one in findings] == [(PASSED_OVER, "optimizer.0.grad_scaler")], findings)
    old = told(tare, checkpoint(folder / "old", {"fp16": True}, STATE, "optimizer_state_dict"))
    require(len(old) == 1 and OLD in old[0]["message"], old)


def try_filling(tare, folder, corpus):
    """The key that is missing is put in, {} is filled; who reads it is said, and undo takes it back."""
    source = corpus / "torch/scaler-file-t2.15/scaler.pt"
    real = folder / "real"
    shutil.copytree(corpus / "megatron/torch_bf16", real)
    for path in (checkpoint(folder / "a", {"fp16": True}, None), checkpoint(folder / "b", {"fp16": True}, {}),
                 real / "ckpt"):
        around = path if path.is_dir() else path.parent
        before = snapshot(around)
        answer = tare("migrate", source, "--into", path, "--yes", "--json")
        require(answer.code == DONE, answer)
        require(any("--loss-scale" in warning and "--bf16" in warning for warning in answer.json()["warnings"]),
                "who reads it is not said:", answer.json()["warnings"])
        scaler = tare("inspect", "--json", path).json()["scalers"]
        require([one["path"] for one in scaler] == ["optimizer.grad_scaler"], path, scaler)
        require(scaler[0]["roles"]["scale"] == 65536 and scaler[0]["roles"]["growth_tracker"] == 42, scaler[0])
        require(tare("undo", path, "--yes").code == DONE and snapshot(around) == before, path, "undo")


def try_powers(tare, folder):
    path = checkpoint(folder / "powers", {"fp16": True}, {**STATE, "scale": 1000.0})
    require("scale-not-power-of-two" in tare("inspect", path).out.decode(), tare("inspect", path).out)
    sound = checkpoint(folder / "sound", {"fp16": True}, STATE)
    require("scale-not-power-of-two" not in tare("inspect", sound).out.decode(), tare("inspect", sound).out)
    answer = tare("edit", sound, "scale=1000", "--dry-run")
    require("scale-not-power-of-two" in answer.reason, answer)


def try_corpus(tare, corpus):
    """Real checkpoints: those of scalers that were on say nothing."""
    for case in sorted((corpus / "megatron").iterdir()):
        codes = [one["code"] for one in told(tare, case / "ckpt")]
        wanted = [EMPTY] if case.name == "torch_constant" else []
        require(codes == wanted, case.name, codes)


def common_state(checkpoint, old, new):
    """Puts other bytes, as many, into the common state that stands in a distributed checkpoint; its checksum goes along."""
    path = checkpoint / "__0_0.distcp"
    whole = bytearray(path.read_bytes())
    at = whole.index(b"grad_scaler")
    local, central = whole.rindex(b"PK\x03\x04", 0, at), whole.index(b"PK\x01\x02", at)
    begin = local + 30 + sum(struct.unpack_from("<HH", whole, local + 26))
    end = begin + struct.unpack_from("<I", whole, central + 24)[0]
    before = bytes(whole[begin:end])
    require(len(old) == len(new) and before.count(old) == 1, before.count(old), "times", old)
    after = before.replace(old, new)
    whole[begin:end] = after
    whole[end:central + 46] = whole[end:central + 46].replace(*(struct.pack("<I", zlib.crc32(one)) for one in (before, after)))
    whole[local:begin] = whole[local:begin].replace(*(struct.pack("<I", zlib.crc32(one)) for one in (before, after)))
    path.write_bytes(whole)


def try_distributed(tare, corpus, scratch):
    """A folder without common.pt, whose common state is an item among others."""
    data = (corpus / DISTRIBUTED / "__0_0.distcp").read_bytes()
    flags = re.findall(rb"[fb][fp]16q.[\x88\x89]", data, re.S)  # the name, its memo, True or False
    require(len(flags) == 2, flags)
    for what, changes, told in (
            ("as it is", [], None),
            ("without", [(b"grad_scaler", b"grad_scalex")], (MISSING, "warning", [NOT_LOADED, "this run"])),
            ("bf16", [(flag, flag[:-1] + bytes([flag[-1] ^ 1])) for flag in flags], (PASSED_OVER, "warning", [SKIPPED]))):
        copy = scratch / "distributed"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(corpus / DISTRIBUTED, copy)
        for old, new in changes:
            common_state(copy, old, new)
        findings = [one for one in tare("inspect", "--json", copy).json()["findings"] if one["code"] in (MISSING, EMPTY, PASSED_OVER)]
        require(len(findings) == (told is not None), what, findings)
        for one in findings:
            code, severity, words = told
            require((one["code"], one["severity"]) == (code, severity) and all(word in one["message"] for word in words), what, one)
            require(one["path"].startswith("common_state/shard_0_1[0].optimizer"), what, one)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare = Tare(options.tare)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        try_loading(tare, folder)
        try_filling(tare, folder, options.corpus)
        try_powers(tare, folder)
        try_distributed(tare, options.corpus, folder)
    try_corpus(tare, options.corpus)
    print(f"{len(CASES)} ways to keep Megatron's scaler: what a resume says is said")
    return 0


if __name__ == "__main__":
    sys.exit(main())
