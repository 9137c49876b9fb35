#!/usr/bin/env python3
"""Makes the manual page of the C ABI, tare(3), out of its headers: each section with its comments and declarations.

    manual.py FOLDER_OF_HEADERS PAGE
"""
import pathlib
import re
import sys

SECTION = re.compile(r"^/\* -{4} (.+?) -{4,} \*/$")
COMMENT = re.compile(r"^/\*.*?\*/$", re.DOTALL | re.MULTILINE)
#: What a reader of the page has no use for.
SCAFFOLD = re.compile(r"^(#(ifndef|ifdef|if|else|endif|elif|include)\b.*|#define TARE_(API|\w+_H)\b.*|extern \"C\" \{|\})$")


def plain(text):
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"), flags=re.MULTILINE)


def words_of(comment):
    """A comment without its marks; a paragraph where it has an empty line."""
    lines = [re.sub(r"^ ?\* ?", "", line) for line in comment.removeprefix("/*").removesuffix("*/").strip().split("\n")]
    return "\n".join(".PP" if not line.strip() else plain(line.rstrip()) for line in lines)


def unindented(comment):
    """Whether it is running text, which may be filled, and not a table or an example."""
    return not re.search(r"^ \*   ", comment, re.MULTILINE)


def parts(text):
    """-> (comment, code) in turns, of one section."""
    at = 0
    for found in COMMENT.finditer(text):
        yield None, text[at:found.start()]
        yield found.group(), None
        at = found.end()
    yield None, text[at:]


def block(comment, code):
    if comment:
        text = words_of(comment)
        return f".PP\n{text}\n" if unindented(comment) else f".PP\n.nf\n{text}\n.fi\n"
    lines = [line for line in code.split("\n") if not SCAFFOLD.match(line)]
    shown = "\n".join(lines).replace("TARE_API ", "").strip("\n")
    return f".PP\n.nf\n\\fB{plain(shown)}\\fR\n.fi\n" if shown.strip() else ""


def sections(text):
    """-> (name, text); what stands before the first has none."""
    name, lines = "", []
    for line in text.split("\n"):
        found = SECTION.match(line)
        if found:
            yield name, "\n".join(lines)
            name, lines = found.group(1), []
        else:
            lines.append(line)
    yield name, "\n".join(lines)


def page(headers):
    text = ['.TH TARE 3 "" "" "tare"', ".SH NAME", "tare \\- loss scalers, their state, and the checkpoints that hold it",
            ".SH SYNOPSIS", ".B #include <tare/tare.h>", ".PP", "Link with \\-ltare.", ".SH DESCRIPTION"]
    for header in headers:
        for name, body in sections(header.read_text()):
            if name:
                text.append(f".SH {plain(name.upper())}")
            text += [block(comment, code).rstrip("\n") for comment, code in parts(body)]
    return re.sub(r"\n{2,}", "\n", "\n".join(text + [".SH SEE ALSO", "\\fBtare\\fR(1)", ""]))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    first = folder / "tare.h"
    headers = [first, *sorted(header for header in folder.glob("*.h") if header != first)]
    pathlib.Path(sys.argv[2]).write_text(page(headers))


if __name__ == "__main__":
    main()
