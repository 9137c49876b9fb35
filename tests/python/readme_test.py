"""Runs the Python that the documents show, as it stands, in a folder that has what it names."""
import array
import contextlib
import gc
import importlib.util
import io
import os
import pathlib
import re
import shutil
import tempfile
import unittest

import tare
from cases import CORPUS

SOURCE = pathlib.Path(__file__).parents[2]
HAS_TORCH = importlib.util.find_spec("torch") is not None
OF_TORCH = re.compile(r"^from tare\.(torch|megatron|deepspeed) import .*\n", re.M)


def blocks(document):
    return re.findall(r"^```python\n(.*?)^```", (SOURCE / document).read_text(), re.M | re.S)


def run(block, **names):
    """-> what the block calls something, and what it printed."""
    names["tare"], printed = tare, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(block if HAS_TORCH else OF_TORCH.sub("", block), names)
    return names, printed.getvalue()


class Shown(unittest.TestCase):
    def setUp(self):
        folder, before = tempfile.TemporaryDirectory(), os.getcwd()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, before)
        os.chdir(folder.name)
        shutil.copytree(CORPUS / "deepspeed/zero2_2ranks/ckpt/global_step5", "run/global_step4200")
        shutil.copy(CORPUS / "torch/scaler-file-t2.15/scaler.pt", ".")
        shutil.copy(CORPUS / "transformer_engine/te1.13_4layers/model.pt", ".")
        tare.fp8.rename("model.pt", "layers.1", "decoder.layers.11")

    def test_every_block_is_known_here(self):
        shown = {str(page.relative_to(SOURCE)) for page in SOURCE.rglob("*.md") if "```python" in page.read_text()
                 and "build" not in page.relative_to(SOURCE).parts}
        self.assertEqual(shown, {"README.md", "capi/python/README.md"})
        self.assertEqual((len(blocks("README.md")), len(blocks("capi/python/README.md"))), (2, 1))

    def test_the_readme_edits_a_step_and_resets_the_layers_of_a_model(self):
        names, _ = run(blocks("README.md")[0])
        self.assertEqual(tare.inspect("run/global_step4200").scalers[0].roles.scale, 65536.0)
        reset = [layer.path for layer in tare.inspect("model.pt").scalers if set(layer.fields.scale_fwd) == {1.0}]
        self.assertEqual(reset, ["decoder.layers.11._extra_state"])
        self.assertEqual("GradScaler" in names, HAS_TORCH)

    def test_the_package_tells_what_it_does_and_every_line_of_that_runs(self):
        gradients = [array.array("f", [65536.0, float("inf")])]
        names, printed = run(blocks("capi/python/README.md")[0], gradients=gradients)
        self.assertEqual(tare.inspect("run/global_step4200").scalers[0].roles.scale, 131072.0)  # what was edited is undone
        self.assertEqual(tare.inspect("grad_scaler.pt").scalers[0].dialect, "megatron")
        self.assertEqual(gradients[0][0], 1.0)
        self.assertIn("found_inf", printed)
        self.assertEqual("LossScaler" in names, HAS_TORCH)

    @unittest.skipUnless(HAS_TORCH, "no torch: not run")
    def test_a_monitor_tells_of_a_gradient_that_is_not_finite(self):
        import tare.torch
        import torch

        model, scaler = torch.nn.Linear(4, 4), tare.torch.GradScaler("cpu")
        loss = model(torch.full((2, 4), float("inf"))).square().sum()
        scaler.scale(loss).backward()
        names, printed = run(blocks("README.md")[1], model=model, scaler=scaler, loss=loss.item())
        self.assertIn("weight: ", printed)
        del names["monitor"]  # what waits for the folder is written then
        gc.collect()
        self.assertTrue(any(pathlib.Path("runs/a").iterdir()))


if __name__ == "__main__":
    unittest.main()
