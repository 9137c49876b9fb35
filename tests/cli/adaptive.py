#!/usr/bin/env python3
"""mindformers' adaptive window and the index of its level are one thing: an edit sets both, in mindformers' checkpoints and in
tare's own states, and the window goes on from there; what the list lacks is refused with the list.

    adaptive.py --tare TARE --library LIBTARE --bindings FOLDER --corpus FOLDER
"""
import json
import pathlib
import shutil
import sys

from beside_library import command_and_library
from corpus import require

DONE, REFUSED = 0, 4
LIST = "20, 30, 40, 50, 100, 200, 500, 1000"


def roles(command, path):
    return command("inspect", "--json", path).json()["scalers"][0]["roles"]


def level_of(command, path):
    return command("inspect", "--json", path).json()["scalers"][0]["window_level"]


def climbed(tare, path, growths):
    """The window after that many growths."""
    scaler = tare.Scaler(state=tare.State.from_checkpoint(str(path)))
    while growths > 0:
        before = scaler.scale
        scaler.report_overflow(False)
        scaler.update()
        growths -= scaler.scale > before
    return scaler.save()["fields.scale_window"]


def try_edits(tare, command, path):
    original = path.read_bytes()
    for key, value, wanted in (("window", 200, (200, 5)), ("growth_interval", 1000, (1000, 7)), ("window_index", 3, (50, 3)),
                               ("window_index", -1, (1, -1)), ("window", 1, (1, -1))):
        answer = command("edit", path, f"{key}={value}", "window_up_count=0", "--yes")
        require(answer.code == DONE, answer)
        now = roles(command, path)
        require((now["growth_interval"], now["window_index"]) == wanted, key, value, "left", now)
        windows = [20, 30, 40, 50, 100, 200, 500, 1000]
        after = windows[min(wanted[1] + 1, 7)]
        require(climbed(tare, path, 3) == after, key, value, ": after three growths", climbed(tare, path, 3))
        level = level_of(command, path)
        require(level["index"] == wanted[1] and level["hidden"] == (wanted[1] == -1) and level["in_list"], level)
    both = command("edit", path, "window=200", "window_index=5", "--yes")
    require(both.code == DONE, both)
    for words in (["window=123"], ["window_index=99"], ["window_index=8"], ["window_index=-2"], ["window=200", "window_index=4"]):
        before = path.read_bytes()
        answer = command("edit", path, *words, "--yes")
        require(answer.code == REFUSED and LIST in answer.reason and path.read_bytes() == before, answer)
    for words in (["window_index=1e30"], ["window_index=2.5"], ["window=nan"], ["window_index=nan"]):
        before = path.read_bytes()
        answer = command("edit", path, *words, "--yes")
        require(answer.code == REFUSED and "-9223372036854775808" not in answer.reason and path.read_bytes() == before, answer)
    answer = command("edit", path, "window_index=3", "window=123", "--force", "--yes")
    require(answer.code == DONE, answer)
    require("window-not-in-list" in command("inspect", path).out.decode(), command("inspect", path).out)
    answer = command("edit", path, "window=200", "--yes")
    require(answer.code == REFUSED and "growth_interval and window_index" in answer.reason, answer)
    require(command("edit", path, "window=200", "window_index=5", "--yes").code == DONE, "both together")
    path.write_bytes(original)


def try_another_list(tare, command, path, folder):
    """--set makes another list, and says where the state lands in it; a state of tare's keeps it."""
    made = folder / "other.ckpt"
    answer = command("migrate", path, "--to", "mindformers_adaptive", "--set", "max_scale_window=100", "-o", made, "--force")
    told = answer.out.decode() + answer.reason
    require(answer.code == DONE and "20, 30, 40, 50, 100 now" in told and "max_scale_window=100" in told, answer, told)
    kept = folder / "other.json"
    answer = command("migrate", path, "--to", "mindformers_adaptive", "--set", "max_scale_window=100", "-o", kept, "--force")
    require(answer.code == DONE, answer)
    require(level_of(command, kept)["windows"] == [20, 30, 40, 50, 100], level_of(command, kept))
    require(command("edit", kept, "window=100", "--yes").code == DONE, "window=100")
    require(climbed(tare, kept, 6) == 100, "the last level is left")
    refused = command("edit", kept, "window=200", "--yes")
    require(refused.code == REFUSED and "20, 30, 40, 50, 100" in refused.reason, refused)


def try_into(tare, command, corpus, path):
    """What comes from another framework is at a level, with the period that it has."""
    source = corpus / "torch/scaler-file-t2.15/scaler.pt"
    answer = command("migrate", source, "--into", path, "--yes")
    require(answer.code == DONE, answer)
    now = roles(command, path)
    require((now["growth_interval"], now["window_index"]) == (1000, 7), now)
    require("nearest to 2000" in answer.out.decode(), answer.out)
    growths, scaler = [], tare.Scaler(state=tare.State.from_checkpoint(str(path)))
    for step in range(1, 4000):
        before = scaler.scale
        scaler.report_overflow(False)
        scaler.update()
        if scaler.scale > before:
            growths.append(step)
    require(growths == [1000, 2000, 3000], "growths come at", growths)
    require("after 1000 clean steps, the source's after 1958" in answer.out.decode() + answer.reason, answer.out)
    require(now["last_overflow_step"] <= now["step"], now)
    require("counter-out-of-reach" not in command("inspect", path).out.decode(), command("inspect", path).out)


def main():
    with command_and_library(__doc__) as (tare, command, corpus, folder):
        for name, ending in (("code", "json"), ("code", "h5")):
            path = folder / f"{name}.{ending}"
            tare.Scaler('{"policy":"mindformers_adaptive"}').save().write(str(path))
            try_edits(tare, command, path)
        paper = folder / "paper.json"
        tare.Scaler(json.dumps({"policy": "mindformers_adaptive", "variant": "paper"})).save().write(str(paper))
        try_edits(tare, command, paper)
        for name in "adaptive_first_level/net.ckpt", "adaptive_second_level/net.safetensors":
            real = folder / pathlib.Path(name).name
            shutil.copy(corpus / "mindformers" / name, real)
            real.chmod(0o600)
            try_edits(tare, command, real)
            try_another_list(tare, command, real, folder)
            try_into(tare, command, corpus, real)
        try_another_list(tare, command, folder / "code.json", folder)
    print("a window and its level are one thing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
