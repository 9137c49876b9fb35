#!/usr/bin/env python3
"""tare's own states are checkpoints like others: a state of every policy, as JSON and as HDF5, goes through every verb,
loads as the library reads it, and runs on as the state that nobody edited.

    states.py --tare TARE --library LIBTARE --bindings FOLDER --corpus FOLDER
"""
import json
import random
import sys
import zipfile

from beside_library import command_and_library
from corpus import require

DONE, NO, FAILED, REFUSED = 0, 1, 3, 4
STEPS = 1000
NOT_MIGRATED = {"layerwise"}


def with_window(tare, config):
    """A scaler that grows about as often as it backs off in run(), where its policy has a window."""
    try:
        return tare.Scaler(json.dumps({**config, "window": 40}))
    except tare.TareError:
        return tare.Scaler(json.dumps(config))


def has_scale(tare, scaler):
    """Megatron without a scaler has none."""
    try:
        return scaler.save()["scale"] > 0
    except tare.TareError:
        return False


def scalers(tare):
    """-> (name, scaler) of every policy and variant, after steps that leave nothing at its start."""
    for policy in json.loads(tare._text("policies"))["policies"]:
        config = {"policy": policy["policy"], "variant": policy["variant"]}
        config = {key: word for key, word in config.items() if word}
        scaler = with_window(tare, config)
        run(scaler, random.Random(str(config)), 300)
        if has_scale(tare, scaler):
            yield "-".join(config.values()), scaler


def run(scaler, chance, steps=STEPS):
    """-> the scale after each step."""
    scales = []
    for _ in range(steps):
        scaler.report_overflow(chance.random() < 0.02)
        scaler.update()
        scales.append(scaler.scale)
    return scales


def runs_alike(tare, a, b):
    return run(tare.Scaler(state=a), random.Random(24)) == run(tare.Scaler(state=b), random.Random(24))


def try_verbs(tare, command, folder, name, ending, scaler):
    path = folder / f"{name}.{ending}"
    saved = scaler.save()
    saved.write(str(path))
    original = path.read_bytes()
    document = command("inspect", "--json", path).json()
    require(document and [one["dialect"] for one in document["scalers"]] == ["tare"], name, "is shown as", document)
    require(float(command("get", path, "scale").out) == saved["scale"], name, "get", command("get", path, "scale"))
    require(command("attest", path).code == DONE, command("attest", path))

    answer = command("edit", path, "scale=inf", "--force", "--yes")
    require(answer.code == REFUSED and path.read_bytes() == original, name, "takes a scale that the library does not:", answer)

    twin = folder / f"twin-{name}.{ending}"
    twin.write_bytes(original)
    wanted = saved["scale"] / 2
    answer = command("edit", twin, f"scale={wanted!r}", "--yes")
    require(answer.code == DONE, answer)
    edited, set_by_library = tare.State.read(str(twin)), tare.State.read(str(path))
    set_by_library["scale"] = wanted
    require(json.loads(edited.json()) == json.loads(set_by_library.json()), name, "was edited to", edited.json())
    require(runs_alike(tare, edited, set_by_library), name, "runs otherwise after the edit")
    if ending == "json":  # the roles, and their checksum, too
        require(json.loads(twin.read_text()) == json.loads(set_by_library.json()), name, "was written as", twin.read_text())
    require(command("diff", path, twin).code == NO, command("diff", path, twin))
    require(b"scale" in command("history", twin).out, command("history", twin))

    answer = command("undo", twin, "--yes")
    require(answer.code == DONE and twin.read_bytes() == original, answer)
    require(runs_alike(tare, tare.State.read(str(twin)), saved), name, "runs otherwise after the undo")
    require(command("diff", path, twin).code == DONE, command("diff", path, twin))
    if name in NOT_MIGRATED:
        return
    require(command("edit", twin, f"scale={wanted!r}", "--yes").code == DONE, name)
    answer = command("migrate", path, "--into", twin, "--yes")
    require(answer.code == DONE, answer)
    require(runs_alike(tare, tare.State.read(str(twin)), saved), name, "runs otherwise where it was migrated")
    answer = command("migrate", path, "--to", "torch", "-o", folder / "scaler.pt", "--force")
    require(answer.code == DONE, answer)


