"""tare.torch.Monitor beside torch's own arithmetic, and in runs that lose their gradients or do not."""
import io
import math
import unittest
from unittest import mock

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

    def test_activations_are_in_every_fourth_look_unless_more_are_asked_for(self):
        fourth, each = [True, False, False, False, True, False, False, False, True], [True] * 9
        for groups, inputs, outputs in ((None, fourth, fourth), ({"outputs": {"every": 1}}, fourth, each)):
            monitor = tare.torch.Monitor(self.model, every=1, activations=True, groups=groups)
            told = []
            for step in range(9):
                self.model(torch.randint(0, 5, (16, 4)))
                monitor.step(step)
                told.append({one.group for one in monitor.report().tensors})
            monitor.close()
            self.assertEqual(["inputs" in groups for groups in told], inputs)
            self.assertEqual(["outputs" in groups for groups in told], outputs)

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

    def test_gradients_have_histograms_without_their_scale(self):
        scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
        scaler.scale(torch.ones(()))
        monitor = tare.torch.Monitor(self.model, scaler, every=1, histograms=True)
        self.run_steps(monitor, 1, scale=64.0)
        seen = {one.name: one for one in monitor.report().tensors if one.group == "gradients"}
        named = dict(self.model.named_parameters())
        self.assertEqual(set(seen), set(named))
        for scale in (2.0 ** -14, 1.0, 2.0 ** 24):
            told = {one.name: one for one in monitor.at_scale(scale).tensors if one.group == "gradients"}
            for name, parameter in named.items():
                bare = parameter.grad.double() / 64
                self.assertEqual(seen[name].max_abs, float(bare.abs().max()))
                there = (bare * scale).half()
                zero = int(((there == 0) & (bare != 0)).sum())
                infinite = int(there.isinf().sum())
                self.assertTrue(told[name].becomes_zero[0] <= zero <= told[name].becomes_zero[1])
                self.assertTrue(told[name].becomes_infinite[0] <= infinite <= told[name].becomes_infinite[1])
        self.assertEqual(monitor.signals()["underflow_layers"], 0.0)

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
        told = {one.name: one for one in monitor.report().gradients}["inner.bias"]
        rest = self.model.inner.bias.grad[self.model.inner.bias.grad.isfinite()]
        self.assertEqual((told.nans, told.infinities), (0, 1))
        self.assertEqual(told.finite_max_abs, float(rest.abs().max()))
        self.assertIn("1 infinities and 0 nan among 8 values", monitor.findings()[0].message)

    def test_what_a_gpu_still_looks_at_when_the_loop_ends_is_given_by_close(self):
        monitor = tare.torch.Monitor(self.model, every=1)
        self.run_steps(monitor, 1)
        self.model.inner.bias.grad[3] = math.inf
        with mock.patch.object(monitor._monitor, "settled", return_value=False):
            monitor.gradients()
            self.assertEqual(monitor.step(), [])
            self.assertEqual([(finding.code, finding.path) for finding in monitor.close()],
                             [("gradient-not-finite", "inner.bias")])
            self.assertEqual(monitor.close(), [])

    def test_an_activation_that_goes_from_one_module_to_the_next_is_looked_at_once(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
                self.cut, self.last = torch.nn.ReLU(inplace=True), torch.nn.Linear(4, 4)

            def forward(self, x):
                x = self.first(x)
                return self.last(self.cut(self.second(x) + self.second(x)))

        model = Model()
        monitor = tare.torch.Monitor(model, every=1, activations=True)
        looked = []
        observe = monitor._monitor.observe
        with mock.patch.object(monitor._monitor, "observe",
                               side_effect=lambda group, tensors, **how: (looked.extend(tensors),
                                                                          observe(group, tensors, **how))):
            x = torch.randn(2, 4)
            model(x)
        monitor.step()
        self.assertEqual(looked, ["first.0", "first", "second", "second", "cut.0", "last"])
        told = {(one.group, one.name): one for one in monitor.report().tensors}
        monitor.close()
        with torch.no_grad():
            first = model.first(x)
            summed = 2 * model.second(first)
            last = model.last(summed.relu())
        expected = {("inputs", "second.0"): first, ("inputs", "cut.0"): summed.relu(), ("outputs", "cut"): summed.relu(),
                    ("inputs", "last.0"): summed.relu(), ("outputs", "last"): last}
        for key, tensor in expected.items():
            self.assertEqual(told[key].max_abs, float(tensor.abs().max()), key)
            self.assertEqual(told[key].zeros, int((tensor == 0).sum()), key)

    def test_second_moments_are_looked_at(self):
        optimizer = torch.optim.Adam(self.model.parameters())
        monitor = tare.torch.Monitor(self.model, every=1, optimizer=optimizer, moments=True)
        self.run_steps(monitor, 1)
        optimizer.step()
        for state in optimizer.state.values():
            state["exp_avg_sq"] = state["exp_avg_sq"].half()
        codes = [finding.code for finding in self.run_steps(monitor, 1)]
        self.assertEqual(codes, ["adam-underflow"])

    def test_moves_of_the_scale_are_counted(self):
        for kind in (torch.amp.GradScaler, tare.torch.GradScaler):
            scaler = kind("cpu", init_scale=64.0, growth_interval=2)
            optimizer = torch.optim.SGD(self.model.parameters(), lr=0.0)
            monitor = tare.torch.Monitor(self.model, scaler, every=1)
            for step in range(9):
                self.model.zero_grad()
                scaler.scale(self.model(torch.randint(0, 5, (16, 4))).square().mean()).backward()
                if step in (0, 4):
                    self.model.inner.bias.grad[3] = math.inf
                monitor.gradients()
                scaler.step(optimizer)
                scaler.update()
                monitor.step(step)
            told = monitor.report().scaler
            self.assertEqual((told.scale, told.steps, told.skipped, told.growths, told.backoffs), (64.0, 8, 2, 2, 2))
            self.assertEqual(monitor.signals()["loss_scale"], 64.0)
            self.assertEqual(monitor.signals()["skipped"], 2)
            self.assertLess(monitor.signals()["underflow"], 1.0)

    def test_a_resumed_run_is_told_what_one_is_told_that_was_never_stopped(self):
        def watched():
            scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
            scaler.scale(torch.ones(()))
            return tare.torch.Monitor(self.model, scaler, every=2)

        def told(cut):
            torch.manual_seed(0)
            self.model = Model()
            monitor, found = watched(), []
            for step in range(30):
                if step == cut:
                    file = io.BytesIO()
                    torch.save(monitor.state_dict(), file)
                    file.seek(0)
                    monitor = watched()
                    monitor.load_state_dict(torch.load(file, weights_only=True))
                self.model.zero_grad()
                loss = self.model(torch.randint(0, 5, (16, 4))).square().mean() * 2.0 ** -14
                loss.backward()
                half(self.model, 1.0)
                monitor.gradients()
                found += [(step, one.code, one.path, one.step) for one in monitor.step(step)]
            return found, monitor.signals()

        whole = told(None)
        self.assertIn("gradient-underflow", [code for _, code, _, _ in whole[0]])
        for cut in (1, 7, 18, 25):
            self.assertEqual(told(cut), whole)

    def test_a_scaler_that_is_followed_has_its_gradients_looked_at_before_it_unscales(self):
        for kind in (torch.amp.GradScaler, tare.torch.GradScaler):
            for unscales_first in (False, True):
                scaler = kind("cpu", init_scale=64.0)
                optimizer = torch.optim.SGD(self.model.parameters(), lr=0.0)
                monitor = tare.torch.Monitor(self.model, scaler, every=1)
                monitor.follow()
                for step in range(2):
                    self.model.zero_grad()
                    scaler.scale(self.model(torch.randint(0, 5, (16, 4))).square().mean()).backward()
                    largest = float(self.model.inner.weight.grad.abs().max())
                    if unscales_first:
                        scaler.unscale_(optimizer)
                    scaler.step(optimizer)
                    scaler.update()
                    monitor.step(step)
                    seen = [one for one in monitor.report().gradients if one.name == "inner.weight"]
                    self.assertEqual([one.max_abs for one in seen], [largest])  # once, and still scaled
                monitor.close()
                self.assertNotIn("unscale_", vars(scaler))

    def test_groups_choose_what_is_copied(self):
        monitor = tare.torch.Monitor(self.model, every=1, weights=True,
                                     groups={"weights": {"every": 2, "names": ["*.bias"]}})
        for names in (["inner.bias", "outer.bias"], [], ["inner.bias", "outer.bias"]):
            self.run_steps(monitor, 1)
            self.assertEqual([one.name for one in monitor.report().tensors if one.group == "weights"], names)


@unittest.skipUnless(torch.cuda.is_available(), "no GPU: not run")
class OnGpu(unittest.TestCase):
    def watched(self, device):
        torch.manual_seed(0)
        model = Model().to(device)
        optimizer = torch.optim.Adam(model.parameters())
        scaler = tare.torch.GradScaler(device, init_scale=8.0)
        scaler.scale(torch.ones((), device=device))
        return model, optimizer, tare.torch.Monitor(model, scaler, every=2, weights=True, activations=True, moments=True,
                                                    optimizer=optimizer, histograms=True)

    def test_what_is_seen_of_a_gpu_is_what_a_copy_on_the_host_shows(self):
        model, optimizer, monitor = self.watched("cuda")
        copies = {}
        for module, name in ((model.inner, "inner"), (model.outer, "outer")):
            module.register_forward_hook(lambda _, inputs, output, name=name: copies.update(
                {("inputs", f"{name}.0"): inputs[0].detach().cpu(), ("outputs", name): output.detach().cpu()}))
        optimizer.zero_grad()
        loss = model(torch.randint(0, 5, (16, 4), device="cuda")).square().mean()
        loss.backward()
        monitor.gradients()
        copies.update({("gradients", name): one.grad.cpu() for name, one in model.named_parameters()})
        optimizer.step()
        copies.update({("weights", name): one.detach().cpu().clone() for name, one in model.named_parameters()})
        copies.update({("exp_avg_sq", name): optimizer.state[one]["exp_avg_sq"].cpu().clone()
                       for name, one in model.named_parameters()})
        copies["loss", "value"] = loss.detach().cpu()
        monitor.step(loss=loss)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(7)  # behind the looks
        seen = {(one.group, one.name): one for one in monitor.report().tensors}
        self.assertLessEqual(set(copies), set(seen))
        here = tare.Monitor(every=1)
        for (group, name), copy in copies.items():
            here.observe(group, {name: copy}, scale=8.0 if group == "gradients" else 1.0)
        here.step(0)
        for one in here.report().tensors:
            self.assertEqual(one, seen[one.group, one.name])
        monitor.close()

    def test_findings_come_once_the_gpu_has_looked(self):
        model, optimizer, monitor = self.watched("cuda")
        with torch.no_grad():
            model.outer.weight[0, 0] = math.inf
        told = []
        for step in range(4):
            optimizer.zero_grad()
            model(torch.randint(0, 5, (16, 4), device="cuda")).square().mean().backward()
            monitor.gradients()
            told += monitor.step()
            torch.cuda.synchronize()
        self.assertIn("tensor-not-finite", {finding.code for finding in told})
        self.assertEqual(monitor.report().step, 2)
        monitor.close()


if __name__ == "__main__":
    unittest.main()
