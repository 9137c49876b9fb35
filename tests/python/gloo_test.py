"""Processes of torch.distributed (gloo) as ranks: tare's scalers, beside one that saw the gradients of all, and beside
torch's own ShardedGradScaler."""
import datetime
import math
import os
import pathlib
import random
import subprocess
import sys
import time
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no torch: not run") from None
if not hasattr(torch.amp, "GradScaler"):
    raise unittest.SkipTest(f"torch {torch.__version__} has no GradScaler for the CPU: not run")
from torch import distributed
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

import ranks as processes
import tare
import tare.torch

STEPS = 400
EXAMPLE = str(pathlib.Path(__file__).parents[2] / "capi/examples/torchrun/train.py")


def gradients_of(step, ranks):
    """Of each rank: the same for whoever asks. Squares are whole numbers, which add up exactly."""
    source = random.Random(step)
    all_values = [[float(source.randrange(-8, 9)) for _ in range(5)] for _ in range(ranks)]
    for values in all_values:
        if source.randrange(12 * ranks) == 0:
            values[source.randrange(5)] = source.choice([math.inf, math.nan])
    return all_values


def told(scaler, grads):
    """As text, in which nan is nan."""
    return repr((scaler.scale, grads.found_inf, grads.multiplier, grads.statistics().total, scaler.statistics()))


def scaler_of_all(rank, ranks):
    """A scaler with a comm beside one without, that sees everything."""
    alone, together = (tare.Scaler("torch", initial_scale=1024, growth_interval=3) for _ in range(2))
    together.set_comm(tare.Comm.of_torch())
    everything, own = torch.zeros(5 * ranks), torch.zeros(5)
    grads_alone, grads = alone.grads(everything), together.grads(own)
    out_alone, out = torch.zeros(5 * ranks), torch.zeros(5)
    for step in range(STEPS):
        values = gradients_of(step, ranks)
        everything.copy_(torch.tensor(sum(values, [])))
        own.copy_(torch.tensor(values[rank]))
        grads_alone.write(out_alone, clip_norm=0.5)
        grads.write(out, clip_norm=0.5)
        assert told(together, grads) == told(alone, grads_alone), step
        assert out.numpy(force=True).tobytes() == out_alone[5 * rank:5 * rank + 5].numpy(force=True).tobytes(), step
        alone.update()
        together.update()
    assert together.statistics().skipped > STEPS // 20


def fp8_of_all(rank, ranks):
    alone, together = (tare.Fp8("transformer_engine", slots=["x", "w"], amax_history_len=4) for _ in range(2))
    together.set_comm(tare.Comm.of_torch())
    for step in range(STEPS):
        values = [torch.tensor(of_rank) for of_rank in gradients_of(step, ranks)]
        for one in values:
            alone.observe([one, one[:2]])
        together.observe([values[rank], values[rank][:2]])
        alone.update()
        together.update()
        assert together.save().to_json() == alone.save().to_json(), step


def fp8_means(rank, ranks):
    """Of gradients that every process knows: near their mean, and the same bytes on all."""
    slots = tare.Fp8("fp8_lm", slots=2)
    slots.set_comm(tare.Comm.of_torch())
    for step in range(20):
        torch.manual_seed(step)
        given = [[torch.randn(1001), torch.randn(64).bfloat16()] for _ in range(ranks)]
        own = given[rank]
        means = [sum(of_rank[i].float() for of_rank in given) / ranks for i in range(2)]
        slots.all_reduce(own)
        slots.update()
        if step < 8:
            continue  # mu has still to halve
        for mean, got in zip(means, own):
            assert (got.float() - mean).norm() < 0.1 * mean.norm(), step
        all_bytes = [None] * ranks
        distributed.all_gather_object(all_bytes, [got.float().tolist() for got in own])
        assert all_bytes == all_bytes[:1] * ranks, step


def sharded_scaler(rank, ranks):
    """The same training with torch's class and with ours, two optimizers, of which one alone may overflow."""
    runs = []
    for kind in (ShardedGradScaler, tare.torch.ShardedGradScaler):
        scaler = kind("cpu", init_scale=1024.0, growth_interval=3)
        weights = [torch.nn.Parameter(torch.arange(5.0) + i) for i in range(2)]
        optimizers = [torch.optim.SGD([weight], lr=0.5) for weight in weights]
        seen = []
        for step in range(100):
            scaler.scale(torch.ones(1))
            for i, weight in enumerate(weights):
                weight.grad = torch.tensor(gradients_of(2 * step + i, ranks)[rank]) * scaler._scale
                scaler.step(optimizers[i])
            scaler.update()
            seen.append((scaler.get_scale(), scaler._growth_tracker.item(), [weight.tolist() for weight in weights]))
        runs.append(seen)
    assert repr(runs[0]) == repr(runs[1])
    scales = {scale for scale, _, _ in runs[0]}
    assert len(scales) > 5, scales


