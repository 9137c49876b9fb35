"""tare.Comm by a function: threads as ranks, whose all-reduce is made of Python's own."""
import array
import gc
import math
import threading
import unittest

import tare

RANKS = 3


class Ranks:
    """An all-reduce of threads."""

    def __init__(self):
        self.barrier = threading.Barrier(RANKS, timeout=60)
        self.given = {}
        self.kinds = set()

    def all_reduce(self, numbers, operation):
        self.given[threading.get_ident()] = list(numbers)
        self.kinds.add((operation, numbers.format, numbers.itemsize))
        self.barrier.wait()
        columns = list(zip(*self.given.values()))
        self.barrier.wait()
        for i, column in enumerate(columns):
            numbers[i] = max(column) if operation == "max" else sum(column)

    def each(self, call):
        """What the call gave on each rank."""
        results = [None] * RANKS

        def run(rank):
            results[rank] = call(rank)

        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(RANKS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results


class CommTest(unittest.TestCase):
    def test_an_overflow_of_one_rank_is_every_rank_s(self):
        ranks = Ranks()

        def train(rank):
            scaler = tare.Scaler("torch", initial_scale=4, growth_interval=1)
            scaler.set_comm(tare.Comm(ranks.all_reduce))
            gc.collect()  # nobody else holds the comm
            gradients = array.array("f", [3.0, 4.0])
            grads = scaler.grads(gradients)
            seen = []
            for step in range(6):
                gradients[0], gradients[1] = 3.0, math.inf if step == 2 and rank == 1 else 4.0
                grads.observe()
                seen.append((grads.found_inf, scaler.found_inf, grads.statistics().total.count))
                scaler.update()
            return seen, scaler.scale, scaler.statistics().skipped, scaler.statistics().last_step.norm

        skipped = [(False, False, 6), (False, False, 6), (True, True, 6)] + [(False, False, 6)] * 3
        self.assertEqual(ranks.each(train), [(skipped, 64.0, 1, math.sqrt(75))] * RANKS)
        self.assertEqual(ranks.kinds, {("max", "q", 8), ("sum", "d", 8)})

    def test_replicated_gradients_count_once(self):
        ranks = Ranks()

        def look(rank):
            scaler = tare.Scaler("torch")
            scaler.set_comm(tare.Comm(ranks.all_reduce), "replicated")
            scaler.observe(array.array("f", [3.0, 4.0]))
            return scaler.statistics().accumulated.norm

        self.assertEqual(ranks.each(look), [5.0] * RANKS)

    def test_a_total_is_either_of_all_ranks_or_of_this_one_and_never_of_both(self):
        of_this_rank = {"nans", "infinities", "finite_max_abs", "finite_norm"}

        def look(ranks, rank, gradients):
            scaler = tare.Scaler("torch", finite_statistics=True)
            scaler.set_comm(tare.Comm(ranks.all_reduce), gradients)
            grads = scaler.grads(array.array("f", [3.0, math.inf if gradients == "replicated" or rank == 1 else 4.0]))
            grads.observe()
            together = grads.statistics()
            scaler.update()
            scaler.set_comm(None)
            kept = grads.statistics().total.keys()  # still those of the last pass
            grads.observe()
            return together, kept, grads.statistics().total

        def seen(gradients):
            ranks = Ranks()
            return ranks.each(lambda rank: look(ranks, rank, gradients))

        for rank, (together, kept, alone) in enumerate(seen("sharded")):
            self.assertEqual((together.total.count, together.total.max_abs), (6, "inf"))
            self.assertFalse(of_this_rank & together.total.keys() | of_this_rank & kept)
            self.assertEqual((together.tensors[0].infinities, alone.infinities), (int(rank == 1), int(rank == 1)))
        for together, _, _ in seen("replicated"):  # of which every rank sees all
            self.assertEqual((together.total.count, together.total.infinities, together.total.finite_norm), (2, 1, 3.0))

    def test_who_exchanges_bytes_says_of_how_many_ranks(self):
        for wrong in (dict(all_to_all=print), dict(all_gather=print, ranks=2), dict(all_to_all=print, all_gather=print),
                      dict(all_to_all=print, all_gather=print, ranks=-1)):
            with self.assertRaisesRegex(ValueError, "all_to_all and all_gather"):
                tare.Comm(print, **wrong)

    def test_fp8_slots_go_by_the_greatest_amax_of_all(self):
        ranks = Ranks()

        def cast(rank):
            fp8 = tare.Fp8("te_current", slots=["x", "y"])
            fp8.set_comm(tare.Comm(ranks.all_reduce))
            fp8.observe([array.array("f", [2.0 ** rank]), array.array("f", [1.0])])
            fp8.update()
            return fp8.scale(0), fp8.scale(1)

        self.assertEqual(ranks.each(cast), [(112.0, 448.0)] * RANKS)

    def test_what_the_function_raises_is_the_cause(self):
        def all_reduce(numbers, operation):
            raise OSError("the network is down")

        scaler = tare.Scaler("torch", initial_scale=4)
        scaler.set_comm(tare.Comm(all_reduce))
        with self.assertRaisesRegex(tare.BackendError, "all_reduce of the comm's callbacks returned 1") as raised:
            scaler.observe(array.array("f", [math.inf]))
        self.assertIsInstance(raised.exception.__cause__, OSError)
        self.assertFalse(scaler.found_inf)
        scaler.set_comm(None)
        scaler.observe(array.array("f", [math.inf]))
        self.assertTrue(scaler.found_inf)
        with self.assertRaises(tare.Refused) as raised:  # the cause of before is no longer
            scaler.set_comm(tare.Comm(all_reduce))
        self.assertIsNone(raised.exception.__cause__)

    def test_who_reduces_found_inf_himself_tells_list_and_scaler(self):
        scaler = tare.Scaler("torch", initial_scale=4)
        first, second = (scaler.grads(array.array("f", [1.0])) for _ in range(2))
        first.observe()
        second.observe()
        first.memory(3).value = 1.0  # FOUND_INF, of another rank
        first.report_reduced()
        self.assertEqual((first.memory(4).value, second.memory(4).value), (1, 0))  # NOOP
        self.assertTrue(scaler.found_inf)
        scaler.update()
        self.assertEqual(scaler.scale, 2.0)

    def test_mpi_that_nobody_started_is_told(self):
        with self.assertRaises((tare.Refused, tare.Unsupported)):
            tare.Comm.of_mpi()
        with self.assertRaises(tare.InvalidArgument):
            tare.Comm.of_mpi(timeout_seconds=-1)


if __name__ == "__main__":
    unittest.main()
