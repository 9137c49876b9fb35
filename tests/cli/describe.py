#!/usr/bin/env python3
"""Completes command lines in the shells themselves, and formats every manual page: both say all that --help says.

    describe.py --tare TARE --capi FOLDER
"""
import argparse
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import tempfile

from command import Tare, commands_of
from corpus import require

WRONG_USAGE = 2
#: What is typed, and what has to be among the answers; without a file's names, which the shell knows itself.
LINES = {"tare ed": {"edit"}, "tare fp8 re": {"reset", "recompute", "rename", "resize", "reencode", "regroup"},
         "tare doctor --fail-on ": {"error", "warning", "never"}, "tare --color a": {"auto", "always"},
         "tare edit a.pt growth_t": {"growth_tracker="}, "tare get a.pt hyst": {"hysteresis", "hysteresis_tracker"},
         "tare completion ": {"bash", "zsh", "fish"}, "tare fp8 strip a.pt --rem": {"--remove"},
         "tare --vers": {"--version"}, "tare manual ed": {"edit"}, "tare help ed": {"edit"}, "tare help fp8 rec": {"recompute"},
         "tare manual fp8 re": {"reset", "recompute", "rename", "resize", "reencode", "regroup"}, "tare manual --h": {"--help"},
         "tare --color always ed": {"edit"}, "tare diff a.pt watch --": {"--json"}, "tare get --at model a.pt hyst": {"hysteresis"},
         "tare -": {"-V", "-h"}}
#: What has to stay away: the options of a verb that a path is called like, a key where the file is still to come, commands
#: that those in front do not have.
ASTRAY = {"tare diff a.pt watch --": {"--settle", "--metrics"}, "tare manual fp8 ": {"edit", "inspect", "fp8"},
          "tare manual edit ": {"edit", "inspect"}}
#: As bash breaks words at = and :, which other shells do not.
BROKEN = {"tare --color = a": {"auto", "always"}, "tare doctor --fail-on =": {"error", "warning", "never"},
          "tare get --at = model a.pt hyst": {"hysteresis"}, "tare get s3 : //b/a.pt hyst": {"hysteresis"}}
BROKEN_ASTRAY = {"tare get --at = model s": {"scale"}, "tare get --at model s": {"scale"}, "tare get s3 : //b/s": {"scale"},
                 "tare edit a.pt scale =": {"window="}, "tare edit a.pt scale = w": {"window="}}
#: With one answer each, which a tab therefore writes.
ALONE = {"tare ed": {"edit"}, "tare fp8 rec": {"recompute"}, "tare doctor --fail-on w": {"warning"}, "tare --color=al": {"--color=always"},
         "tare edit a.pt growth_t": {"growth_tracker="}, "tare fp8 strip a.pt --rem": {"--remove"}, "tare -v inspect --js": {"--json"},
         "tare manual ed": {"edit"}, "tare manual fp8 rec": {"recompute"}, "tare help ed": {"edit"}, "tare help fp8 rec": {"recompute"}, "tare --vers": {"--version"}}
#: Printed by the shell, and not what is typed.
DONE = "print it-is-'done'\n"
FIRST_WORD = re.compile(r"^  ((?:-\w,)?--[\w-]+|-\w)", re.MULTILINE)


class Bash:
    def __init__(self, script):
        self.script = script

    def __call__(self, line):
        words = line.split(" ")
        lines = [f"set -u; source {self.script}; compopt() {{ :; }}",
                 "COMP_WORDS=(" + " ".join(f"'{word}'" for word in words) + f"); COMP_CWORD={len(words) - 1}",
                 "_tare; printf '%s\\n' \"${COMPREPLY[@]-}\""]
        return run(["bash", "--norc", "-c", "\n".join(lines)]).split()


class Fish:
    def __init__(self, script):
        self.script = script

    def __call__(self, line):
        return [row.split("\t")[0] for row in run(["fish", "--no-config", "-c", f"source {self.script}; complete -C '{line}'"]).splitlines()]


class Zsh:
    """An interactive one at a terminal: what a tab makes of the line. Of several answers it shows none."""

    def __init__(self, script):
        self.script = script

    def __call__(self, line, typed_next=""):
        shell, terminal = pty.fork()
        if shell == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "PS1": "", "COLUMNS": "500"})
        try:
            self.say(terminal, f"autoload -Uz compinit; compinit -u -D; source {self.script}\n" + DONE)
            self.until_done(terminal)
            self.say(terminal, f"{line}\t{typed_next}\x01print -r -- '<\x05>'\n" + DONE)
            return re.findall(r"<([^<>]*)>", self.until_done(terminal))[-1].split()
        finally:
            os.close(terminal)
            os.waitpid(shell, 0)

    @staticmethod
    def say(terminal, words):
        os.write(terminal, words.encode())

    @staticmethod
    def until_done(terminal):
        seen = b""
        while b"it-is-done" not in seen:
            require(select.select([terminal], [], [], 30)[0], "zsh does not answer:", seen)
            seen += os.read(terminal, 4096)
        return seen.decode()


