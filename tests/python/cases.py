"""What the tests of the package share: copies of real checkpoints, and the command to compare with."""
import atexit
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

CORPUS = pathlib.Path(os.environ["TARE_CORPUS"])
COMMAND = os.environ["TARE"]

HOME = tempfile.mkdtemp(prefix="tare-python-")  # a key of the tests' own, for package and command alike
os.environ["XDG_STATE_HOME"] = HOME
atexit.register(shutil.rmtree, HOME, ignore_errors=True)


class Case:
    """A copy of one case of the test data: `target` is what users name."""

    def __init__(self, name, folder=None):
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(dir=HOME))
        shutil.copytree(CORPUS / name, self.folder, dirs_exist_ok=True)
        self.truth = json.loads((self.folder / "truth.json").read_text())
        self.target = self.folder / self.truth["target"]

    def contents(self):
        return {p.relative_to(self.folder): p.read_bytes() for p in sorted(self.folder.rglob("*"))
                if p.is_file() and ".tare" not in p.parts}

    def again(self):
        """The same once more, at the same path: what is told of it is the same."""
        shutil.rmtree(self.folder)
        return Case(self.name_in_corpus, self.folder)


def copy_of(name):
    case = Case(name)
    case.name_in_corpus = name
    return case


def command(*words):
    """Exit code and stdout of the command."""
    ran = subprocess.run([COMMAND, *map(os.fsencode, map(str, words))], capture_output=True, stdin=subprocess.DEVNULL)
    return ran.returncode, ran.stdout.decode()
