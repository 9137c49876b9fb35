"""Runs the tare command and measures it. For the tests in this folder; Python's standard library alone."""
import dataclasses
import json
import os
import pathlib
import re
import resource
import subprocess
import tempfile
import threading

WALL_LIMIT_S = 20

# All that a terminal acts on, but tab and newline.
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")


@dataclasses.dataclass
class Answer:
    """What one run said and cost."""

    line: str
    code: int
    out: bytes
    err: bytes
    cpu_s: float
    peak_kib: int

    @property
    def reason(self):
        return self.err.decode(errors="replace").strip()

    def json(self):
        """The document on stdout; None where there is none, or not exactly one."""
        try:
            return json.loads(self.out)
        except ValueError:
            return None

    def raw_control(self):
        """The first control character that reached the terminal, if any."""
        found = CONTROL.search(self.out) or CONTROL.search(self.err)
        return found and found.group()

    def names_nothing(self):
        """A message that names a place by its path, and the path is empty."""
        return any("''" in line or line.startswith("tare: : ") for line in self.reason.splitlines())

    def __str__(self):
        return f"`{self.line}`: exit {self.code}: {self.reason[:300]}"


# Where tare keeps its key: not in the home of whoever runs the tests.
_state = tempfile.TemporaryDirectory()
os.environ["XDG_STATE_HOME"] = _state.name


class Tare:
    def __init__(self, binary):
        self.binary = str(pathlib.Path(binary).resolve())

    def __call__(self, *arguments, folder=None, address_bytes=None):
        """One run, without a terminal and without input; killed (exit -9) after WALL_LIMIT_S. `address_bytes`: of memory,
        it may ask for no more."""
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (address_bytes, address_bytes))
        arguments = [str(argument) for argument in arguments]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = subprocess.Popen(
                [self.binary, *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder,
                preexec_fn=limit if address_bytes else None)
            alarm = threading.Timer(WALL_LIMIT_S, child.kill)
            alarm.start()
            _, status, usage = os.wait4(child.pid, 0)
            alarm.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            answer = Answer(line=" ".join(["tare", *arguments]), code=child.returncode, out=out.read(), err=err.read(),
                            cpu_s=usage.ru_utime + usage.ru_stime, peak_kib=usage.ru_maxrss)
            if "" not in arguments and answer.names_nothing():
                raise AssertionError(f"{answer} names an empty path")
            return answer


def commands_of(tare, before=()):
    """-> the words that lead to each command, `tare` itself first, and its --help."""
    text = tare(*before, "--help").out.decode()
    yield before, text
    listed = text.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
    for name in re.findall(r"^  (\w+)", listed, re.MULTILINE):
        yield from commands_of(tare, (*before, name))
