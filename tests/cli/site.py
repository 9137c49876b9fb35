#!/usr/bin/env python3
"""The site of the documents: every link leads somewhere, every option and every function has its place, and made twice it is
the same.

    site.py --tare TARE --source FOLDER
"""
import argparse
import html
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from command import Tare
from corpus import require

WITHOUT_TOOLS = 77


def made(tare, source, folder):
    subprocess.run([sys.executable, "-B", str(source / "tools/docs/site.py"), "--tare", tare.binary, str(folder)], check=True,
                   stdout=subprocess.DEVNULL)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def shown(page):
    """A page's words, without its marks."""
    return html.unescape(re.sub(r"<[^>]*>", "", page.decode()))


def check_links(pages):
    for name, page in pages.items():
        if not name.endswith(".html"):
            continue
        links = re.findall(r'href="([^"]*)"', page.decode())
        require(len(links) > 15, name, "has no menu")
        for link in links:
            path, _, fragment = link.partition("#")
            if "://" in link:
                continue
            require(not path or path in pages, name, "leads to", path)
            place = pages[path or name].decode()
            require(not fragment or f'id="{fragment}"' in place, name, "leads to", link)


def check_commands(tare, pages):
    listed = re.findall(r'href="tare-(\w+)\.html"', pages["commands.html"].decode())
    require({"inspect", "edit", "undo", "doctor", "watch", "fp8"} <= set(listed), listed)
    for command in listed:
        words = shown(pages[f"tare-{command}.html"]).replace("\u2010", "-").replace("\u2212", "-")
        options = re.findall(r"^  (?:-\w,)?(--[a-z][a-z-]*)", tare(command, "--help").out.decode(), re.MULTILINE)
        missing = [option for option in options if option not in words and option != "--help"]
        require(options and not missing, f"tare-{command}.html lacks", missing)


def check_reference(source, pages):
    headers = "".join(header.read_text() for header in (source / "capi/include/tare").glob("*.h"))
    declared = re.findall(r"^TARE_API [^;(]*?\b(tare_\w+)\(", headers, re.MULTILINE)
    words = shown(pages["c-reference.html"])
    missing = [name for name in declared if f"{name}(" not in words]
    require(len(declared) > 100 and not missing, "c-reference.html lacks", missing)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--source", required=True, type=pathlib.Path)
    options = ask.parse_args()
    if shutil.which("cmark-gfm") is None or shutil.which("mandoc") is None:
        print("not run: cmark-gfm or mandoc is not there")
        return WITHOUT_TOOLS
    tare = Tare(options.tare)
    with tempfile.TemporaryDirectory() as scratch:
        pages = made(tare, options.source, pathlib.Path(scratch) / "one")
        require(pages == made(tare, options.source, pathlib.Path(scratch) / "two"), "made twice they differ")
    require("schemas.html" in pages and "tare.inspect-1.json" in pages, sorted(pages))
    require("cookbook.html" in pages["index.html"].decode().split("<main>")[1], "the README's words lead to no cookbook")
    check_links(pages)
    check_commands(tare, pages)
    check_reference(options.source, pages)
    print(f"{len(pages)} files hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
