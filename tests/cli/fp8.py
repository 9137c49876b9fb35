#!/usr/bin/env python3
"""Changes the FP8 state of real checkpoints with the command: the values come out as asked, nothing else changes, and
undo brings back every byte.

    fp8.py --tare BINARY --corpus FOLDER [--verbose]
"""
import argparse
import math
import pathlib
import re
import shutil
import struct
import sys
import tempfile

from command import Tare
from corpus import Short, cases_of, copied, require, snapshot, unlike

CHANGES = [("edit", ["--all", "scale.input*=16", "amax_history.grad_*=0.5"]), ("reset", []),
           ("reset", ["--history", "40"]), ("recompute", []), ("strip", []), ("strip", ["--for", "2.3"]), ("strip", ["--remove"]),
           ("resize", ["--history", "4"]), ("resize", ["--history", "2000"]), ("reencode", ["--for", "2.20"]),
           ("reencode", ["--force", "--for", "1.13"])]
DELAYED = {"transformer_engine", "torchao_delayed", "flax", "keras"}
WITHOUT_DOCUMENT = DELAYED - {"transformer_engine"}
BOUND = {"msamp", "torchao", "deepseek_fp8", "compressed_tensors", "coat", "mindspeed"}  # stored numbers were quantised with their scales


def layers(tare, case):
    answer = tare("inspect", case.target, "--json", "--histories")
    require(answer.code in (0, 1), answer)
    return {s["path"]: s for s in answer.json()["scalers"] if s["kind"] == "fp8"}


def close(a, b):
    return a == b or math.isclose(a, b, rel_tol=2**-22)


def said_anew(fields, name, value):
    """The text that a recipe keeps of its values, with another of them."""
    text = fields.get("recipe._cached_repr")
    return {} if text is None else {"recipe._cached_repr": re.sub(f", {name}=[^,]*", f", {name}={value}", text)}


def resized(name, value, length):
    """The rows from the front and zeros behind them, as TransformerEngine makes them of loaded histories; flax's by age."""
    if name == "recipe.amax_history_len":
        return length
    if name == "recipe._cached_repr":
        return said_anew({name: value}, "amax_history_len", length)[name]
    if name.endswith("_amax_history"):  # flax's: the newest first, those before it from the end
        kept = min(length, len(value)) - 1
        return value[:1] + [0] * (length - 1 - kept) + value[len(value) - kept:]
    if not name.startswith("amax_history_"):
        return value
    return value[:length] + [[0] * len(value[0])] * (length - len(value))


def check_resized(before, after, length):
    for path, old in before.items():
        for name, value in old["fields"].items():
            require(after[path]["fields"][name] == resized(name, value, length), path, name, "is",
                    str(after[path]["fields"][name])[:80])


def check_values(verb, arguments, before, after):
    if verb == "strip":
        require(not after, "left after strip:", sorted(after)[:3])
        return
    require(set(before) == set(after), "other layers than before")
    for path, old in before.items():
        for was, now in zip(old["slots"], after[path]["slots"]):
            where = f"{path} {was['tensor']}"
            if verb == "reset":
                require(now["scale"] == 1 and now["filled"] == 0, where, "is not as at the start:", now)
                length = int(arguments[-1]) if arguments else was["history_length"]
                require(now["history_length"] == length, where, "has a history of", now["history_length"])
            elif verb == "reencode":
                require(now == was, where, "is", now, "and was", was)
            elif verb == "resize":
                require(now["history_length"] == int(arguments[-1]) and now["scale"] == was["scale"], where, now)
            elif verb == "recompute" and was["largest_amax"] and not was["not_finite"]:
                top = was["format_max"] / 2 ** margin_of(old) / was["largest_amax"]
                top = min(struct.unpack("f", struct.pack("f", min(top, 3.4028234663852886e38)))[0], 3.4028234663852886e38)
                require(close(now["scale"], top), where, f"has scale {now['scale']}, its history says {top}")
            elif verb == "edit":
                meant = was["tensor"].split(".")[0]
                require(now["scale"] == (16 if meant == "input" else was["scale"]), where, "has scale", now["scale"])
                touched = meant.startswith("grad_") and now["history_length"]
                require(now["largest_amax"] == (0.5 if touched else was["largest_amax"]), where, now["largest_amax"])


def margin_of(scaler):
    return scaler["fields"].get("recipe.margin", 0)


