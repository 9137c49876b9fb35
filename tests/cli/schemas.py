#!/usr/bin/env python3
"""Holds what the command answers with --json, over the checkpoints of the corpus and the traces, and what the library tells in
JSON, against the JSON Schemas that are published (lib/report/schemas): every key and every value is described there, and
every key that is said to be there is. Whatever the sources say that they answer with has a schema.

    schemas.py --tare TARE --corpus FOLDER --traces FOLDER --schemas FOLDER [--library LIBTARE] [--all]
"""
import argparse
import array
import collections
import ctypes
import itertools
import json
import os
import pathlib
import re
import sys
import tempfile

from command import Tare
from corpus import cases_of, copied, require

#: A run's log for the verbs that read one.
LOG = "".join(f"[2026-01-01 00:00:{i:02}] iteration {i + 1:8}/ 100 | loss scale: {scale} | number of skipped iterations: {skipped} |"
              f" number of nan iterations: 0 |\n"
              for i, (scale, skipped) in enumerate([(65536.0, 0)] * 4 + [(32768.0, 1)] + [(32768.0, 0)] * 6))

SOURCE = pathlib.Path(__file__).parents[2]
OF_LIBRARY = {f"tare.{name}/1" for name in ("policies", "fp8_policies", "statistics", "grads", "fp8", "conversion", "monitor", "at-scale")}


def unique(pairs):
    """An object whose keys strict readers take, too."""
    names = [name for name, _ in pairs]
    require(len(set(names)) == len(names), "an answer has one key twice:", names)
    return dict(pairs)


def told(answer):
    """-> the document of an answer; nothing where it is an error."""
    return [json.loads(answer.out, object_pairs_hook=unique)] if answer.out.strip() else []


def of_checkpoint(tare, unedited, path, scratch):
    """The answers of all verbs about one checkpoint; `path` is a copy that may be changed."""
    yield from told(tare("inspect", path, "--json"))
    yield from told(tare("inspect", path, "--json", "--globals"))
    for verb in "trace", "timeline", "simulate":
        yield from told(tare(verb, path, "--json"))
    yield from told(tare("attest", path, "--json"))
    yield from told(tare("doctor", path, "--json"))
    yield from map(json.loads, tare("ls", path, "--json").out.splitlines())
    yield from told(tare("simulate", path, "--json", "--policy", "transformer_engine", "--history", "2,16", "--algo", "max"))
    yield from told(tare("edit", path, "scale=2048", "--all", "--json", "--dry-run"))
    made = tare("edit", path, "scale=2048", "--all", "--json", "--yes")
    yield from told(made)
    if made.code == 0:
        yield from told(tare("history", path, "--json"))
        yield from told(tare("diff", unedited, path, "--json"))
        yield from told(tare("undo", path, "--json", "--yes"))
    for framework, file in ("megatron", "made.pt"), ("deepspeed", "made.ds"):
        yield from told(tare("migrate", path, "--to", framework, "-o", scratch / file, "--force", "--json"))
    yield from told(tare("fp8", "reset", path, "--all", "--force", "--json", "--dry-run"))
    yield from told(tare("fp8", "strip", path, "--all", "--force", "--json", "--dry-run"))
    for name in "state.json", "plain.json":
        (scratch / name).unlink(missing_ok=True)
    tare("inspect", path, "--save", scratch / "state.json")
    tare("attest", path, "--write-plain", scratch / "plain.json")
    yield from (json.loads(file.read_bytes()) for file in scratch.glob("*.json"))


def of_run(tare, log):
    for verb in "trace", "doctor", "timeline", "simulate":
        yield from told(tare(verb, log, "--json"))
    yield from told(tare("simulate", log, "--json", "--explain"))
    yield from told(tare("simulate", log, "--json", "--policy", "megatron", "--hysteresis", "2"))
    yield from told(tare("doctor", "--rules", "--json"))
    yield from map(json.loads, tare("watch", log, "--once", "--json").out.splitlines())


