#!/usr/bin/env python3
"""Every real checkpoint whose scalers can be read is saved as tare's own state, as JSON and as HDF5: each of its scalers lies
there under its path, as the checkpoint has it, loads, and runs on as the one of the checkpoint does, edited or not.

    saved_corpus.py --tare TARE --library LIBTARE --bindings FOLDER --corpus FOLDER
"""
import json
import random

from beside_library import command_and_library
from corpus import require
from states import DONE, REFUSED, has_scale, run


def loaded(tare, path, at):
    """-> the state of that path in a checkpoint or a file of states; None where no rule runs it."""
    try:
        state = tare.State.from_checkpoint(str(path), at)
        return state if has_scale(tare, tare.Scaler(state=state)) else None
    except tare.TareError:
        return None


def course(tare, state):
    """-> the scale after each of 300 steps, up to where the rule raises."""
    scaler, scales = tare.Scaler(state=state), []
    chance = random.Random(24)
    try:
        for _ in range(3):
            scales += run(scaler, chance, 100)
    except tare.TareError as error:
        scales.append(str(error))
    return scales


def try_states(tare, command, checkpoint, saved, paths):
    """-> how many states were run."""
    count = 0
    for path in paths:
        there = loaded(tare, checkpoint, path)
        if there is None:
            continue
        here = loaded(tare, saved, path if len(paths) > 1 else None)
        require(here is not None, checkpoint, path, "is not loaded from", saved.name)
        wanted = course(tare, there)
        require(course(tare, here) == wanted, checkpoint, path, "runs otherwise from", saved.name)
        count += 1
    return count


def try_edit(tare, command, checkpoint, saved, path):
    """The first scaler takes another scale, runs as the library's edit of it, and undo gives the bytes back. -> 1, or 0
    where it was not edited."""
    before = saved.read_bytes()
    state = loaded(tare, saved, path)
    if state is None:
        return 0
    wanted = state["scale"] / 2
    at = ["--at", path] if path else []
    answer = command("edit", saved, *at, f"scale={wanted!r}", "--yes")
    if answer.code == REFUSED:  # ints, and bounds that the scale stands at
        require(saved.read_bytes() == before, checkpoint, "was refused and changed")
        return 0
    require(answer.code == DONE, checkpoint, answer)
    state["scale"] = wanted
    require(course(tare, loaded(tare, saved, path)) == course(tare, state), checkpoint, "runs otherwise after the edit")
    answer = command("undo", saved, "--yes")
    require(answer.code == DONE and saved.read_bytes() == before, checkpoint, answer)
    return 1


def main():
    checkpoints = states = edits = 0
    with command_and_library(__doc__) as (tare, command, corpus, folder):
        for truth in sorted(corpus.rglob("truth.json")):
            told = json.loads(truth.read_text())
            checkpoint = truth.parent / told.get("target", ".")
            shown = command("inspect", "--json", checkpoint).json()
            paths = [one["path"] for one in (shown or {}).get("scalers", []) if "slots" not in one]
            if not paths or "hostile" in truth.parts:
                continue
            for ending in "json", "h5":
                saved = folder / f"saved.{ending}"
                saved.unlink(missing_ok=True)
                answer = command("inspect", checkpoint, "--save", saved)
                if not saved.exists():
                    require(answer.code != DONE, checkpoint, "is not saved, without a word", answer)
                    continue
                states += try_states(tare, command, checkpoint, saved, paths)
                edits += try_edit(tare, command, checkpoint, saved, paths[0] if len(paths) > 1 else "")
                checkpoints += 1
    told = f"{checkpoints} states of real checkpoints were saved, {states} scalers ran on from them, {edits} were edited"
    require(checkpoints >= 500 and states >= 500 and edits >= 400, told)
    print(told)


if __name__ == "__main__":
    main()
