"""Who reduces found-inf over whom: DeepSpeed's ZeRO, apex.transformer and Megatron's distributed optimizer as they do it, by
groups of torch.distributed, beside one comm of tare's. Four processes: two halves of a model, two copies of each."""
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no torch: not run") from None
if not hasattr(torch.amp, "GradScaler"):
    raise unittest.SkipTest(f"torch {torch.__version__} has no GradScaler for the CPU: not run")
from torch import distributed

import ranks as processes
import tare
import tare.torch

RANKS, HALVES, STEPS = 4, 2, 200
START = 2.0**23  # too large at first


def groups_of(rank):
    """Of the halves that make this rank's model, and of the copies of its half."""
    models = [distributed.new_group(list(range(first, first + HALVES))) for first in range(0, RANKS, HALVES)]
    copies = [distributed.new_group(list(range(half, RANKS, HALVES))) for half in range(HALVES)]
    return models[rank // HALVES], copies[rank % HALVES]


def gradients_of(step, rank, scale):
    """In float16, which the larger scales are too much for; now and then a rank has an infinity of its own."""
    source = torch.Generator().manual_seed(1000 * step + rank)
    values = torch.randn(64, generator=source) * 2.0**-4
    if torch.rand(1, generator=source) < 0.02:
        values[step % 64] = torch.inf
    return (values * scale).half().float()


def overflow_of(values, *groups):
    found = torch.zeros(1)
    found[0] = float(not values.isfinite().all())
    for group in groups:
        distributed.all_reduce(found, op=distributed.ReduceOp.MAX, group=group)
    return found.item() > 0


class DeepSpeeds:
    """Its DynamicLossScaler (deepspeed/runtime/fp16/loss_scaler.py), in few words."""

    def __init__(self, window, delay):
        self.scale, self.iteration, self.last_overflow = START, 0, -1
        self.window, self.delay, self.hysteresis = window, delay, delay

    def update(self, overflow):
        if overflow:
            if self.hysteresis == 1:
                self.scale = max(self.scale / 2, 1)
            else:
                self.hysteresis -= 1
            self.last_overflow = self.iteration
        else:
            stable = self.iteration - self.last_overflow - 1
            if stable > 0 and stable % self.window == 0:
                self.hysteresis = self.delay
                self.scale *= 2
        self.iteration += 1


def zero(rank, ranks):
    """A rank has the part of its half's averaged gradients that it keeps the optimizer's state of: its overflow is MAX over
    those that have the others, then over the other half's (DeepSpeedZeroOptimizer.has_overflow)."""
    model, copies = groups_of(rank)
    theirs = DeepSpeeds(window=7, delay=2)
    ours = tare.Scaler("deepspeed", initial_scale=START, scale_window=7, delayed_shift=2)
    ours.set_comm(tare.Comm.of_torch())
    skipped = 0
    for step in range(STEPS):
        whole = gradients_of(step, rank, theirs.scale)
        distributed.all_reduce(whole, group=copies)
        part = (whole / 2).chunk(2)[rank // HALVES].contiguous()
        theirs.update(overflow_of(part, copies, model))
        ours.observe(part)
        skipped += ours.found_inf
        ours.update()
        assert ours.scale == theirs.scale, (step, ours.scale, theirs.scale)
    assert 10 < skipped < STEPS - 10, skipped


class Apexs(torch.amp.GradScaler):
    """apex/transformer/amp/grad_scaler.py, in few words: the model-parallel group's MAX, before a step and an update."""

    def __init__(self, group, **options):
        super().__init__("cpu", **options)
        self.group = group

    def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
        for found in optimizer_state["found_inf_per_device"].values():
            distributed.all_reduce(found, op=distributed.ReduceOp.MAX, group=self.group)
        return super()._maybe_opt_step(optimizer, optimizer_state, *args, **kwargs)


def model_parallel(rank, ranks):
    """Halves of a model, of which one alone may overflow: both skip. Copies differ, as nothing averages them here."""
    model, _ = groups_of(rank)
    options = {"init_scale": START, "growth_interval": 5}
    runs = []
    for scaler in (Apexs(model, **options), tare.torch.ShardedGradScaler("cpu", process_group=model, **options)):
        weight = torch.nn.Parameter(torch.zeros(64))
        optimizer = torch.optim.SGD([weight], lr=0.1)
        seen = []
        for step in range(STEPS):
            scaler.scale(torch.ones(1))
            weight.grad = gradients_of(step, rank, scaler.get_scale())
            scaler.step(optimizer)
            scaler.update()
            seen.append((scaler.get_scale(), scaler._growth_tracker.item(), weight.tolist()))
        runs.append(seen)
    assert runs[0] == runs[1]
    assert len({scale for scale, _, _ in runs[0]}) > 3
    alone = tare.Scaler("torch", initial_scale=START, growth_interval=5)
    alone.set_comm(tare.Comm.of_torch(model))
    for step in range(STEPS):
        alone.observe(gradients_of(step, rank, alone.scale))
        alone.update()
        assert (alone.scale, alone.memory("_growth_tracker").value) == runs[0][step][:2], step


def distributed_optimizer(rank, ranks):
    """Megatron's: every rank looks at the shard of gradients that its optimizer steps, and found-inf is MAX over all ranks
    that have a shard (MixedPrecisionOptimizer: grad_stats_parallel_group), which are those of both groups."""
    ours = tare.Scaler("megatron", initial_scale=START, growth_interval=5, hysteresis=1, min_scale=1.0)
    ours.set_comm(tare.Comm.of_torch())
    scale, growth, skipped = START, 0, 0
    for step in range(STEPS):
        shard = gradients_of(step, rank, scale)
        found = overflow_of(shard, None)
        growth = 0 if found else growth + 1
        if found:
            scale = max(scale * 0.5, 1.0)
        elif growth == 5:
            scale, growth = scale * 2.0, 0
        grads = ours.grads([shard])
        grads.unscale()
        assert bool(grads.found_inf) == found, step
        ours.update()
        assert ours.scale == scale, (step, ours.scale, scale)
        skipped += found
    assert 10 < skipped < STEPS - 10, skipped


class ReducingGroupsTest(unittest.TestCase):
    def test_deepspeed_s_zero_steps_as_a_comm_of_both_its_groups(self):
        processes.on_ranks(zero, RANKS)

    def test_apex_transformer_trains_as_a_comm_of_its_model_parallel_group(self):
        processes.on_ranks(model_parallel, RANKS)

    def test_megatron_s_distributed_optimizer_steps_as_a_comm_of_all_that_have_shards(self):
        processes.on_ranks(distributed_optimizer, RANKS)


if __name__ == "__main__":
    unittest.main()
