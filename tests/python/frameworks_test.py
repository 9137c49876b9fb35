"""tare.deepspeed and tare.megatron: in the place of those frameworks' own scalers."""
import copy
import pathlib
import pickle
import tempfile
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

    def test_a_scaler_that_is_given_nothing_begins_as_deepspeed_s_own_does(self):
        """Its releases that have defaults (deepspeed/runtime/fp16/loss_scaler.py); dtype is torch.half in all of them."""
        scaler = tare.deepspeed.DynamicLossScaler()
        wanted = {"cur_scale": 2**32, "scale_factor": 2.0, "scale_window": 1000, "min_scale": 1, "delayed_shift": 1,
                  "cur_hysteresis": 1, "consecutive_hysteresis": False, "raise_error_at_min_scale": True,
                  "dtype": None if torch is None else torch.half}
        self.assertEqual({name: getattr(scaler, name) for name in wanted}, wanted)
        self.assertEqual(tare.deepspeed.DynamicLossScaler(scale_factor=4.0).scale_factor, 4.0)

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

    def test_a_copy_steps_alone(self):
        scaler = self.make()
        again = copy.copy(scaler)
        again.cur_scale = 128.0
        again.update_scale(True)
        self.assertEqual((scaler.cur_scale, scaler.cur_iter, again.cur_iter), (65536, 0, 1))

    def test_what_tare_finds_and_edits_in_a_checkpoint_is_what_the_resumed_run_goes_by(self):
        scaler = self.make(raise_error_at_min_scale=False)
        scaler.update_scale(True)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "zero_pp_rank_0_mp_rank_00_optim_states.pt"
            for one, scale, dialect_keys in ((scaler, 65536, 10), (tare.deepspeed.LossScaler(128), 128, 1)):
                path.write_bytes(pickle.dumps({"optimizer_state_dict": {"loss_scaler": one, "zero_stage": 1}}, 2))
                found, = tare.inspect(path).scalers
                self.assertEqual((found.dialect, found.roles.scale, len(found.editable)), ("deepspeed", scale, dialect_keys))
                tare.edit(path, scale=1024)
                again = pickle.loads(path.read_bytes())["optimizer_state_dict"]["loss_scaler"]
                self.assertEqual((type(again), again.cur_scale, again.dynamic), (type(one), 1024, one.dynamic))
                self.assertEqual(vars(one).keys(), vars(again).keys())
            path.write_bytes(pickle.dumps({"optimizer_state_dict": {"loss_scaler": scaler, "zero_stage": 1}}, 2))
            tare.edit(path, hysteresis=3, cur_hysteresis=1, scale_window=1, min_scale=8)
            again = pickle.loads(path.read_bytes())["optimizer_state_dict"]["loss_scaler"]
            again.update_scale(True)
            self.assertEqual((again.delayed_shift, again.scale_window, again.min_scale), (3, 1, 8))
            self.assertEqual((again.cur_scale, again.cur_iter, again.raise_error_at_min_scale), (32768.0, 2, False))

    def test_scales_beyond_every_integer_of_64_bits_are_kept(self):
        scaler = self.make(init_scale=2**64)
        self.assertEqual(scaler.cur_scale, 2**64)
        scaler.cur_scale = 2**70
        self.assertEqual(pickle.loads(pickle.dumps(scaler)).cur_scale, 2**70)

    def test_what_was_pickled_as_a_scaler_of_tare_s_still_loads(self):
        class Before:
            def __reduce__(self):
                inner = tare.Scaler("deepspeed", variant="zero", init_scale=64, scale_window=7)
                return object.__new__, (tare.deepspeed.DynamicLossScaler,), {"_scaler": inner, "dtype": None}

        again = pickle.loads(pickle.dumps(Before()))
        self.assertEqual((again.cur_scale, again.scale_window, again.dtype), (64, 7, None))

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
