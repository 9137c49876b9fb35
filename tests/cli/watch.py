#!/usr/bin/env python3
"""Watches runs while another process writes them: what happens is told once, and the end comes as it should.

    watch.py --tare BINARY --corpus FOLDER
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 60
WRITER = r'''
import os, pathlib, sys, time
folder, steps, collapses = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "collapses"
folder.mkdir(exist_ok=True)
log = open(folder / "train.log", "a")
print("a run that began at", time.time_ns(), file=log, flush=True)
scale = 65536.0
def iteration(number, skipped):
    log.write(f" iteration {number:8d}/ 100000 | consumed samples: {number * 8:12d} | elapsed time per iteration (ms): 100.0 | "
              f"learning rate: 1.000000E-04 | global batch size:     8 | lm loss: 2.500000E+00 | loss scale: {scale:.1f} | "
              f"grad norm: 1.000 | number of skipped iterations: {skipped:3d} | number of nan iterations:   0 |\n")
    log.flush()
for number in range(1, steps + 1):
    skipped = number > 200 if collapses else number % 100 == 50
    if skipped:
        scale /= 2
    elif number % 100 == 75:
        scale *= 2
    iteration(number, int(skipped))
    if number == steps // 2 and not collapses:
        os.rename(folder / "train.log", folder / "train.log.1")
        log.write("the old file ends after it was renamed\n"); log.flush()
        log = open(folder / "train.log", "w")
        print("the new file", time.time_ns(), file=log, flush=True)
    time.sleep(0.002)
    if collapses and scale < 2: break
'''


class Watcher:
    """The command, running; what it has told so far."""

    def __init__(self, tare, scratch, *words):
        self.told = scratch / "told.jsonl"
        self.told.unlink(missing_ok=True)
        self.errors = scratch / "errors.txt"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [tare, "watch", *map(str, words), "--json-lines", str(self.told), "--interval", "1"],
                stdout=subprocess.PIPE, stderr=errors)

    def lines(self):
        if not self.told.exists():
            return []
        return [json.loads(line) for line in self.told.read_text().splitlines(True) if line.endswith("\n")]

    def events(self, what):
        return [line for line in self.lines() if line["event"] == what]

    def wait_for(self, is_there):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and self.process.poll() is None:
            if is_there():
                return True
            time.sleep(0.05)
        return is_there()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.code()

    def code(self):
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        self.out = out.decode()
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def write_run(folder, steps, how="well"):
    return subprocess.Popen([sys.executable, "-c", WRITER, str(folder), str(steps), how])


def metrics_of(path):
    """Of a file of OpenMetrics; raises where it is none."""
    text = path.read_text()
    if not text.endswith("# EOF\n"):
        raise ValueError(f"not whole: {text[-80:]!r}")
    values, family = {}, None
    for line in text.splitlines()[:-1]:
        if line.startswith("# TYPE "):
            family = line.split()[2]
        elif not line.startswith("# HELP "):
            name, labels, value = re.fullmatch(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)+)\} (\S+)', line).groups()
            if not name.startswith(family):
                raise ValueError(f"{name} stands in the family {family}")
            values[name + ("" if labels.count("=") == 1 else "{" + labels.split(",", 1)[1] + "}")] = float(value)
    return values


def follows(tare, scratch):
    """A run that is written, rotated, and resumed from an older step."""
    folder, metrics = scratch / "run", scratch / "run.prom"
    folder.mkdir()
    with Watcher(tare, scratch, folder, "--metrics", metrics, "--fail-on", "never") as watcher:
        if not watcher.wait_for(lambda: watcher.events("begins")):
            yield f"does not begin: {watcher.errors.read_text()}"
        for start in range(2):
            writer = write_run(folder, 400)
            while writer.poll() is None:
                with contextlib.suppress(FileNotFoundError):
                    metrics_of(metrics)
                time.sleep(0.01)
            want = 400 * (start + 1)
            if not watcher.wait_for(lambda: metrics_of(metrics).get("tare_steps_total") == want):
                yield f"run {start}: {metrics_of(metrics)}"
        values = metrics_of(metrics)
        code = watcher.end()
        if code != 0:
            yield f"SIGTERM: exit {code}"
    wanted = {"tare_step": 400, "tare_overflows_total": 8, "tare_restarts_total": 1, "tare_scale": 65536}
    for name, value in wanted.items():
        if values.get(name) != value:
            yield f"{name} is {values.get(name)}, not {value}"
    if sum(line["overflows"] for line in watcher.events("scale")) not in range(1, 9):
        yield f"overflows told: {watcher.events('scale')}"
    if len(watcher.events("restart")) != 1 or not watcher.events("rotated"):
        yield f"restart, rotation: {watcher.lines()}"
    if watcher.lines()[-1]["event"] != "ends" or watcher.lines()[-1]["why"] != "signal":
        yield f"the end: {watcher.lines()[-1]}"


def fails(tare, scratch):
    """A run that goes to ruin ends the watching, exit 1; with --fail-on never it does not."""
    for polls in ((), ("--poll",)):
        folder = scratch / ("sick" + "".join(polls))
        folder.mkdir()
        with Watcher(tare, scratch, folder, *polls) as watcher:
            writer = write_run(folder, 10_000, "collapses")
            code = watcher.code()
            writer.wait()
        codes = {line["finding"]["code"] for line in watcher.events("finding")}
        if code != 1 or not any(name.startswith("collapse") for name in codes):
            yield f"{polls}: exit {code}, {codes}"
        if not re.search(r"^error: .*\[collapse", watcher.out, re.M):
            yield f"{polls}: {watcher.out[-500:]}"


def checkpoints(tare, corpus, scratch):
    """Checkpoints are told when they are whole, and not before."""
    source, folder = pathlib.Path(corpus, "deepspeed/run_folder/ckpt"), scratch / "saves"
    folder.mkdir()
    saves = sorted(path for path in source.iterdir() if path.is_dir())
    with Watcher(tare, scratch, folder, "--settle", "2", "--fail-on", "never") as watcher:
        watcher.wait_for(lambda: watcher.events("begins"))
        for save in saves:
            (folder / save.name).mkdir()
            for file in sorted(save.iterdir()):
                content = file.read_bytes()
                with open(folder / save.name / file.name, "wb") as half:
                    for part in (content[: len(content) // 2], content[len(content) // 2:]):
                        half.write(part)
                        half.flush()
                        time.sleep(0.3)
            written = time.time()
            told = lambda: [line for line in watcher.events("checkpoint") if line["path"].endswith(save.name)]
            if not watcher.wait_for(told):
                yield f"{save.name} is not told: {watcher.lines()}"
            elif time.time() - written < 1:
                yield f"{save.name} is told before it has settled"
        code = watcher.end(signal.SIGINT)
        if code:
            yield f"SIGINT: exit {code}"
    steps = [line["checkpoint"]["step"] for line in watcher.events("checkpoint")]
    if steps != sorted(steps) or len(steps) != len(saves) or None in steps:
        yield f"checkpoints told: {steps}"
    grave = [finding for finding in watcher.lines()[-1]["findings"] if finding["severity"] != "note"]
    if grave:
        yield f"findings of a run that is well: {grave}"


def reads_once(tare, scratch):
    """What was read is not read again: bytes, as the kernel counts them."""
    folder, long = scratch / "long", 40 << 20
    folder.mkdir()
    with open(folder / "train.log", "w") as log:
        log.write("nothing is told of this\n" * (long // 24))
    read = lambda: int(re.search(r"rchar: (\d+)", pathlib.Path(f"/proc/{watcher.process.pid}/io").read_text()).group(1))
    with Watcher(tare, scratch, folder, "--fail-on", "never") as watcher:
        watcher.wait_for(lambda: watcher.events("begins"))
        before = read()
        for number in range(3):
            with open(folder / "train.log", "a") as log:
                log.write(f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {65536 >> number}, "
                          f"reducing to {32768 >> number}\n")
            if not watcher.wait_for(lambda: len(watcher.events("scale")) + len(watcher.events("finding")) > number):
                yield f"line {number} is not told: {watcher.lines()}"
        more = read() - before
        peak = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{watcher.process.pid}/status").read_text()).group(1))
        watcher.end()
    if before < long or more > 2 << 20:
        yield f"{before} bytes at first, {more} for three lines"
    if peak > 128 << 10:
        yield f"{peak} KiB of memory"


def ignored_signals(tare, scratch):
    """Behind nohup, or in a shell's background, it goes on where a terminal is closed or ^C pressed."""
    folder = scratch / "background"
    folder.mkdir()
    for number in (signal.SIGHUP, signal.SIGINT):
        told = signal.signal(number, signal.SIG_IGN)
        with Watcher(tare, scratch, folder) as watcher:
            signal.signal(number, told)
            watcher.wait_for(lambda: watcher.events("begins"))
            watcher.process.send_signal(number)
            time.sleep(1.5)
            if watcher.process.poll() is not None:
                yield f"an ignored {number.name} ends the watching"
            elif watcher.end():
                yield f"SIGTERM where {number.name} is ignored: no exit 0"