def try_several(tare, command, folder, corpus):
    """All scalers of a checkpoint in one file: each is known by its path, and changes alone."""
    for name in "states.json", "states.h5":
        try_one_of_several(tare, command, folder, corpus, folder / name)


def roles_checksums(path):
    if path.suffix != ".json":
        return {}
    return {one["path"]: one["state"]["roles_crc32"] for one in json.loads(path.read_text())["states"]}


def try_one_of_several(tare, command, folder, corpus, path):
    checkpoint = corpus / "apex/amp-two/amp_checkpoint.pt"
    answer = command("inspect", checkpoint, "--save", path)
    require(answer.code == DONE, answer)
    before = {one["path"]: one for one in command("inspect", "--json", path).json()["scalers"]}
    checksums = roles_checksums(path)
    there = [one["path"] for one in command("inspect", "--json", checkpoint).json()["scalers"]]
    require(sorted(before) == sorted(there) and len(there) == 2, "paths are", sorted(before))
    require(command("edit", path, "scale=1024", "--yes").code == REFUSED, "one of several is edited without a word")
    first, second = there
    answer = command("edit", path, "--at", second, "scale=1024", "--yes")
    require(answer.code == DONE, answer)
    require(float(command("get", path, "--at", second, "scale").out) == 1024, command("get", path, "--at", second, "scale"))
    after = {one["path"]: one for one in command("inspect", "--json", path).json()["scalers"]}
    require(after[first] == before[first], first, "has changed, too")
    changed = {name for name, checksum in roles_checksums(path).items() if checksum != checksums[name]}
    require(changed == {second} or path.suffix != ".json", "checksums that changed are those of", changed)
    require(tare.State.from_checkpoint(str(path), second)["scale"] == 1024, "the library reads another scale")
    require(runs_alike(tare, tare.State.from_checkpoint(str(path), first), tare.State.from_checkpoint(str(checkpoint), first)),
            first, "runs otherwise")
    answer = command("migrate", path, "--at", second, "--to", "torch", "-o", folder / "scaler.pt", "--force")
    require(answer.code == DONE and float(command("get", folder / "scaler.pt", "scale").out) == 1024, answer)


def try_damage(command, folder, path):
    """A role that says something else than its field, and a file that another program changed, are not edited."""
    text = path.read_text()
    role = folder / "role.json"
    document = json.loads(text)
    document["roles"]["scale"] *= 2
    role.write_text(json.dumps(document))
    answer = command("edit", role, "scale=1024", "--yes")
    require(answer.code == REFUSED, answer)
    require("roles.scale" in command("inspect", role).out.decode() + command("inspect", role).reason, command("inspect", role))
    # Of roles that are as they were written a field that says something else was edited, however the file was written again.
    field = folder / "field.json"
    document = json.loads(text)
    scale = document["fields"]["scale"] = int(document["fields"]["scale"] / 4)
    field.write_text(json.dumps(document, indent=1))
    require(float(command("get", field, "scale").out) == scale, command("inspect", field))
    require(command("edit", field, "scale=512", "--yes").code == DONE and float(command("get", field, "scale").out) == 512, field)
    document = json.loads(field.read_text())
    document["fields"]["scale"] = 2048
    field.write_text(json.dumps(document))
    require(float(command("get", field, "scale").out) == 2048, "no change by hand counts behind an edit", command("inspect", field))


def slots_in(command, path):
    """-> {name of the tensor: its slot}, of a framework's layers or of a set of tare's own."""
    slots = {}
    for one in command("inspect", "--json", path).json()["scalers"]:
        layer = one["path"].removesuffix("._extra_state")
        for slot in one.get("slots", []):
            slots["/".join(filter(None, [layer, slot["tensor"]]))] = slot
    return slots


SHOWN = ("scale", "newest_amax", "largest_amax", "filled", "history_length", "margin_bits", "format_max", "use")


