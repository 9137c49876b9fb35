#!/usr/bin/env python3
"""Holds what migrate says of a new file to what is in it, and to what its framework goes on with.

    migrate_promises.py --tare BINARY --corpus FOLDER

Counters that a file does not store are lost, parameters that a framework cannot be told are lost, configuration that was
saved with a state is read, and --strict refuses what does not go on alike.
"""
import argparse
import json
import pathlib
import pickle
import shutil
import sys
import tempfile
import zipfile

from command import Tare
from migrate import only_scaler

DONE, REFUSED = 0, 4
USUAL = {"scale": 32768.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 50, "_growth_tracker": 17}


def torch_file(path, contents):
    """As torch.save writes what holds no tensor."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("made/data.pkl", pickle.dumps(contents, 2))
        archive.writestr("made/version", "3\n")
    return path


def paddle_file(path, **changed):
    state = {"scale": 32768.0, "incr_ratio": 2.0, "decr_ratio": 0.5, "incr_every_n_steps": 50,
             "decr_every_n_nan_or_inf": 2, "incr_count": 13, "decr_count": 1, "use_dynamic_loss_scaling": True, **changed}
    path.write_bytes(pickle.dumps({"scaler": state}, 4))
    return path


def keras_file(path, corpus, steps):
    """A real `.keras` with that window in its configuration."""
    found = next(f for f in sorted(corpus.glob("keras/*/*.keras"))
                 if b'"dynamic_growth_steps"' in zipfile.ZipFile(f).read("config.json"))

    def replaced(value):
        if isinstance(value, dict):
            return {k: steps if k == "dynamic_growth_steps" else replaced(v) for k, v in value.items()}
        return [replaced(v) for v in value] if isinstance(value, list) else value

    with zipfile.ZipFile(found) as before, zipfile.ZipFile(path, "w") as after:
        for info in before.infolist():
            contents = before.read(info)
            if info.filename == "config.json":
                contents = json.dumps(replaced(json.loads(contents))).encode()
            after.writestr(info.filename, contents)
    return path


def megatron_file(path, **told):
    state = {"scale": 32768.0, "growth_tracker": 12, "hysteresis_tracker": 0}
    return torch_file(path, {"args": argparse.Namespace(**told), "optimizer": {"grad_scaler": state}})


def by_source(answer):
    return {value["source_key"].split(".", 1)[1]: value for value in answer["values"] if value["source_key"]}


def held_keys(answer, scaler):
    """Values that the report calls carried, and that are not in the file."""
    for value in answer["values"]:
        name = value["key"].split(".", 1)[1]
        is_field = value["key"].startswith("fields.")
        if not is_field or value["fate"] in ("lost", "implied", "defaulted"):
            continue
        if name not in scaler["fields"] and value["role"] not in scaler["roles"]:
            yield name


class Promises:
    def __init__(self, tare, corpus, folder):
        self.tare, self.corpus, self.folder = tare, corpus, folder
        self.number = 0

    def to(self, source, framework, ending=".pt", *more):
        self.number += 1
        target = self.folder / f"new{self.number}{ending}"
        done = self.tare("migrate", source, "--to", framework, "-o", target, "--json", *more)
        assert done.code == DONE, done
        answer, scaler = done.json(), only_scaler(self.tare, target)
        assert not list(held_keys(answer, scaler)), list(held_keys(answer, scaler))
        strict = self.tare("migrate", source, "--to", framework, "-o", self.folder / f"strict{self.number}{ending}",
                           "--strict", *more)
        same = answer["divergence"] is None and all(value["fate"] != "lost" for value in answer["values"])
        assert strict.code == (DONE if same else REFUSED), strict
        return answer

    def a_counter_without_a_place_is_lost(self):
        answer = self.to(torch_file(self.folder / "a.pt", USUAL), "fairseq")
        tracker = by_source(answer)["_growth_tracker"]
        assert (tracker["fate"], tracker["before"], tracker["after"]) == ("lost", 17, None), tracker
        assert "keeps no counter" in tracker["why"]
        assert answer["usual_divergence"]["step"] == 33, answer["usual_divergence"]
        assert answer["divergence"]["step"] <= 33, answer["divergence"]

    def a_counter_that_a_fresh_scaler_has_is_not_lost(self):
        answer = self.to(torch_file(self.folder / "b.pt", {**USUAL, "_growth_tracker": 0}), "fairseq")
        assert by_source(answer)["_growth_tracker"]["fate"] == "implied"
        assert answer["usual_divergence"] is None

    def factors_that_a_framework_has_in_its_code_are_lost(self):
        source = torch_file(self.folder / "c.pt", {**USUAL, "growth_factor": 1.5, "backoff_factor": 0.25})
        answer = self.to(source, "megatron")
        values = by_source(answer)
        assert values["growth_factor"]["fate"] == values["backoff_factor"]["fate"] == "lost"
        assert answer["divergence"]["step"] == 1, answer["divergence"]
        assert answer["flags"] == "--loss-scale-window 50 --hysteresis 1"
        assert {row["role"] for row in answer["configured"]} == {"growth_interval", "hysteresis"}

    def the_next_growth_comes_in_time_under_a_window_that_is_fixed(self):
        answer = self.to(torch_file(self.folder / "d.pt", USUAL), "apex")
        values = by_source(answer)
        assert values["growth_interval"]["fate"] == "lost"
        assert values["_growth_tracker"]["after"] == 2000 - 33
        assert answer["usual_divergence"]["step"] == 51, answer["usual_divergence"]  # an overflow, 50 clean steps

    def a_role_that_no_flag_names_is_told_all_the_same(self):
        source = torch_file(self.folder / "e.pt", {"last_optimizer_state": {"loss_scale": 128.0}})
        answer = self.to(source, "fairseq", ".pt", "--set", "tolerance=0.25")
        assert "--fp16-scale-tolerance 0.25" in answer["flags"], answer["flags"]

    def megatrons_arguments_are_read(self):
        source = megatron_file(self.folder / "iter_0000033/mp_rank_00/model_optim_rng.pt", loss_scale_window=40,
                               hysteresis=2, min_loss_scale=1.0, loss_scale=None)
        scaler = only_scaler(self.tare, source)
        told = {row["key"]: (row["value"], row["from"]) for row in scaler["configuration"]}
        assert told["growth_interval"] == (40, "args.loss_scale_window"), told
        assert "next growth after 28 clean steps" in self.tare("inspect", source).out.decode()
        values = by_source(self.to(source, "torch"))
        assert (values["growth_interval"]["fate"], values["growth_interval"]["after"]) == ("carried", 40)
        assert values["hysteresis"]["fate"] == "lost"
        assert values["hysteresis_tracker"]["before"] == 0

    def keras_configuration_is_read(self):
        source = keras_file(self.folder / "f.keras", self.corpus, 50)
        assert any(row["value"] == 50 and "dynamic_growth_steps" in row["from"]
                   for row in only_scaler(self.tare, source)["configuration"])
        assert by_source(self.to(source, "torch"))["dynamic_growth_steps"]["after"] == 50

    def overflows_counted_so_far_are_accounted_for(self):
        source = paddle_file(self.folder / "g.pdparams")
        assert by_source(self.to(source, "torch"))["decr_count"]["fate"] == "lost"
        assert by_source(self.to(source, "megatron"))["decr_count"]["fate"] == "converted"
        usual = paddle_file(self.folder / "h.pdparams", decr_every_n_nan_or_inf=1, decr_count=0)
        assert by_source(self.to(usual, "torch"))["decr_count"]["fate"] == "implied"

    def a_pickle_names_what_its_framework_does_not_load(self):
        state = {**USUAL, "_hysteresis_tracker": 3}
        values = by_source(self.to(torch_file(self.folder / "i.pt", state), "nemo", ".pt", "--set", "hysteresis=3"))
        assert values["hysteresis_tracker"]["fate"] == "lost", values
        assert "misspelt" in values["hysteresis_tracker"]["why"]

    def _copied(self, case):
        self.number += 1
        return pathlib.Path(shutil.copytree(self.corpus / case, self.folder / f"copy{self.number}"))

    def a_static_scale_takes_no_state_that_its_load_would_stop_at(self):
        source = torch_file(self.folder / "k.pt", USUAL)
        for case, target in (("deepspeed/fused_zero0_static", "ckpt"), ("apex/contrib-static", "contrib.pt")):
            target = self._copied(case) / target
            for more in ((), ("--strict",)):
                refused = self.tare("migrate", source, "--into", target, "--yes", *more)
                assert refused.code == REFUSED and "last_overflow_iter" in refused.reason, refused
            static = self.tare("migrate", source, "--into", target, "--yes", "--json", "--set", "dynamic=false")
            values = by_source(static.json())
            assert values["scale"]["fate"] == "carried", values
            assert "static" in values["growth_interval"]["why"] and values["growth_interval"]["fate"] == "lost", values
            assert static.json()["flags"] is None, static
            assert self.tare("edit", target, "dynamic=true", "--yes", "--force").code == DONE
            assert "dynamic-keys-missing" in self.tare("doctor", target).out.decode()
            assert self.tare("edit", target, "dynamic=false", "--yes").code == DONE
            assert "dynamic-keys-missing" not in self.tare("doctor", target).out.decode()

    def what_a_static_scale_has_no_use_for_is_lost_for_that_reason(self):
        source = torch_file(self.folder / "l.pt", USUAL)
        for case, target in (("deepspeed/zero2_static", "ckpt"), ("mmcv/loss_scaler_static", "epoch_1.pth")):
            done = self.tare("migrate", source, "--into", self._copied(case) / target, "--yes", "--json")
            lost = {key: value["why"] for key, value in by_source(done.json()).items() if value["fate"] == "lost"}
            assert lost.keys() == USUAL.keys() - {"scale"} and all("is static" in why for why in lost.values()), lost
            assert not any("no number" in warning for warning in done.json()["warnings"]), done

    def a_floor_that_jmp_does_not_keep_is_lost(self):
        source = self.folder / "m.json"
        source.write_text(json.dumps({"schema": "tare.state/1", "policy": "jmp",
                                      "params": {"period": 10, "factor": 2.0, "min_loss_scale": 128.0},
                                      "fields": {"loss_scale": 4096.0, "counter": 3}}))
        answer = self.to(source, "jmp", ".npz")
        assert by_source(answer)["min_loss_scale"]["fate"] == "lost"
        assert answer["flags"] == "DynamicLossScale(..., period=10)", answer["flags"]
        assert answer["divergence"] is not None and answer["usual_divergence"] is None, answer

    def what_is_alike_passes_strictly(self):
        answer = self.to(torch_file(self.folder / "j.pt", USUAL), "torch")
        assert answer["divergence"] is None


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", type=pathlib.Path, required=True)
    options = ask.parse_args()
    failed = 0
    names = [name for name, made in vars(Promises).items() if callable(made) and not name.startswith("_") and name != "to"]
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                getattr(Promises(Tare(options.tare), options.corpus, pathlib.Path(scratch)), name)()
            except (AssertionError, KeyError, TypeError) as problem:
                failed += 1
                print(f"falls short: {name}: {problem!r}", flush=True)
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
