#!/usr/bin/env python3
"""Holds the tare command against the real checkpoints of the test data.

    corpus.py WHAT --tare BINARY --corpus FOLDER [--only GLOB] [--verbose]

WHAT is one of
    inspect   real checkpoints: all is shown as their truth.json says
    edit      of those, the ones with a loss scale: edits do what they say and no more, undo takes every byte back
    hostile   files made to break readers: refused or shown in part, nothing run, little time and memory used

Prints a line a case that falls short (all with --verbose). Exit 0: every case holds.
"""
import argparse
import collections
import dataclasses
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

from command import Tare
from values import equal, field_changes, shown

HOSTILE_CPU_S = 1
HOSTILE_KIB = 64 * 1024
# A new value for each role that an edit is tried with; the second where the first is there already. Counters of this
# size need more bytes than those that real runs store.
NEW_VALUES = {"scale": (4096, 512), "growth_tracker": (300, 301), "growth_interval": (70000, 70001)}
UNLIKELY_SCALE = 24
REFUSED, UNREADABLE = 4, 3


class Short(Exception):
    """A case falls short, and how."""


def require(condition, *why):
    if not condition:
        raise Short(" ".join(map(str, why)))


@dataclasses.dataclass
class Case:
    name: str
    folder: pathlib.Path
    truth: dict

    @property
    def target(self):
        return self.folder / self.truth.get("target", ".")

    @property
    def scalers(self):
        return self.truth.get("scalers", [])

    @property
    def loaded(self):
        """The loss scalers that some rank loads: what an edit means unless it is told otherwise."""
        return [scaler for scaler in self.scalers
                if scaler["kind"] == "loss_scale" and scaler.get("authority") != "no_rank"]

    @property
    def disagrees(self):
        """Whether one place holds several states: rank files that were not written alike."""
        places = [(scaler["dialect"], scaler["path"]) for scaler in self.scalers]
        return len(set(places)) < len(places)

    @property
    def may_refuse(self):
        return self.truth.get("edit") == "may_refuse"

    def moved_to(self, folder):
        return dataclasses.replace(self, folder=folder)


# ---- what inspect shows ---------------------------------------------------------------------------------------------

def identity(scaler, base, root):
    """What makes a scaler this one: whose, where, in which files (relative to the case)."""
    files = frozenset(os.path.relpath(os.path.join(base, file), root) for file in scaler["files"])
    return scaler["dialect"], scaler["path"], files


def by_identity(case, answer):
    base = case.target if case.target.is_dir() else case.target.parent
    return {identity(scaler, base, case.folder): scaler for scaler in answer["scalers"]}


def compare_scaler(want, got, alone):
    where = want["path"] or "(root)"
    require(got["kind"] == want["kind"], where, "is a", got["kind"], "not a", want["kind"])
    require(got["agree"] is alone, where, "agree is", got["agree"])
    require(got["authority"] == want.get("authority", got["authority"]), where, "authority is", got["authority"])
    for part in ("fields", "types", "roles"):
        # FP8 state is shown with the recipe beside it, which no truth lists.
        is_listed = set(got[part]) >= set(want[part]) if want["kind"] == "fp8" else set(got[part]) == set(want[part])
        require(is_listed, where, part, sorted(got[part]), "should be", sorted(want[part]))
        for name, value in want[part].items():
            kind = want["types"].get(name, "float32" if part == "roles" else "")
            require(equal(value, got[part][name], kind),
                    f"{where}: {part}.{name} is {shown(got[part][name])}, should be {shown(value)}")
    require(set(got["editable"]) <= set(got["fields"]), where, "offers to edit what is not there:", got["editable"])


