#!/usr/bin/env python3
"""Installs tare, and tries to have it open or run what is not its own: modules and a tare-remote that are planted where
the user stands, and ones in the installation that are of another release or that somebody else can write. Each leaves a
mark when it runs. And finds that tare's own are found, however the command or the library was reached.

    modules.py --build FOLDER --source REPOSITORY --corpus FOLDER
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from corpus import Short, require

FAILED = 3
MODULES = ["libtare_hdf5.so", "libtare_cuda.so", "libtare_mpi.so", "libtare_nccl.so"]
# From where the user stands: all places that a search from the current folder could reach.
REACHED = [".", "tare", "lib", "lib/tare", "libexec/tare", "..", "../tare", "../lib", "../lib/tare", "../libexec/tare",
           "../../lib"]
ANYBODY = 12345

PLANTED = """
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void leave_mark(void) { close(open(MARK, O_CREAT | O_WRONLY, 0600)); }
int main(void) { return 0; }
"""
STATE_BY_LIBRARY = """
import os, sys
sys.path.insert(0, sys.argv[1])
import tare
os.chdir(sys.argv[2])
tare.open_library(sys.argv[3])
os.chdir(sys.argv[4])
tare.Scaler('{"policy":"torch"}').save().write(sys.argv[5])
"""


class Installation:
    """tare in a prefix of its own, a folder where somebody planted things, and a user who stands there."""

    def __init__(self, options, scratch):
        self.scratch, self.source = pathlib.Path(scratch).resolve(), pathlib.Path(options.source).resolve()
        self.prefix, self.mark = self.scratch / "prefix", self.scratch / "mark"
        subprocess.run(["cmake", "--install", options.build, "--prefix", self.prefix], check=True,
                       stdout=subprocess.DEVNULL)
        self.checkpoint = pathlib.Path(options.corpus, "transformers/run_collapse/run/checkpoint-1500/scaler.pt").resolve()
        said = subprocess.run([self.prefix / "bin/tare", "--version"], capture_output=True, text=True, check=True).stdout
        self.release = said.split()[1]
        self.folder = self.scratch / "downloaded/run/step"
        self.plant()
        self.states = 0

    def compiled(self, name, release, *flags):
        """Code that leaves a mark, as a file of tare's: with a note of `release`, or none."""
        made, planted = self.scratch / name, self.scratch / "planted.c"
        planted.write_text(PLANTED)
        note = [] if release is None else [f'-DTARE_RELEASE="{release}"', f"-I{self.source}",
                                           str(self.source / "lib/base/release_note/note.c")]
        subprocess.run(["cc", f'-DMARK="{self.mark}"', *note, str(planted), *flags, "-o", str(made)], check=True)
        return made

    def plant(self):
        """What is planted could not be told from tare's own, but for its place."""
        module = self.compiled("module", self.release, "-shared", "-fPIC")
        program = self.compiled("program", self.release, "-fPIE", "-pie")
        for place in REACHED:
            where = self.folder / place
            where.mkdir(parents=True, exist_ok=True)
            for name in MODULES:
                shutil.copy(module, where / name)
            shutil.copy(program, where / "tare-remote")

    def fresh(self):
        self.states += 1
        return self.scratch / f"state{self.states}.h5"

    def run(self, command, *arguments, folder=None, **how):
        return subprocess.run([command, *map(str, arguments)], cwd=folder or self.folder, capture_output=True, text=True,
                              **how)

    def require_unmarked(self):
        require(not self.mark.exists(), "what was planted ran")

    def require_state(self, command, folder=None, **how):
        """The command writes a state in HDF5, for which it needs tare-remote and a module."""
        state = self.fresh()
        done = self.run(command, "inspect", self.checkpoint, "--save", state, folder=folder, **how)
        require(done.returncode == 0 and state.read_bytes()[:4] == b"\x89HDF", command, done)
        self.require_unmarked()

    def require_refused(self, said, *arguments):
        """The command fails, says why, and has run nothing but tare."""
        done = self.run(self.prefix / "bin/tare", *arguments)
        self.require_unmarked()
        require(done.returncode == FAILED and said in done.stderr, done, "does not say:", said)

    def own(self, name):
        return next(self.prefix.rglob(name))


