"""Runs whose every step is known: loss scalers by five frameworks' rules, gradients that overflow where a world has it, and
the logs that are written of them. Python's standard library alone.

A world is a list: of each step the logarithm of the greatest scale that its gradients stand. NOTHING stands NaN.
"""
import dataclasses
import json
import math

NOTHING = -math.inf


@dataclasses.dataclass
class Torch:
    scale: float = 2.0**16
    window: int = 2000
    clean: int = 0

    def update(self, overflows):
        if overflows:
            self.scale, self.clean = self.scale / 2, 0
        else:
            self.clean += 1
            if self.clean == self.window:
                self.scale, self.clean = self.scale * 2, 0


@dataclasses.dataclass
class Apex(Torch):
    most: float = 2.0**24

    def update(self, overflows):
        super().update(overflows)
        self.scale = min(self.scale, self.most)


@dataclasses.dataclass
class Megatron:
    scale: float = 2.0**16
    window: int = 1000
    hysteresis: int = 2
    least: float = 1.0
    clean: int = 0
    left: int = 2

    def update(self, overflows):
        if overflows:
            self.clean, self.left = 0, self.left - 1
            if self.left <= 0:
                self.scale = max(self.scale / 2, self.least)
        else:
            self.clean += 1
            if self.clean == self.window:
                self.clean, self.left, self.scale = 0, self.hysteresis, self.scale * 2


@dataclasses.dataclass
class DeepSpeed:
    scale: float = 2.0**16
    window: int = 1000
    hysteresis: int = 2
    least: float = 1.0
    left: int = 2
    done: int = 0
    overflowed: int = -1

    def update(self, overflows):
        if overflows:
            if self.left == 1:
                if self.scale == self.least:
                    raise FloatingPointError("Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.")
                self.scale = max(self.scale / 2, self.least)
            else:
                self.left -= 1
            self.overflowed = self.done
        elif (self.done - self.overflowed) % self.window == 0:
            self.left, self.scale = self.hysteresis, self.scale * 2
        self.done += 1


@dataclasses.dataclass
class Fairseq:
    scale: float = 128.0
    window: int = 2048
    least: float = 1e-4
    done: int = 0
    overflowed: int = -1

    def update(self, overflows):
        if overflows:
            self.overflowed = self.done
            if self.scale / 2 <= self.least:
                raise FloatingPointError("Minimum loss scale reached (0.0001). Your loss is probably exploding.")
            self.scale /= 2
        elif (self.done - self.overflowed) % self.window == 0:
            self.scale *= 2
        self.done += 1


@dataclasses.dataclass
class Static:
    scale: float = 4096.0

    def update(self, overflows):
        pass


# ---- worlds


def noise(random, steps, middle, lone=0.0):
    """Gradients that wander slowly; `lone`: the share of single batches that no scale near stands."""
    limits, at = [], middle
    for _ in range(steps):
        at += 0.02 * (middle - at) + random.gauss(0, 0.003)
        limits.append(at - 5 if random.random() < lone else at)
    return limits


def with_nan(limits, first, last):
    """Steps `first` to `last`, counted from 1, have NaN."""
    return [NOTHING if first <= step <= last else limit for step, limit in enumerate(limits, 1)]


def with_drop(limits, first, octaves, steps):
    """From step `first` on gradients grow by so many octaves, over so many steps."""
    return [limit - octaves * min(max(step - first, 0) / steps, 1) for step, limit in enumerate(limits, 1)]


# ---- what happens


@dataclasses.dataclass
class Step:
    number: int
    before: float
    overflows: bool
    after: float
    left: int = 0
    died: str = ""


def ran(rule, limits, behind=0):
    """The steps of a run behind step `behind`; it ends where the rule raises. Leaves the rule as the last step did."""
    steps = []
    for number, limit in enumerate(limits[behind:], behind + 1):
        before, left, died = rule.scale, getattr(rule, "left", 1), ""
        overflows = math.log2(before) > limit if before > 0 else limit == NOTHING
        try:
            rule.update(overflows)
        except FloatingPointError as error:
            died = str(error)
        steps.append(Step(number, before, overflows, rule.scale, left, died))
        if died:
            break
    return steps


# ---- logs: each line stands for the steps since the one before; `kept`: steps of an earlier start that this one goes on from


def megatron_log(steps, every, kept=()):
    skipped = 0
    for step in steps:
        skipped += step.overflows
        if step.number % every == 0:
            yield (f" iteration {step.number:8d}/  100000 | consumed samples: {step.number * 64:12d} | elapsed time per iteration (ms): "
                   f"125.0 | learning rate: 6.000000E-05 | global batch size:    64 | lm loss: 3.000000E+00 | loss scale: {step.after:.1f} | "
                   f"grad norm: 1.250 | number of skipped iterations: {skipped:3d} | number of nan iterations:   0 |")
            skipped = 0


def deepspeed_log(steps, every, kept=()):
    skipped = sum(step.overflows for step in kept)
    for step in steps:
        if step.died:
            yield f"Traceback (most recent call last):\nException: {step.died}"
            return
        if step.overflows:
            what = (f"reducing to {int(step.after)}" if step.left == 1
                    else f"but hysteresis is {step.left}. Reducing hysteresis to {step.left - 1}")
            yield (f"[2026-03-01 09:00:00,123] [INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
                   f"Attempted loss scale: {int(step.before)}, {what}")
        skipped += step.overflows
        if step.number % every == 0:
            yield (f"[2026-03-01 09:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step={step.number}, skipped={skipped}, "
                   f"lr=[6e-05], mom=[[0.9, 0.95]]")


def apex_log(steps, every, kept=()):
    """Of losses, between which the overflows stand."""
    for step in steps:
        if step.overflows:
            yield f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {step.after}"
        if step.number % every == 0:
            yield f"Epoch 0 step {step.number}: loss 3.0000"


def fairseq_log(steps, every, kept=()):
    """By updates: a skipped step is none."""
    updates = sum(not step.overflows for step in kept)
    for step in steps:
        when = "2026-03-01 09:00:00 | INFO | "
        if step.died:
            yield f"Traceback (most recent call last):\nFloatingPointError: {step.died}"
            return
        if step.overflows:
            yield (f"{when}fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: "
                   f"{float(step.after)}")
        else:
            updates += 1
            if updates % every == 0:
                yield (f"{when}train_inner | epoch 001: {step.number:6d} / 9000 loss=3.000, ppl=100.1, wps=1000, ups=2, wpb=500, bsz=32, "
                       f"num_updates={updates}, lr=0.0005, gnorm=1, loss_scale={round(step.after, 4):g}, train_wall=10, wall=100")


def scale_lines(steps, every, kept=()):
    for step in steps:
        if step.number % every == 0:
            yield json.dumps({"step": step.number, "loss": 3.0, "loss_scale": step.after})


def flag_lines(steps, every, kept=()):
    for step in steps:
        if step.number % every == 0:
            yield json.dumps({"step": step.number, "loss": 3.0, "loss_scale": step.after, "skipped": step.overflows})