def complete(answer):
    """The document of an inspect, checked for what is the same in all of them."""
    document = answer.json()
    require(document is not None, answer, "no JSON on stdout")
    require(document["schema"] == "tare.inspect/1", "schema", document["schema"])
    require(document["pending"] is None, "pending", document["pending"])
    for finding in document["findings"]:
        require(finding["severity"] in ("error", "warning", "note"), "severity", finding["severity"])
        require(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", finding["code"]), "code", finding["code"])
        require(finding["message"], "a finding without a message")
    return document


def inspected(tare, case):
    answer = tare("inspect", case.target, "--json")
    require(answer.code == (1 if case.disagrees else 0), answer)
    return complete(answer)


def check_inspect(tare, case):
    document = inspected(tare, case)
    got, want = by_identity(case, document), {identity(s, case.folder, case.folder): s for s in case.scalers}
    require(len(got) == len(document["scalers"]), "a scaler is listed twice")
    require(set(got) == set(want), f"shown but not there: {sorted(map(str, set(got) - set(want)))[:4]};",
            f"there but not shown: {sorted(map(str, set(want) - set(got)))[:4]}")
    places = collections.Counter(key[:2] for key in want)
    containers = {os.path.normpath(file["path"]): file["container"] for file in document["files"]}
    for key, scaler in want.items():
        compare_scaler(scaler, got[key], places[key[:2]] == 1)
        for file in got[key]["files"]:
            container = scaler.get("container", case.truth["container"])
            require(containers.get(os.path.normpath(file)) == container, file, "is said to be a",
                    containers.get(os.path.normpath(file)), "not a", container)
    if not case.scalers:
        text = tare("inspect", case.target)
        require(text.code == 0 and text.out.strip(), text, "says nothing of a checkpoint without scalers")


# ---- what edit and undo do ------------------------------------------------------------------------------------------

def snapshot(folder):
    """Everything of a folder that undo must bring back, tare's own records left out."""
    state = {}
    for path in sorted(folder.rglob("*")):
        if ".tare" in path.relative_to(folder).parts:
            continue
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        time = status.st_mtime_ns if path.is_file() else 0
        state[str(path.relative_to(folder))] = (content, oct(status.st_mode), time)
    return state


def unlike(before, after):
    """The first thing in which two snapshots differ, in words; None where they are the same."""
    for name in sorted(set(before) | set(after)):
        if name not in before or name not in after:
            return f"{name} {'appeared' if name in after else 'vanished'}"
        for part, old, new in zip(("content", "mode", "time"), before[name], after[name]):
            if old != new:
                return f"the {part} of {name} differs"
    return None


def copied(case, scratch):
    """The case in a folder of its own, where every file has a modification time of its own, down to the nanosecond."""
    folder = pathlib.Path(scratch) / "case"
    shutil.copytree(case.folder, folder, symlinks=True)
    for number, path in enumerate(sorted(folder.rglob("*"))):
        if path.is_file() and not path.is_symlink():
            moment = 1_600_000_000_123_456_789 + number * 1_000_000_007
            os.utime(path, ns=(moment, moment))
    return case.moved_to(folder)


def compare_edit(role, value, place, before, after):
    """`after` is `before` with one role of the scaler at `place` changed, and nothing else."""
    require(set(before) == set(after), "other scalers than before:", sorted(map(str, set(before) ^ set(after))))
    for key, old in before.items():
        new = after[key]
        if key[:2] != place:
            require(equal(old, new), "an edit of", place, "changed", key[:2])
            continue
        changed = field_changes(old["fields"], new["fields"])
        require(changed, "no field changed")
        kind = old["types"][changed[0]]
        roles = field_changes(old["roles"], new["roles"])
        require(roles == [role], "changed roles:", roles)
        require(equal(new["roles"][role], value, "float32"), role, "is", new["roles"][role])
        for name in changed:
            require(equal(old["fields"][name], old["roles"][role], kind, unwrap=True), name, "changed, and is no", role)
            require(equal(new["fields"][name], value, kind, unwrap=True), name, "is", shown(new["fields"][name]))
            require(old["types"][name] == new["types"][name], name, "became", new["types"][name])
        require(field_changes({**old, "fields": 0, "roles": 0}, {**new, "fields": 0, "roles": 0}) == [], "more changed")


def planned_edits(scaler):
    """(role, value) for the scale, and for those counters that are stored as integers."""
    for role, (first, second) in NEW_VALUES.items():
        stored = scaler["roles"].get(role)
        if role == "scale" or (type(stored) is int and "int" in scaler["types"].values()):
            yield role, second if equal(stored, first) else first


DIRECTORIES = {
    "torch_dcp": ("*.metadata", "*integrity.json"),
    "tensor_bundle": ("*.index",),
    "ocdbt": ("*/d/*",),
}


def directories(case, touched):
    """What says where the values of a checkpoint of several files are, and vouches for them: it changes along."""
    patterns = DIRECTORIES.get(case.truth["container"], ())
    return {name for name in touched if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)}


