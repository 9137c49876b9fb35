"""tare.torch.Monitor beside torch's own arithmetic, and in runs that lose their gradients or do not."""
import math
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no torch: not run") from None
if not hasattr(torch.amp, "GradScaler"):
    raise unittest.SkipTest(f"torch {torch.__version__} has no GradScaler for the CPU: not run")

import tare.torch


def half(model, scale):
    """Gradients as a backward pass in float16 leaves them."""
    for parameter in model.parameters():
        parameter.grad = (parameter.grad * scale).half().float()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 8)
        self.inner = torch.nn.Linear(8, 8)
        self.outer = torch.nn.Linear(8, 2)

    def forward(self, tokens):
        return self.outer(torch.relu(self.inner(self.embedding(tokens).mean(1))))


class TorchMonitor(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.model = Model()

    def run_steps(self, monitor, steps, shrink=1.0, scale=1.0):
        told = []
        for step in range(steps):
            self.model.zero_grad()
            loss = self.model(torch.randint(0, 5, (16, 4))).square().mean()
            (loss * shrink).backward()
            half(self.model, scale)
            monitor.gradients()
            told += monitor.step(step, loss=loss)
        return told

    def test_gradients_are_told_as_torch_counts_them(self):
        for scaler in (torch.amp.GradScaler("cpu", init_scale=8.0), tare.torch.GradScaler("cpu", init_scale=8.0)):
            scaler.scale(torch.ones(()))  # torch's makes its scale when it is first used
            monitor = tare.torch.Monitor(self.model, scaler, every=1, weights=True, activations=True)
            self.run_steps(monitor, 1)
            report = monitor.report()
            monitor.close()
            self.assertEqual(report.scaler.scale, 8.0)
            named = dict(self.model.named_parameters())
            self.assertEqual([one.name for one in report.gradients], list(named))
            for one in report.gradients:
                gradient = named[one.name].grad
                self.assertEqual(one.zeros, int((gradient == 0).sum()))
                self.assertEqual(one.max_abs, float(gradient.abs().max()))
                self.assertAlmostEqual(one.norm, float(gradient.double().norm()), delta=1e-4 * one.norm)
                self.assertAlmostEqual(one.headroom_bits, math.log2(65504 / float(gradient.abs().max())))
            seen = {(one.group, one.name): one for one in report.tensors}
            weight = self.model.inner.weight.detach().double()
            self.assertAlmostEqual(seen["weights", "inner.weight"]["std"], float(weight.std(unbiased=False)))
            self.assertIn(("inputs", "outer.0"), seen)
            self.assertIn(("outputs", "embedding"), seen)
            self.assertEqual(seen["loss", "value"].count, 1)

    def test_gradients_that_become_zero_are_told_and_rows_without_gradients_are_not(self):
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        scaler.scale(torch.ones(()))
        healthy = tare.torch.Monitor(self.model, scaler, every=1)
        self.assertEqual(self.run_steps(healthy, 15), [])  # 45 of 50 rows of the embedding have no gradient
        self.assertGreater(healthy.report().gradients[0].zeros, 300)
        lost = tare.torch.Monitor(self.model, scaler, every=1)
        told = self.run_steps(lost, 15, shrink=2.0 ** -14)
        self.assertIn("gradient-underflow", [finding.code for finding in told])
        self.assertEqual([finding.step for finding in told if finding.code == "gradient-underflow"], [0])
        self.assertEqual(len(told), len({(finding.code, finding.path) for finding in told}))  # each once

    def test_bfloat16_is_not_warned_of(self):
        monitor = tare.torch.Monitor(self.model, every=1)
        self.assertEqual(self.run_steps(monitor, 15, shrink=2.0 ** -14), [])

    def test_a_gradient_that_is_not_finite_is_named(self):
        monitor = tare.torch.Monitor(self.model, every=1)
        self.run_steps(monitor, 1)
        self.model.inner.bias.grad[3] = math.inf
        monitor.gradients()
        self.assertEqual([(finding.code, finding.path) for finding in monitor.step()],
                         [("gradient-not-finite", "inner.bias")])

    def test_second_moments_are_looked_at(self):
        optimizer = torch.optim.Adam(self.model.parameters())
        monitor = tare.torch.Monitor(self.model, every=1, optimizer=optimizer, moments=True)
        self.run_steps(monitor, 1)
        optimizer.step()
        for state in optimizer.state.values():
            state["exp_avg_sq"] = state["exp_avg_sq"].half()
        codes = [finding.code for finding in self.run_steps(monitor, 1)]
        self.assertEqual(codes, ["adam-underflow"])


if __name__ == "__main__":
    unittest.main()
