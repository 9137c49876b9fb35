#!/usr/bin/env python3
"""Makes a site of the documents: pages of HTML that link to each other and to nothing of others.

    site.py --tare BINARY FOLDER      into FOLDER, which is made; what is there is overwritten

Of the Markdown that is in the tree, of `tare manual` for each command, of the C ABI's headers, and of the JSON Schemas. A link
that leads nowhere makes the exit code 1. Needs cmark-gfm and mandoc, which tools/packages.sh check installs.
"""
import argparse
import html
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
#: Pages of Markdown, in the order of the menu: their title, their source. A page is named after its title.
DOCUMENTS = {
    "tare": "README.md",
    "Cookbook": "tools/docs/cookbook.md",
    "What was tried": "tools/docs/matrix.md",
    "Python": "capi/python/README.md",
    "Frameworks": "lib/dialect/README.md",
    "Formats": "lib/container/README.md",
    "Logs": "lib/trace/README.md",
    "Rules": "lib/health/README.md",
    "States and HDF5": "lib/codec/README.md",
    "Journals": "lib/transaction/README.md",
    "Security": "SECURITY.md",
    "Contributing": "CONTRIBUTING.md",
    "Changes": "CHANGELOG.md",
}
STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:0 auto;padding:0 1rem;color:#1f2328}
nav{border-bottom:1px solid #d0d7de;padding:.6rem 0;line-height:2}nav a{margin-right:1rem;white-space:nowrap}
a{color:#0969da;text-decoration:none}a:hover{text-decoration:underline}
pre{background:#f6f8fa;padding:.8rem;overflow-x:auto;font-size:13px}code{font-size:.9em}
table{border-collapse:collapse;display:block;overflow-x:auto}td,th{border:1px solid #d0d7de;padding:.2rem .6rem;vertical-align:top}
table.head,table.foot{display:none}"""
LINK = re.compile(r'(<a\b[^>]*?\bhref=")([^"]*)(")')
NAMED = re.compile(r"<code>([\w./-]+\.md)</code>")  # how documents speak of each other


def name_of(title):
    return "index.html" if title == "tare" else re.sub(r"\W+", "-", title.lower()) + ".html"


def ran(arguments, text=None):
    return subprocess.run(arguments, input=text, capture_output=True, text=True, check=True).stdout


def of_markdown(path):
    return ran(["cmark-gfm", "-e", "table", "-e", "autolink", str(SOURCE / path)])


def of_manual(page):
    return ran(["mandoc", "-T", "html", "-O", "fragment"], page)


def commands_of(tare):
    """The names in `tare --help`, below "Subcommands:"."""
    listed = ran([tare, "--help"]).split("Subcommands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\w+)", listed, re.MULTILINE)


def reference():
    """tare(3), of the headers."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "tare.3"
        ran([sys.executable, str(SOURCE / "capi/manual.py"), str(SOURCE / "capi/include/tare"), str(page)])
        return of_manual(page.read_text())


def listed(links):
    return "<ul>" + "".join(f'<li><a href="{name}">{html.escape(title)}</a></li>' for title, name in links) + "</ul>"


def linked(body, source, pages):
    """A link to a document that has a page leads to it; one to another file of the tree is its name alone."""
    def one(found):
        before, target, behind = found.groups()
        path, _, fragment = target.partition("#")
        if "://" in target or not path or path in pages.values():
            return found.group()
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if inside in pages:
            return f"{before}{pages[inside]}{'#' + fragment if fragment else ''}{behind}"
        if not (SOURCE / inside).exists():
            sys.exit(f"{source}: the link '{target}' leads nowhere")
        return f'<a title="{html.escape(inside)}{behind}'
    linked_names = NAMED.sub(lambda found: f'<a href="{pages[found[1]]}">{found[0]}</a>' if found[1] in pages else found[0], body)
    return LINK.sub(one, linked_names)


def written(folder, menu, title, body):
    links = "".join(f'<a href="{name_of(one)}">{html.escape(one)}</a>' for one in menu)
    head = f"<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><title>{html.escape(title)}</title><style>{STYLE}</style>\n"
    (folder / name_of(title)).write_text(f"{head}<nav>{links}</nav>\n<main>\n{body}</main>\n")


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("folder", type=pathlib.Path)
    options = ask.parse_args()
    for program in ("cmark-gfm", "mandoc"):
        if shutil.which(program) is None:
            sys.exit(f"site: {program} is not there: tools/packages.sh check installs it")
    options.folder.mkdir(parents=True, exist_ok=True)
    commands = commands_of(options.tare)
    schemas = sorted((SOURCE / "lib/report/schemas").glob("*.json"))
    menu = [*DOCUMENTS, "Commands", "C reference", "Schemas"]
    pages = {source: name_of(title) for title, source in DOCUMENTS.items()}
    for title, source in DOCUMENTS.items():
        written(options.folder, menu, title, linked(of_markdown(source), source, pages))
    for command in commands:
        written(options.folder, menu, f"tare {command}", of_manual(ran([options.tare, "manual", command])))
    own = of_manual(ran([options.tare, "manual"]))
    written(options.folder, menu, "Commands", listed((f"tare {one}", name_of(f"tare {one}")) for one in commands) + own)
    written(options.folder, menu, "C reference", reference())
    for schema in schemas:
        shutil.copyfile(schema, options.folder / schema.name)
    written(options.folder, menu, "Schemas", "<h1>JSON Schemas</h1>" + listed((one.stem, one.name) for one in schemas))
    print(f"{len(DOCUMENTS) + len(commands) + 3} pages, {len(schemas)} schemas: {options.folder}/index.html")


if __name__ == "__main__":
    main()