def of_library(library, scratch):
    """What scalers, lists, slots and monitors tell of themselves, at their beginning and amid a run."""
    ctypes.CDLL(str(library))  # the package then finds it by its name
    sys.path.insert(0, str(SOURCE / "capi/python"))
    import tare

    def values():
        return [array.array("f", [1.0, 0.0, 1e-30, 3.0]), array.array("f", [float("inf"), float("nan"), 2.0])]

    yield tare.policies()
    yield tare.fp8.policies()
    for policy in "torch", "megatron", "deepspeed":
        scaler = tare.Scaler(policy, underflow_threshold=1e-6)
        yield scaler.statistics()
        scaler.unscale(values())
        yield scaler.statistics()
        scaler.update()
        yield scaler.statistics()
    for slots in None, ["a", "b"]:
        fp8 = tare.Fp8("transformer_engine", slots=slots or 2, format="e4m3", amax_history_len=2)
        yield fp8.statistics()
        fp8.observe(values(), slots=[0, 1])
        fp8.update()
        yield fp8.statistics()
    yield tare.Fp8("te_current", slots=1).statistics()
    yield tare.Scaler("torch", initial_scale=1024.0).save().convert("megatron")[1]
    sinks = [{"jsonl": str(scratch / "lines.jsonl")}, {"tensorboard": str(scratch / "events")},
             {"openmetrics": str(scratch / "no/such/file")}]
    monitor = tare.Monitor(every=1, sinks=sinks, groups={"weights": {"every": 1}})
    yield monitor.report()
    yield monitor.at_scale(2.0)
    for step, finite in enumerate((False, True)):
        scaler = tare.Scaler("torch", initial_scale=1024.0, finite_statistics=finite)
        grads = tare.Grads(scaler, values())
        yield grads.statistics()
        grads.observe()
        yield grads.statistics()
        monitor.observe("weights", {"w": values()[0], "broken": values()[1]})
        monitor.add_grads(grads, ["a", "b"])
        monitor.add_scaler(1024.0, steps=2, skipped=1, backoffs=1)
        monitor.step(step)
        yield monitor.report()
        yield monitor.at_scale(2.0)
    yield from map(json.loads, (scratch / "lines.jsonl").read_text().splitlines())


def without_schema(schemas):
    """-> what the sources say that they answer with, and nobody has described."""
    said = set()
    for source in [*(SOURCE / "lib").rglob("*.cpp"), *(SOURCE / "capi/include/tare").glob("*.h")]:
        said |= set(re.findall(r'"(tare\.[a-z0-9_-]+/[0-9]+)"', source.read_text()))
    return said - set(schemas)


def documents(tare, corpus, traces, scratch, every):
    for case in list(cases_of(corpus, "*"))[:: 1 if every else 8]:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            yield from of_checkpoint(tare, case.target, copied(case, folder).target, pathlib.Path(folder))
    (scratch / "train.log").write_text(LOG)
    yield from of_run(tare, scratch / "train.log")
    for log in sorted(traces.glob("*/*"))[:: 1 if every else 4] if traces else []:
        yield from of_run(tare, log)


def closed(schema):
    """The same, but nothing may be there that it does not tell of."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    tight = {key: closed(one) for key, one in schema.items()}
    if "properties" in schema and "additionalProperties" not in schema:
        tight["additionalProperties"] = False
    return tight


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    ask.add_argument("--traces", type=pathlib.Path)
    ask.add_argument("--library", type=pathlib.Path, help="not asked where there is none")
    ask.add_argument("--all", action="store_true", help="all cases of the corpus, not every eighth")
    ask.add_argument("--schemas", required=True, type=pathlib.Path)
    options = ask.parse_args()
    try:
        import jsonschema
    except ImportError:
        if sys.executable == "/usr/bin/python3" or not pathlib.Path("/usr/bin/python3").exists():
            print("schemas: NOT RUN: there is no jsonschema")
            sys.exit(77)
        # Debian's jsonschema belongs to Debian's Python, whichever comes first in PATH.
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    schemas = {}
    for file in sorted(options.schemas.glob("*.json")):
        schema = json.loads(file.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        schemas[schema["properties"]["schema"]["const"]] = jsonschema.Draft202012Validator(closed(schema))
    require(not without_schema(schemas), "no schema is published for", without_schema(schemas))
    counts, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as scratch:
        of_command = documents(Tare(options.tare), options.corpus, options.traces, pathlib.Path(scratch), options.all)
        told_by_library = of_library(options.library, pathlib.Path(scratch)) if options.library else []
        for document in itertools.chain(told_by_library, of_command):
            name = document["schema"]
            require(name in schemas, "no schema is published for", name)
            counts[name] += 1
            error = jsonschema.exceptions.best_match(schemas[name].iter_errors(document))
            if error and len(wrong) < 20:
                wrong.append(f"{name}: {error.json_path}: {error.message[:200]}")
    print("\n".join(wrong))
    unseen = set(schemas) - set(counts) - (set() if options.library else OF_LIBRARY)
    require(not wrong and not unseen, "schemas that nothing answers with:", unseen)
    print(", ".join(f"{count} of {name}" for name, count in sorted(counts.items())) + ": as their schemas say")
    return 0


if __name__ == "__main__":
    sys.exit(main())