def usage(tare, scratch):
    cases = {"a run that is not there": ([scratch / "none"], 3), "no run": ([], 2),
             "a server's": (["https://localhost/run"], 4), "no time": ([scratch, "--interval", "0"], 2),
             "metrics in no folder": ([scratch, "--metrics", scratch / "no/such.prom"], 3)}
    for name, (words, wanted) in cases.items():
        done = subprocess.run([tare, "watch", *map(str, words)], capture_output=True, timeout=PATIENCE_S)
        if done.returncode != wanted:
            yield f"{name}: exit {done.returncode}, {done.stderr[-300:]!r}"
    # Its own files in the run's folder are none of the run's.
    folder = scratch / "own"
    folder.mkdir()
    for _ in range(2):
        done = subprocess.run([tare, "watch", folder, "--once", "--json", "--metrics", folder / "m.prom", "--json-lines", folder / "l.jsonl"],
                              capture_output=True, timeout=PATIENCE_S)
        told = [json.loads(line)["event"] for line in done.stdout.splitlines()]
        if done.returncode or told != ["ends"]:
            yield f"its own files: exit {done.returncode}, {told}"
    folder = scratch / "fresh"
    folder.mkdir()
    (folder / "step_10.pt").write_bytes(b"nothing that is read, once it is left alone")
    done = subprocess.run([tare, "watch", folder, "--once", "--json", "--settle", "2"], capture_output=True, timeout=PATIENCE_S)
    told = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    if done.returncode or told != ["ends"]:
        yield f"looking once beside a file that has not settled: exit {done.returncode}, {told}"
    (folder / "begun.log").write_text("a first line that nobody ends")
    done = subprocess.run([tare, "watch", folder, "--once", "--json"], capture_output=True, timeout=PATIENCE_S)
    if done.returncode or json.loads(done.stdout.splitlines()[-1])["event"] != "ends":
        yield f"looking once at a file without a whole line: exit {done.returncode}, {done.stdout[-300:]!r}"


