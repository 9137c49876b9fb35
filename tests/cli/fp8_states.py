#!/usr/bin/env python3
"""FP8 state of every policy, as JSON and as HDF5, goes through every verb, loads, and runs on beside the slots that
nobody edited; that of real checkpoints migrates to every other policy,
and states of every policy into real checkpoints.

    fp8_states.py --tare TARE --library LIBTARE --bindings FOLDER --corpus FOLDER
"""
import ctypes
import json
import math
import random
import struct
import sys

from beside_library import command_and_library
from corpus import require

DONE, NO, REFUSED = 0, 1, 4
STEPS = 1000
NAMES = ["fc1.input", "fc1.weight", "fc2.input"]
FORMATS = ["e4m3", "e4m3", "e5m2"]
LENGTH = 16
NO_TENSORS = "fp8_lm"  # its mu is no tensor's scale
# Checkpoint -> its policy, and a state that --save makes of it.
REAL = {"transformer_engine/te1.13_4layers/model.pt": "transformer_engine", "torchao/delayed_0_9/checkpoint.pt": "torchao_delayed",
        "msamp/adamw/checkpoint.pt": "msamp",
        "flax/fp8_to_bytes/state.msgpack": "flax_fp8", "keras/float8_jax/model.weights.h5": "keras_fp8"}
DIVISORS = {"flax_fp8", "keras_fp8"}
# The framework's index of the finished entries of a history of that length, newest first: scalers' own order.
ORDER = {"transformer_engine": lambda n: range(n - 1, 0, -1), "msamp": lambda n: range(1, n), "torchao_delayed": range,
         "flax_fp8": lambda n: [0, *range(n - 1, 0, -1)], "keras_fp8": lambda n: [0, *range(n - 1, 0, -1)]}