def require_vouched(case):
    """Every manifest of the case says what its files are."""
    for manifest in case.folder.rglob("integrity.json"):
        for name, digest in json.loads(manifest.read_text())["files"].items():
            now = hashlib.sha256((manifest.parent / name).read_bytes()).hexdigest()
            require(now == digest, manifest.name, "does not hold for", name)


def check_edit(tare, original):
    with tempfile.TemporaryDirectory() as scratch:
        case = copied(original, scratch)
        before = snapshot(case.folder)
        scaler = next(s for s in case.loaded if s["kind"] == "loss_scale" and "scale" in s["roles"])
        several = len({s["path"] for s in case.loaded}) > 1
        choice = ["--at", scaler["path"]] if several else []
        edits = list(planned_edits(scaler))

        if several:
            answer = tare("edit", case.target, "scale=4096", "--yes")
            require(answer.code == REFUSED and scaler["path"] in answer.reason, answer, "should ask which of several")
        answer = tare("edit", case.target, f"scale={edits[0][1]}", *choice, "--dry-run")
        require(not unlike(before, snapshot(case.folder)), "a dry run left a trace")
        require(not list(case.folder.rglob(".tare")), "something that changed nothing left records")
        if answer.code == REFUSED and case.may_refuse:
            return "refused, as it may be"
        require(answer.code == 0, answer)
        require(not case.disagrees, "copies disagree, and yet: ", answer)

        for role, value in edits:
            was = by_identity(case, inspected(tare, case))
            answer = tare("edit", case.target, f"{role}={value}", *choice, "--yes")
            require(answer.code == 0, answer)
            now = by_identity(case, inspected(tare, case))
            compare_edit(role, value, (scaler["dialect"], scaler["path"]), was, now)
        require_vouched(case)
        edited = snapshot(case.folder)
        require(set(edited) == set(before), "files came or went:", sorted(set(edited) ^ set(before)))
        touched = {name for name in before if edited[name][0] != before[name][0]}
        require(touched <= set(scaler["files"]) | directories(case, touched), "changed, without holding it:",
                touched - set(scaler["files"]))

        for _ in edits:
            answer = tare("undo", case.target, "--yes")
            require(answer.code == 0, answer)
        require(not unlike(before, snapshot(case.folder)), "after undo:", unlike(before, snapshot(case.folder)))
        answer = tare("undo", case.target, "--yes")
        require(answer.code == REFUSED, answer, "with nothing left to undo")
        return f"{len(edits)} edits in {len(touched)} files"


# ---- what must not happen -------------------------------------------------------------------------------------------

