#!/usr/bin/env python3
"""Holds the verdicts of `tare doctor` against runs whose every step is known: no ill run has a healthy course, no healthy one a
warning, and what is told of overflows holds what there were.

    known_truth.py --tare TARE [--seeds N] [--only WORD]

Each world is told by each log, with its incident at several places against the edge of a report. FALSE has the verdicts that are
known to be false, and why: one that becomes right must leave the list.
"""
import argparse
import concurrent.futures
import copy
import dataclasses
import pathlib
import random
import re
import sys
import tempfile
import typing

sys.dont_write_bytecode = True
import command
import known_runs as runs
from command import Tare

command.WALL_LIMIT_S = 120  # of a busy machine

WELL, WARNING, ERROR = "note", "warning", "error"
GRAVITY = [WELL, WARNING, ERROR]
PLACES = 4  # of an incident against the edge of a report
STEPS = 2600
INCIDENT = 1600  # about there


class Log(typing.NamedTuple):
    rule: type
    write: typing.Callable
    every: int
    ending: str = "log"


LOGS = {
    **{f"megatron/{every}": Log(runs.Megatron, runs.megatron_log, every) for every in (1, 10, 50, 100)},
    **{f"deepspeed/{every}": Log(runs.DeepSpeed, runs.deepspeed_log, every) for every in (1, 10, 100)},
    "apex": Log(runs.Apex, runs.apex_log, 10**9),
    "apex/10": Log(runs.Apex, runs.apex_log, 10),
    **{f"fairseq/{every}": Log(runs.Fairseq, runs.fairseq_log, every) for every in (10, 50, 100)},
    **{f"scale/{every}": Log(runs.Torch, runs.scale_lines, every, "jsonl") for every in (1, 10, 50, 100)},
    "flag/1": Log(runs.Torch, runs.flag_lines, 1, "jsonl"),
}


class Told(typing.NamedTuple):
    """What of a run lies in its log, and what is true of it."""

    kept: list  # steps that no later start did again
    lines: list
    least: str  # the gravest finding, at least; WELL: at most
    codes: tuple = ()  # one of them must be told; none given: whichever


def lines_of(log, steps, kept=()):
    return list(log.write(steps, log.every, kept))


def run_of(log, limits, least, rule=None):
    steps = runs.ran(rule or log.rule(), limits)
    return Told(steps, lines_of(log, steps), least)


def middle_of(log):
    """Where gradients lie in a run that is well: a little above what the rule begins with, less a growth."""
    return {runs.Fairseq: 6.5}.get(log.rule, 14.5)


def place(dice, log, number):
    """The edge of a report lies at 1600; an incident begins from there on."""
    every = min(log.every, 100)
    return INCIDENT + 1 + number * every // PLACES + (dice.randrange(7) if every == 1 else 0)


# ---- the worlds: each a function of dice, the log and the number of the place


def healthy(dice, log, number):
    window = dice.choice((200, 500, 1000))
    middle = dice.uniform(5, 9) if log.rule is runs.Fairseq else dice.uniform(9, 16)
    lone = number / 20 / window
    return run_of(log, runs.noise(dice, STEPS, middle, lone), WELL, rule=log.rule(window=window))


def static(dice, log, number):
    return run_of(log, runs.noise(dice, STEPS, 20), WELL, rule=runs.Static())