def a_rank_that_dies(rank, ranks):
    """The others are told, by gloo, when they next need it; then the scaler is as it was."""
    scaler = tare.Scaler("torch", initial_scale=1024)
    scaler.set_comm(tare.Comm.of_torch())
    gradients = torch.ones(5)
    scaler.unscale(gradients)
    scaler.update()
    if rank == ranks - 1:
        os._exit(0)
    before = scaler.save().to_json()
    try:
        scaler.unscale(gradients)
    except tare.BackendError as failure:
        assert isinstance(failure.__cause__, RuntimeError), failure.__cause__
        assert "all_reduce of the comm's callbacks returned 1" in str(failure), failure
    else:
        raise AssertionError("nobody missed the rank that died")
    assert scaler.save().to_json() == before
    os._exit(0)


def a_rank_that_skips(rank, ranks):
    """The others are told in the time that their group waits."""
    group = distributed.new_group(timeout=datetime.timedelta(seconds=3))
    scaler = tare.Scaler("torch", initial_scale=1024)
    scaler.set_comm(tare.Comm.of_torch(group))
    scaler.observe(torch.ones(5))
    if rank == ranks - 1:
        time.sleep(8)
        os._exit(0)
    started = time.monotonic()
    try:
        scaler.observe(torch.ones(5))
    except tare.BackendError as failure:
        assert isinstance(failure.__cause__, RuntimeError), failure.__cause__
    else:
        raise AssertionError("nobody missed the rank that skipped a call")
    assert time.monotonic() - started < 100
    os._exit(0)


def ranks_that_part(rank, _ranks):
    """Other scales, other lists: all ranks are told, and go on alike when that is mended."""
    scaler = tare.Scaler("torch", initial_scale=1024 if rank == 0 else 512)
    replicated = tare.Scaler("torch", initial_scale=512)
    slots = tare.Fp8("fp8_lm", slots=2)
    comm = tare.Comm.of_torch()
    scaler.set_comm(comm)
    replicated.set_comm(comm, "replicated")
    slots.set_comm(comm)
    for call, said in ((lambda: scaler.observe(torch.ones(5)), "not at the same scale: from 512.0 to 1024.0"),
                       (lambda: replicated.observe(torch.ones(5 + rank % 2)), "not at the same number of values: from 5 to 6"),
                       (lambda: slots.all_reduce([torch.ones(5)] * (1 if rank == 0 else 2)), "give from 1 to 2 gradients")):
        try:
            call()
        except tare.Mismatch as refused:
            assert said in str(refused), refused
        else:
            raise AssertionError("ranks that parted were not told")
    scaler.scale = 256.0
    scaler.observe(torch.full((5,), math.inf if rank == 0 else 1.0))
    assert scaler.found_inf


def a_group_that_ends(_rank, _ranks):
    scaler = tare.Scaler("torch")
    scaler.set_comm(tare.Comm.of_torch())
    for _ in range(50):
        scaler.observe(torch.ones(5))
        scaler.update()
    distributed.barrier()
    distributed.destroy_process_group()


class GlooTest(unittest.TestCase):
    def on_ranks(self, what):
        for ranks in (2, 4):
            processes.on_ranks(what, ranks)

    def test_scalers_of_two_and_four_processes_are_as_one_that_saw_all_gradients(self):
        self.on_ranks(scaler_of_all)

    def test_fp8_slots_of_two_and_four_processes_are_as_those_of_one(self):
        self.on_ranks(fp8_of_all)

    def test_gradients_in_fp8_are_near_their_mean_and_alike_on_two_and_four_processes(self):
        self.on_ranks(fp8_means)

    def test_our_sharded_scaler_is_torch_s(self):
        self.on_ranks(sharded_scaler)

    def test_a_rank_that_dies_is_told_on_the_others_and_nothing_else_is_noted(self):
        self.on_ranks(a_rank_that_dies)

    def test_a_rank_that_skips_a_call_is_told_on_the_others_in_the_group_s_time(self):
        self.on_ranks(a_rank_that_skips)

    def test_ranks_with_other_scales_or_lists_are_all_told(self):
        self.on_ranks(ranks_that_part)

    def test_a_group_can_be_destroyed_right_after_a_comm_s_last_reduction(self):
        for _ in range(8):
            processes.on_ranks(a_group_that_ends, 2)

    def test_the_example_trains_alike_on_any_number_of_processes(self):
        environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
        told = []
        for ranks in (1, 3):
            done = subprocess.run([sys.executable, "-B", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
                                   str(ranks), EXAMPLE, "100"], env=environment, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            last = done.stdout.splitlines()[-1]  # behind what gloo has to say
            self.assertRegex(last, f"^{ranks} processes: 100 steps, [1-9][0-9]* skipped, scale [0-9.e+]+, loss ")
            steps, loss = last.split(": ", 1)[1].split(", loss ")
            told.append((steps, [round(float(number), 2) for number in loss.split(" to ")]))
        self.assertEqual(told, told[:1] * 2)


if __name__ == "__main__":
    unittest.main()
