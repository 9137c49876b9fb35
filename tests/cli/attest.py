#!/usr/bin/env python3
"""`tare attest` on real and hostile files: exit codes, the document, and the plain state beside them.

    attest.py --tare TARE --corpus CORPUS
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

from command import Tare

DELAYED = "transformer_engine/te2.20_delayed/model.pt"
PLAIN = "torch/train-t2.15/checkpoint.pth"
BOTH = "transformer_engine/te2.20_megatron_torch/ckpt"
EVIL = "hostile/call-os-system/evil.pt"


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
        hold("HDF5 holds one", run(BOTH, "--write-plain", "both.h5").code == 4)

    print("\n".join(f"short: {what}" for what in short) or "attest: as promised")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