def check_hostile(tare, original, limits):
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as elsewhere:
        case = copied(original, scratch)
        if not os.path.lexists(case.target):
            os.mkfifo(case.target)  # an archive cannot be trusted to bring one
        before = snapshot(case.folder)

        answer = tare("inspect", case.target, "--json", folder=elsewhere)
        text = tare("inspect", case.target, folder=elsewhere)
        globals_ = tare("inspect", case.target, "--globals", folder=elsewhere)
        attested = tare("attest", case.target, folder=elsewhere)
        require(b"dangerous" not in globals_.out or attested.code == 1, attested, "takes a dangerous file for plain data")
        for run in (answer, text, globals_, attested):
            require(run.code in range(5), run)
            require(run.raw_control() is None, run, "raw control character", run.raw_control())
            if limits:
                require(run.cpu_s <= HOSTILE_CPU_S, run, f"took {run.cpu_s:.1f} s")
                require(run.peak_kib <= HOSTILE_KIB, run, f"took {run.peak_kib // 1024} MiB")
        check_expectation(case, answer)
        require(answer.code == text.code, "with --json exit", answer.code, "without", text.code)
        require(not unlike(before, snapshot(case.folder)), "reading:", unlike(before, snapshot(case.folder)))

        edit = tare("edit", case.target, f"scale={UNLIKELY_SCALE}", "--yes", folder=elsewhere)
        require(edit.code in range(5), edit)
        if edit.code == 0:
            undo = tare("undo", case.target, "--yes", folder=elsewhere)
            require(undo.code == 0, undo)
        require(not unlike(before, snapshot(case.folder)), edit, unlike(before, snapshot(case.folder)))
        require(not os.listdir(elsewhere), "something ran, or was written:", os.listdir(elsewhere))


def check_expectation(case, answer):
    allowed = case.truth.get("also_fine", [])
    allowed = {case.truth["expect"], *([allowed] if isinstance(allowed, str) else allowed)}
    codes = set()
    if "refuse" in allowed:
        codes |= {UNREADABLE, REFUSED}
    if allowed & {"warn", "opaque"}:
        codes |= {0, 1}
    require(answer.code in codes, answer, "wanted exit", sorted(codes))
    if answer.code in (UNREADABLE, REFUSED):
        require(answer.reason, answer, "refused without a reason")
        return
    document = complete(answer)
    require(document["findings"], "no finding tells what is wrong")
    scales = [scaler["roles"].get("scale") for scaler in document["scalers"]]
    if "scale" in case.truth:
        require(any(equal(case.truth["scale"], scale) for scale in scales), "the readable scaler is not shown:", scales)


# ---- which cases ----------------------------------------------------------------------------------------------------

def cases_of(corpus, only):
    for truth in sorted(corpus.rglob("truth.json")):
        name = str(truth.parent.relative_to(corpus))
        if fnmatch.fnmatch(name, only):
            yield Case(name, truth.parent, json.loads(truth.read_text()))


def chosen(cases, options):
    for case in cases:
        hostile = "expect" in case.truth
        has_scale = any(s["kind"] == "loss_scale" and "scale" in s["roles"] for s in case.scalers)
        if {"hostile": hostile, "inspect": not hostile, "edit": not hostile and has_scale}[options.what]:
            yield case


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("what", choices=["inspect", "edit", "hostile"])
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    ask.add_argument("--only", default="*", metavar="GLOB", help="over FRAMEWORK/CASE")
    ask.add_argument("--no-limits", action="store_true", help="time and memory do not count: a sanitizer takes both")
    ask.add_argument("--verbose", action="store_true")
    options = ask.parse_args()
    tare = Tare(options.tare)
    checks = {"inspect": lambda case: check_inspect(tare, case), "edit": lambda case: check_edit(tare, case),
              "hostile": lambda case: check_hostile(tare, case, not options.no_limits)}

    short, total = 0, 0
    for case in chosen(cases_of(options.corpus, options.only), options):
        total += 1
        try:
            remark = checks[options.what](case)
        except (Short, KeyError, TypeError) as problem:  # the latter two: the document lacks something or is malformed
            short += 1
            print(f"short  {case.name}: {problem if isinstance(problem, Short) else repr(problem)}", flush=True)
        else:
            if options.verbose:
                print(f"holds  {case.name}{': ' + remark if remark else ''}", flush=True)
    print(f"{options.what}: {total - short} of {total} cases hold")
    return 1 if short or not total else 0


if __name__ == "__main__":
    sys.exit(main())