def check_form(after, arguments):
    """The values of the form that was asked for, and no others: the recipe with its history's length and format."""
    for path, state in after.items():
        fields = state["fields"]
        has_recipe = "recipe.margin" in fields
        require(has_recipe == arguments[-1].startswith("2."), path, "has the fields", sorted(fields))
        require(has_recipe != ("scale_inv_fwd" in fields), path, "has the fields", sorted(fields))
        if has_recipe:
            require(fields["recipe.amax_history_len"] == len(fields["amax_history_fwd"]), path, "has another history")
            require(fields["recipe.fp8_format.max_bwd"] == fields["extra_fp8_variables.fp8_max_bwd"], path, "format")
        else:
            for direction in ("fwd", "bwd"):
                for scale, inverse in zip(fields["scale_" + direction], fields["scale_inv_" + direction]):
                    is_finite = isinstance(scale, float) and isinstance(inverse, float)
                    require(not is_finite or close(scale * inverse, 1), path, "has scale", scale, "and scale_inv", inverse)


def may_be_refused(case, verb, arguments, dialects):
    is_other = dialects != {"transformer_engine"}
    is_safetensors = case.truth["container"] == "safetensors"  # which holds nothing but tensors
    if verb == "reencode":
        return is_other or is_safetensors or case.name.endswith("_dcp")  # what stands by itself is no item of a map
    if verb == "strip":
        return bool(dialects & WITHOUT_DOCUMENT)
    if verb == "resize" or (verb == "reset" and arguments):
        return is_other and (dialects != {"flax"} or case.truth["container"] != "msgpack")
    return verb == "edit" and not dialects <= DELAYED  # weights alone have no inputs and no histories


def check(tare, case):
    for verb, arguments in CHANGES:
        with tempfile.TemporaryDirectory() as scratch:
            copy = copied(case, scratch)
            start, before = snapshot(copy.folder), layers(tare, copy)
            dialects = {s["dialect"] for s in before.values()}
            command = ["edit"] if verb == "edit" else ["fp8", verb]
            done = tare(*command, copy.target, *arguments, "--yes")
            in_chunks = dialects == {"flax"} and "in one piece" in done.reason.replace("as one piece", "in one piece")
            refused = done.code == 4 and (
                dialects & BOUND or in_chunks or may_be_refused(copy, verb, arguments, dialects))
            if refused:
                require(unlike(start, snapshot(copy.folder)) is None, verb, "was refused, and changed something")
                continue
            require(done.code == 0, verb, done)
            after = layers(tare, copy)
            check_values(verb, arguments, before, after)
            if verb == "resize":
                check_resized(before, after, int(arguments[-1]))
                # Both histories often begin alike: the text says how long they are.
                for line in done.out.decode().splitlines():
                    is_change = line.startswith("amax_history") and " -> " in line
                    require(not is_change or f" -> {arguments[-1]}x" in line, verb, "told", line)
            if verb == "reencode":
                check_form(after, arguments)
            undone = tare("undo", copy.target, "--yes")
            require(undone.code == 0 or "nothing had to be written" in done.reason, verb, undone)
            difference = unlike(start, snapshot(copy.folder))
            require(difference is None, verb, "and undo:", difference)


def check_injected(tare, case):
    """A state that is saved, stripped and injected again has the same scales and histories."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = copied(case, scratch)
        before, state = layers(tare, copy), pathlib.Path(scratch) / "state.json"
        if {s["dialect"] for s in before.values()} != {"transformer_engine"}:
            return
        require(tare("inspect", copy.target, "--save", state).code == 0, "saving the state")
        full = tare("fp8", "inject", copy.target, state, "--yes")
        require(full.code == 4, "injected over a state that is there:", full)
        require(tare("fp8", "strip", copy.target, "--yes").code == 0, "strip")
        empty = snapshot(copy.folder)
        done = tare("fp8", "inject", copy.target, state, "--yes")
        require(done.code == 0, "inject", done)
        after = layers(tare, copy)
        require(set(after) == set(before), "other layers than before")
        for path, old in before.items():
            require(after[path]["slots"] == old["slots"], path, "has other slots")
            for name in ("scale_fwd", "amax_history_fwd", "scale_bwd", "amax_history_bwd"):
                require(after[path]["fields"][name] == old["fields"][name], path, name)
        require(tare("undo", copy.target, "--yes").code == 0, "undo")
        difference = unlike(empty, snapshot(copy.folder))
        require(difference is None, "inject and undo:", difference)


def check_regrouped(tare, case):
    """Two products' columns, from release to release and back."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = copied(case, scratch)
        before = layers(tare, copy)
        fields = next(iter(before.values()))["fields"]
        if len(fields.get("scale_bwd", [])) != 4:
            return
        done = tare("fp8", "regroup", copy.target, "--layer", "*", "--for", "2.3", "--yes")
        require(done.code == 0, "regroup", done)
        for path, state in layers(tare, copy).items():
            old = before[path]["fields"]["scale_fwd"], before[path]["fields"]["amax_history_bwd"]
            new = state["fields"]["scale_fwd"], state["fields"]["amax_history_bwd"]
            require(new[0] == [old[0][i] for i in (0, 2, 4, 1, 3, 5)], path, "has scales", new[0], "from", old[0])
            require(new[1] == [[row[i] for i in (0, 2, 1, 3)] for row in old[1]], path, "has another history")
        require(tare("fp8", "regroup", copy.target, "--layer", "*", "--for", "2.2", "--yes").code == 0, "back")
        require(layers(tare, copy) == before, "not as before")


