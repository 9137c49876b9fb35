"""What processes of torch.distributed saved with torch.distributed.checkpoint goes on with fewer and with more of them."""
import tempfile
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no torch: not run") from None
if not hasattr(torch.amp, "GradScaler"):
    raise unittest.SkipTest(f"torch {torch.__version__} has no GradScaler for the CPU: not run")
from torch import distributed
from torch.distributed import checkpoint

import ranks as processes
import tare
import tare.torch
from gloo_test import gradients_of

PARTS = 8  # of a step's gradients, however many ranks share them
STEPS = 60  # before, and behind


class Run:
    """Scalers of one rank, which sees some parts of all gradients; of `alone` one that sees all."""

    def __init__(self, mine, joins):
        self.mine = mine
        self.own = torch.zeros(5 * len(mine))
        self.scaler = tare.Scaler("megatron", initial_scale=1024, growth_interval=7, hysteresis=2)
        self.sharded = (tare.torch.ShardedGradScaler if joins else tare.torch.GradScaler)("cpu", init_scale=1024.0,
                                                                                        growth_interval=3)
        self.slots = tare.Fp8("fp8_lm", slots=["x", "w"], threshold=0.05)
        self.sharded.scale(torch.ones(1))
        if joins:
            comm = tare.Comm.of_torch()
            self.scaler.set_comm(comm)
            self.slots.set_comm(comm)

    def step(self, number):
        parts = [torch.tensor(values) for values in gradients_of(number, PARTS)]
        self.own.copy_(torch.cat([parts[i] for i in self.mine]))
        self.scaler.observe(self.own)
        self.scaler.update()
        weight = torch.nn.Parameter(torch.zeros(len(self.own)))
        weight.grad = self.own.clone()
        self.sharded.scale(torch.ones(1))
        self.sharded.step(torch.optim.SGD([weight], lr=0.5))
        self.sharded.update()
        for i in self.mine:
            self.slots.observe([parts[i], parts[i][:2]])
        self.slots.update()

    def saved(self):
        return {"megatron": self.scaler.save().to_json(), "fp8": self.slots.save().to_json(), "grad_scaler":
                self.sharded.state_dict()}

    def load(self, state):
        self.scaler.load(tare.State(state["megatron"]))
        self.slots.load(tare.State(state["fp8"]))
        self.sharded.load_state_dict(state["grad_scaler"])


def alone(steps):
    run = Run(range(PARTS), False)
    for step in range(steps):
        run.step(step)
    return run


class Goes:
    """On each rank: from what is in the folder, if there is something, and as one that saw all gradients."""

    def __init__(self, folder, first):
        self.folder, self.first = folder, first

    def __call__(self, rank, ranks):
        run = Run(range(rank, PARTS, ranks), True)
        expected = alone(self.first)
        if self.first > 0:
            state = run.saved()
            checkpoint.load(state, checkpoint_id=self.folder)
            run.load(state)
        for step in range(self.first, self.first + STEPS):
            run.step(step)
            expected.step(step)
            assert run.saved() == expected.saved(), (step, run.saved(), expected.saved())
        assert expected.saved() != alone(self.first).saved()
        if self.first == 0:
            checkpoint.save(run.saved(), checkpoint_id=self.folder)


class ResumedWorldTest(unittest.TestCase):
    def test_what_four_ranks_saved_goes_on_with_one_two_and_eight_as_with_one_that_saw_all(self):
        with tempfile.TemporaryDirectory() as folder:
            processes.on_ranks(Goes(folder, 0), 4)
            for ranks in (1, 2, 8):
                processes.on_ranks(Goes(folder, STEPS), ranks)


if __name__ == "__main__":
    unittest.main()
