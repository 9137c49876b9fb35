"""tare.torch.GradScaler in the loops of accelerate, Lightning and Hugging Face's Trainer, beside torch's own, on the CPU."""
import contextlib
import logging
import os
import pathlib
import socket
import tempfile
import unittest
import warnings
from unittest import mock

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no torch: not run") from None

import tare.torch

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")
OPTIONS = {"init_scale": 2.0 ** 20, "growth_interval": 3}
CLASSES = (torch.amp.GradScaler, tare.torch.GradScaler)


def batches(count, seed=0):
    """Every fifth is so large that scaled gradients leave float16's range."""
    generator = torch.Generator().manual_seed(seed)
    for i in range(count):
        x = torch.randn(8, 8, generator=generator) * (1e4 if i % 5 == 4 else 1)
        yield x, x.sum(1, keepdim=True)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inner, self.outer = torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)

    def forward(self, x, labels):
        error = self.outer(torch.relu(self.inner(x))) - labels
        return {"loss": error.square().mean(), "logits": error}


def as_float16(model):
    """What a model in float16 would hand to its scaler: inf where it is too large."""
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.copy_(parameter.grad.half().float())


def bits(model):
    whole = lambda tensor: tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return {name: whole(value).detach().numpy().tobytes() for name, value in model.state_dict().items()}


@contextlib.contextmanager
def one_process():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    alone = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0",
             "ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2"}
    with mock.patch.dict(os.environ, alone):
        yield
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


class Accelerate(unittest.TestCase):
    """accelerate makes a scaler on GPUs only: the loop is given one, as on a GPU it has one."""

    @classmethod
    def setUpClass(cls):
        try:
            import accelerate
        except ImportError:
            raise unittest.SkipTest("no accelerate: not run") from None
        cls.accelerate = accelerate

    def begun(self, scaler_class, fsdp_plugin=None):
        self.accelerate.state.AcceleratorState._reset_state(True)
        accelerator = self.accelerate.Accelerator(cpu=True)
        if fsdp_plugin is not None:  # on a CPU it is not asked for
            for state in (accelerator.state, self.accelerate.PartialState()):
                state.distributed_type = self.accelerate.DistributedType.FSDP
            accelerator.state.fsdp_plugin = fsdp_plugin
        accelerator.scaler = scaler_class("cpu", **OPTIONS)
        accelerator.native_amp = True
        model = Model()
        model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=1e-2))
        return accelerator, model, optimizer

    def train(self, accelerator, model, optimizer, data):
        skipped = []
        for x, labels in data:
            optimizer.zero_grad()
            accelerator.backward(model(x, labels)["loss"])
            as_float16(model)
            with mock.patch.object(accelerator.state, "_mixed_precision", "fp16"):
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            skipped.append(optimizer.step_was_skipped)
        return skipped

    def runs(self, folder, scaler_class, loaded_by, **options):
        """Ten steps, saved; ten more by another class that loaded it: skipped steps, weights and state."""
        run = self.begun(scaler_class, **options)
        skipped = self.train(*run, batches(10))
        run[0].save_state(str(folder))
        run = self.begun(loaded_by, **options)
        run[0].load_state(str(folder))
        self.assertIs(type(run[0].scaler), loaded_by)
        skipped += self.train(*run, batches(10, seed=1))
        self.assertEqual(run[0].is_fsdp2, "fsdp_plugin" in options)
        return skipped, bits(run[1]), run[0].scaler.state_dict()

    def compare(self, **options):
        told = []
        for first in CLASSES:
            for then in CLASSES:
                with tempfile.TemporaryDirectory() as folder:
                    told.append(self.runs(pathlib.Path(folder, "saved"), first, then, **options))
        self.assertTrue(any(told[0][0]) and not all(told[0][0]))
        for other in told[1:]:
            self.assertEqual(other, told[0])

    def test_steps_weights_and_saved_states_are_those_of_torchs_scaler(self):
        self.compare()

    def test_under_fsdp2_too_where_load_state_begins_the_scaler_before_the_optimizer(self):
        with one_process():
            torch.distributed.init_process_group("gloo")
            self.compare(fsdp_plugin=self.accelerate.FullyShardedDataParallelPlugin(
                fsdp_version=2, auto_wrap_policy="no_wrap", state_dict_type="SHARDED_STATE_DICT",
                cpu_ram_efficient_loading=False))


