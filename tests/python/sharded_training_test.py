"""Training by processes of torch.distributed on the CPU: DDP, FSDP2 and Megatron's groups, with tare's scalers beside those
that these have."""
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no torch: not run") from None
if not hasattr(torch.amp, "GradScaler"):
    raise unittest.SkipTest(f"torch {torch.__version__} has no GradScaler for the CPU: not run")
from torch import distributed
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from torch.nn.parallel import DistributedDataParallel

try:
    from torch.distributed.fsdp import fully_shard
except ImportError:
    fully_shard = None

import ranks as processes
import tare
import tare.torch

STEPS = 40
OPTIONS = {"init_scale": 2.0**22, "growth_interval": 5}  # too large at first, for float16, and again after some growth


def model_of():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 8))


def sharded(model):
    for layer in (model[0], model[2]):
        fully_shard(layer)
    return fully_shard(model)


def loss_of(model, step, rank):
    """Float16 inside, so that gradients overflow where the scale is too large for them."""
    source = torch.Generator().manual_seed(1000 * step + rank)
    inputs = torch.randn(8, 16, generator=source)
    with torch.autocast("cpu", dtype=torch.float16):
        outputs = model(inputs)
    return torch.nn.functional.mse_loss(outputs.float(), torch.sin(3 * inputs[:, :8]))


def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def weights_of(model):
    return [local(parameter.detach()).tolist() for parameter in model.parameters()]


def trained(model, scaler, rank):
    """The scaler after each step, and what the weights came to. The norm is clipped at every other step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    seen = []
    for step in range(STEPS):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, step, rank)).backward()
        if step % 2 == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.2)
        scaler.step(optimizer)
        scaler.update()
        seen.append((scaler.get_scale(), scaler._growth_tracker.item()))
    return seen, weights_of(model)


def require_alike(runs):
    assert len({scale for scale, _ in runs[0][0]}) >= 4, runs[0][0]
    for run in runs[1:]:
        assert run == runs[0], (run[0], runs[0][0])


def ddp(rank, _ranks):
    kinds = (torch.amp.GradScaler, tare.torch.GradScaler, ShardedGradScaler, tare.torch.ShardedGradScaler)
    require_alike([trained(DistributedDataParallel(model_of()), kind("cpu", **OPTIONS), rank) for kind in kinds])


def fsdp(rank, _ranks):
    kinds = (ShardedGradScaler, tare.torch.ShardedGradScaler, torch.amp.GradScaler, tare.torch.GradScaler)
    require_alike([trained(sharded(model_of()), kind("cpu", **OPTIONS), rank) for kind in kinds])


def shards_by_a_comm(rank, _ranks):
    """Each rank gives its shards to a scaler of the library; found-inf and the norm are the whole model's."""
    expected, weights = trained(sharded(model_of()), ShardedGradScaler("cpu", **OPTIONS), rank)
    model = sharded(model_of())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = tare.Scaler("torch", initial_scale=OPTIONS["init_scale"], growth_interval=OPTIONS["growth_interval"])
    scaler.set_comm(tare.Comm.of_torch())
    seen = []
    for step in range(STEPS):
        optimizer.zero_grad()
        (loss_of(model, step, rank) * scaler.scale).backward()
        shards = [local(parameter.grad) for parameter in model.parameters()]
        grads = scaler.grads(shards)
        grads.write(shards, clip_norm=0.2 if step % 2 == 0 else None)
        if not grads.found_inf:
            optimizer.step()
        scaler.update()
        seen.append((scaler.scale, scaler.memory("_growth_tracker").value))
    assert seen == expected, (seen, expected)
    for ours, theirs in zip(weights_of(model), weights):  # norms are added up in double here, and rounded to float there
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), rtol=0, atol=1e-3)


class Megatrons:
    """Its DynamicGradScaler (megatron/core/optimizer/grad_scaler.py), in few words."""

    def __init__(self):
        self.scale, self.growth, self.hysteresis = 2.0**22, 0, 2

    def update(self, found_inf):
        if found_inf:
            self.growth, self.hysteresis = 0, self.hysteresis - 1
            if self.hysteresis <= 0:
                self.scale = max(self.scale * 0.5, 1.0)
            return
        self.growth += 1
        if self.growth == 5:
            self.growth, self.hysteresis = 0, 2
            self.scale *= 2.0


def model_parallel(rank, ranks):
    """Two halves of a model on the ranks of one group each; the same half on every other rank, which average gradients."""
    halves = 2
    mine = rank % halves
    groups = [distributed.new_group(list(range(first, first + halves))) for first in range(0, ranks, halves)]
    copies = [distributed.new_group(list(range(half, ranks, halves))) for half in range(halves)]
    group = groups[rank // halves]
    theirs, found, average = Megatrons(), torch.zeros(1), torch.zeros(64)
    ours = tare.Scaler("megatron", initial_scale=2.0**22, growth_interval=5, hysteresis=2, min_scale=1.0)
    ours.set_comm(tare.Comm.of_torch(group))
    skipped = 0
    for step in range(200):
        torch.manual_seed(1000 * step + rank)
        average.copy_((torch.randn(64) * 2.0**-6 * ours.scale).half().float())
        distributed.all_reduce(average, group=copies[mine])
        found[0] = float(not average.isfinite().all())
        distributed.all_reduce(found, op=distributed.ReduceOp.MAX, group=group)
        theirs.update(found.item() > 0)
        ours.observe(average)
        skipped += ours.found_inf
        ours.update()
        assert ours.scale == theirs.scale, (step, ours.scale, theirs.scale)
    assert 5 < skipped < 100, skipped


class ShardedTrainingTest(unittest.TestCase):
    def on_ranks(self, what):
        for ranks in (2, 4):
            processes.on_ranks(what, ranks)

    def test_ddp_trains_as_with_torch_s_scaler(self):
        self.on_ranks(ddp)

    def test_megatron_s_groups_step_by_its_rule(self):
        self.on_ranks(model_parallel)

    def require_fsdp(self):
        if fully_shard is None or not hasattr(torch.cpu.Stream, "record_event"):
            self.skipTest(f"torch {torch.__version__} has no FSDP2 on the CPU")

    def test_fsdp2_trains_as_with_torch_s_sharded_scaler(self):
        self.require_fsdp()
        self.on_ranks(fsdp)

    def test_shards_that_a_comm_joins_train_as_with_torch_s_sharded_scaler(self):
        self.require_fsdp()
        self.on_ranks(shards_by_a_comm)


if __name__ == "__main__":
    unittest.main()
