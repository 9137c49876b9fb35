#!/usr/bin/env python3
"""Make the pictures of all cases anew, to be looked at.

    pictures.py --tare TARE --cases FOLDER [--only PATTERN] [--browser PROGRAM] [PICTURES]

Of each case FOLDER-NAME.svg, .html and .png, and index.html with all of them beside each other. With a browser (Chromium or
one like it), each page is used in it, without a screen: what stands under the pointer, the wheel, dragging, a double click;
and pictured, light and dark: FOLDER-NAME-page.png and -page-dark.png. Without
PICTURES nothing is kept. Each PNG is held against its SVG: curve, overflows and checkpoints have the colours that they should
have, where the SVG has them. Exit 1 where a picture cannot be made or differs.
"""
import argparse
import fnmatch
import html
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

import browsing

PIXELS_A_UNIT = 2
LINE, EVENT, PAPER = (0x09, 0x69, 0xDA), (0xCF, 0x22, 0x2E), (0xFF, 0xFF, 0xFF)
MARKS = {"mark": (0x8C, 0x95, 0x9F), "mark good": (0x1A, 0x7F, 0x37), "mark bad": EVENT}


def rows_of_png(content):
    """Rows of red, green, blue, red ... Raises ValueError where a checksum, a size or a filter is another than it should be."""
    if not content.startswith(b"\x89PNG\r\n\x1a\n"):
        raise ValueError("no PNG")
    at, chunks = 8, []
    while at < len(content):
        size, = struct.unpack_from(">I", content, at)
        body = content[at + 4:at + 8 + size]
        if struct.unpack_from(">I", content, at + 8 + size)[0] != zlib.crc32(body):
            raise ValueError(f"the checksum of {body[:4]}")
        chunks.append((body[:4], body[4:]))
        at += 12 + size
    if [name for name, _ in chunks] != [b"IHDR", b"IDAT", b"IEND"]:
        raise ValueError(f"chunks {[name for name, _ in chunks]}")
    width, height, *form = struct.unpack(">IIBBBBB", chunks[0][1])
    if form != [8, 2, 0, 0, 0]:
        raise ValueError(f"form {form}")
    plain = zlib.decompress(chunks[1][1])
    if len(plain) != height * (1 + 3 * width):
        raise ValueError(f"{len(plain)} bytes of {width} x {height}")
    above, rows = bytes(3 * width), []
    for y in range(height):
        row = plain[y * (1 + 3 * width):(y + 1) * (1 + 3 * width)]
        if row[0] != 2:
            raise ValueError(f"filter {row[0]}")
        if any(row[1:]):
            above = bytes((a + b) & 0xFF for a, b in zip(row[1:], above))
        rows.append(above)
    return rows


def differences(svg, rows):
    """Places where the SVG has a mark, a tick or a corner of the curve, and the pixels have another colour."""
    def pixel(x, y):
        at = 3 * int(x * PIXELS_A_UNIT)
        return tuple(rows[int(y * PIXELS_A_UNIT)][at:at + 3])

    marks = [(kind, float(x), float(y)) for kind, x, y in
             re.findall(r'<circle class="([a-z ]+)" cx="([\d.]+)" cy="([\d.]+)"', svg)]
    plot_x, plot_y = map(float, re.search(r'class="plot" x="([\d.]+)" y="([\d.]+)"', svg).groups())
    if pixel(1, 1) != PAPER:
        yield f"the corner is {pixel(1, 1)}"
    for number, (kind, x, y) in enumerate(marks):
        is_hidden = any(abs(x - other) < 10 and abs(y - lower) < 10 for _, other, lower in marks[number + 1:])
        if not is_hidden and pixel(x, y) != MARKS[kind]:
            yield f"{kind} at {x}, {y}: {pixel(x, y)}"
    corners, (x, y) = [], (0, 0)
    for letter, first, second in re.findall(r"([MHV])([-\d.]+)(?: ([-\d.]+))?", svg.split('class="curve" d="')[1].split('"')[0]):
        x = float(first) if letter in "MH" else x
        y = float(second) if letter == "M" else float(first) if letter == "V" else y
        corners.append((plot_x + x, plot_y + y))
    ticks = [(plot_x + float(x), plot_y + float(y) - 6) for x, y in
             re.findall(r"M([\d.]+) ([\d.]+)v-9", svg.split('class="event" d="')[1].split('"')[0])]

    def is_bare(x, y):
        return all(abs(x - other) > 8 or abs(y - height) > 8 for _, other, height in marks)

    bare = [(place, LINE) for place in corners if is_bare(*place)]
    bare += [(place, EVENT) for place in ticks if is_bare(*place) and all(abs(place[0] - x) > 3 or abs(place[1] - y) > 9 for x, y in corners)]
    for (x, y), colour in bare:
        if pixel(x, y) != colour:
            yield f"{x}, {y}: {pixel(x, y)}, should be {colour}"


def shown(browser, page, picture, words=()):
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1240,620",
                           *words, f"--screenshot={picture}", page.as_uri()], capture_output=True, timeout=120)
    return [] if done.returncode == 0 and picture.exists() else [f"{page}: {browser} exits {done.returncode}"]


def name_of(case, options):
    return str(case.relative_to(options.cases)).replace("/", "-")


def pictures_of(case, options, folder):
    truth = json.loads((case / "truth.json").read_text())
    name = name_of(case, options)
    base = folder / name
    words = [word for kind in ("svg", "html", "png") for word in (f"--{kind}", f"{base}.{kind}")]
    done = subprocess.run([options.tare, "timeline", case / truth["target"], "--force", *words], capture_output=True)
    told = {value for record in truth["records"] for column, value in zip(truth["columns"], record) if column in ("scale", "after")}
    if done.returncode:
        return name, [f"{name}: exit {done.returncode}, {done.stderr[-200:]}"] if told - {None} else []
    try:
        rows = rows_of_png(pathlib.Path(f"{base}.png").read_bytes())
    except ValueError as problem:
        return name, [f"{name}.png: {problem}"]
    problems = [f"{name}.png: {problem}" for problem in differences(pathlib.Path(f"{base}.svg").read_text(), rows)]
    if options.browser:
        page = pathlib.Path(f"{base}.html").resolve()
        problems += browsing.problems_of(options.browser, page)
        problems += shown(options.browser, page, folder / f"{name}-page.png")
        problems += shown(options.browser, page, folder / f"{name}-page-dark.png", ["--blink-settings=preferredColorScheme=0"])
    return name, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tare", required=True)
    parser.add_argument("--cases", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="*", help="of the cases' names, as shells match them")
    parser.add_argument("--browser", help="some seconds a page")
    parser.add_argument("pictures", nargs="?", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.pictures or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        cases = [truth.parent for truth in sorted(options.cases.rglob("truth.json"))]
        made = [pictures_of(case, options, folder) for case in cases if fnmatch.fnmatch(name_of(case, options), options.only)]
        drawn = [name for name, _ in made if (folder / f"{name}.png").exists()]
        (folder / "index.html").write_text("<!doctype html>\n" + "\n".join(
            f"<h2>{html.escape(name)}</h2>\n<img src=\"{html.escape(name)}.png\" width=\"49%\"> "
            f"<img src=\"{html.escape(name)}.svg\" width=\"49%\">" for name in drawn))
    problems = [problem for _, some in made for problem in some]
    print("\n".join(problems) or f"{len(drawn)} pictures, and each PNG has what its SVG has")
    return 1 if problems or not drawn else 0


if __name__ == "__main__":
    sys.exit(main())
