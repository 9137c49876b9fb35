"""tare.torch.LayerwiseScaler: gradients are those without scaling, where one scale for all loses them."""
import math
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no torch: not run") from None
if not hasattr(torch.amp, "GradScaler"):
    raise unittest.SkipTest(f"torch {torch.__version__} has no GradScaler for the CPU: not run")

import tare
import tare.torch


class Half(torch.autograd.Function):
    """What lies between two layers of a model in float16: values and gradients are rounded to it."""

    @staticmethod
    def forward(ctx, x):
        return x.half().float()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.half().float()


class Chain(torch.nn.Module):
    """Its gradients become smaller by about 2^-6 a layer; `rounds`: all of it in float16."""

    def __init__(self, rounds, depth=8, width=16):
        super().__init__()
        self.rounds = rounds
        self.norm = torch.nn.LayerNorm(width)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(depth))
        for layer in self.layers:
            torch.nn.init.normal_(layer.weight, std=2.0 ** -8)
            torch.nn.init.constant_(layer.bias, 0.01)

    def forward(self, x):
        half = Half.apply if self.rounds else lambda value: value
        x = half(self.norm(x))
        for layer in self.layers:
            x = half(layer(half(x)))
        return x


def convolutions():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 4, 3), torch.nn.Flatten(),
                               torch.nn.Linear(4 * 4 * 4, 2))


def gradients(model, x, scaler=None, times=1.0):
    model.zero_grad()
    loss = model(x).sum() * times
    (loss if scaler is None else scaler.scale(loss)).backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


class Layerwise(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_gradients_are_those_without_scaling(self):
        for model, x in ((Chain(False), torch.randn(8, 16)), (convolutions(), torch.randn(5, 3, 8, 8))):
            expected = gradients(model, x)
            scaler = tare.torch.LayerwiseScaler(model, loss_scale=8.0)
            for name, gradient in gradients(model, x, scaler).items():
                torch.testing.assert_close(gradient, expected[name], rtol=1e-6, atol=0)
            scales = list(scaler.scales().values())
            self.assertEqual(scales, sorted(scales, reverse=True))  # more, the farther from the loss
            self.assertTrue(all(math.log2(scale).is_integer() for scale in scales))
            scaler.close()
            self.assertEqual(gradients(model, x).keys(), expected.keys())

    def test_layers_that_one_scale_loses_keep_their_gradients(self):
        model, x = Chain(True), torch.randn(64, 16)
        exact = Chain(False)
        exact.load_state_dict(model.state_dict())
        times = 2.0 ** 9  # a loss that is a sum
        expected = gradients(exact, x, times=times)
        lost = {}
        for scale in (2.0 ** k for k in range(0, 16)):
            found = {name: gradient / scale for name, gradient in gradients(model, x, times=times * scale).items()}
            if all(torch.isfinite(gradient).all() for gradient in found.values()):
                lost = found
        self.assertEqual(float(lost["layers.0.weight"].abs().max()), 0.0)  # at the greatest scale that does not overflow
        scaler = tare.torch.LayerwiseScaler(model, accum_upper_bound=32768.0)
        kept = gradients(model, x, scaler, times=times)
        for name in (f"layers.{i}.{kind}" for i in range(8) for kind in ("weight", "bias")):
            gradient = kept[name]
            error = float((gradient - expected[name]).norm() / expected[name].norm())
            self.assertLess(error, 0.05, name)

    def test_a_model_trains_as_in_float32_where_one_scale_leaves_its_first_layer_as_it_was(self):
        x = torch.randn(64, 16)

        def moved(rounds, make):
            torch.manual_seed(1)
            model = Chain(rounds)
            before = model.layers[0].weight.detach().clone()
            optimizer = torch.optim.Adam([model.layers[0].weight], lr=1e-3, eps=1e-16)
            scaler = make(model)
            for _ in range(20):
                optimizer.zero_grad()
                scaler.scale(model(x).sum() * 2.0 ** 9).backward()
                scaler.step(optimizer)
                if isinstance(scaler, torch.amp.GradScaler):
                    scaler.update()
            return (model.layers[0].weight.detach() - before).flatten()

        exact = moved(False, lambda model: torch.amp.GradScaler("cpu", enabled=False))
        self.assertGreater(float(exact.norm()), 0.05)
        one = moved(True, lambda model: torch.amp.GradScaler("cpu", init_scale=2.0 ** 16))
        self.assertEqual(float(one.norm()), 0.0)
        layers = moved(True, lambda model: tare.torch.LayerwiseScaler(model, accum_upper_bound=32768.0))
        self.assertGreater(float(torch.nn.functional.cosine_similarity(layers, exact, dim=0)), 0.9)

    def test_float16_parameters_are_refused_by_name(self):
        with self.assertRaisesRegex(tare.Unsupported, "parameter weight is no float32"):
            tare.torch.LayerwiseScaler(torch.nn.Linear(2, 2).half())

    def test_gradients_of_several_passes_add_up_and_what_is_not_finite_is_skipped(self):
        model, x = convolutions(), torch.randn(5, 3, 8, 8)
        expected = gradients(model, x)
        scaler = tare.torch.LayerwiseScaler(model)
        model.zero_grad()
        for times in (1.0, 2.0 ** -12):
            scaler.scale(model(x).sum() * times).backward()
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(parameter.grad, expected[name] * (1 + 2.0 ** -12), rtol=1e-5, atol=1e-7)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        before = [parameter.detach().clone() for parameter in model.parameters()]
        scales = scaler.state_dict()
        scaler.scale(model(x).sum() * math.inf).backward()
        scaler.step(optimizer)
        self.assertEqual(scaler.skipped, 1)
        self.assertTrue(all(torch.equal(one, two) for one, two in zip(before, model.parameters())))
        self.assertEqual({name: layer["scale"] for name, layer in scaler.state_dict().items()},
                         {name: layer["scale"] for name, layer in scales.items()})

    def test_a_resumed_run_goes_on_with_the_scales(self):
        model, x = convolutions(), torch.randn(5, 3, 8, 8)
        whole = tare.torch.LayerwiseScaler(model, update_per_n_iteration=4)
        for i in range(5):
            gradients(model, x * 2.0 ** i, whole)
        state = whole.state_dict()
        gradients(model, x, whole)
        expected = whole.scales()
        whole.close()
        resumed = tare.torch.LayerwiseScaler(model, update_per_n_iteration=4)
        resumed.load_state_dict(state)
        gradients(model, x, resumed)
        self.assertEqual(resumed.scales(), expected)


if __name__ == "__main__":
    unittest.main()