class Lightning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            import lightning.pytorch as lightning
        except ImportError:
            raise unittest.SkipTest("no lightning: not run") from None
        cls.lightning = lightning

    def train(self, scaler, steps, folder, resume=None):
        from lightning.pytorch.plugins import MixedPrecision

        class Module(self.lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.model = Model()

            def training_step(self, batch, index):
                return self.model(*batch)["loss"]

            def on_after_backward(self):
                as_float16(self.model)

            def configure_optimizers(self):
                return torch.optim.Adam(self.parameters(), lr=1e-2)

        class InFloat32(MixedPrecision):
            """Rounded by the module itself, the same everywhere."""

            def autocast_context_manager(self):
                return contextlib.nullcontext()

        trainer = self.lightning.Trainer(
            accelerator="cpu", max_steps=steps, max_epochs=-1, default_root_dir=folder, logger=False, enable_checkpointing=False,
            plugins=[InFloat32("16-mixed", device="cpu", scaler=scaler)], gradient_clip_val=1.0,
            enable_progress_bar=False, enable_model_summary=False)
        module = Module()
        trainer.fit(module, torch.utils.data.DataLoader(list(batches(10)), batch_size=None), ckpt_path=resume)
        trainer.save_checkpoint(f"{folder}/{steps}.ckpt")
        return bits(module.model), scaler.state_dict()

    def test_a_run_that_is_resumed_by_the_other_class_ends_alike(self):
        told = []
        for first in CLASSES:
            for then in CLASSES:
                with tempfile.TemporaryDirectory() as folder:
                    self.train(first("cpu", **OPTIONS), 10, folder)
                    told.append(self.train(then("cpu", **OPTIONS), 20, folder, f"{folder}/10.ckpt"))
                    scale = tare.inspect(f"{folder}/20.ckpt").scalers[0].roles.scale
                    self.assertEqual(scale, told[-1][1]["scale"])
        self.assertLess(told[0][1]["scale"], OPTIONS["init_scale"])
        for other in told[1:]:
            self.assertEqual(other, told[0])


class HuggingFace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            import transformers
        except ImportError:
            raise unittest.SkipTest("no transformers: not run") from None
        cls.transformers = transformers

    def train(self, scaler_class, steps, folder, resume=None):
        transformers = self.transformers

        class Scaled(transformers.Trainer):
            def create_accelerator_and_postprocess(self):
                super().create_accelerator_and_postprocess()
                self.accelerator.scaler = scaler_class("cpu", **OPTIONS)
                self.accelerator.native_amp = True

            def training_step(self, model, *arguments, **options):
                loss = super().training_step(model, *arguments, **options)
                as_float16(model)
                return loss

        rows = [{"x": x[i], "labels": labels[i]} for x, labels in batches(20) for i in range(8)]
        given = transformers.TrainingArguments(
            output_dir=folder, max_steps=steps, per_device_train_batch_size=8, save_steps=10, use_cpu=True, report_to=[],
            disable_tqdm=True, learning_rate=1e-2, max_grad_norm=0.0, seed=1)
        trainer = Scaled(model=Model(), args=given, train_dataset=rows)
        trainer.train(resume_from_checkpoint=resume)
        return bits(trainer.model), trainer.accelerator.scaler.state_dict()

    def test_a_run_that_is_resumed_by_the_other_class_ends_alike(self):
        told = []
        for first in CLASSES:
            for then in CLASSES:
                with tempfile.TemporaryDirectory() as folder:
                    self.train(first, 10, folder)
                    saved = tare.inspect(f"{folder}/checkpoint-10").scalers[0].roles.scale
                    told.append((saved, *self.train(then, 20, folder, f"{folder}/checkpoint-10")))
        self.assertLess(told[0][0], OPTIONS["init_scale"])
        for other in told[1:]:
            self.assertEqual(other, told[0])


if __name__ == "__main__":
    unittest.main()
