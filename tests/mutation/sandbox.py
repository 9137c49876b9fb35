"""One mutant, built and tested where it can hurt nobody: the first process of its own PID, mount and network namespaces.

A mutant of a program that edits files may delete any. Here all file systems but a tmpfs are read-only, and the tree is an
overlay on it: the tree that others see is not written, and what was written goes with the namespace. /proc, /dev and /sys stay
as they are, and it is root who runs there: it keeps accidents in, not attacks. Reads a job from standard
input and answers on standard output, both JSON:

    {"tree", "scratch", "file", "text", "stages": [{"targets": [...], "tests": [{"name", "command", ...}]}]}
    {"status": "killed" | "survived" | "equivalent" | "unbuildable", "by", "how", "said", "seconds": {test: seconds}}
"""
import hashlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

BUILD = "build/mutation"
MEMORY_OF_A_TEST = 6 << 30  # with all its children
TMPFS = "size=9g"  # what a mutant can write; sparse files may be longer
SECONDS_TO_BUILD = 600
# What a mutant may be warned of is no reason that it should not build.
QUIET = """array-bounds bool-compare bool-operation address comment conversion dangling-else div-by-zero duplicated-cond empty-body
float-conversion implicit-fallthrough infinite-recursion int-in-bool-context logical-not-parentheses maybe-uninitialized
misleading-indentation nonnull overflow parentheses restrict return-type shadow shift-count-overflow sign-compare
sign-conversion stringop-overflow stringop-overread stringop-truncation switch type-limits uninitialized
unused-but-set-variable unused-const-variable unused-function unused-local-typedefs unused-parameter unused-value
unused-variable""".split()


def shell(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def writable(scratch):
    """Where something is mounted that can be written, beside `scratch` and what the kernel makes."""
    mounts = (line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())
    return [at for _, _, _, _, at, options, *_ in mounts
            if "rw" in options.split(",") and at != str(scratch) and not at.startswith(("/proc", "/dev", "/sys"))]


def shut(tree, scratch):
    """Files are read-only but in `scratch`; the tree is an overlay there, and HOME and TMPDIR, too."""
    assert os.getpid() == 1, "not the first process of a PID namespace"
    shell("mount", "--make-rprivate", "/")
    shell("mount", "-t", "tmpfs", "-o", TMPFS, "tmpfs", str(scratch))
    for at in writable(scratch):
        subprocess.run(["mount", "-o", "remount,bind,ro", at], stderr=subprocess.DEVNULL)
    left = writable(scratch)
    assert not left, f"can still be written: {left}"
    for part in ("upper", "work", "home", "tmp"):
        (scratch / part).mkdir()
    shell("mount", "-t", "overlay", "overlay", "-o", f"xino=on,lowerdir={tree},upperdir={scratch}/upper,workdir={scratch}/work", str(tree))
    subprocess.run(["ip", "link", "set", "lo", "up"])
    os.environ.update(HOME=str(scratch / "home"), TMPDIR=str(scratch / "tmp"), CCACHE_DISABLE="1")
    os.chdir(tree / BUILD)


def memory():
    pages = 0
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            pages += int((process / "statm").read_text().split()[1])
        except (OSError, IndexError):
            pass  # it has ended
    return pages * resource.getpagesize()


def limited():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, limit_s, cwd=None, environment=None):
    """(exit code, 'timeout' or 'memory'; the end of what it said)."""
    with open(pathlib.Path(os.environ["HOME"], "said"), "w+b") as said:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, cwd=cwd,
                                 env={**os.environ, **(environment or {})}, start_new_session=True, preexec_fn=limited)
        until, code = time.monotonic() + limit_s, None
        while code is None:
            try:
                code = child.wait(0.25)
            except subprocess.TimeoutExpired:
                code = "timeout" if time.monotonic() > until else "memory" if memory() > MEMORY_OF_A_TEST else None
        if isinstance(code, str):
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        said.seek(max(0, said.seek(0, os.SEEK_END) - 2000))
        return code, said.read().decode(errors="replace")


def ninja(*targets):
    return run(["ninja", "-j", os.environ.get("MUTATION_JOBS", "1"), *targets], SECONDS_TO_BUILD)


def object_of(path):
    """The object file that is made of a source, if it is one of its own (a header has none)."""
    for entry in json.loads(pathlib.Path("compile_commands.json").read_text()):
        if entry["file"] == str(path):
            return re.search(r" -o (\S+)", entry["command"]).group(1)
    return None


def write(path, text):
    ignored = "".join(f'#pragma GCC diagnostic ignored "-W{warning}"\n' for warning in ["pragmas", *QUIET])
    path.write_text(f'{ignored}#line 1 "{path}"\n{text}')


def digest(file):
    return hashlib.sha256(pathlib.Path(file).read_bytes()).digest()


def built(path, text):
    """None, or the answer that a mutant gets which needs no test."""
    made = object_of(path)
    before = digest(made) if made else None
    write(path, text)
    if made:
        code, said = ninja(made)
        if code != 0:
            return {"status": "unbuildable", "said": said}
        if digest(made) == before:
            return {"status": "equivalent", "how": "the compiler makes the same of it"}
    return None


def failure(test):
    """None if it passes (or cannot be run here), or (how, said)."""
    how, said = run(test["command"], test["limit_s"], test["cwd"], test["environment"])
    return None if how == 0 or how == test["skip"] else (how, said)


def tested(stages):
    seconds = {}
    for stage in stages:
        if stage["targets"]:
            code, said = ninja(*stage["targets"])
            if code != 0:
                return {"status": "unbuildable", "said": said, "seconds": seconds}
        for test in stage["tests"]:
            start = time.monotonic()
            failed = failure(test)
            if failed and failed[0] != "timeout":  # once more: chance is no witness
                failed = failure(test)
            if failed:
                return {"status": "killed", "by": test["name"], "how": failed[0], "said": failed[1], "seconds": seconds}
            seconds[test["name"]] = round(time.monotonic() - start, 2)
    return {"status": "survived", "seconds": seconds}


def main():
    job = json.load(sys.stdin)
    answers, sys.stdout = sys.stdout, sys.stderr
    tree = pathlib.Path(job["tree"])
    shut(tree, pathlib.Path(job["scratch"]))
    answer = job.get("file") and built(tree / job["file"], job["text"])
    json.dump(answer or tested(job["stages"]), answers)


if __name__ == "__main__":
    main()