def found_by_path(here):
    """by PATH, from a folder with planted modules of all names"""
    here.require_state("tare", env=os.environ | {"PATH": f"{here.prefix}/bin:{os.environ['PATH']}"})


def found_by_link(here):
    """by a link that lies among planted modules, and by a link to that"""
    first, second = here.folder / "tare-link", here.scratch / "tare"
    first.symlink_to(here.prefix / "bin/tare")
    second.symlink_to(first)
    here.require_state(first)
    here.require_state(second)


def found_by_relative_path(here):
    """by a relative path, and as ./tare"""
    here.require_state(os.path.relpath(here.prefix / "bin/tare", here.folder))
    here.require_state("./tare", folder=here.prefix / "bin")


def found_by_wrong_name(here):
    """under an argv[0] that says where the planted modules lie"""
    for name in ("tare", "./tare", f"{here.folder}/tare", ""):
        state = here.fresh()
        done = subprocess.run([name, "inspect", here.checkpoint, "--save", state], executable=here.prefix / "bin/tare",
                              cwd=here.folder, capture_output=True, text=True)
        require(done.returncode == 0 and state.exists(), repr(name), done)
        here.require_unmarked()


def found_beside_moved_prefix(here):
    """after the prefix was moved and something else put into its place"""
    moved = here.scratch / "moved"
    here.prefix.rename(moved)
    shutil.copytree(here.folder / "lib", here.prefix / "lib")
    shutil.copytree(here.folder / "libexec", here.prefix / "libexec")
    here.prefix = moved
    here.require_state(moved / "bin/tare")


def library_after_chdir(here):
    """libtare opened by a relative name, in an odd folder, and the current folder changed since"""
    odd = here.scratch / "an odd\n(deleted) prefix"
    here.prefix.rename(odd)
    here.prefix = odd
    library = here.own("libtare.so")
    state = here.fresh()
    done = here.run(sys.executable, "-c", STATE_BY_LIBRARY, here.source / "capi/examples", library.parent, "./libtare.so",
                    here.folder, state)
    require(done.returncode == 0 and state.exists(), done)
    here.require_unmarked()


def library_in_planted_folder(here):
    """libtare without modules, opened by a link from a folder that has some"""
    bare = here.scratch / "bare"
    bare.mkdir()
    shutil.copy(here.own("libtare.so").resolve(), bare / "libtare.so")
    (here.folder / "libtare.so").symlink_to(bare / "libtare.so")
    done = here.run(sys.executable, "-c", STATE_BY_LIBRARY, here.source / "capi/examples", here.folder, "./libtare.so",
                    here.folder, here.fresh())
    require(done.returncode != 0 and f"there is no {bare}/libtare_hdf5.so" in done.stderr, done)
    here.require_unmarked()


def nothing_installed(here):
    """without modules of its own: none is taken from elsewhere"""
    here.own("libtare_hdf5.so").unlink()
    here.require_refused("libtare_hdf5.so cannot be opened: there is no", "inspect", here.checkpoint, "--save", here.fresh())
    here.own("tare-remote").unlink()
    here.require_refused("tare-remote, which writes states in HDF5, cannot be run: there is no", "inspect", here.checkpoint, "--save", here.fresh())
    here.require_refused("tare-remote, which reads URLs, cannot be run: there is no", "inspect", "http://127.0.0.1:9/x.pt")


def other_release(here):
    """a module and a tare-remote of another release, or of nobody's: known before they run"""
    state = ("inspect", here.checkpoint, "--save", here.fresh())
    url = ("inspect", "http://127.0.0.1:9/x.pt")
    for release, said in ((here.release + ".1", f"is of release {here.release}.1 of tare"), (None, "is no file of tare's")):
        module = here.compiled("other.so", release, "-shared", "-fPIC")
        shutil.copy(module, here.own("libtare_hdf5.so"))
        here.require_refused(said, *state)
    for release, said in ((here.release + ".1", f"is of release {here.release}.1 of tare"), (None, "is no file of tare's")):
        shutil.copy(here.compiled("other", release, "-fPIE", "-pie"), here.own("tare-remote"))
        here.require_refused(said, *url)
    here.own("tare-remote").write_text(f"#!/bin/sh\n: > {here.mark}\n")
    here.require_refused("is no file of tare's", *url)
    here.own("libtare_hdf5.so").write_bytes(b"\x7fELF")
    here.require_refused("tare-remote, which reads URLs", *url)


