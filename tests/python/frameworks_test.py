"""tare.deepspeed and tare.megatron: in the place of those frameworks' own scalers."""
import copy
import pickle
import unittest

import tare
import tare.deepspeed

try:
    import torch

    import tare.megatron
except ImportError:
    torch = None


class DeepSpeed(unittest.TestCase):
    def make(self, **options):
        return tare.deepspeed.DynamicLossScaler(**{"init_scale": 65536, "scale_window": 2, "min_scale": 1,
                                                   "delayed_shift": 2, "consecutive_hysteresis": False, **options})

    def test_steps_as_deepspeed_does(self):
        """Scale, cur_iter, last_overflow_iter and hysteresis of deepspeed 0.19's DynamicLossScaler."""
        scaler, seen = self.make(), []
        for overflow in (1, 1, 0, 0, 0, 1):
            scaler.update_scale(overflow)
            seen.append((scaler.cur_scale, scaler.cur_iter, scaler.last_overflow_iter, scaler.cur_hysteresis))
        self.assertEqual(seen, [(65536, 1, 0, 1), (32768.0, 2, 1, 1), (32768.0, 3, 1, 1), (32768.0, 4, 1, 1),
                                (65536.0, 5, 1, 2), (65536.0, 6, 5, 1)])
        self.assertIsInstance(self.make().cur_scale, int)

    def test_what_is_written_into_it_counts(self):
        scaler = self.make()
        scaler.cur_scale, scaler.cur_hysteresis, scaler.scale_factor, scaler.min_scale = 64.0, 1, 4.0, 8.0
        for wanted in (16.0, 8.0):
            scaler.update_scale(True)
            self.assertEqual(scaler.loss_scale, wanted)
        scaler.raise_error_at_min_scale = True
        with self.assertRaises(tare.RuleRaised):
            scaler.update_scale(True)
        scaler.raise_error_at_min_scale = False
        scaler.update_scale(True)
        self.assertEqual(scaler.loss_scale, 8.0)

    def test_goes_through_pickles_and_copies(self):
        scaler = self.make()
        scaler.update_scale(True)
        for again in (pickle.loads(pickle.dumps(scaler)), copy.deepcopy(scaler)):
            again.update_scale(True)
            self.assertEqual((again.cur_scale, again.cur_iter), (32768.0, 2))
        self.assertEqual(scaler.cur_iter, 1)

    def test_a_static_scale_stays(self):
        scaler = tare.deepspeed.LossScaler(128)
        scaler.update_scale(True)
        self.assertEqual((scaler.loss_scale, scaler.dynamic), (128, False))
        self.assertEqual(scaler.scale_gradient(None, (1.0, 2.0), None), (128.0, 256.0))


@unittest.skipIf(torch is None, "no torch for Megatron's: not run")
class Megatron(unittest.TestCase):
    def make(self):
        return tare.megatron.DynamicGradScaler(initial_scale=1024.0, min_scale=1.0, growth_factor=2.0, backoff_factor=0.5,
                                               growth_interval=3, hysteresis=2, device="cpu")

    def test_steps_as_megatron_does(self):
        scaler, seen = self.make(), []
        for found in (True, True, True, False, False, False):
            scaler.update(found)
            state = scaler.state_dict()
            seen.append((state["scale"].item(), state["growth_tracker"], state["hysteresis_tracker"]))
        self.assertEqual(seen, [(1024.0, 0, 1), (512.0, 0, 0), (256.0, 0, -1), (256.0, 1, -1), (256.0, 2, -1),
                                (512.0, 0, 2)])
        self.assertEqual(tuple(scaler.scale.shape), (1,))
        self.assertEqual(scaler.inv_scale.item(), 1 / 512)

    def test_a_scale_that_is_held_stays_and_one_that_is_put_counts(self):
        scaler = self.make()
        held = scaler.scale
        scaler._scale, scaler._hysteresis_tracker = torch.tensor([96.0]), 1
        scaler.update(torch.tensor(True))
        self.assertEqual((held.item(), scaler.scale.item()), (1024.0, 48.0))

    def test_loads_what_megatron_saved_and_nothing_else(self):
        scaler = self.make()
        scaler.load_state_dict({"scale": torch.tensor([64.0]), "growth_tracker": 2, "hysteresis_tracker": 1})
        scaler.update(False)
        self.assertEqual(scaler.scale.item(), 128.0)
        with self.assertRaises(tare.Mismatch):
            scaler.load_state_dict({"scale": 1.0, "growth_factor": 2.0})
        self.assertEqual(scaler.scale.item(), 128.0)


if __name__ == "__main__":
    unittest.main()
