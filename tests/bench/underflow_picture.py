#!/usr/bin/env python3
"""Draws what underflow.py --csv wrote as an SVG: the share of the gradients that became zero, the scale, and the step at
which the monitor first warned.

    underflow_picture.py RUNS.csv PICTURE.svg [--warned 410]
"""
import argparse
import collections
import csv
import math

WIDTH, LEFT, RIGHT = 820, 66, 190
PANELS = (40, 260), (310, 450)  # from, to
NAMES = {("fp16", False): ("float16, healthy", "#2a78b8"), ("fp16", True): ("float16, hard batches", "#c8402a"),
         ("layerwise", True): ("a scale for each layer", "#3a8f4a"), ("bf16", True): ("bfloat16", "#8a6cc0")}
STYLE = """text{font:12px sans-serif;fill:#222}.axis{stroke:#999;stroke-width:1}.grid{stroke:#ddd;stroke-width:1}
.hard{fill:#c8402a;opacity:.12}.warned{stroke:#c8402a;stroke-dasharray:4 3}.curve{fill:none;stroke-width:1.8}
@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}svg{background:#1a1a1a}}"""


def read(path):
    """-> {(kind, is hard): [(step, scale, share)]}"""
    runs = collections.defaultdict(list)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            share = float(row["lost"]) if row["lost"] else None
            runs[row["kind"], int(row["hard"]) > 0].append((int(row["step"]), float(row["scale"]), share))
    return runs


class Panel:
    """Steps to the right, decades or octaves upwards."""

    def __init__(self, place, steps, low, high):
        self.top, self.bottom = place
        self.steps, self.low, self.high = steps, low, high

    def x(self, step):
        return LEFT + (WIDTH - LEFT - RIGHT) * step / self.steps

    def y(self, value):
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.bottom - (self.bottom - self.top) * share

    def grid(self, values, label):
        for value in values:
            y = self.y(value)
            yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label(value)}</text>'

    def curve(self, points, colour):
        path = " ".join(f"{self.x(step):.1f},{self.y(value):.1f}" for step, value in points)
        return f'<polyline class="curve" stroke="{colour}" points="{path}"/>'


def picture(runs, hard, warned):
    steps = max(step for points in runs.values() for step, _, _ in points)
    shares = Panel(PANELS[0], steps, -5, 0)
    scales = Panel(PANELS[1], steps, 0, 18)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 490"><style>{STYLE}</style>'
    for panel in (shares, scales):
        left, right = panel.x(hard[0]), panel.x(hard[1])
        yield (f'<rect class="hard" x="{left:.1f}" width="{right - left:.1f}" y="{panel.top}" '
               f'height="{panel.bottom - panel.top}"/>')
    yield from shares.grid(range(-5, 1), lambda value: f"{100 * 10.0 ** value:g} %")
    yield from scales.grid(range(0, 19, 6), lambda value: f"2^{value}")
    if warned is not None:
        x = shares.x(warned)
        yield f'<line class="warned" x1="{x:.1f}" x2="{x:.1f}" y1="{shares.top}" y2="{scales.bottom}"/>'
        yield f'<text x="{x + 5:.1f}" y="{shares.top + 14}">warned at step {warned}</text>'
    for i, (run, (name, colour)) in enumerate(NAMES.items()):
        told = [(step, math.log10(max(share, 1e-5))) for step, _, share in runs[run] if share is not None]
        yield shares.curve(told, colour)
        if run[0] == "fp16":
            yield scales.curve([(step, math.log2(scale)) for step, scale, _ in runs[run]], colour)
        y = shares.top + 20 + 22 * i
        yield f'<line class="curve" stroke="{colour}" x1="{WIDTH - RIGHT + 12}" x2="{WIDTH - RIGHT + 36}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{WIDTH - RIGHT + 42}" y="{y + 4}">{name}</text>'
    yield f'<text x="{LEFT}" y="{shares.top - 14}">gradients that became zero (below 0.001 %: at the bottom)</text>'
    yield f'<text x="{LEFT}" y="{scales.top - 14}">loss scale</text>'
    for step in range(0, steps + 1, 100):
        yield f'<text x="{scales.x(step):.1f}" y="{scales.bottom + 18}" text-anchor="middle">{step}</text>'
    yield f'<text x="{WIDTH - RIGHT + 12}" y="{scales.bottom + 18}">step</text></svg>'


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("runs")
    options.add_argument("picture")
    options.add_argument("--warned", type=int)
    options.add_argument("--hard", type=int, nargs=2, default=(300, 330))
    given = options.parse_args()
    with open(given.picture, "w") as file:
        file.write("\n".join(picture(read(given.runs), given.hard, given.warned)) + "\n")


if __name__ == "__main__":
    main()
