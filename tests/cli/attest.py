#!/usr/bin/env python3
"""`tare attest` on real and hostile files: exit codes, the document, and the plain state beside them.

    attest.py --tare TARE --corpus CORPUS
"""
import argparse
import bz2
import gzip
import json
import lzma
import os
import pathlib
import shutil
import struct
import sys
import tempfile
import zlib

from command import Tare

DELAYED = "transformer_engine/te2.20_delayed/model.pt"
PLAIN = "torch/train-t2.15/checkpoint.pth"
PACKED = "numpy/npz_compressed/state.npz"
BOTH = "transformer_engine/te2.20_megatron_torch/ckpt"
EVIL = "hostile/call-os-system/evil.pt"


CALL = b"cos\ngetcwd\n)R."


def msgpack_and_pickle():
    """A map of ten entries, of which LONG1 takes the first 165 bytes."""
    def text(t):
        return bytes([0xa0 | len(t)]) + t
    body = b"\x8a" + text(b"hello") + b"\xcb" + bytes(8)
    body += text(b"loss_scale") + b"\x82" + text(b"scale") + b"\xcb" + bytes(8) + text(b"fin_steps") + b"\x03"
    body += b"".join(text(b"k%d" % i) + b"\xcb" + bytes(8) for i in range(7)) + text(b"zz") + b"\xc4"
    data = bytes(167 - len(body) - 1) + CALL
    return body + bytes([len(data)]) + data


def safetensors_and_pickle():
    """A header whose length begins with LONG1: its text holds the call, with a control character that JSON forbids."""
    size = 0x8a | 0x24 << 8
    header = b'{"__metadata__":{"a":"xxxxxxxx' + b"q\xc2\x80\x04" + b"q\xc2\x8c\x02osq\xc2\x8c\x06getcwdq\xc2\x93)R." + b'"}'
    header += b',"scale":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    return struct.pack("<Q", size) + header.ljust(size) + bytes(4)


