"""What a monitor finds is told as `tare doctor` tells it: the same keys, and one severity for a code that both have."""
import array
import json
import math
import pathlib
import subprocess
import unittest

import tare
from cases import COMMAND

SCHEMA = pathlib.Path(__file__).parents[2] / "lib/report/schemas/tare.findings-1.json"


def found(gradients=(1.0,), moves=lambda step: (64.0, step, 0, 0, 0), steps=1200, tensors=None, **options):
    """Severities by code of all that is found over some steps. `moves`: the scale, and what its scaler counted."""
    scaler = tare.Scaler("torch", initial_scale=64.0)
    values = array.array("f", [1.0] * len(gradients))
    grads = scaler.grads(values)
    monitor = tare.Monitor(every=1, **options)
    told = {}
    for step in range(steps):
        values[:] = array.array("f", gradients if step > 0 else [1.0] * len(gradients))
        grads.observe()
        monitor.add_grads(grads, ["layer"])
        scale, made, skipped, growths, backoffs = moves(step)
        monitor.add_scaler(scale, steps=made, skipped=skipped, growths=growths, backoffs=backoffs)
        for group, tensor in (tensors or {}).items():
            monitor.observe(group, {"x": tensor})
        monitor.step(step)
        told.update({finding.code: finding for finding in monitor.findings()})
    return told


def bouncing(step):
    """Grows each 100 steps and falls back in the next."""
    return (128.0 if step % 100 == 99 else 64.0, step, step // 100, (step + 1) // 100, step // 100)


CASES = (
    {"gradients": (math.inf,), "steps": 30},
    {"moves": lambda step: (64.0, step, step, 0, 0), "steps": 40},
    {"moves": bouncing},
    {"moves": lambda step: (2.0 ** -max(0, step - 100), step, 0, 0, max(0, step - 100)), "steps": 130},
    {"moves": lambda step: (64.0, step, max(0, step - 100) // 3, 0, 0), "steps": 1400},
    {"gradients": (1.0, 0.0), "steps": 15},
    {"gradients": (30000.0, 0.0), "steps": 15},
    {"gradients": (0.0,), "steps": 15},
    {"tensors": {"weights": array.array("f", [math.nan])}, "steps": 2},
)


class Vocabulary(unittest.TestCase):
    def test_severities_and_keys_are_the_doctor_s(self):
        rules = json.loads(subprocess.run([COMMAND, "doctor", "--rules", "--json"], check=True, capture_output=True).stdout)
        severities = {rule["code"]: rule["severity"] for rule in rules["rules"]}
        keys = set(json.loads(SCHEMA.read_text())["properties"]["findings"]["items"]["required"])
        told = {}
        for case in CASES:
            told.update(found(**case))
        for code, finding in told.items():
            self.assertEqual(set(finding), keys, code)
            self.assertEqual(finding.severity, severities.get(code, finding.severity), code)
        both = set(told) & set(severities)
        self.assertEqual(both, {"collapse", "stuck-at-floor", "oscillating", "falling", "low-scale", "too-many-overflows"})
        self.assertEqual(set(told) - both, {"gradient-underflow", "layer-underflow", "beyond-f16-range", "layer-frozen",
                                            "gradient-not-finite", "tensor-not-finite"})


if __name__ == "__main__":
    unittest.main()