def try_fp8(tare, command, folder, corpus, ending):
    """FP8 state of tare's own is shown as the checkpoint that it was saved from, goes through every verb, loads, and is
    injected."""
    model, path = corpus / "transformer_engine/te1.13_4layers/model.pt", folder / f"fp8.{ending}"
    require(command("inspect", model, "--save", path).code == DONE, "--save")
    original, wanted, there = path.read_bytes(), slots_in(command, model), slots_in(command, path)
    require(set(wanted) == set(there) and len(there) == 20, "tensors are", sorted(there))
    for name, slot in there.items():
        require(all(slot[key] == wanted[name][key] for key in SHOWN), name, "is shown as", slot, "not", wanted[name])
    first = "layers.0/input"
    require(float(command("get", path, f"scale.{first}").out) == wanted[first]["scale"], command("get", path, f"scale.{first}"))
    require(command("attest", path).code == DONE, command("attest", path))
    again = folder / f"fp8-again.{ending}"
    require(command("inspect", path, "--save", again).code == DONE and again.read_bytes() == original, "saved again, it differs")

    twin = folder / f"fp8-twin.{ending}"
    twin.write_bytes(original)
    require(command("edit", twin, f"scale.{first}=2^4", "amax_history.*/weight=3", "--yes").code == DONE, "edit")
    after = slots_in(command, twin)
    require(after[first]["scale"] == 16 and after["layers.3/weight"]["largest_amax"] == 3, after[first])
    require(all(after[name] == there[name] for name in there if name != first and not name.endswith("weight")),
            "an edit changed another tensor")
    require(command("diff", path, twin).code == NO, "diff")
    require(b"scale" in command("history", twin).out, command("history", twin))
    edited = json.loads(tare.State.read(str(twin)).json())
    require(edited["fields"]["scale"][0] == 16 and set(edited["fields"]["amax_history"][1]) == {3.0}, "it loads as", edited["fields"])
    require(command("undo", twin, "--yes").code == DONE and twin.read_bytes() == original, "undo")

    for verb in "reset", "recompute":
        copy, one = folder / f"{verb}.pt", folder / f"{verb}.{ending}"
        copy.write_bytes(model.read_bytes())
        one.write_bytes(original)
        for target in copy, one:
            answer = command("fp8", verb, target, "--yes")
            require(answer.code == DONE, answer)
        wanted, there = slots_in(command, copy), slots_in(command, one)
        for name, slot in there.items():
            require(all(slot[key] == wanted[name][key] for key in SHOWN), verb, name, slot, "not", wanted[name])
        require(tare.State.read(str(one)), verb)
    for words in ["scale." + first + "=inf", "--force"], ["native:params.amax_history_len=2"]:
        answer = command("edit", path, *words, "--yes")
        require(answer.code in (2, REFUSED) and path.read_bytes() == original, "not refused:", answer)
    answer = command("fp8", "reset", path, "--dry-run")
    require(answer.code == DONE and len(answer.out) < 20000, "a dry run prints", len(answer.out), "bytes")

    shorter, migrated = folder / f"shorter.{ending}", folder / f"migrated.{ending}"
    shorter.write_bytes(original)
    require(command("fp8", "resize", shorter, "--history", "8", "--yes").code == DONE, "resize")
    done = command("migrate", path, "--to", "transformer_engine", "--set", "history_length=8", "-o", migrated)
    require(done.code == DONE and shorter.read_bytes() == migrated.read_bytes(), "resized otherwise than migrated", done)
    require(command("fp8", "rename", shorter, "--from", "layers", "--to", "blocks.h", "--yes").code == DONE, "rename")
    require(set(slots_in(command, shorter)) == {name.replace("layers", "blocks.h") for name in there}, slots_in(command, shorter))

    empty = folder / "empty.pt"
    empty.write_bytes(model.read_bytes())
    require(command("fp8", "strip", empty, "--yes").code == DONE, "strip")
    require(command("edit", path, f"scale.{first}=2^4", "--yes").code == DONE, "edit")
    answer = command("fp8", "inject", empty, path, "--yes")
    require(answer.code == DONE and slots_in(command, empty)[first]["scale"] == 16, answer)