def searching(dice, log, number):
    """From far too high a scale."""
    start = 2.0 ** (20 if log.rule is runs.Fairseq else 24 if log.rule is runs.Apex else 32)
    return run_of(log, runs.noise(dice, STEPS // 2, 10 + 2 * number), WELL, rule=log.rule(start))


def all_nan(dice, log, number):
    """From some step on all gradients are NaN."""
    began = place(dice, log, number)
    limits = runs.noise(dice, began + dice.choice((40, 130, 400)) + log.every % 10**9, middle_of(log))
    return run_of(log, runs.with_nan(limits, began, len(limits)), ERROR)


def nan_burst(dice, log, number):
    """Twelve steps and more in a row, and the run goes on."""
    began = place(dice, log, number)
    count = 12 + dice.randrange(3)
    limits = runs.with_nan(runs.noise(dice, began + 800, middle_of(log)), began, began + count - 1)
    return run_of(log, limits, ERROR if log.every <= 10 or log.every == 10**9 else WARNING)


def few_nan(dice, log, number):
    """Two batches in a row: every run has such."""
    began = place(dice, log, number)
    return run_of(log, runs.with_nan(runs.noise(dice, STEPS, middle_of(log)), began, began + 1), WELL)


def range_lost(dice, log, number):
    """Gradients grow until nothing is left of their range in float16."""
    began = place(dice, log, number)
    limits = runs.noise(dice, STEPS, middle_of(log))
    octaves = middle_of(log) - 1.5
    return run_of(log, runs.with_drop(limits, began, octaves, dice.choice((60, 250, 600))), WARNING)


def range_moves(dice, log, number):
    """They grow by two octaves over hundreds of steps: what dynamic scaling is for."""
    began = place(dice, log, number)
    return run_of(log, runs.with_drop(runs.noise(dice, STEPS, middle_of(log)), began, 2, 600), WELL)


def static_nan(dice, log, number):
    """A scale that does not move, and no step is made any more."""
    began = place(dice, log, number)
    limits = runs.with_nan(runs.noise(dice, began + 300, 20), began, STEPS)
    return run_of(log, limits, ERROR, rule=runs.Static())


def start_of(log, step):
    """What a log tells of a start behind that step."""
    return {runs.megatron_log: [f" loading checkpoint from run at iteration {step}"],
            runs.deepspeed_log: [f"[2026-03-01 09:00:00,123] [INFO] [torch_checkpoint_engine.py:29:load] [Torch] Loading checkpoint from "
                                 f"run/global_step{step}/mp_rank_00_model_states.pt..."],
            runs.fairseq_log: [f"2026-03-01 09:00:00 | INFO | fairseq.trainer | Loaded checkpoint run/checkpoint_last.pt (epoch 1 @ {step} "
                               "updates)"]}.get(log.write, [])


def resumed(dice, log, number, is_restored, limits):
    rule, saved_at, left_at = log.rule(), 1500, 1500 + (0, 130, 370, 700)[number]
    kept = runs.ran(rule, limits[:saved_at])
    saved = copy.deepcopy(rule) if is_restored else log.rule()
    left = runs.ran(rule, limits[:left_at], saved_at)
    again = runs.ran(saved, limits, saved_at)
    return kept + again, lines_of(log, kept + left) + start_of(log, saved_at) + lines_of(log, again, kept)


def resumed_well(dice, log, number):
    kept, lines = resumed(dice, log, number, True, runs.noise(dice, STEPS, dice.uniform(10, 12)))
    return Told(kept, lines, WELL)


def scaler_lost(dice, log, number):
    """The second start looks for its scale anew, 64 times too high and more."""
    kept, lines = resumed(dice, log, number, False, runs.noise(dice, STEPS, dice.uniform(8, 9.9)))
    return Told(kept, lines, WARNING, ("reset-on-resume",))


def left_branch(dice, log, number):
    """What collapsed is not the run's any more: it went back behind that."""
    limits = runs.noise(dice, STEPS, middle_of(log))
    rule, saved_at, left_at = log.rule(), 1500, 1800 + 17 * number
    kept = runs.ran(rule, limits[:saved_at])
    saved = copy.deepcopy(rule)
    left = runs.ran(rule, runs.with_nan(limits[:left_at], left_at - 40, left_at), saved_at)
    again = runs.ran(saved, limits, saved_at)
    return Told(kept + again, lines_of(log, kept + left) + start_of(log, saved_at) + lines_of(log, again, kept), WELL)


def tells_skips(log):
    return log.write not in (runs.scale_lines, runs.fairseq_log, runs.apex_log)


def has_numbers(log):
    return log.write is not runs.apex_log


def shows_start(log):
    """What the first steps of another start began with: skipped steps, or each step's scale."""
    return has_numbers(log) and log.rule is not runs.Fairseq and (tells_skips(log) or log.every == 1)


WORLDS = {
    healthy: None,
    static: lambda log: log.write in (runs.megatron_log, runs.flag_lines),
    searching: None,
    all_nan: None,
    nan_burst: None,
    few_nan: None,
    range_lost: None,
    range_moves: None,
    static_nan: lambda log: log.write in (runs.megatron_log, runs.flag_lines),
    resumed_well: has_numbers,
    scaler_lost: shows_start,
    left_branch: has_numbers,
}

# (world, log): the places at which its verdict is false, and why
EVERYWHERE = range(PLACES)
FLAT = "each report tells the same scale, at which some steps were skipped: it may as well be static"
COPY = "as FLAT; at one place the first report of the new start is left out as a copy of an old one"
FALSE = {
    ("scaler_lost", "megatron/10"): ([2], FLAT),
    ("scaler_lost", "megatron/50"): (EVERYWHERE, FLAT),
    ("scaler_lost", "megatron/100"): (EVERYWHERE, COPY),
}


# ---- what is wrong with an answer


def counts_of(finding):
    """(overflows, whether there may be more) of a message."""
    for least, count in re.findall(r"(at least )?(\d+) (?:overflows?\b|of them skipped)", finding["message"]):
        yield int(count), bool(least)


def wrong_of(told, log, findings):
    gravest = max((finding["severity"] for finding in findings), key=GRAVITY.index)
    grave = [f for f in findings if f["severity"] != WELL]
    if told.least == WELL and grave:
        yield f"is well, and told of: {grave[0]['code']}: {grave[0]['message']}"
    if told.least != WELL and GRAVITY.index(gravest) < GRAVITY.index(told.least):
        yield f"no {told.least}: {findings[0]['code']}: {findings[0]['message']}"
    if told.codes and not any(f["code"] in told.codes for f in findings):
        yield f"no {told.codes}: {findings[0]['code']}: {findings[0]['message']}"
    overflows = sum(step.overflows for step in told.kept)
    for finding in findings:
        for count, is_least in counts_of(finding):
            if count > overflows:
                yield f"tells of more than {overflows} overflows: {finding['message']}"
            if finding["code"] == "healthy" and not is_least and count != overflows:
                yield f"does not tell of {overflows} overflows: {finding['message']}"
    if told.least != WELL and grave and grave[0]["step"] and not told.codes and log.write is not runs.fairseq_log:
        first = grave[0]["step"]  # of a report: it ends there
        if not any(step.overflows for step in told.kept[max(first - log.every, 0):first]):
            yield f"no step up to {first} overflowed: {grave[0]['message']}"


@dataclasses.dataclass
class Case:
    world: typing.Callable
    log: str
    place: int
    seed: int

    @property
    def name(self):
        return f"{self.world.__name__} {self.log} {self.place}"

    def write(self, folder):
        log = LOGS[self.log]
        self.told = self.world(random.Random(f"{self.name} {self.seed}"), log, self.place)
        self.path = folder / f"{self.name.replace(' ', '-').replace('/', '_')}-{self.seed}.{log.ending}"
        self.path.write_text("\n".join(self.told.lines) + "\n")

    def ask(self, tare):
        answer = tare("doctor", self.path, "--json")
        told = answer.json()
        if not told:
            return [str(answer)]
        return list(wrong_of(self.told, LOGS[self.log], told["findings"]))


def cases(seeds, word):
    for seed in range(seeds):
        for world, is_told in WORLDS.items():
            for log in LOGS:
                if word in f"{world.__name__} {log}" and (is_told is None or is_told(LOGS[log])):
                    yield from (Case(world, log, place, seed) for place in range(PLACES))


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--seeds", type=int, default=1)
    ask.add_argument("--only", default="")
    ask.add_argument("--keep", type=pathlib.Path, help="write the logs there, and leave them")
    options = ask.parse_args()
    tare = Tare(options.tare)
    failed, asked = [], 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(4) as pool:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(exist_ok=True)
        for case in (each := list(cases(options.seeds, options.only))):
            case.write(folder)
        for case, wrong in zip(each, pool.map(lambda case: case.ask(tare), each)):
            asked += 1
            places, _ = FALSE.get((case.world.__name__, case.log), ((), ""))
            is_known = case.place in places or (case.seed > 0 and len(places) > 0)
            if wrong and not is_known:
                failed.append(f"{case.name} (seed {case.seed}): {wrong[0]}")
            if not wrong and is_known and case.seed == 0:
                failed.append(f"{case.name} is right now: take it out of FALSE")
    print("\n".join(failed))
    print(f"{asked} runs, {len(failed)} false verdicts that are not known")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
