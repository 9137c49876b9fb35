#!/usr/bin/env python3
"""Shows that the mutation runner tells a tested line from an untested one, on a made-up tree, and writes nothing into it."""
import pathlib
import subprocess
import sys
import tempfile

import changes
import mutation

TREE = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.20)
project(made_up CXX)
enable_testing()
add_executable(program program.cpp main.cpp)
add_test(NAME tested COMMAND program)
add_test(NAME never_passes COMMAND false)
""",
    "program.cpp": """int larger(int a, int b)
{
  if (a > b) return a;
  return b;
}
int unseen(int a)
{
  return a + 7;
}
int no_other(unsigned a)
{
  return a >= 0 ? 1 : 2;
}
""",
    "main.cpp": "int larger(int, int);\nint main() { return larger(3, 2) == 3 && larger(2, 3) == 3 && larger(4, 4) == 4 ? 0 : 1; }\n",
}
ROOMS = {"without": [], "rooms": {"one": {"files": ["program.cpp"], "stages": [{"targets": ["program"], "tests": ["never_passes", "tested"]}]}}}

# (a text, the kind of a change, what the line becomes)
CHANGED = [
    ("if (a < b) f();", "boundary", "if (a <= b) f();"),
    ("if (a < b) f();", "comparison", "if (a >= b) f();"),
    ("if (a && b) f();", "logic", "if (a || b) f();"),
    ("if (a) return;", "guard", ";"),
    ("if (a) f();", "negation", "if (!(a)) f();"),
    ("x = a - 1;", "arithmetic", "x = a + 1;"),
    ("x = 0x10u;", "number", "x = 0x11u;"),
    ("x = 0;", "assignment", ";"),
    ("file.sync();", "flush", ";"),
    ("copy(from, to);", "swap", "copy(to, from);"),
    ("throw Error(a);", "throw", ";"),
    ("return a;", "empty", "return {};"),
    ("return true;", "truth", "return false;"),
    ("x = a ? 1 : 2;", "never", "x = a && false ? 1 : 2;"),
    ("x = std::min(a, b);", "extreme", "x = std::max(a, b);"),
]
UNCHANGED = ['// if (a < b)', 'say("a < b && c");', "#include <map>", "static_assert(a == 1);", "struct A;"]


def check_changes():
    for text, kind, becomes in CHANGED:
        found = [changes.lines_of(text, c)[1] for c in changes.changes(text) if c.kind == kind]
        assert becomes in found, (text, kind, found)
    for text in UNCHANGED:
        found = [c for c in changes.changes(text) if c.kind != "call"]
        assert not found, (text, found)


def check_draws(tree):
    rooms = ROOMS["rooms"]
    first, again, other = (mutation.chosen(tree, rooms, seed, 4) for seed in ("1", "1", "2"))
    assert first == again and first != other and len(first) == 4
    everything = mutation.chosen(tree, rooms, "1", 1000)
    lines = [m["line"] for m in everything]
    assert sorted(lines) == sorted(set(lines)) and {3, 4, 8, 12} <= set(lines), lines


def sandboxes_work():
    return subprocess.run(["unshare", "-mpnf", "--mount-proc", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], stderr=subprocess.DEVNULL).returncode == 0


def check_verdicts(tree):
    build = tree / "build" / "mutation"
    subprocess.run(["cmake", "-G", "Ninja", "-S", tree, "-B", build, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_BUILD_TYPE=Release"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", build], check=True, stdout=subprocess.DEVNULL)
    text = TREE["program.cpp"]
    expected = {("a > b", "a < b"): "killed", ("a + 7", "a + 8"): "survived", ("a >= 0", "a >= 0u"): "equivalent",
                ("return b;", "return nobody;"): "unbuildable", ("  return b;", "  for (;;);"): "killed"}
    tests = mutation.Tests(tree, [])
    for (old, new), status in expected.items():
        tests.seconds["tested"] = -3  # a limit of two seconds
        answer = mutation.verdict(tree, tests, ROOMS["rooms"]["one"], {"file": "program.cpp", "text": text.replace(old, new)}, 1)
        assert answer["status"] == status, (old, new, answer)
        assert answer.get("by") in (None, "tested"), answer
    assert "never_passes" not in tests.all
    assert (tree / "program.cpp").read_text() == text


def main():
    check_changes()
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        for name, text in TREE.items():
            (tree / name).write_text(text)
        check_draws(tree)
        if not sandboxes_work():
            sys.exit(77)
        check_verdicts(tree)


main()
