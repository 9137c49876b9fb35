"""tare.huggingface.MonitorCallback in the real Trainer, on the CPU."""
import logging
import pathlib
import tempfile
import unittest
from unittest import mock

try:
    import torch
    import transformers
except ImportError:
    raise unittest.SkipTest("no transformers: not run") from None

import tare.torch
from tare.huggingface import MonitorCallback

logging.disable(logging.WARNING)


class Model(torch.nn.Module):
    """Its loss is as small as its inputs say: gradients then become zero in float16."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)
        self.seen = []

    def forward(self, x, labels):
        error = self.outer(torch.relu(self.inner(x))) - labels
        return {"loss": error.square().mean(), "logits": error}


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        x = torch.randn(8, generator=torch.Generator().manual_seed(i))
        return {"x": x, "labels": x.sum(0, keepdim=True)}


class Rounding(transformers.Trainer):
    """float16 with a scaler, which accelerate makes on a GPU only; gradients made smaller, as float16 rounds them."""

    def create_accelerator_and_postprocess(self):
        super().create_accelerator_and_postprocess()
        self.accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=5)
        self.accelerator.native_amp = True

    def training_step(self, model, *arguments, **options):
        loss = super().training_step(model, *arguments, **options)
        for parameter in model.parameters():
            parameter.grad = (parameter.grad * self.shrink).half().float()
        model.seen.append(max(float(parameter.grad.abs().max()) for parameter in model.parameters()))
        return loss


class Keeping(transformers.TrainerCallback):
    def __init__(self, kept):
        self.kept = kept

    def on_log(self, args, state, control, logs=None, **trained):
        self.kept.append(dict(logs))


class HuggingFace(unittest.TestCase):
    def train(self, folder, steps, *, shrink=1.0, resume=False, scaled=True, **options):
        torch.manual_seed(0)
        given = transformers.TrainingArguments(
            folder, max_steps=steps, logging_steps=4, save_steps=8, report_to=[], use_cpu=True, fp16=scaled,
            per_device_train_batch_size=8, learning_rate=1e-3, seed=0, disable_tqdm=True)
        trainer = (Rounding if scaled else transformers.Trainer)(Model(), given, train_dataset=Data())
        trainer.shrink = shrink
        callback = MonitorCallback.attach(trainer, every=2, **options)
        trainer.remove_callback(transformers.PrinterCallback)
        logs = []
        trainer.add_callback(Keeping(logs))
        trainer.train(resume_from_checkpoint=resume or None)
        return trainer, callback, logs

    def test_logs_get_the_scale_the_skipped_steps_and_the_underflow(self):
        with tempfile.TemporaryDirectory() as folder:
            trainer, callback, logs = self.train(folder, 8)
            told = [log for log in logs if "loss" in log]
            self.assertEqual(len(told), 2)
            for log in told:
                self.assertEqual(log["skipped"], 0)
                self.assertIn(log["loss_scale"], (4.0, 8.0))
                self.assertLess(log["underflow"], 1.0)
            self.assertEqual(told[1]["loss_scale"], 8.0)  # it grew behind the fifth step
            kept = [log for log in trainer.state.log_history if "loss" in log]
            self.assertEqual([log["loss_scale"] for log in kept], [log["loss_scale"] for log in told])

    def test_gradients_are_looked_at_before_they_are_unscaled_and_clipped(self):
        with tempfile.TemporaryDirectory() as folder:
            trainer, callback, _ = self.train(folder, 8)
            largest = max(one.max_abs for one in callback.monitor.report().gradients)
            self.assertEqual(largest, trainer.model.seen[6])

    def test_what_is_lost_is_found_and_a_resumed_run_goes_on(self):
        warn = {"looks": 6, "low_scale": 0}
        with tempfile.TemporaryDirectory() as folder:
            _, whole, _ = self.train(folder, 16, shrink=2.0 ** -27, warn=warn)
            expected = [(finding.code, finding.step) for finding in whole.findings]
            self.assertIn("gradient-underflow", [code for code, _ in expected])
        with tempfile.TemporaryDirectory() as folder:
            _, before, _ = self.train(folder, 8, shrink=2.0 ** -27, warn=warn)
            self.assertEqual(before.findings, [])
            self.assertTrue((pathlib.Path(folder) / "checkpoint-8/tare_monitor.json").is_file())
            _, after, _ = self.train(folder, 16, shrink=2.0 ** -27, warn=warn, resume=True)
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
            _, callback, logs = self.train(folder, 8, scaled=False)
            self.assertEqual(callback.findings, [])
            self.assertNotIn("loss_scale", logs[0])
            self.assertEqual(logs[0]["underflow"], 0)
            self.assertEqual(len(callback.monitor.report().gradients), 4)


if __name__ == "__main__":
    unittest.main()