def try_packed_fp8(tare, command, folder, corpus):
    """Histories that HDF5 has compressed are shown, loaded and changed; where they change, the file is written anew."""
    path = folder / "packed.h5"
    require(command("inspect", corpus / "transformer_engine/te2.20_delayed", "--save", path).code == DONE, "--save")
    there = slots_in(command, path)
    require(len(there) == 20 and all(slot["filled"] == 1023 for slot in there.values()), "tensors are", there)
    answer = command("edit", path, "scale.layers.0/input=2^4", "--yes")
    require(answer.code == DONE and slots_in(command, path)["layers.0/input"]["scale"] == 16, answer)
    require(json.loads(tare.State.read(str(path)).json())["fields"]["scale"][0] == 16, "it loads with another scale")
    require(b"checksum-differs" not in command("inspect", path).out, "the checksum is not the file's")
    before = path.read_bytes()
    answer = command("edit", path, "amax_history.layers.3/*=2", "--yes")
    after = slots_in(command, path)
    require(answer.code == DONE and {after[name]["largest_amax"] for name in after if "layers.3/" in name} == {2.0}, answer)
    require(all(after[name]["largest_amax"] == there[name]["largest_amax"] for name in after if "layers.3/" not in name),
            "an edit changed another tensor")
    answer = command("fp8", "reset", path, "--yes")
    reset = json.loads(tare.State.read(str(path)).json())["fields"]
    require(answer.code == DONE and set(reset["scale"]) == {1.0} and not any(map(any, reset["amax_history"])), answer)
    require(b"checksum-differs" not in command("inspect", path).out, "the checksum is not the file's")
    for _ in range(2):
        require(command("undo", path, "--yes").code == DONE, "undo")
    require(path.read_bytes() == before, "undo did not bring the bytes back")
    # What stands as it is and what is compressed, at once: the file is written anew for both.
    answer = command("edit", path, "scale.layers.0/input=2^5", "amax_history.layers.3/*=3", "--yes")
    after = slots_in(command, path)
    require(answer.code == DONE and after["layers.0/input"]["scale"] == 32, answer)
    require({after[name]["largest_amax"] for name in after if "layers.3/" in name} == {3.0}, after)
    require(command("undo", path, "--yes").code == DONE and path.read_bytes() == before, "undo of both")
    changed = bytearray(before)
    changed[changed.rindex(b"crc32:") + 6] ^= 1
    path.write_bytes(changed)
    answer = command("fp8", "reset", path, "--yes")
    require(answer.code == REFUSED and "vouch" in answer.reason and path.read_bytes() == changed, answer)


def try_fp8_beside(tare, command, folder, corpus, ending):
    """A loss scaler and FP8 sets in one file: each is found, and changes alone."""
    model, path = corpus / "transformer_engine/te1.13_4layers/model.pt", folder / f"both.{ending}"
    require(command("inspect", model, "--save", folder / f"set.{ending}").code == DONE, "--save")
    states = tare.States()
    states.add("scaler", tare.Scaler('{"policy":"torch"}').save())
    states.add("layers", tare.State.read(str(folder / f"set.{ending}")))
    states.write(str(path))
    require(command("edit", path, "scale=1024", "--yes").code == DONE, command("inspect", path))
    require(command("edit", path, "scale.layers.0/input=2^4", "--yes").code == DONE, command("inspect", path))
    back = tare.States.read(str(path))
    require(back.names() == ["scaler", "layers"] and back["scaler"]["scale"] == 1024, back.names())
    require(json.loads(back["layers"].json())["fields"]["scale"][0] == 16, "the set's scale is another")
    before = path.read_bytes()
    for words in ["rename", path, "--from", "layers", "--to", "h"], ["resize", path, "--history", "4"], ["reset", path]:
        answer = command("fp8", *words, "--yes")
        require(answer.code == DONE, answer)
    back = tare.States.read(str(path))
    require(back.names() == ["scaler", "layers"] and back["scaler"]["scale"] == 1024, back.names())
    layers = json.loads(back["layers"].json())
    require(layers["params"]["slots"][0] == "h.0/input" and set(layers["fields"]["scale"]) == {1.0}, layers)
    require(layers["fields"]["amax_history"] == [[0.0] * 4] * 20, layers["fields"]["amax_history"])
    for _ in range(3):
        answer = command("undo", path, "--yes")
        require(answer.code == DONE, answer)
    require(path.read_bytes() == before, "undo did not bring the bytes back")
    plain = folder / f"plain.{ending}"
    require(command("attest", path, "--write-plain", plain).code == DONE, "--write-plain")
    require(tare.States.read(str(plain)).names() == ["scaler", "layers"], plain)


