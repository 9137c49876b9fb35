"""tare.lightning.MonitorCallback in the real Trainer, on the CPU."""
import logging
import tempfile
import unittest
import warnings
from unittest import mock

try:
    import torch
    import lightning.pytorch as lightning
    from lightning.pytorch.plugins import MixedPrecision
except ImportError:
    raise unittest.SkipTest("no lightning: not run") from None

import tare
from tare.lightning import MonitorCallback

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")


class Module(lightning.LightningModule):
    def __init__(self, shrink=1.0):
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)
        self.shrink, self.seen, self.logged = shrink, [], []

    def training_step(self, batch, index):
        x, labels = batch
        return (self.outer(torch.relu(self.inner(x.float()))) - labels).float().square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)

    def on_after_backward(self):
        for parameter in self.parameters():
            parameter.grad = (parameter.grad * self.shrink).half().float()
        self.seen.append(max(float(parameter.grad.abs().max()) for parameter in self.parameters()))

    def on_train_batch_end(self, outputs, batch, index):
        self.logged.append({name: float(value) for name, value in self.trainer.callback_metrics.items()})


class Lightning(unittest.TestCase):
    def train(self, folder, steps, *, shrink=1.0, resume=None, scaled=True, **options):
        torch.manual_seed(0)
        x = torch.randn(64, 8)
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
        callback = MonitorCallback(every=2, **options)
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=5)
        plugins = [MixedPrecision("16-mixed", device="cpu", scaler=scaler)] if scaled else []
        trainer = lightning.Trainer(accelerator="cpu", max_steps=steps, default_root_dir=folder, callbacks=[callback],
                                    plugins=plugins, logger=False, enable_checkpointing=False, gradient_clip_val=0.1,
                                    enable_progress_bar=False, enable_model_summary=False)
        module = Module(shrink)
        trainer.fit(module, loader, ckpt_path=resume)
        return trainer, callback, module

    def test_logs_get_the_scale_the_skipped_steps_and_the_underflow(self):
        with tempfile.TemporaryDirectory() as folder:
            trainer, _, _ = self.train(folder, 8)
            told = trainer.callback_metrics
            self.assertEqual(float(told["loss_scale"]), 8.0)  # it grew behind the fifth step
            self.assertEqual(float(told["skipped"]), 0.0)
            self.assertLess(float(told["underflow"]), 1.0)

    def test_gradients_are_looked_at_before_they_are_unscaled_and_clipped(self):
        with tempfile.TemporaryDirectory() as folder:
            _, callback, module = self.train(folder, 8)
            largest = max(one.max_abs for one in callback.monitor.report().gradients)
            self.assertEqual(largest, module.seen[6])

    def test_what_is_lost_is_found_and_a_resumed_run_goes_on(self):
        warn = {"looks": 6, "low_scale": 0}
        with tempfile.TemporaryDirectory() as folder:
            _, whole, _ = self.train(folder, 16, shrink=2.0 ** -27, warn=warn)
            expected = [(finding.code, finding.step) for finding in whole.findings]
            self.assertIn("gradient-underflow", [code for code, _ in expected])
            trainer, before, _ = self.train(folder, 8, shrink=2.0 ** -27, warn=warn)
            self.assertEqual(before.findings, [])
            trainer.save_checkpoint(folder + "/a.ckpt")
            _, after, _ = self.train(folder, 16, shrink=2.0 ** -27, warn=warn, resume=folder + "/a.ckpt")
            self.assertEqual([(finding.code, finding.step) for finding in after.findings], expected)

    def test_what_a_gpu_still_looks_at_when_training_ends_is_told(self):
        warn = {"looks": 6, "low_scale": 0}
        with tempfile.TemporaryDirectory() as folder:
            _, whole, _ = self.train(folder, 15, shrink=2.0 ** -27, warn=warn)  # looked at in the last
        expected = [(finding.code, finding.step) for finding in whole.findings]
        self.assertIn("gradient-underflow", [code for code, _ in expected])
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tare.Monitor, "settled", return_value=False):
            _, callback, _ = self.train(folder, 15, shrink=2.0 ** -27, warn=warn)
        self.assertEqual([(finding.code, finding.step) for finding in callback.findings], expected)

    def test_a_run_without_a_scaler_is_watched_too(self):
        with tempfile.TemporaryDirectory() as folder:
            trainer, callback, _ = self.train(folder, 8, scaled=False)
            self.assertEqual(callback.findings, [])
            self.assertNotIn("loss_scale", trainer.callback_metrics)
            self.assertEqual(len(callback.monitor.report().gradients), 4)


if __name__ == "__main__":
    unittest.main()
