#!/usr/bin/env python3
"""What ptxas makes of the kernels' inner loops: instructions an element, loads in flight, spills. Nothing runs.

    sass.py LIBRARY [--tools DIR] [--arch sm_90]

LIBRARY is libtare_cuda.so or libtare_cuda_kernels.a. DIR holds cuobjdump and nvdisasm, if they are not beside nvcc or in
PATH. One line for each innermost loop with two or more loads of 16 bytes: the shortest way round it, as the path of values
that are nothing special, counted in instructions, and how many of its loads stand before anything uses one of them. Doubles
and casts are of that way; spills are loads and stores of local memory in the whole kernel.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

DTYPES = {"1": ("f32", 4), "2": ("f64", 8), "3": ("f16", 2), "4": ("bf16", 2), "5": ("e4m3", 1), "6": ("e5m2", 1)}
BRANCH = re.compile(r"(\.L_x_\d+)")
ENDLESS = 10**9


def tool(name, folder):
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PATH"), "/usr/local/cuda/bin"]))
    found = shutil.which(name, path=path)
    if found is None:
        raise SystemExit(f"sass.py: no {name}: name its folder with --tools")
    return found


def kernels(disassembly):
    """(name, [("label", text) or ("code", text)]) of each."""
    for section in re.split(r"\n\s*\.section\s+\.text\.", disassembly)[1:]:
        lines = []
        for line in section.split("\n"):
            label = re.match(r"\s*(\.L_x_\d+):", line)
            code = re.match(r"\s*/\*[0-9a-f]+\*/\s+(.*?);", line)
            if label:
                lines.append(("label", label[1]))
            elif code:
                lines.append(("code", code[1].strip()))
        yield re.match(r"[^\s,]+", section)[0].strip('"'), lines


def is_vector_load(text):
    return "LDG" in text and ".128" in text


def innermost_loops(lines, places):
    loops = []
    for at, (kind, text) in enumerate(lines):
        target = BRANCH.search(text) if kind == "code" and "BRA" in text else None
        if target and places.get(target[1], ENDLESS) < at:
            loops.append((places[target[1]], at))
    return [(a, b) for a, b in loops if not any(a <= x and y <= b and (x, y) != (a, b) for x, y in loops)]


def shortest_way(lines, places, first, last):
    """The instructions of it, from the loop's label to its branch back."""
    size = last - first + 1
    cost, following = [ENDLESS] * (size + 1), [None] * (size + 1)
    cost[size - 1] = 1
    for i in range(size - 2, -1, -1):
        kind, text = lines[first + i]
        following[i], ahead = i + 1, cost[i + 1]
        if kind == "code" and "BRA" in text and "BRA.DIV" not in text:
            target = BRANCH.search(text)
            to = places.get(target[1], -1) - first if target else -1
            if i < to < size and (cost[to] < ahead or text.startswith("BRA")):
                following[i], ahead = to, cost[to]
        if re.match(r"(@!?U?P\d\s+)?(EXIT|RET)", text):
            ahead = ENDLESS
        cost[i] = ahead + (kind == "code")
    way, i = [], 0
    while i is not None and i < size:
        if lines[first + i][0] == "code":
            way.append(lines[first + i][1])
        i = following[i]
    return way


def loads_in_flight(way):
    """How many vector loads are issued before an instruction reads what one of them brings."""
    waited_for, count = set(), 0
    for text in way:
        words = re.findall(r"\bR(\d+)\b", text)
        if is_vector_load(text):
            count += 1
            waited_for |= {int(words[0]) + i for i in range(4)}
        elif waited_for & {int(word) for word in words[1:]}:
            break
    return count


def short_name(mangled):
    program = re.search(r"\d+(Observe|Unscale|Write)E", mangled) or re.search(r"(quantise|dequantise|fold\w*)E", mangled)
    only = re.search(r"JLNS_5DtypeE(\d)EEE", mangled)
    return (program[1].lower() if program else mangled), DTYPES.get(only[1]) if only else None


def rows(disassembly):
    for mangled, lines in kernels(disassembly):
        places = {text: at for at, (kind, text) in enumerate(lines) if kind == "label"}
        name, dtype = short_name(mangled)
        spills = sum(kind == "code" and ("LDL" in text or "STL" in text) for kind, text in lines)
        for first, last in innermost_loops(lines, places):
            way = shortest_way(lines, places, first, last)
            loads = sum(map(is_vector_load, way))
            if loads < 2:
                continue
            operations = collections.Counter(re.sub(r"@!?U?P\d+\s+", "", text).split()[0].split(".")[0] for text in way)
            doubles = sum(operations[one] for one in ("DADD", "DFMA", "DMUL"))
            each = f"{len(way) / (loads * 16 / dtype[1]):.1f}" if dtype else "-"
            yield (name, dtype[0] if dtype else "several", len(way), loads, each, loads_in_flight(way), doubles,
                   operations["F2F"] + operations["F2FP"], spills)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--tools", default="")
    parser.add_argument("--arch", default="sm_90")
    arguments = parser.parse_args()
    head = ("kernel", "dtype", "way", "loads", "an element", "in flight", "doubles", "casts", "spills")
    print(("{:<12} {:<8}" + " {:>10}" * 7).format(*head))
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([tool("cuobjdump", arguments.tools), "-xelf", "all", str(arguments.library.resolve())], cwd=scratch,
                       check=True, capture_output=True)
        for cubin in sorted(pathlib.Path(scratch).glob(f"*.{arguments.arch}.cubin")):
            text = subprocess.run([tool("nvdisasm", arguments.tools), "-c", str(cubin)], check=True, capture_output=True,
                                  text=True).stdout
            for row in rows(text):
                print(("{:<12} {:<8}" + " {:>10}" * 7).format(*row))


if __name__ == "__main__":
    main()