def try_two_lengths(tare, command, folder, corpus, ending):
    """Layers with histories of two lengths are two sets, each by a name of its own, and each changes alone."""
    model, path = folder / "two.pt", folder / f"two.{ending}"
    model.write_bytes((corpus / "transformer_engine/te1.13_4layers/model.pt").read_bytes())
    require(command("fp8", "resize", model, "--layer", "layers.3", "--history", "8", "--yes").code == DONE, "resize")
    wanted = slots_in(command, model)
    require(command("inspect", model, "--save", path).code == DONE, "--save")
    names = tare.States.read(str(path)).names()
    require(len(names) == len(set(names)) == 2, "names are", names)
    require({name: slot["scale"] for name, slot in slots_in(command, path).items()}
            == {f"{one}/{name}": slot["scale"] for one in names for name, slot in wanted.items()
                if (slot["history_length"] == 8) == one.endswith(" 8")}, "tensors are", sorted(slots_in(command, path)))
    require(command("fp8", "rename", path, "--from", "layers", "--to", "h", "--yes").code == DONE, "rename")
    renamed = tare.States.read(str(path))
    require(renamed.names() == names, "names became", renamed.names())
    require({name for one in names for name in json.loads(renamed[one].json())["params"]["slots"]}
            == {name.replace("layers", "h") for name in wanted}, "not all slots are renamed")


def with_type(checkpoint, path, name):
    """The checkpoint with its halves' type called otherwise."""
    with zipfile.ZipFile(checkpoint) as old, zipfile.ZipFile(path, "w") as new:
        for item in old.infolist():
            contents = old.read(item)
            if item.filename.endswith("data.pkl"):
                was = b"X\x08\x00\x00\x00kFloat16"
                require(was in contents, "no halves in", checkpoint)
                contents = contents.replace(was, b"X" + len(name).to_bytes(4, "little") + name.encode())
            new.writestr(item.filename, contents)


def try_msamp_unscaled(tare, command, folder, corpus, ending):
    """MS-AMP does not scale bf16 and f32: whatever their amax is, their scale is 1 after a step."""
    for name, largest, form in (("kBFloat16", float.fromhex("0x1.fep127"), "bf16"), ("kFloat32", float.fromhex("0x1.fffffep127"), "f32")):
        checkpoint, path = folder / f"{name}.pt", folder / f"{name}.{ending}"
        with_type(corpus / "msamp/adamw/checkpoint.pt", checkpoint, name)
        wide = {key for key, slot in slots_in(command, checkpoint).items() if slot["format_max"] == largest}
        require(len(wide) == 4, name, "is the type of", wide)
        require(command("inspect", checkpoint, "--save", path).code == DONE, command("inspect", checkpoint, "--save", path))
        require({key for key, slot in slots_in(command, path).items() if slot["format_max"] == largest} == wide, "saved as", path)
        saved = tare.State.read(str(path))
        running = tare._made("fp8_create_from_state", saved.handle, None)
        tare._call("fp8_update", running, None)
        after = json.loads(tare.State(tare._made("fp8_save", running, None)).json())
        tare._library.tare_fp8_destroy(running)
        scales = dict(zip(after["params"]["slots"], after["fields"]["scale"]))
        forms = dict(zip(after["params"]["slots"], after["params"]["format"]))
        require(all((scales[key] == 1) == (key in wide) == (forms[key] == form) for key in scales), name, scales, forms)