def check_recipe_alone(tare, corpus):
    """A recipe without scales is FP8 state: it is stripped, taken out, and filled with a state."""
    source = corpus / "transformer_engine/te2.5_current_scaling/model.pt"
    with tempfile.TemporaryDirectory() as scratch:
        model, state = pathlib.Path(scratch) / "model.pt", pathlib.Path(scratch) / "state.json"
        shutil.copy(source, model)
        before = model.read_bytes()
        for arguments, left in ([], b"modules without scales: 2 empty"), (["--remove"], b"no loss-scaler state"):
            done = tare("fp8", "strip", model, *arguments, "--yes")
            require(done.code == 0 and b"Float8CurrentScaling without scales -> " in done.out, "strip", done)
            shown = tare("inspect", model).out
            require(left in shown and b"of recipe" not in shown, arguments, shown)
            require((b"_extra_state" in shown) == (not arguments), arguments, shown)
            require(tare("undo", model, "--yes").code == 0 and model.read_bytes() == before, "undone")
        delayed = corpus / "transformer_engine/te2.0_4layers/model.pt"
        require(tare("inspect", delayed, "--save", state).code == 0, "saving the state")
        filled = tare("fp8", "inject", model, state, "--layer", "layers.0", "--yes")
        require(filled.code == 0 and b"1 layer, 5 tensors" in tare("inspect", model).out, "inject", filled)


def check_recipe(tare, case):
    """A number of the recipe goes by its own name; a release that keeps no recipe loses it only where that is meant."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = copied(case, scratch)
        before = layers(tare, copy)
        if not all("recipe.margin" in state["fields"] for state in before.values()):
            return
        done = tare("edit", copy.target, "--layer", "*", "recipe.margin=3", "--yes")
        require(done.code == 0, "recipe.margin", done)
        for path, state in layers(tare, copy).items():
            old = before[path]["fields"]
            require(state["fields"] == old | {"recipe.margin": 3} | said_anew(old, "margin", 3), path, state["fields"])
        edited = snapshot(copy.folder)
        for release in "1.6", "1.13":
            kept = tare("fp8", "reencode", copy.target, "--for", release, "--yes")
            says = "keeps no recipe, and recipe.margin = 3" in kept.reason and "--force" in kept.reason
            require(kept.code == 4 and says, "re-encoded for a release without a recipe:", kept)
            require(unlike(edited, snapshot(copy.folder)) is None, "what was refused wrote something")
        forced = tare("fp8", "reencode", copy.target, "--for", "1.13", "--force", "--yes")
        if forced.code == 4 and case.name.endswith(("_dcp", "_safetensors")):
            return  # whose items hold no other form
        require(forced.code == 0, forced)
        lost = [path for path, state in layers(tare, copy).items() if "recipe.margin" not in state["fields"]]
        require(set(lost) == set(before), "the recipe is kept where the release has none:", lost)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True, type=pathlib.Path)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    ask.add_argument("--verbose", action="store_true")
    options = ask.parse_args()
    tare, failed, held = Tare(options.tare.resolve()), 0, 0
    check_recipe_alone(tare, options.corpus)
    for case in cases_of(options.corpus, "*"):
        if "expect" in case.truth:
            continue
        if not any(s["kind"] == "fp8" for s in case.scalers):
            continue
        try:
            check(tare, case)
            check_injected(tare, case)
            check_regrouped(tare, case)
            check_recipe(tare, case)
            held += 1
            if options.verbose:
                print("holds      ", case.name)
        except Short as short:
            failed += 1
            print("falls short", case.name, short)
    print(f"{held} hold, {failed} fall short")
    return 1 if failed or not held else 0


if __name__ == "__main__":
    sys.exit(main())