def others_files(tare, corpus, scratch):
    """Where a slip names a log, a checkpoint or what is watched, it is refused, and the file as before."""
    folder = scratch / "others"
    run = folder / "run"
    run.mkdir(parents=True)
    contents = {"log": b"loss scale: 65536.0\n", "state": pathlib.Path(corpus, "torch/scaler-file-t2.15/scaler.pt").read_bytes(),
                "metrics of others": b"# TYPE node_load1 gauge\n", "lines of others": b'{"schema":"acme.watch/1"}\n'}
    for name, content in contents.items():
        for option in "--metrics", "--json-lines":
            for words in ([option, "it", "run"], [f"{option}=", "it", "run"]):
                (folder / "it").write_bytes(content)
                done = subprocess.run([tare, "watch", "--once", *words], cwd=folder, capture_output=True, timeout=PATIENCE_S)
                if done.returncode not in (2, 4) or done.stdout or (folder / "it").read_bytes() != content:
                    yield f"{name}: {words} gives exit {done.returncode}, {done.stderr[-300:]!r}"
    (run / "train.log").touch()
    same = {"the log that is watched": (["run/train.log"], ["--metrics", "run/../run/train.log"]),
            "its lines in it": (["run/train.log"], ["--json-lines", "run/train.log"]),
            "metrics among lines": (["run"], ["--metrics", "new", "--json-lines", "new"])}
    for name, (paths, words) in same.items():
        done = subprocess.run([tare, "watch", "--once", *words, *paths], cwd=folder, capture_output=True, timeout=PATIENCE_S)
        if done.returncode != 4 or (run / "train.log").stat().st_size or (folder / "new").exists():
            yield f"{name}: exit {done.returncode}, {done.stderr[-300:]!r}"
    for option, other in ("--metrics", "--json-lines"), ("--json-lines", "--metrics"):
        (folder / "it").write_bytes(b"")
        for _ in range(2):
            done = subprocess.run([tare, "watch", "--once", option, "it", "run"], cwd=folder, capture_output=True, timeout=PATIENCE_S)
            if done.returncode:
                yield f"{option} on an empty file, and then on its own: {done.stderr[-300:]!r}"
        done = subprocess.run([tare, "watch", "--once", other, "it", "run"], cwd=folder, capture_output=True, timeout=PATIENCE_S)
        if done.returncode != 4:
            yield f"{other} on a file of {option}: exit {done.returncode}"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tare", "corpus"):
        ask.add_argument(f"--{name}", required=True)
    options = ask.parse_args()
    tare = os.path.abspath(options.tare)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        problems = [*follows(tare, scratch), *fails(tare, scratch), *checkpoints(tare, options.corpus, scratch),
                    *reads_once(tare, scratch), *ignored_signals(tare, scratch), *usage(tare, scratch), *others_files(tare, options.corpus, scratch)]
    print("\n".join(problems) or "what happens to a run is told, once, and as it happens")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
