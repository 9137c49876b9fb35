"""tare.torch.LayerwiseScaler where ways through a model part and meet: residual blocks, branches, layers that are used twice."""
import math
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no torch: not run") from None
if not hasattr(torch.amp, "GradScaler"):
    raise unittest.SkipTest(f"torch {torch.__version__} has no GradScaler for the CPU: not run")
from torch.utils.checkpoint import checkpoint

import tare
import tare.torch
from layerwise_test import Half, gradients

WIDTH = 16


class Model(torch.nn.Module):
    """Layers by name, and a function of them and x."""

    def __init__(self, run, **layers):
        super().__init__()
        self.layers = torch.nn.ModuleDict(layers)
        self.run = run

    def forward(self, x):
        return self.run(self.layers, x)


def linear(deviation=0.3):
    layer = torch.nn.Linear(WIDTH, WIDTH)
    torch.nn.init.normal_(layer.weight, std=deviation)
    return layer


def residual(layers, x):
    for name in ("one", "two", "three"):
        x = x + torch.tanh(layers[name](x))
    return x


def dense(layers, x):
    """Each layer sees all before it."""
    seen = [x]
    for name in ("one", "two", "three"):
        seen.append(layers[name](sum(seen)))
    return torch.cat(seen, 1)


def split(layers, x):
    """Two halves of one tensor go other ways, one of them twice through the same layer."""
    left, right = layers["one"](x).chunk(2, 1)
    left, right = torch.cat([left, left * right], 1), torch.cat([right, right], 1)
    return layers["two"](layers["two"](left)) * layers["three"](right).sigmoid() + right.square()


MODELS = {
    "residual": lambda: Model(residual, one=linear(), two=linear(0.01), three=linear()),
    "dense": lambda: Model(dense, one=linear(), two=linear(0.001), three=linear(0.1)),
    "split": lambda: Model(split, one=linear(), two=linear(0.02), three=linear()),
    "attention": lambda: torch.nn.TransformerEncoderLayer(WIDTH, 2, 24, dropout=0.0, batch_first=True),
    "recurrent": lambda: Model(lambda layers, x: layers["one"](layers["cell"](layers["one"](x))[0]), one=linear(),
                               cell=torch.nn.LSTM(WIDTH, WIDTH, 2)),
    "convolutions": lambda: Model(lambda layers, x: layers["three"](layers["one"](x.view(-1, 4, 2, 2)).flatten(1)
                                                                    + layers["two"](x.view(-1, 4, 2, 2)).flatten(1)),
                                  one=torch.nn.Conv2d(4, 4, 1), two=torch.nn.Conv2d(4, 4, 3, padding=1), three=linear()),
}


def input_of(name):
    return torch.randn(3, 5, WIDTH) if name in ("attention", "recurrent") else torch.randn(8, WIDTH)


class Falling(torch.nn.Module):
    """Five blocks whose two branches shrink gradients by about 2^-11 each, and whose residual way, if there is one, keeps them;
    `rounds`: all of it in float16."""

    def __init__(self, rounds, keeps):
        super().__init__()
        self.rounds, self.keeps = rounds, keeps
        self.near = torch.nn.ModuleList(linear(2.0 ** -13.8) for _ in range(5))
        self.far = torch.nn.ModuleList(torch.nn.Sequential(linear(2.0 ** -11.8), linear(2.0 ** -3)) for _ in range(5))

    def forward(self, x):
        half = Half.apply if self.rounds else lambda value: value
        for near, far in zip(self.near, self.far):
            x = half(x)
            branches = half(near(x)) + half(far[1](half(far[0](x))))
            x = half(x + branches) if self.keeps else half(branches)
        return x