def run(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, env={**os.environ, "TERM": "dumb"}, timeout=60)
    require(not done.stderr.strip(), arguments[0], done.stderr)
    return done.stdout


def options_in(text):
    return {name for names in FIRST_WORD.findall(text) for name in names.split(",") if name.startswith("--")}


def has(program):
    return any((pathlib.Path(folder) / program).exists() for folder in os.environ["PATH"].split(":"))


def formatted(page):
    """As man shows it; as it is where there is no groff."""
    if not has("groff"):
        return page.decode().replace("\\-", "-")
    done = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-c", "-rLL=300n"], input=page, capture_output=True)
    require(not done.stderr, "groff:", done.stderr.decode())
    return re.sub(rb".\x08", b"", done.stdout).decode()


def check_page_of_library(capi, scratch):
    subprocess.run([sys.executable, capi / "manual.py", capi / "include/tare", scratch / "tare.3"], check=True)
    shown = formatted((scratch / "tare.3").read_bytes())
    headers = "".join(header.read_text() for header in (capi / "include/tare").glob("*.h"))
    declared = re.findall(r"^TARE_API [^;(]*?\b(tare_\w+)\(", headers, re.MULTILINE)
    missing = [name for name in declared if f"{name}(" not in shown]
    require(len(declared) > 100 and not missing, "tare(3) lacks", missing)


def check_completion(tare, scratch, shell, complete_by, lines):
    script = scratch / shell
    script.write_bytes(tare("completion", shell).out)
    run([shell, "-n", str(script)])
    complete = complete_by(script)
    for line, wanted in lines.items():
        found = set(complete(line))
        require(wanted <= found, f"{shell}: '{line}' gives", sorted(found))
    return complete


def check_form(page, source):
    """What another formatter finds, but for its taste; and signs of a command line that are printed as typographic ones."""
    if has("mandoc"):
        told = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=source, capture_output=True).stdout.decode()
        wrong = [line for line in told.splitlines() if "missing date" not in line]
        require(not wrong, f"the page of '{page}':", wrong)
    require(not re.search(rb"['^~`]", source), f"the page of '{page}' has signs that are printed as others")


def check_absent(shell, complete, lines):
    for line, unwanted in lines.items():
        found = set(complete(line))
        require(not unwanted & found, f"{shell}: '{line}' gives", sorted(found))


def check_blank_behind(complete):
    """What a value follows stands at the line's end: the next letter is the value's."""
    for line, wanted in {"tare edit a.pt growth_tr": "growth_tracker=7", "tare edit a.pt growth_interval=5 growth_tr": "growth_tracker=7"}.items():
        require(wanted in complete(line, "7"), "zsh sets a blank behind", line)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--capi", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare = Tare(options.tare)
    verbs = dict(commands_of(tare))
    require(len(verbs) > 20 and ("fp8", "regroup") in verbs, sorted(verbs))
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        tried = []
        for shell, complete_by in ("bash", Bash), ("fish", Fish):
            if not has(shell):
                continue
            complete = check_completion(tare, scratch, shell, complete_by, LINES)
            check_absent(shell, complete, ASTRAY)
            if shell == "bash":
                check_completion(tare, scratch, shell, complete_by, BROKEN)
                check_absent(shell, complete, BROKEN_ASTRAY)
            for led, text in verbs.items():
                missing = options_in(text) - set(complete(" ".join(["tare", *led, "--"])))
                require(not missing, shell, "does not complete of", led, missing)
            tried.append(shell)
        if has("zsh"):
            check_blank_behind(check_completion(tare, scratch, "zsh", Zsh, ALONE))
            tried.append("zsh")
        pages = [led[0] if led else "" for led in verbs if len(led) < 2]
        for page in pages:
            source = tare("manual", *([page] if page else [])).out
            check_form(page, source)
            shown = formatted(source)
            for led, helped in verbs.items():
                if led[:1] == ((page,) if page else ()) and (page or not led):
                    missing = {name for name in options_in(helped) if name not in shown}
                    require(not missing, f"the page of '{page}' lacks", missing)
        for led, helped in verbs.items():
            shown = formatted(tare("manual", *led).out)
            missing = {name for name in options_in(helped) if name not in shown} - {"--help", "--version"}
            require(not missing and "SYNOPSIS" in shown, "the page of", led, "lacks", missing)
        check_page_of_library(options.capi, scratch)
        for words in (["edti"], ["fp8", "stirp"], ["edit", "strip"]):
            require(tare("manual", *words).code == WRONG_USAGE, "a page of no command:", words)
    print(f"{len(verbs)} commands are completed by {', '.join(tried)}; {len(pages)} manual pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