def extra_state(pickle):
    """In a tensor of float32, of which TransformerEngine takes the bytes."""
    data = pickle.ljust(-(-len(pickle) // 4) * 4, b"\0")
    tensor = {"dtype": "F32", "shape": [len(data) // 4], "data_offsets": [0, len(data)]}
    header = json.dumps({"fc1._extra_state": tensor}).encode()
    return struct.pack("<Q", len(header)) + header + data


def crossed_frame():
    """CPython issue 154848: what BINBYTES takes across the end of a frame, the unpickler in C reads as opcodes."""
    hidden = b"cos\ngetcwd\n)R("
    return (b"\x80\x05NV" + b"a" * (8192 * 16 - 17) + b"\n0(\x95" + struct.pack("<Q", 2) + b"B" +
            struct.pack("<I", 263) + bytes(2) + hidden.ljust(261, b"N") + b"1.")


# Name, bytes, and words of what is told. Each passed as plain data once, in a folder or alone.
DOUBTFUL = (
    ("optimizer.pt", b"N" + CALL, b"is a pickle, too"),
    ("optimizer.pt", CALL + b"x", b"a pickle"),
    ("state.pkl", crossed_frame(), b"read differently"),
    ("state.msgpack", msgpack_and_pickle(), b"is a pickle, too"),
    ("model.safetensors", safetensors_and_pickle(), b"raw control character"),
    ("two.pkl", b"\x80\x02}q\0." + b"\x80\x02" + CALL, b"behind the end of the pickle"),
    (".state", gzip.compress(CALL), b"os.getcwd"),
    ("state.joblib", zlib.compress(CALL), b"os.getcwd"),
    ("state.bz2", bz2.compress(CALL), b"bzip2"),
    ("state.xz", lzma.compress(CALL), b"xz"),
    ("modeling.py", b"import os\n", b"is code"),
    ("model.safetensors", extra_state(b"\x80\x02" + CALL), b"os.getcwd"),
    ("hparams.yaml", b"\xef\xbb\xbf!!python/object/apply:os.getcwd []\n", b"YAML with tags"),
    ("state.json", b'{"a": {"py/reduce": [{"py/mod": "os/os.getcwd"}, {"py/tuple": []}]}}', b"os.getcwd"),
    ("config.yaml", b"target: # what is called\n  os.getcwd\n", b"os.getcwd"),
)


def check_edited(tare, packed, hold):
    """An edit of a packed array appends it anew: what it leaves behind is judged like the rest."""
    with tempfile.TemporaryDirectory() as name:
        edited = pathlib.Path(name) / "edited.npz"
        edited.write_bytes(packed.read_bytes())
        size = edited.stat().st_size
        for scale in ("64", "32"):
            hold("a packed array is edited", tare("edit", str(edited), f"scale={scale}", "--yes").code == 0)
        hold("the edit appended", edited.stat().st_size > size)
        hold("what it left behind is plain data", tare("attest", str(edited)).code == 0)


def check_folder(tare, real, hold):
    """What lies beside a real checkpoint, and where links lead."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ckpt = folder / "ckpt"
        ckpt.mkdir()
        shutil.copy(real, ckpt / "scaler.pt")
        (ckpt / "README.md").write_text("Plain words.\n")
        plain = tare("attest", str(ckpt))
        hold("a folder of data", plain.code == 0 and b"(2 files, " in plain.out)
        counted = json.loads(tare("attest", str(ckpt), "--json").out)
        size = sum(path.stat().st_size for path in ckpt.iterdir())
        hold("what was looked at is counted",
             (counted["files"], counted["bytes"], counted["documents"]) == (2, size, 1) and counted["calls"] > 0)
        for file, data, words in DOUBTFUL:
            (ckpt / file).write_bytes(data)
            beside = tare("attest", str(ckpt))
            hold(f"{file} beside a checkpoint: {words}", beside.code == 1 and words in beside.out and
                 file.encode() in beside.out)
            alone = tare("attest", str(ckpt / file))
            is_named = b"dangerous  os.getcwd" in alone.out or CALL not in data or file.endswith(".xz")
            hold(f"{file} alone", alone.code == 1 and is_named)
            (ckpt / file).unlink()
        (folder / "words.txt").write_text("cos it is\n")
        words = tare("attest", str(folder / "words.txt"))
        hold("words alone are no checkpoint", words.code == 3 and not words.out)
        (folder / "outside\x1b[31m.pt").write_bytes(CALL)
        (ckpt / "optimizer.pt").symlink_to("../outside\x1b[31m.pt")
        os.mkfifo(ckpt / "pipe.pt")
        linked = tare("attest", str(ckpt))
        hold("a link that leads out", linked.code == 1 and b"leads out" in linked.out and not linked.raw_control())
        hold("a pipe", b"pipe.pt: is no regular file" in linked.out)

        run = folder / "run"
        for step in ("checkpoint-5", "checkpoint-10"):
            (run / step).mkdir(parents=True)
            shutil.copy(real, run / step / "scaler.pt")
        first = tare("attest", str(run))
        hold("of a run the folder that is not read", first.code == 1 and b"checkpoint-5: is another folder" in first.out)
        hold("--all reads it", tare("attest", str(run), "--all").code == 0)
        hold("one checkpoint of it", tare("attest", str(run / "checkpoint-5")).code == 0)
        (run / "checkpoint-5" / "evil").write_bytes(b"N" + CALL)
        hold("--all finds it", b"checkpoint-5/evil: is a pickle" in tare("attest", str(run), "--all").out)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare = Tare(options.tare)
    short = []

    def hold(what, condition):
        if not condition:
            short.append(what)

    with tempfile.TemporaryDirectory() as folder:
        def run(case, *arguments):
            return tare("attest", str(options.corpus / case), *arguments, folder=folder)

        for case, code in (PLAIN, 0), (DELAYED, 1), (EVIL, 1), ("transformer_engine/te2.20_mxfp8/model.pt", 0):
            hold(f"{case}: exit {code}", run(case).code == code)
            answer = json.loads(run(case, "--json").out)
            hold(f"{case}: the document", answer["schema"] == "tare.attest/1" and answer["plain"] == (code == 0))
        hold("dangerous is said", b"dangerous  os.system" in run(EVIL).out)
        hold("TE's refusal is said", b"refused 4: delayed scaling keeps its state in a pickle" in run(DELAYED).out)
        hold("an older torch", run(PLAIN, "--torch", "2.0").code in (0, 1))
        hold("no such torch is wrong usage", run(PLAIN, "--torch", "0.4").code == 2)
        hold("nothing there", run("nowhere").code == 3)
        hold("nothing ran", not os.listdir(folder))

        hold("the state is written", run(PLAIN, "--write-plain", "scaler.json").code == 0)
        state = json.loads((pathlib.Path(folder) / "scaler.json").read_text())
        told = json.loads(tare("inspect", str(options.corpus / PLAIN), "--json", folder=folder).out)
        hold("it holds the scaler", state["fields"]["scale"] == told["scalers"][0]["roles"]["scale"])
        hold("an ending of neither kind is refused", run(PLAIN, "--write-plain", "scaler.txt").code in (2, 4))
        hold("and writes nothing", os.listdir(folder) == ["scaler.json"])
        hold("FP8 state is written", run(DELAYED, "--write-plain", "fp8.json").code == 1)
        plain = json.loads((pathlib.Path(folder) / "fp8.json").read_text())
        told = json.loads(tare("inspect", str(options.corpus / DELAYED), "--json", folder=folder).out)["scalers"]
        slots = [slot for scaler in told if scaler["kind"] == "fp8" for slot in scaler["slots"]]
        hold("it holds every slot", plain["fields"]["scale"] == [slot["scale"] for slot in slots])
        both = pathlib.Path(folder) / "both.json"
        hold("a scaler and FP8 state are written", run(BOTH, "--write-plain", both.name).code in (0, 1))
        states = json.loads(both.read_text())
        hold("both are there", states["schema"] == "tare.states/1" and
             {"megatron", "transformer_engine"} == {entry["state"]["policy"] for entry in states["states"]})
        hold("one of them alone", run(BOTH, "--at", "*linear_qkv*", "--write-plain", both.name, "--force").code in (0, 1))
        hold("is a state as any other", json.loads(both.read_text())["policy"] == "transformer_engine")
        hold("HDF5 holds both, too", run(BOTH, "--write-plain", "both.h5").code in (0, 1))
        seen = json.loads(tare("inspect", "both.h5", "--json", folder=folder).out)["scalers"]
        hold("and they are shown", {"loss_scale", "fp8"} == {scaler["kind"] for scaler in seen})

    check_folder(tare, options.corpus / PLAIN, hold)
    check_edited(tare, options.corpus / PACKED, hold)
    print("\n".join(f"short: {what}" for what in short) or "attest: as promised")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