def try_msamp(tare, command, folder, corpus, ending):
    """MS-AMP's tensors by their own type: none is saturated, and a step with the amaxes that were saved moves no scale."""
    checkpoint, path = corpus / "msamp/adamw/checkpoint.pt", folder / f"msamp.{ending}"
    slots = slots_in(command, checkpoint)
    require({slot["format_max"] for slot in slots.values()} == {448, 65504}, "largest numbers are", slots)
    require(all(0 <= slot["margin_bits"] < 1 for slot in slots.values()), "margins are", slots)
    require(command("inspect", checkpoint, "--save", path).code == DONE, "--save")
    require(all(slot[key] == slots[name][key] for name, slot in slots_in(command, path).items() for key in SHOWN[:7]),
            "saved, it is shown otherwise")
    saved = tare.State.read(str(path))
    before = json.loads(saved.json())
    running = tare._made("fp8_create_from_state", saved.handle, None)
    tare._call("fp8_update", running, None)
    after = json.loads(tare.State(tare._made("fp8_save", running, None)).json())
    tare._library.tare_fp8_destroy(running)
    require(after["fields"]["scale"] == before["fields"]["scale"], "the scales became", after["fields"]["scale"])


def try_lists(command, folder, path):
    """A list is shown as one, whatever format it is in, and an empty one harms nobody."""
    for ending in "json", "h5":
        require(b"[20, 30, 40, " in command("inspect", path.with_suffix(f".{ending}")).out, "the windows are not shown")
    document = json.loads(path.read_text())
    document["params"]["window_list"] = document["roles"]["window_list"] = []
    empty = folder / "empty.json"
    empty.write_text(json.dumps(document))
    require(command("inspect", empty).code == DONE, command("inspect", empty))


def try_no_policy(command, folder):
    """A state whose policy is no name is told, and no verb falls over it."""
    for policy in 5, None, [], "", "x" * 5000:
        path = folder / "odd.json"
        path.write_text(json.dumps({"schema": "tare.state/1", "policy": policy, "fields": {"scale": 1.0}}))
        require("policy" in command("inspect", path).out.decode() + command("inspect", path).reason, command("inspect", path))
        for verb in ("edit", path, "scale=2", "--yes"), ("migrate", path, "--to", "torch", "-o", folder / "odd.pt", "--force"):
            answer = command(*verb)
            require(answer.code in (2, FAILED, REFUSED) and "fault" not in answer.reason, answer)


def try_not_finite(tare, command, folder, path):
    """What JSON cannot say is not written, and what it says as text is mended."""
    for value in "inf", "nan":
        answer = command("edit", path, f"scale={value}", "--force", "--yes")
        require(answer.code == REFUSED and tare.State.read(str(path)), answer)
    sick = folder / "sick.json"
    document = json.loads(path.read_text())
    document["fields"]["scale"] = document["roles"]["scale"] = "inf"
    sick.write_text(json.dumps(document))
    require(b"scale-not-finite" in command("inspect", sick).out, command("inspect", sick))
    answer = command("edit", sick, "scale=1024", "--yes")
    require(answer.code == DONE and tare.State.read(str(sick))["scale"] == 1024, answer)


def try_misshapen(tare, command, folder, path):
    """What a state's own reader would not take is told, and never edited into a state that does not load."""
    whole, twin = json.loads(path.read_text()), folder / "misshapen.json"
    places = [(key,) for key in whole] + [(part, key) for part in ("params", "fields") for key in whole[part]]
    edited = 0
    for place in places:
        for other in [1], None, "x", 1.5:
            if place == ("schema",) and other == "x":
                continue  # no state of tare's, and perhaps a scaler of somebody else's
            document = json.loads(path.read_text())
            inside = document if len(place) == 1 else document[place[0]]
            if len(place) > 1:
                del document["roles"]
            inside[place[-1]] = other
            twin.write_text(json.dumps(document))
            answer = command("edit", twin, "scale=8", "--yes")
            if answer.code == DONE:
                edited += 1
                try:
                    require(tare.Scaler(state=tare.State.read(str(twin))).scale == 8, place, other, answer)
                except tare.TareError as error:
                    require(False, place, other, "was edited, and does not load:", error)
            else:
                require(answer.code == REFUSED and json.loads(twin.read_text()) == document, place, other, answer)
    require(edited > 0, "nothing was edited")
    document = json.loads(path.read_text())
    for key in document["params"]:
        twin.write_text(json.dumps({**document, "params": {**document["params"], key: "x"}, "roles": {}}))
        told = command("inspect", twin).out
        require(b"state-not-loaded" in told or b"state-not-read" in told, key, told)
    for part in "params", "roles", "statistics", "schema":
        twin.write_text(json.dumps({**document, part: [1]}))
        require(f'"{part}" is no'.encode() in command("inspect", twin).out, part, command("inspect", twin).out)


