"""tare.Monitor: what it tells of buffers and of gradients, and what lies in its files."""
import array
import json
import os
import tempfile
import unittest

import tare


class Monitoring(unittest.TestCase):
    def test_what_is_wrong_is_told_with_the_tensor(self):
        scaler = tare.Scaler("torch", initial_scale=4.0)
        gradients = [array.array("f", [1, 0, 0, 0]), array.array("f", [1, 2])]
        grads = scaler.grads(gradients)
        monitor = tare.Monitor(every=1, warn={"looks": 2, "ignore": ["*.embed"]})
        for step in (7, 8):
            grads.observe()
            monitor.add_grads(grads, ["a.weight", "b.weight"])
            monitor.step(step)
        findings = monitor.findings()
        self.assertEqual([finding.code for finding in findings], ["gradient-underflow", "layer-underflow", "low-scale"])
        self.assertEqual(findings[1].path, "a.weight")
        self.assertEqual(findings[0].step, 7)
        self.assertEqual(findings[0].evidence.share, 0.5)
        self.assertEqual(monitor.report().gradients[0].zeros, 3)

    def test_lines_and_event_files_are_there_once_the_monitor_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = os.path.join(folder, "a.jsonl")
            board = os.path.join(folder, "board")
            monitor = tare.Monitor(every=2, sinks=[{"jsonl": lines}, {"tensorboard": board}])
            for step in range(5):
                monitor.observe("loss", {"value": array.array("d", [step / 4])})
                monitor.observe("weights", {"w": array.array("f", [3, -4, 0, 2.0 ** -60])})
                monitor.step(step)
            del monitor
            with open(lines) as file:
                told = [json.loads(line) for line in file]
            self.assertEqual([line["step"] for line in told], [0, 2, 4])
            self.assertEqual(told[1]["tensors"][0]["mean"], 0.5)
            self.assertEqual(len(os.listdir(board)), 1)
            self.check_board(board)

    def check_board(self, board):
        """With TensorBoard's own reader, where it is installed."""
        try:
            from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        except ImportError:
            return
        events = EventAccumulator(board, size_guidance={"histograms": 0, "scalars": 0, "tensors": 0})
        events.Reload()
        self.assertEqual([(event.step, event.value) for event in events.Scalars("loss/value")],
                         [(0, 0.0), (2, 0.5), (4, 1.0)])
        self.assertEqual([event.value for event in events.Scalars("weights/w/norm")], [5.0] * 3)
        histogram = events.Histograms("weights/w/log2")[0].histogram_value
        filled = [(limit, count) for limit, count in zip(histogram.bucket_limit, histogram.bucket) if count]
        self.assertEqual(filled, [(-48.0, 1.0), (2.0, 1.0), (3.0, 1.0)])  # upper ends of octaves
        self.assertEqual((histogram.min, histogram.max, histogram.num), (-49.0, 3.0, 3.0))

    def test_a_resumed_run_goes_on_with_what_was_seen(self):
        scaler = tare.Scaler("torch", initial_scale=1024.0)
        grads = scaler.grads([array.array("f", [1, 0, 0, 0])])
        with tempfile.TemporaryDirectory() as folder:
            for ending in ("monitor.json", "monitor.h5"):
                path = os.path.join(folder, ending)
                monitor = tare.Monitor(every=1, warn={"looks": 4})
                for step in range(4):
                    if step == 2:
                        monitor.save().write(path)
                        monitor = tare.Monitor(every=1, warn={"looks": 4})
                        monitor.load(tare.State.read(path))
                    self.assertEqual(monitor.findings(), [])
                    grads.observe()
                    monitor.add_grads(grads, ["w"])
                    monitor.add_scaler(2.0, steps=step, skipped=step)
                    monitor.step(step)
                self.assertEqual([(finding.code, finding.step) for finding in monitor.findings()],
                                 [("gradient-underflow", 0), ("layer-underflow", 0), ("low-scale", 0)])
                self.assertEqual(monitor.report().scaler.skipped, 3)
        with self.assertRaises(tare.Mismatch):
            monitor.load(scaler.save())

    def test_a_group_has_steps_and_names_of_its_own(self):
        monitor = tare.Monitor(every=1, groups={"weights": {"every": 2, "names": ["*.w"]}})
        told = []
        for step in range(3):
            self.assertEqual(monitor.looks("weights", "a.w"), step != 1)
            self.assertFalse(monitor.looks("weights", "a.b"))
            monitor.observe("weights", {name: array.array("f", [1]) for name in ("a.w", "a.b")})
            monitor.step(step)
            told.append([tensor.name for tensor in monitor.report().tensors])
        self.assertEqual(told, [["a.w"], [], ["a.w"]])

    def test_a_scale_may_be_told_by_where_it_lies(self):
        scale, values = array.array("f", [1024]), array.array("f", [3072, -4096, 0])
        told = []
        for how in ({"scale": 1024.0}, {"scale_at": scale.buffer_info()[0]}):
            monitor = tare.Monitor(every=1)
            monitor.observe("gradients", {"w": values}, **how)
            monitor.step(0)
            told.append(monitor.report().tensors[0])
        self.assertEqual(told[0].max_abs, 4)
        self.assertEqual(told[1], told[0])
        scale[0] = 0
        with self.assertRaises(tare.InvalidArgument):
            monitor.observe("gradients", {"w": values}, scale_at=scale.buffer_info()[0])

    def test_what_another_scale_or_format_would_do_is_computed(self):
        monitor = tare.Monitor(every=1)
        values = [1.5 * 2.0 ** exponent for exponent in range(-40, 10)]
        monitor.observe("gradients", {"w": array.array("d", [8 * value for value in values])}, scale=8.0)
        monitor.step(0)
        for scale in (1.0, 1024.0, 2.0 ** 20):
            for name, least, most in (("f16", 2.0 ** -25, 65520), ("f8e5m2", 2.0 ** -17, 61440),
                                      ("bf16", 2.0 ** -134, 2.0 ** 128 - 2.0 ** 119)):
                told = monitor.at_scale(scale, name).tensors[0]
                zero = sum(value * scale <= least for value in values)
                infinite = sum(value * scale >= most for value in values)
                for count, (surely, at_most) in ((zero, told.becomes_zero), (infinite, told.becomes_infinite)):
                    self.assertIn(count, (surely, at_most))
                    self.assertLessEqual(at_most - surely, 1)  # a bin's
        with self.assertRaises(tare.InvalidArgument):
            monitor.at_scale(0.0)

    def test_names_are_as_many_as_the_list_s_tensors(self):
        grads = tare.Scaler("torch").grads([array.array("f", [1])])
        with self.assertRaises(tare.Mismatch):
            tare.Monitor().add_grads(grads, ["a", "b"])
        with self.assertRaises(tare.InvalidArgument):
            tare.Monitor(warn={"underflw": 1})


if __name__ == "__main__":
    unittest.main()