class Slots:
    """FP8 slots that run."""

    def __init__(self, tare, config=None, state=None):
        """With a state, `config` may say how long histories are to be."""
        self.tare = tare
        given = None if config is None else json.dumps(config).encode()
        self.handle = (tare._made("fp8_create", given) if state is None
                       else tare._made("fp8_create_from_state", state.handle, given))
        self.count = len((config if state is None else json.loads(state.json())["params"])["slots"])

    def __del__(self):
        self.tare._library.tare_fp8_destroy(self.handle)

    def floats(self, call, *which):
        pointer, size = ctypes.c_void_p(), ctypes.c_uint64(4 * self.count)
        wanted = [ctypes.byref(size)] if call == "fp8_accumulators" else []
        self.tare._call(call, ctypes.byref(pointer), *wanted, self.handle, *which)
        return (ctypes.c_float * (size.value // 4)).from_address(pointer.value)

    def run(self, chance, steps=STEPS):
        """-> the bits of all scales after each step, some of which see infinities and nothing at all."""
        seen, scales = self.floats("fp8_accumulators"), self.floats("fp8_scale_pointer", 1)
        bits = []
        for _ in range(steps):
            for slot in range(len(seen)):
                seen[slot] = chance.choice([0.0, math.inf]) if chance.random() < 0.01 else 2.0 ** chance.uniform(-10, 10)
            self.tare._call("fp8_update", self.handle, None)
            bits.append(bytes(scales))
        return b"".join(bits)

    def save(self):
        return self.tare.State(self.tare._made("fp8_save", self.handle, None))


def policies(tare):
    return {one["policy"]: one for one in json.loads(tare._text("fp8_policies"))["policies"]}


def config_of(policy, names=NAMES, formats=FORMATS):
    config = {"policy": policy["policy"], "slots": names, "format": formats}
    lengths = [one["name"] for one in policy["parameters"] if one["role"] == "history_length"]
    return {**config, **{name: LENGTH for name in lengths}}


def runs_alike(tare, a, b):
    return Slots(tare, state=a).run(random.Random(24)) == Slots(tare, state=b).run(random.Random(24))


def scale_field(policy):
    """The name of the field that holds the scales."""
    return policy["fields"][0]["name"]


def history_field(policy):
    return next((one["name"] for one in policy["fields"] if one["role"] == "amax_history"), None)


def try_verbs(tare, command, folder, policy, ending):
    """-> the path of the state."""
    name = policy["policy"]
    slots = Slots(tare, config_of(policy))
    slots.run(random.Random(name), 300)
    saved, path = slots.save(), folder / f"{name}.{ending}"
    saved.write(str(path), '{"compression":"none"}' if ending == "h5" else None)
    original = path.read_bytes()
    shown = command("inspect", "--json", path).json()["scalers"]
    require([(one["dialect"], one["kind"]) for one in shown] == [("tare", "fp8")], name, "is shown as", shown)
    require([slot["tensor"] for slot in shown[0]["slots"]] == NAMES, name, shown[0]["slots"])
    require(command("attest", path).code == DONE, command("attest", path))
    again = folder / f"again-{name}.{ending}"
    require(command("inspect", path, "--save", again).code == DONE, command("inspect", path, "--save", again))
    require(runs_alike(tare, tare.State.read(str(again)), saved), name, "runs otherwise, saved again")

    twin = folder / f"twin-{name}.{ending}"
    twin.write_bytes(original)
    answer = command("edit", twin, f"scale.{NAMES[1]}=2^4", "--yes")
    require(answer.code == DONE, answer)
    wanted = json.loads(saved.json())
    stored = 1 / 16 if name in DIVISORS else 16.0
    wanted["fields"][scale_field(policy)][1] = stored
    edited = tare.State.read(str(twin))
    require(json.loads(edited.json())["fields"] == wanted["fields"], name, "was edited to", edited.json())
    by_hand = tare.State.from_json(json.dumps(wanted))
    require(runs_alike(tare, edited, by_hand), name, "runs otherwise after the edit")
    require(float(command("get", twin, f"scale.{NAMES[1]}").out) == 16, command("get", twin, f"scale.{NAMES[1]}"))
    require(command("diff", path, twin).code == NO, command("diff", path, twin))
    require(b"scale" in command("history", twin).out, command("history", twin))
    answer = command("undo", twin, "--yes")
    require(answer.code == DONE and twin.read_bytes() == original, answer)
    require(runs_alike(tare, tare.State.read(str(twin)), saved), name, "runs otherwise after the undo")
    require(command("diff", path, twin).code == DONE, command("diff", path, twin))
    try_renaming(tare, command, policy, twin, saved)
    try_lengths(tare, command, policy, twin, saved)
    try_other_verbs(tare, command, folder, policy, twin)
    return path


def undo(command, twin, original):
    answer = command("undo", twin, "--yes")
    require(answer.code == DONE and twin.read_bytes() == original, answer)


def try_renaming(tare, command, policy, twin, saved):
    """Slots under other names; the file is written anew."""
    original = twin.read_bytes()
    answer = command("fp8", "rename", twin, "--from", "fc1", "--to", "mlp.up", "--yes")
    require(answer.code == DONE, answer)
    wanted, renamed = json.loads(saved.json()), tare.State.read(str(twin))
    wanted["params"]["slots"] = [name.replace("fc1", "mlp.up") for name in NAMES]
    require(json.loads(renamed.json()) == wanted, policy["policy"], "was renamed to", renamed.json())
    require(runs_alike(tare, renamed, saved), policy["policy"], "runs otherwise under other names")
    require(b"mlp.up.input" in command("inspect", twin).out, command("inspect", twin))
    require(b"slots" in command("history", twin).out, command("history", twin))
    undo(command, twin, original)
    for words, reason in ((["--from", "fc1.weight", "--to", "fc1.input"], "two slots would be called 'fc1.input'"),
                          (["--from", "fc", "--to", "x"], "no layer's path has the part 'fc'")):
        answer = command("fp8", "rename", twin, *words, "--yes")
        require(answer.code == REFUSED and reason in answer.reason and twin.read_bytes() == original, answer)


def try_lengths(tare, command, policy, twin, saved):
    """Histories of another length keep their newest amaxes, where the policy has some."""
    original = twin.read_bytes()
    has_history = any(one["role"] == "amax_history" for one in policy["fields"])
    for length in 1, 4, 40:
        answer = command("fp8", "resize", twin, "--history", str(length), "--yes")
        if not has_history:
            require(answer.code == REFUSED and "keeps no histories" in answer.reason, answer)
            require(twin.read_bytes() == original, policy["policy"], "was refused and changed")
            continue
        require(answer.code == DONE, answer)
        resized = tare.State.read(str(twin))
        after = json.loads(resized.json())
        require(all(len(row) == length for row in after["fields"][history_field(policy)]), policy["policy"], after)
        check_migrated(policy, json.loads(saved.json()), policy, after)
        name = next(one["name"] for one in policy["parameters"] if one["role"] == "history_length")
        live = Slots(tare, {name: length}, saved).save()
        require(live.json() == resized.json(), policy["policy"], length, live.json(), resized.json())
        Slots(tare, state=resized).run(random.Random(24), 50)
        undo(command, twin, original)
        answer = command("fp8", "reset", twin, "--history", str(length), "--yes")
        if answer.code == DONE:
            after = json.loads(tare.State.read(str(twin)).json())["fields"]
            require(set(after[scale_field(policy)]) == {1.0}, policy["policy"], after)
            require(after[history_field(policy)] == [[0.0] * length] * len(NAMES), policy["policy"], after)
            undo(command, twin, original)


def try_layers(tare, command, folder, policy, ending):
    """--layer means layers of a set as it means those of a framework's checkpoint."""
    name, names = policy["policy"], ["fc.1/input", "fc.1/weight", "fc.2/input", "out/input"]
    slots = Slots(tare, config_of(policy, names, ["e4m3", "e4m3", "e5m2", "f16" if name == "msamp" else "e4m3"]))
    slots.run(random.Random(name), 300)
    path = folder / f"layers-{name}.{ending}"
    slots.save().write(str(path), '{"compression":"none"}' if ending == "h5" else None)
    original, before = path.read_bytes(), json.loads(tare.State.read(str(path)).json())

    def rows(field):
        now = json.loads(tare.State.read(str(path)).json())
        return [(slot, row) for slot, row, old in zip(now["params"]["slots"], now["fields"][field], before["fields"][field]) if row != old]

    scale, history, stored = scale_field(policy), history_field(policy), 1 / 16 if name in DIVISORS else 16.0
    for words, wanted in ((["--layer", "fc.1", "scale.input=2^4"], names[:1]), (["--layer", "fc.*", "scale.*=2^4"], names[:3]),
                          (["--layer", "fc.*", "scale.input=2^4"], names[0:3:2]), (["--layer", "out", "scale.*=2^4"], names[3:]),
                          (["--layer", "fc.*", "scale.fc.2/*=2^4"], names[2:3]), (["--all", "scale.input=2^4"], names[0:1] + names[2:]),
                          (["--layer", "fc.2", f"fields.{scale}={stored}"], names[2:3])):
        answer = command("edit", path, *words, "--yes")
        require(answer.code == DONE and rows(scale) == [(slot, stored) for slot in wanted], name, answer, rows(scale))
        undo(command, path, original)
    require(float(command("get", path, "scale.weight", "--layer", "fc.1").out) > 0, command("get", path, "scale.weight", "--layer", "fc.1"))
    for words, reason in ((["edit", path, "scale.input=2^4"], "stores no scale of 'input'"),
                          (["edit", path, "--layer", "fc", "scale.input=2^4"], "there are 3, the first is 'fc.1'"),
                          (["edit", path, "--layer", "out", "scale.weight=2^4"], "its tensors are: out/input"),
                          (["get", path, "scale.input", "--layer", "fc.*"], "2 of its tensors match"),
                          (["fp8", "resize", path, "--layer", "fc.1", "--history", "4"], "all of its slots"),
                          (["fp8", "rename", path, "--layer", "out", "--from", "fc.1", "--to", "x"], "no layer's path has the part")):
        answer = command(*words, *([] if words[0] == "get" else ["--yes"]))
        require(answer.code == REFUSED and reason in answer.reason and path.read_bytes() == original, name, answer)
    answer = command("fp8", "rename", path, "--layer", "fc.2", "--from", "fc", "--to", "up", "--yes")
    slots_now = json.loads(tare.State.read(str(path)).json())["params"]["slots"]
    require(answer.code == DONE and slots_now == ["fc.1/input", "fc.1/weight", "up.2/input", "out/input"], answer, slots_now)
    undo(command, path, original)
    answer = command("fp8", "reset", path, "--layer", "fc.1", "--yes")
    if answer.code == DONE:
        changed = {slot for slot, _ in rows(scale) + rows(history)}
        require(changed == set(names[:2]) and all(not any(row) for _, row in rows(history)), name, changed)
        undo(command, path, original)
    shown = command("inspect", path, "--layer", "fc.*").out.decode()
    require("2 layers, 3 tensors" in shown and "fc.2\n" in shown and "\n    out" not in shown, shown)
    require("3 layers, 4 tensors" in command("inspect", path).out.decode(), command("inspect", path).out)
    try_some_layers(tare, command, folder, policy, path, before)


def try_some_layers(tare, command, folder, policy, path, before):
    """A state of some layers: saved, asked for in C, migrated, and migrated into."""
    few, names = folder / "few-layers.json", before["params"]["slots"]
    require(command("inspect", path, "--layer", "fc.*", "--save", few, "--force").code == DONE, path)
    wanted = {field: rows[:3] for field, rows in before["fields"].items()}
    asked = tare.State.from_checkpoint(str(path), at="fc.*")
    for state in json.loads(few.read_text()), json.loads(asked.json()):
        require(state["params"]["slots"] == names[:3] and state["fields"] == wanted, policy["policy"], state)
    require(runs_alike(tare, tare.State.read(str(few)), asked), policy["policy"], "some layers run otherwise")
    if policy["policy"] == NO_TENSORS:
        return
    answer = command("migrate", path, "--to", "te_current", "--at", "fc.1", "-o", few, "--force")
    require(answer.code == DONE and json.loads(few.read_text())["params"]["slots"] == names[:2], answer)
    original, other = path.read_bytes(), json.loads(tare.State.read(str(path)).json())
    other["fields"][scale_field(policy)] = [2 * scale for scale in other["fields"][scale_field(policy)]]
    other.pop("roles", None)
    few.write_text(json.dumps(other))
    answer = command("migrate", few, "--into", path, "--into-at", "fc.2", "--yes")
    after = json.loads(tare.State.read(str(path)).json())["fields"][scale_field(policy)]
    old = before["fields"][scale_field(policy)]
    require(answer.code == DONE and after == [old[0], old[1], 2 * old[2], old[3]], answer, after, old)
    undo(command, path, original)


def try_other_verbs(tare, command, folder, policy, twin):
    """Each does what it says, or is refused with a reason and changes nothing."""
    original, other = twin.read_bytes(), folder / "other-state.json"
    tare.State.read(str(twin)).write(str(other))
    for words in (["reset", twin], ["recompute", twin], ["strip", twin], ["strip", twin, "--remove"], ["inject", twin, other],
                  ["reencode", twin, "--for", "2.0"], ["regroup", twin, "--layer", "*", "--for", "2.3"]):
        answer = command("fp8", *words, "--yes")
        if answer.code == DONE:
            require(words[0] in ("reset", "recompute"), answer)
            Slots(tare, state=tare.State.read(str(twin))).run(random.Random(24), 50)
            if twin.read_bytes() != original:
                undo(command, twin, original)
        else:
            require(answer.code == REFUSED and answer.reason and "''" not in answer.reason, answer)
            require(twin.read_bytes() == original, policy["policy"], answer, "was refused and changed")


def by_age(policy, state):
    """-> for each slot what values are multiplied by, and the finished entries of its history, newest first."""
    fields = state["fields"]
    scales = [1 / scale if policy["policy"] in DIVISORS else scale for scale in fields["scale"]]
    history = fields.get(history_field(policy))
    if history is None:
        return scales, None
    return scales, [[row[i] for i in ORDER[policy["policy"]](len(row))] for row in history]


def power_below(scale):
    return 2.0 ** (math.frexp(scale)[1] - 1)


def single(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def check_migrated(name, before, target, after):
    """Scales multiply by what they did, histories have the newest of their amaxes in the other order."""
    scales, histories = by_age(name, before)
    new_scales, new_histories = by_age(target, after)
    if target["policy"] == "msamp":
        scales = [power_below(scale) for scale in scales]
    require(all(math.isclose(a, b, rel_tol=2**-22) for a, b in zip(new_scales, scales)), target["policy"], new_scales, scales)
    require(len(new_scales) == len(scales), target["policy"], len(new_scales))
    for new, old in zip(new_histories or [], histories or []):
        kept = min(len(new), len(old))
        require(new[:kept] == old[:kept] and not any(new[kept:]), target["policy"], "has", new[:8], "not", old[:8])


def fp8_state_in(path, policy):
    """Alone in it, or beside a loss scaler."""
    whole = json.loads(path.read_text())
    return next((one["state"] for one in whole.get("states", []) if one["state"]["policy"] == policy["policy"]), whole)


def try_migration(tare, command, folder, all_policies, source, policy, ending):
    """From a checkpoint or a state into every policy of FP8; every value is accounted for, and what comes out runs."""
    before_path = folder / "before.json"
    answer = command("inspect", source, "--save", before_path, "--force")
    require(answer.code == DONE, answer)
    before = fp8_state_in(before_path, policy)
    for name, target in all_policies.items():
        path = folder / f"migrated.{ending}"
        answer = command("migrate", source, "--to", name, "-o", path, "--force", "--json")
        if NO_TENSORS in (name, policy["policy"]):
            require(answer.code != DONE and "mu" in answer.reason, answer)
            continue
        require(answer.code == DONE, answer)
        told = {value["key"] for value in answer.json()["values"]} | {value["source_key"] for value in answer.json()["values"]}
        for one in [*policy["fields"], *target["fields"]]:
            require(one["name"] == "amax" and one["role"] is None or f"fields.{one['name']}" in told, name, one["name"], "is not told of", told)
        for one in [*policy["parameters"], *target["parameters"]]:
            require(f"params.{one['name']}" in told, name, one["name"], "is not told of", told)
        state = tare.State.read(str(path))
        check_migrated(policy, before, target, json.loads(state.json()))
        Slots(tare, state=state).save()


def try_into(tare, command, folder, all_policies, checkpoint, policy):
    """States of every policy go into the layers of a checkpoint, which then saves them; undo brings its bytes back."""
    copy, saved = folder / f"into-{checkpoint.name}", folder / "saved.json"
    copy.write_bytes(checkpoint.read_bytes())

    def state_of_copy():
        answer = command("inspect", copy, "--save", saved, "--force")
        require(answer.code == DONE, answer)
        return fp8_state_in(saved, policy)

    there = state_of_copy()
    names, formats = there["params"]["slots"], there["params"]["format"]
    for name, source in all_policies.items():
        if name == NO_TENSORS:
            continue
        slots = Slots(tare, config_of(source, names, formats))
        slots.run(random.Random(name), 290)
        state, path = slots.save(), folder / f"from-{name}.json"
        state.write(str(path))
        words = ["migrate", path, "--into", copy, "--yes"]
        if policy["policy"] == "msamp" and checkpoint.suffix == ".pt":
            answer = command(*words)
            require(answer.code == REFUSED and "quantise the tensor anew" in answer.reason, answer)
            words.append("--force")
        answer = command(*words, "--json")
        require(answer.code == DONE and answer.json()["written"], answer)
        told = {(value["fate"], value["key"]) for value in answer.json()["values"]}
        require(("carried", "params.slots") in told and ("kept", "params.format") in told, told)
        lengths = [one["name"] for one in policy["parameters"] if one["role"] == "history_length"]
        require(all(("kept", f"params.{one}") in told for one in lengths), told)
        after = state_of_copy()
        require(after["params"] == there["params"], name, policy["policy"], "changed", after["params"], there["params"])
        check_migrated(source, json.loads(state.json()), policy, after)
        if copy.read_bytes() == checkpoint.read_bytes():  # frozen scales that are there already
            require(name == policy["policy"] == "fp8_static", name, "into", policy["policy"], "wrote nothing")
            continue
        answer = command("undo", copy, "--yes")
        require(answer.code == DONE and copy.read_bytes() == checkpoint.read_bytes(), answer)


def try_modules(command, corpus, folder):
    """Layers that are called otherwise, are chosen, or are in one of the two alone."""
    checkpoint = corpus / "transformer_engine/te1.13_4layers/model.pt"
    copy, path = folder / "modules.pt", folder / "modules.json"
    copy.write_bytes(checkpoint.read_bytes())
    require(command("inspect", copy, "--save", path, "--force").code == DONE, path)
    state = json.loads(path.read_text())
    names = state["params"]["slots"]
    for field in "scale", "amax_history":
        state["fields"][field] = [[value * 2 for value in row] if field != "scale" else row * 2 for row in state["fields"][field]]
    del state["roles"]

    def written(names):
        twin = json.loads(json.dumps(state))
        twin["params"]["slots"] = names
        path.write_text(json.dumps(twin))

    written([name.replace("layers.", "blocks.h.") for name in names])
    answer = command("migrate", path, "--into", copy, "--yes")
    require(answer.code == REFUSED and "none of the state's tensors" in answer.reason and names[0] in answer.reason
            and "--module" in answer.reason, answer)
    answer = command("migrate", path, "--into", copy, "--module", "blocks.h=layers", "--dry-run")
    require(answer.code == DONE and copy.read_bytes() == checkpoint.read_bytes(), answer)
    answer = command("migrate", path, "--into", copy, "--module", "blocks.h=layers", "--into-at", "layers.3", "--yes")
    require(answer.code == DONE and "lost       slots" in answer.out.decode(), answer)
    for layer, factor in ("layers.3", 2), ("layers.0", 1):
        for what in "scale.input", "scale.grad_output":
            before, after = (float(command("get", one, "--layer", layer, what).out) for one in (checkpoint, copy))
            require(after == before * factor, layer, what, "is", after, "and was", before)
    require(command("undo", copy, "--yes").code == DONE, copy)
    answer = command("migrate", path, "--into", copy, "--module", "blocks.h.0=layers.1", "--module", "blocks.h.1=layers.1", "--yes")
    require(answer.code == REFUSED and "two tensors of the state become 'layers.1/" in answer.reason, answer)
    del state["params"]["slots"]
    path.write_text(json.dumps(state))
    answer = command("migrate", path, "--into", copy, "--yes")
    require(answer.code == REFUSED and "slots have no names" in answer.reason and copy.read_bytes() == checkpoint.read_bytes(), answer)
    state["fields"]["scale"][0], kept = 0.0, state["fields"]["scale"][0]
    written(names)
    answer = command("migrate", path, "--into", copy, "--yes")
    require(answer.code == REFUSED and "0.0 is no scale" in answer.reason and copy.read_bytes() == checkpoint.read_bytes(), answer)
    answer = command("migrate", path, "--into", copy, "--yes", "--force")
    require(answer.code == DONE and command("undo", copy, "--yes").code == DONE, answer)
    state["fields"]["scale"][0] = kept
    written([name if name.startswith("layers.1") else "gone." + name for name in names])
    answer = command("migrate", path, "--into", copy, "--yes", "--json")
    fates = [value["fate"] for value in answer.json()["values"] if value["key"] == "params.slots"]
    require(answer.code == DONE and fates == ["carried", "kept", "lost"], answer)
    require(command("undo", copy, "--yes").code == DONE, copy)
    answer = command("migrate", path, "--into", copy, "--strict", "--yes")
    require(answer.code == REFUSED and "would be lost" in answer.reason, answer)
    scaler = corpus / "torch/scaler-file-t2.15/scaler.pt"
    answer = command("migrate", scaler, "--into", copy, "--yes")
    require(answer.code == REFUSED and "--fp8" in answer.reason, answer)
    answer = command("migrate", scaler, "--into", copy, "--fp8", "--yes")
    require(answer.code == REFUSED and "no FP8 state" in answer.reason, answer)
    for words in (["--set", "margin=1"], ["--module", "=x"], ["--module", "layers"]):
        answer = command("migrate", path, "--into", copy, *words, "--yes")
        require(answer.code == 2 and copy.read_bytes() == checkpoint.read_bytes(), answer)


def try_words(tare, command, corpus, folder):
    """What is printed, and what is refused."""
    model, out = corpus / "transformer_engine/te1.13_4layers/model.pt", folder / "words.json"
    answer = command("migrate", model, "--to", "torchao_delayed", "-o", out, "--set", "history_length=4")
    text = answer.out.decode()
    require(answer.code == DONE and "given      history_len = 4" in text and "lost       margin = 0.0" in text, answer)
    require("never shifts" in text and "go on alike" not in text and "= none" not in text, text)
    require(len(json.loads(out.read_text())["fields"]["amax_history"][0]) == 4, out.read_text()[:300])
    for words, reason in ((["--to", "flax_fp8", "-o", folder / "scaler.pt"], "no file of its own"),
                          (["--to", "msamp", "-o", out, "--force", "--set", "window=4"], "window_size"),
                          (["--to", "msamp", "-o", out, "--force", "--strict"], "would be lost"),
                          (["--to", "msamp", "-o", out, "--force", "--at", "nowhere.*"], "nowhere")):
        answer = command("migrate", model, *words)
        require(answer.code in (2, REFUSED) and reason in answer.reason, answer)
    packed, again = folder / "packed.h5", folder / "again.h5"
    answer = command("migrate", model, "--to", "flax_fp8", "-o", packed, "--set", "history_length=8192")
    require(answer.code == DONE, answer)
    tare.State.read(str(packed)).write(str(again))  # as any other file of tare's: any reader of HDF5 unpacks it
    require(packed.read_bytes() == again.read_bytes(), "a migrated state is packed otherwise than a saved one")
    few = folder / "few.json"
    require(command("migrate", model, "--to", "msamp", "-o", few, "--at", "layers.3").code == DONE, few)
    for words in (["--to", "NONSENSE"], ["--to", "torch NONSENSE"]):
        answer = command("migrate", model, *words, "-o", out, "--force")
        require(answer.code == 2 and "no framework" in answer.reason and "megatron" in answer.reason
                and "flax_fp8" in answer.reason, answer)
    answer = command("migrate", model, "--to", "torch", "-o", folder / "scaler.pt")
    require(answer.code == REFUSED and "FP8 state in it, and no loss scaler" in answer.reason, answer)
    answer = command("migrate", corpus / "torch/scaler-file-t2.15/scaler.pt", "--to", "flax_fp8", "-o", out, "--force")
    require(answer.code == REFUSED and "no FP8 state" in answer.reason, answer)
    require({name.split("/")[0] for name in json.loads(few.read_text())["params"]["slots"]} == {"layers.3"}, few.read_text())


def try_large(tare, command, folder):
    """10,000 slots with a history of 1,024: more than any framework's field has, in either format and saved again."""
    slots = Slots(tare, {"policy": "transformer_engine", "slots": [f"layers.{i}" for i in range(10_000)], "amax_history_len": 1024})
    slots.run(random.Random(5), 3)
    saved, large, again = slots.save(), folder / "large.h5", folder / "large_again.h5"
    saved.write(str(large))
    require(command("inspect", large, "--save", again).code == DONE, "10,000 slots are not saved again")
    require(again.read_bytes() == large.read_bytes(), "10,000 slots are saved otherwise than they were")
    require(command("fp8", "resize", large, "--history", "16", "--yes").code == DONE, "10,000 slots are not resized")
    require(json.loads(tare.State.read(str(large)).json())["params"]["amax_history_len"] == 16, "10,000 slots keep their length")


def main():
    count = 0
    with command_and_library(__doc__) as (tare, command, corpus, folder):
        known = policies(tare)
        for policy in known.values():
            for ending in "json", "h5":
                path = try_verbs(tare, command, folder, policy, ending)
                try_layers(tare, command, folder, policy, ending)
                try_migration(tare, command, folder, known, path, policy, ending)
                count += 1
        for name, policy in REAL.items():
            try_migration(tare, command, folder, known, corpus / name, known[policy], "json")
            try_into(tare, command, folder, known, corpus / name, known[policy])
        for ending in "json", "h5":
            for policy in known.values():
                if policy["policy"] != NO_TENSORS:
                    try_into(tare, command, folder, known, folder / f"{policy['policy']}.{ending}", policy)
        try_modules(command, corpus, folder)
        try_words(tare, command, corpus, folder)
        try_large(tare, command, folder)
    print(f"{count} FP8 states of {len(known)} policies went through every verb and ran on")
    return 0


if __name__ == "__main__":
    sys.exit(main())
