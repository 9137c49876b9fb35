"""The tare command beside the library, as a binding has it. For the tests of tare's own states in this folder."""
import argparse
import contextlib
import importlib
import pathlib
import sys
import tempfile

from command import Tare


@contextlib.contextmanager
def command_and_library(about):
    """From a test's own arguments: the binding, whose library is open; the command; the corpus; and a folder that goes when
    the test ends. `about`: the test's docstring."""
    ask = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in "--tare", "--library", "--bindings":
        ask.add_argument(option, required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    sys.path.insert(0, options.bindings)
    sys.dont_write_bytecode = True
    binding = importlib.import_module("tare")
    binding.open_library(options.library)
    with tempfile.TemporaryDirectory() as scratch:
        yield binding, Tare(options.tare), options.corpus, pathlib.Path(scratch)