class Meeting(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_gradients_are_those_without_scaling(self):
        for name, make in MODELS.items():
            model, x = make(), input_of(name)
            times = 2.0 ** -18  # small enough that layers scale, each by another factor
            expected = gradients(model, x, times=times)
            x_expected = torch.autograd.grad(model(x.requires_grad_()).sum() * times, x)[0]
            scaler = tare.torch.LayerwiseScaler(model, loss_scale=8.0)
            for parameter, gradient in gradients(model, x, scaler, times).items():
                largest = float(expected[parameter].abs().max())
                torch.testing.assert_close(gradient, expected[parameter], rtol=1e-4, atol=1e-6 * largest + 1e-30,
                                           msg=lambda said, at=(name, parameter): f"{at}: {said}")
            torch.testing.assert_close(x.grad, x_expected, rtol=1e-4, atol=1e-6 * float(x_expected.abs().max()))
            self.assertGreater(max(scaler.scales().values()), 8.0, (name, scaler.scales()))
            scaler.close()

    def test_under_autocast_gradients_are_near_those_of_float32(self):
        for name in ("residual", "dense", "attention", "convolutions"):
            model, x = MODELS[name](), input_of(name)
            expected = gradients(model, x)
            scaler = tare.torch.LayerwiseScaler(model)
            model.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = model(x).float().sum()
            scaler.scale(loss).backward()
            for parameter, gradient in model.named_parameters():
                error = float((gradient.grad - expected[parameter]).norm())
                self.assertLess(error, 0.02 * float(expected[parameter].norm()) + 1e-3, (name, parameter))
            scaler.close()

    def test_branches_that_one_scale_loses_keep_their_gradients(self):
        for keeps, lost_at_least in ((False, 4), (True, 0)):
            torch.manual_seed(0)
            model, x, times = Falling(True, keeps), torch.randn(64, WIDTH), 2.0 ** 9
            exact = Falling(False, keeps)
            exact.load_state_dict(model.state_dict())
            expected = gradients(exact, x, times=times)
            one_scale = {}
            for scale in (2.0 ** k for k in range(16)):
                found = {name: gradient / scale for name, gradient in gradients(model, x, times=times * scale).items()}
                if all(torch.isfinite(gradient).all() for gradient in found.values()):
                    one_scale = found  # at the greatest scale that does not overflow
            lost = [name for name, gradient in one_scale.items() if float(gradient.abs().max()) == 0.0]
            self.assertGreaterEqual(len(lost), lost_at_least, lost)
            scaler = tare.torch.LayerwiseScaler(model, scale_upper_bound=4096.0, accum_upper_bound=32768.0)
            for name, gradient in gradients(model, x, scaler, times=times).items():
                error = float((gradient - expected[name]).norm() / expected[name].norm())
                of_one = float((one_scale[name] - expected[name]).norm() / expected[name].norm())
                self.assertLess(error, 0.1, (keeps, name, of_one))
            scaler.close()

    def test_a_model_of_branches_trains_as_in_float32_where_one_scale_leaves_its_first_layers_as_they_were(self):
        x = torch.randn(64, WIDTH)

        def moved(rounds, make):
            torch.manual_seed(1)
            model = Falling(rounds, False)
            firsts = [model.near[0].weight, model.far[0][0].weight, model.far[0][1].weight]
            before = [weight.detach().clone() for weight in firsts]
            optimizer = torch.optim.Adam(firsts, lr=1e-3, eps=1e-20)
            scaler = make(model)
            for _ in range(20):
                optimizer.zero_grad()
                scaler.scale(model(x).sum() * 2.0 ** 9).backward()
                scaler.step(optimizer)
                if isinstance(scaler, torch.amp.GradScaler):
                    scaler.update()
            return [(weight.detach() - old).flatten() for weight, old in zip(firsts, before)]

        exact = moved(False, lambda model: torch.amp.GradScaler("cpu", enabled=False))
        one = moved(True, lambda model: torch.amp.GradScaler("cpu", init_scale=2.0 ** 16))
        layers = moved(True, lambda model: tare.torch.LayerwiseScaler(model, scale_upper_bound=4096.0,
                                                                      accum_upper_bound=32768.0))
        for wanted, lost, kept in zip(exact, one, layers):
            self.assertGreater(float(wanted.norm()), 0.05)
            self.assertEqual(float(lost.norm()), 0.0)
            self.assertGreater(float(torch.nn.functional.cosine_similarity(kept, wanted, dim=0)), 0.9)

    def test_a_sum_that_would_overflow_gets_a_smaller_scale(self):
        def run(layers, x):
            x = Half.apply(layers["first"](x))
            return torch.stack([Half.apply(layer(x)) for name, layer in layers.items() if name != "first"]).sum(0)

        torch.manual_seed(0)
        branches = {f"branch{i}": linear(2.0 ** -4) for i in range(64)}
        for layer in branches.values():
            layer.weight.data.abs_()  # so that their gradients add up
        model, x = Model(run, first=linear(), **branches), torch.randn(8, WIDTH)
        exact = gradients(model, x)
        scaler = tare.torch.LayerwiseScaler(model, loss_scale=2.0 ** 13, accum_upper_bound=32768.0)
        for name, gradient in gradients(model, x, scaler).items():
            self.assertLess(float((gradient - exact[name]).norm()), 0.01 * float(exact[name].norm()), name)
        at_branches = scaler.scales()["layers.branch0"]
        self.assertGreater(float(exact["layers.first.bias"].abs().max()) / 8 * at_branches, 65504.0)
        self.assertLess(scaler.scales()["layers.first"], at_branches)

    def test_what_is_not_finite_on_one_way_stays_so_and_the_step_is_skipped(self):
        model, x = MODELS["residual"](), torch.randn(8, WIDTH)
        scaler = tare.torch.LayerwiseScaler(model)
        x[0, 0] = math.inf
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        scaler.scale(model(x).sum()).backward()
        scaler.step(optimizer)
        self.assertEqual(scaler.skipped, 1)

    def test_losses_of_one_graph_and_losses_that_wait_for_one_another_have_the_gradients_of_their_sum(self):
        model, x = MODELS["residual"](), torch.randn(8, WIDTH)
        expected = gradients(model, x, times=3.0)
        scaler = tare.torch.LayerwiseScaler(model)
        model.zero_grad()
        made = model(x).sum()
        for times, keeps in ((1.0, True), (2.0, False)):
            scaler.scale(made * times).backward(retain_graph=keeps)
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(parameter.grad, expected[name], rtol=1e-4, atol=1e-5)
        model.zero_grad()
        losses = [scaler.scale(model(x).sum() * times) for times in (1.0, 2.0)]
        for loss in losses:
            loss.backward()
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(parameter.grad, expected[name], rtol=1e-4, atol=1e-5)

    def test_layers_whose_activations_are_made_again_are_scaled_or_refused(self):
        model, x = MODELS["residual"](), torch.randn(8, WIDTH, requires_grad=True)
        expected = gradients(model, x)
        scaler = tare.torch.LayerwiseScaler(model)
        model.zero_grad()
        scaler.scale(checkpoint(model, x, use_reentrant=False).sum()).backward()
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(parameter.grad, expected[name], rtol=1e-4, atol=1e-5)
        with self.assertRaisesRegex(tare.Unsupported, "use_reentrant=False"):
            scaler.scale(checkpoint(model, x, use_reentrant=True).sum()).backward()

    def test_a_backward_pass_that_nobody_scaled_is_refused(self):
        model, x = MODELS["residual"](), torch.randn(8, WIDTH)
        scaler = tare.torch.LayerwiseScaler(model)
        with self.assertRaisesRegex(tare.Unsupported, "scale was last given"):
            model(x).sum().backward()
        made = model(x)
        first, _ = scaler.scale(made.sum()), scaler.scale(torch.nn.functional.relu(model.layers["one"](made)).sum())
        with self.assertRaisesRegex(tare.Unsupported, "scale was last given"):
            first.backward()


if __name__ == "__main__":
    unittest.main()