def try_unnamed(command, folder, corpus):
    """Whose state is the whole file has no path: what is refused names the file or the state, and no empty place."""
    layers, frozen = folder / "unnamed.json", corpus / "msamp/adamw/checkpoint.pt"
    model = corpus / "transformer_engine/te1.13_4layers/model.pt"
    require(command("inspect", model, "--save", layers).code == DONE, layers)
    scaler = corpus / "torch/scaler-file-t2.15/scaler.pt"
    for path in scaler, folder / "torch.json", folder / "torch.h5":
        for words in (["get", path, "nonsense"], ["edit", path, "nonsense=1", "--yes"], ["edit", path, "scale=1", "--at", "nowhere"],
                      ["get", path, "scale", "--at", "nowhere"], ["fp8", "reset", path, "--yes"], ["get", path, "scale.input"],
                      ["edit", path, "--layer", "x", "scale=1"], ["migrate", path, "--to", "torch", "--at", "nowhere", "-o", layers], ["migrate", frozen, "--into", path, "--yes"]):
            answer = command(*words)
            require(answer.code in (2, REFUSED) and not answer.names_nothing(), answer)
    for words in (["get", layers, "scale.nonsense"], ["get", layers, "amax_history.*"], ["edit", layers, "scale.nonsense=1", "--yes"],
                  ["edit", layers, "amax_history.nonsense=1", "--yes"], ["edit", layers, "--layer", "nowhere", "scale.input=1"],
                  ["fp8", "strip", layers, "--yes"], ["fp8", "regroup", layers, "--layer", "*", "--for", "2.3", "--yes"],
                  ["fp8", "reencode", layers, "--for", "2.0", "--yes"], ["edit", layers, "--layer", "*", "nonsense=1"]):
        answer = command(*words)
        require(answer.code in (2, REFUSED) and not answer.names_nothing(), answer)


def try_changed(command, path):
    """A checksum that is not the file's: the state is read and edited, told to be another's, and what is wrong stays so."""
    changed = bytearray(path.read_bytes())
    at = changed.rindex(b"crc32:") + 6
    changed[at] ^= 1
    path.write_bytes(changed)
    answer = command("edit", path, "scale=1024", "--yes")
    require(answer.code == DONE and path.read_bytes()[at:at + 8] == changed[at:at + 8], answer)
    require(b"checksum-differs" in command("inspect", path).out, command("inspect", path))


def main():
    count = 0
    with command_and_library(__doc__) as (tare, command, corpus, folder):
        for name, scaler in scalers(tare):
            for ending in "json", "h5":
                try_verbs(tare, command, folder, name, ending, scaler)
                count += 1
        try_several(tare, command, folder, corpus)
        for ending in "json", "h5":
            for attempt in try_fp8, try_fp8_beside, try_two_lengths, try_msamp, try_msamp_unscaled:
                attempt(tare, command, folder, corpus, ending)
        try_packed_fp8(tare, command, folder, corpus)
        try_lists(command, folder, folder / "mindformers_adaptive.json")
        try_no_policy(command, folder)
        try_damage(command, folder, folder / "torch.json")
        try_not_finite(tare, command, folder, folder / "torch.json")
        for policy in "torch", "mindformers_adaptive", "deepspeed-fused":
            if (folder / f"{policy}.json").exists():
                try_misshapen(tare, command, folder, folder / f"{policy}.json")
        try_unnamed(command, folder, corpus)
        try_changed(command, folder / "torch.h5")
    print(f"{count} states of tare's own went through every verb and ran on")
    return 0


if __name__ == "__main__":
    sys.exit(main())