def writable_by_others(here):
    """a module and a tare-remote that others can write, or whose folder they can"""
    module, program = here.own("libtare_hdf5.so"), here.own("tare-remote")
    asked = {module: ("inspect", here.checkpoint, "--save", here.fresh()), program: ("inspect", "http://127.0.0.1:9/x.pt")}
    planted = {module: here.folder / module.name, program: here.folder / program.name}
    for file, arguments in asked.items():
        kept = file.read_bytes()
        shutil.copy(planted[file], file)
        for place in (file, file.parent):
            mode = place.stat().st_mode
            place.chmod(mode | 0o002)
            here.require_refused(f"{place} can be written by everybody (chmod go-w {place})", *arguments)
            place.chmod(mode)
            if os.geteuid() != 0:
                continue  # giving files away is root's
            os.chown(place, -1, ANYBODY)
            place.chmod(mode | 0o020)
            here.require_refused(f"{place} can be written by group {ANYBODY} (chmod g-w {place})", *arguments)
            place.chmod(mode)
            os.chown(place, ANYBODY, 0)
            here.require_refused(f"{place} belongs to user {ANYBODY}", *arguments)
            os.chown(place, 0, 0)
        file.write_bytes(kept)
    here.require_state(here.prefix / "bin/tare")


def owned_as_tare_is(here):
    """all of tare in a third person's hands, as an administrator of a cluster installs it"""
    if os.geteuid() != 0:
        return
    for path in (here.prefix, *here.prefix.rglob("*")):
        os.chown(path, ANYBODY, ANYBODY, follow_symlinks=False)
    here.require_state(here.prefix / "bin/tare")


def linked_by_somebody_else(here):
    """a tare that runs as its owner, root, hard-linked into a folder of whoever runs it"""
    if os.geteuid() != 0:
        return
    tare, theirs = here.prefix / "bin/tare", here.scratch / "theirs"
    here.scratch.chmod(0o755)
    theirs.mkdir()
    os.link(tare, theirs / "tare")
    tare.chmod(0o4755)
    shutil.copy(here.folder / "tare-remote", theirs)
    for path in (theirs, theirs / "tare-remote"):
        os.chown(path, ANYBODY, ANYBODY)
    done = here.run(theirs / "tare", "inspect", "http://127.0.0.1:9/x.pt", folder="/", user=ANYBODY)
    require(done.returncode == FAILED and f"belongs to user {ANYBODY}" in done.stderr, done)
    here.require_unmarked()


def without_proc(here):
    """where /proc is not mounted: said, and nothing is looked for by another way"""
    def bare(*arguments):
        return here.run("unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh", *arguments)
    if bare("true").returncode != 0:
        print("not run: /proc cannot be unmounted here")
        return
    for command in (here.prefix / "bin/tare", here.own("tare-remote")):
        done = bare(command, "inspect", here.checkpoint, "--save", here.fresh())
        require(done.returncode == FAILED, command, done)
        here.require_unmarked()
    require("is /proc mounted?" in done.stderr, done)
    done = bare(here.prefix / "bin/tare", "inspect", "http://127.0.0.1:9/x.pt")
    require(done.returncode == FAILED and "is /proc mounted?" in done.stderr, done)
    here.require_unmarked()


CASES = [found_by_path, found_by_link, found_by_relative_path, found_by_wrong_name, found_beside_moved_prefix,
         library_after_chdir, library_in_planted_folder, nothing_installed, other_release, writable_by_others,
         owned_as_tare_is, linked_by_somebody_else, without_proc]


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--build", required=True)
    ask.add_argument("--source", required=True)
    ask.add_argument("--corpus", required=True)
    options, failed = ask.parse_args(), 0
    for case in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                case(Installation(options, scratch))
            except Short as why:
                failed += 1
                print(f"falls short: {case.__doc__}: {why}")
    print(f"{len(CASES)} ways to tare's own files, {failed} fall short")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
