"""Changes one line of tare, builds it, runs the tests, and sees whether any of them notices; again and again.

Chooses mutants by a seed, gives each to a sandbox (sandbox.py), and prints how many were killed, survived, or are the
same program, by room. README.md says how to read it.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import changes

HERE = pathlib.Path(__file__).resolve().parent
BUILD = "build/mutation"
UNKNOWN_TEST_S = 300  # the limit of a test that was not seen to pass yet
STATUSES = ["killed", "survived", "equivalent", "unbuildable"]


# ---- which -------------------------------------------------------------------------------------------------------------
def candidates(tree, globs):
    """By kind of change: (file, change), each file and kind in the order of the text."""
    by_kind = {}
    for file in sorted({p for g in globs for p in tree.glob(g)}):
        for change in changes.changes(file.read_text()):
            by_kind.setdefault(change.kind, []).append((str(file.relative_to(tree)), change))
    return by_kind


def draw(tree, globs, dice):
    """Mutants without end or until none is left: kinds take turns, no line comes twice."""
    by_kind, seen, turn = candidates(tree, globs), set(), []
    while turn or any(by_kind.values()):
        if not turn:
            turn = sorted(kind for kind in by_kind if by_kind[kind])
            dice.shuffle(turn)
        kind = turn.pop()
        file, change = by_kind[kind].pop(dice.randrange(len(by_kind[kind])))
        text = (tree / file).read_text()
        line = text.count("\n", 0, change.start) + 1
        old, new = changes.lines_of(text, change)
        if (file, line) not in seen and old != new:
            seen.add((file, line))
            yield {"file": file, "line": line, "kind": kind, "old": old, "new": new,
                   "text": text[:change.start] + change.new + text[change.end:]}


def chosen(tree, rooms, seed, count):
    """`count` mutants, rooms in turn; the same seed draws the same from the same tree."""
    draws = {name: draw(tree, room["files"], random.Random(f"{seed}/{name}")) for name, room in rooms.items()}
    mutants, number = [], 0
    while draws and len(mutants) < count:
        number += 1
        for name in list(draws):
            mutant = next(draws[name], None)
            if mutant is None:
                del draws[name]
            elif len(mutants) < count:
                mutants.append({"id": f"{name}-{seed}-{number}", "room": name, **mutant})
    return mutants


# ---- tests -------------------------------------------------------------------------------------------------------------
class Tests:
    """ctest's tests, and what is known of them: how long they take, and whether they pass in the sandbox as nothing is changed."""

    def __init__(self, tree, without):
        listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=tree / BUILD, stdout=subprocess.PIPE, check=True)
        self.all = {t["name"]: self.from_ctest(t) for t in json.loads(listed.stdout)["tests"]
                    if "command" in t and t["name"] not in without}
        self.seconds = {}
        self.sound = set()

    @staticmethod
    def from_ctest(test):
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        stop = ["--abort"] if test["name"].startswith("unit.") or test["name"] == "capi" else []  # Catch: the first failure is enough
        return {"name": test["name"], "command": test["command"] + stop, "cwd": properties.get("WORKING_DIRECTORY"),
                "environment": dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])),
                "skip": properties.get("SKIP_RETURN_CODE")}

    def told(self, names):
        return [{**self.all[n], "limit_s": 20 + 6 * self.seconds.get(n, UNKNOWN_TEST_S / 6)} for n in names if n in self.all]

    def stages(self, room, depth):
        """The room's own tests, those that come next, and then all others."""
        stages = [{"targets": s["targets"], "tests": self.told(s["tests"])} for s in room["stages"]]
        near = {name for s in room["stages"] for name in s["tests"]}
        rest = sorted((n for n in self.all if n not in near), key=lambda n: self.seconds.get(n, UNKNOWN_TEST_S))
        return [*stages, {"targets": ["all"], "tests": self.told(rest)}][:depth]


