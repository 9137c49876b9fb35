"""torch's tensors that show their memory in another order, or with other signs."""
import unittest

import tare
from tare.tensors import found_in, piece_of


class Views(unittest.TestCase):
    def setUp(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no torch: not run")
        self.torch = torch

    def test_orders_of_torch_s_are_told_apart_too(self):
        torch = self.torch
        source = torch.arange(6.0).reshape(2, 3).T
        grads = tare.Scaler("torch", initial_scale=1.0).grads([source])
        with self.assertRaisesRegex(ValueError, "order"):
            grads.write([torch.zeros(3, 2)])
        out = torch.empty_like(source)
        grads.write([out])
        self.assertTrue(torch.equal(out, source))
        images = torch.randn(1, 2, 2, 2).contiguous(memory_format=torch.channels_last)
        with self.assertRaisesRegex(ValueError, "order"):
            tare.Scaler("torch").grads([images]).write([torch.zeros(1, 2, 2, 2)])

    def test_a_view_whose_memory_has_other_signs_is_refused(self):
        torch = self.torch
        negative = torch._neg_view(torch.tensor([1.0, 2.0]))
        conjugate = torch.tensor([1 + 2j]).conj()
        for refused in (lambda: tare.Scaler("torch").observe(negative), lambda: piece_of(negative),
                        lambda: piece_of(conjugate), lambda: found_in(conjugate.imag)):
            with self.assertRaisesRegex(ValueError, "resolve_neg"):
                refused()
        self.assertEqual(found_in(negative.resolve_neg()).tensor.count, 2)

    def test_the_monitor_leaves_it_out(self):
        import tare.torch

        layer = self.torch.nn.Linear(2, 1)
        layer.weight.grad = self.torch._neg_view(self.torch.ones(1, 2))
        layer.bias.grad = self.torch.ones(1)
        monitor = tare.torch.Monitor(layer, every=1)
        monitor.gradients()
        monitor.step()
        self.assertEqual([gradient.name for gradient in monitor.report().gradients], ["bias"])


if __name__ == "__main__":
    unittest.main()