# ---- one at a time -----------------------------------------------------------------------------------------------------
def in_sandbox(tree, job):
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(["unshare", "-mpnf", "--mount-proc", "--kill-child", sys.executable, str(HERE / "sandbox.py")],
                              input=json.dumps({**job, "tree": str(tree), "scratch": scratch}), stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("the sandbox did not answer: it needs root, unshare and overlayfs")
    return json.loads(done.stdout)


def passes_unchanged(tree, tests, name):
    if name not in tests.sound:
        answer = in_sandbox(tree, {"stages": [{"targets": [], "tests": tests.told([name])}]})
        tests.seconds.update(answer["seconds"])
        tests.sound.update([name] if answer["status"] == "survived" else [])
    return name in tests.sound


def verdict(tree, tests, room, mutant, depth):
    """A test that fails without the change as well is no witness: it is left out from then on, and the mutant tried again."""
    while True:
        answer = in_sandbox(tree, {"file": mutant["file"], "text": mutant["text"], "stages": tests.stages(room, depth)})
        tests.seconds.update(answer.get("seconds", {}))
        if answer["status"] != "killed" or passes_unchanged(tree, tests, answer["by"]):
            return answer
        print(f"left out: {answer['by']} fails in the sandbox without a change, too")
        del tests.all[answer["by"]]


def judged(equivalents, mutant):
    """Why a mutant was judged to be the same program, if it was."""
    key = [mutant["file"], mutant["old"].strip(), mutant["new"].strip()]
    return next((e["why"] for e in equivalents if [e["file"], e["old"], e["new"]] == key), None)


# ---- what came of it ---------------------------------------------------------------------------------------------------
def table(results):
    rows = {}
    for r in results:
        rows.setdefault(r["room"], dict.fromkeys(STATUSES, 0))[r["status"]] += 1
    if len(rows) > 1:
        rows["all"] = {s: sum(row[s] for row in rows.values()) for s in STATUSES}
    lines = ["room        killed  survived  equivalent  share  not built"]
    for name, row in rows.items():
        counted = row["killed"] + row["survived"]
        share = f"{100 * row['killed'] / counted:.0f} %" if counted else "-"
        lines.append(f"{name:10}{row['killed']:8}{row['survived']:10}{row['equivalent']:12}{share:>7}{row['unbuildable']:11}")
    return "\n".join(lines)


def told(result):
    place = f"{result['file']}:{result['line']}"
    if result["status"] != "survived":
        return place
    return "\n".join([place, *("  - " + l for l in result["old"].split("\n")), *("  + " + l for l in result["new"].split("\n"))])


def options():
    parser = argparse.ArgumentParser(prog="tests/mutation.sh", description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--room", action="append", help="of this room (may be given again); all, unless given")
    parser.add_argument("--files", action="append", help="of these files of the rooms (a pattern; may be given again)")
    parser.add_argument("--count", type=int, default=100, help="so many mutants, rooms in turn (100)")
    parser.add_argument("--seed", default="1", help="which (1)")
    parser.add_argument("--depth", type=int, help="no more than so many stages of tests: 1 is the room's own")
    parser.add_argument("--log", type=pathlib.Path, help="a line of JSON for each; what is in it already is not tried again")
    parser.add_argument("--tree", type=pathlib.Path, default=HERE.parent.parent, help=argparse.SUPPRESS)
    parser.add_argument("--rooms", type=pathlib.Path, default=HERE / "rooms.json", help=argparse.SUPPRESS)
    return parser.parse_args()


def rooms_of(asked):
    data = json.loads(asked.rooms.read_text())
    unknown = set(asked.room or []) - set(data["rooms"])
    if unknown:
        sys.exit(f"no such room: {', '.join(sorted(unknown))} (there are {', '.join(data['rooms'])})")
    rooms = {name: room for name, room in data["rooms"].items() if not asked.room or name in asked.room}
    if asked.files:
        rooms = {name: {**room, "files": asked.files} for name, room in rooms.items()}
    return rooms, data["without"]


def main():
    asked = options()
    sys.stdout.reconfigure(line_buffering=True)
    tree = asked.tree.resolve()
    rooms, without = rooms_of(asked)
    equivalents = json.loads((HERE / "equivalent.json").read_text())
    tests = Tests(tree, without)
    results = [json.loads(l) for l in asked.log.read_text().splitlines()] if asked.log and asked.log.exists() else []
    for r in results:
        tests.seconds.update(r.get("seconds", {}))
    done = {r["id"] for r in results}
    for name in [name for room in rooms.values() for name in room["stages"][0]["tests"]]:
        passes_unchanged(tree, tests, name)  # so that it is known how long they take
    for mutant in chosen(tree, rooms, asked.seed, asked.count):
        if mutant["id"] in done:
            continue
        start, why = time.monotonic(), judged(equivalents, mutant)
        answer = {"status": "equivalent", "how": why} if why else verdict(tree, tests, rooms[mutant["room"]], mutant, asked.depth)
        result = {**{k: v for k, v in mutant.items() if k != "text"}, **answer, "took_s": round(time.monotonic() - start)}
        results.append(result)
        if asked.log:
            with asked.log.open("a") as log:
                log.write(json.dumps(result) + "\n")
        print(f"{result['id']:16}{result['status']:12}{result['took_s']:5} s  {result.get('by', ''):18}{result['kind']:12}{told(result)}")
    print(table(results))


if __name__ == "__main__":
    main()
