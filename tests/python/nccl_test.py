"""Process groups of torch.distributed on a GPU: one rank of NCCL, and two processes of gloo on one card."""
import math
import os
import random
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no torch: not run") from None
if torch.version.cuda is None or not os.path.exists("/dev/nvidiactl"):  # asking CUDA would spoil it for forked processes
    raise unittest.SkipTest("no card: not run")
from torch import distributed

import ranks as processes
import tare
from tare.scaler import FOUND_INF, MULTIPLIER

STEPS, SIZE = 300, 1000


def values_of(step, ranks):
    """Of each rank; squares are whole numbers, which add up exactly."""
    source = random.Random(step)
    all_values = [[float(source.randrange(-8, 9)) for _ in range(SIZE)] for _ in range(ranks)]
    for values in all_values:
        if source.randrange(10 * ranks) == 0:
            values[source.randrange(SIZE)] = source.choice([math.inf, math.nan])
    return all_values


def told(scaler, grads):
    on_the_card = [torch.as_tensor(grads.memory(which), device="cuda:0").item()
                   for which in (FOUND_INF, MULTIPLIER)]
    return repr((scaler.scale, on_the_card, grads.statistics().total, scaler.statistics()))


def beside_one_that_sees_all(comm, rank, ranks):
    """On a stream of torch's, which waits for nothing of the host's."""
    alone, together = (tare.Scaler("torch", initial_scale=1024, growth_interval=3, device="cuda:0") for _ in range(2))
    together.set_comm(comm)
    everything, own, out = (torch.zeros(size, device="cuda:0") for size in (SIZE * ranks, SIZE, SIZE))
    grads_alone, grads = alone.grads(everything), together.grads(own)
    out_alone = torch.zeros_like(everything)
    stream = torch.cuda.Stream()
    for step in range(STEPS):
        values = values_of(step, ranks)
        with torch.cuda.stream(stream):
            everything.copy_(torch.tensor(sum(values, [])))
            own.copy_(torch.tensor(values[rank]))
            grads_alone.write(out_alone, clip_norm=0.5, stream=stream.cuda_stream)
            grads.write(out, clip_norm=0.5, stream=stream.cuda_stream)
        stream.synchronize()
        assert told(together, grads) == told(alone, grads_alone), step
        assert torch.equal(out.view(torch.int32), out_alone[SIZE * rank:][:SIZE].view(torch.int32)), step
        alone.update(stream.cuda_stream)
        together.update(stream.cuda_stream)
    assert together.statistics().skipped > STEPS // 20


def in_a_graph(comm):
    """What is captured with a comm is replayed as it ran."""
    alone, together = (tare.Scaler("torch", initial_scale=1024, growth_interval=3, device="cuda:0") for _ in range(2))
    together.set_comm(comm)
    values = torch.zeros(SIZE, device="cuda:0")
    lists = [scaler.grads(values) for scaler in (alone, together)]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for grads in lists:
            grads.observe_and_update(stream=stream.cuda_stream)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for grads in lists:
            grads.observe_and_update(stream=stream.cuda_stream)
    for step in range(100):
        values.copy_(torch.tensor(values_of(step, 1)[0]))
        torch.cuda.synchronize()
        graph.replay()
        torch.cuda.synchronize()
        assert told(together, lists[1]) == told(alone, lists[0]), step


def sums_in_fp8(comm, on_host, rank, ranks, device="cuda:0"):
    """Slots that see and sum gradients, beside the CPU's: the same bits."""
    for policy in ("fp8_lm", "fp8_static", "transformer_engine"):
        both = [tare.Fp8(policy, slots=2, format=["e4m3", "e5m2"], device=where) for where in (device, "cpu")]
        values = [torch.zeros(SIZE, device=device), torch.zeros(SIZE)]
        for fp8, ranks_of in zip(both, (comm, on_host)):
            fp8.set_comm(ranks_of)
        for step in range(20):
            for fp8, own in zip(both, values):
                own.copy_(torch.tensor(values_of(step, ranks)[rank]))
                if own.is_cuda:
                    torch.cuda.synchronize()
                fp8.observe([own], slots=[1])
                if policy != "transformer_engine":
                    fp8.all_reduce([own[:900], own[901:]], slots=[step % 2, 1])
                fp8.update()
            assert both[0].save().to_json() == both[1].save().to_json(), (policy, step)
            assert torch.equal(values[0].cpu().view(torch.int32), values[1].view(torch.int32)), (policy, step)


def of_itself():
    """A comm of one rank on the CPU."""
    def copy(given, got):
        got[:] = given

    return tare.Comm(lambda numbers, operation: None, copy, copy, 1)


def one_rank_of_nccl(_rank, _ranks):
    torch.cuda.set_device(0)
    comm = tare.Comm.of_torch()
    beside_one_that_sees_all(comm, 0, 1)
    in_a_graph(comm)
    sums_in_fp8(comm, of_itself(), 0, 1)
    try:
        tare.Scaler("torch").set_comm(comm)
    except tare.Unsupported as refused:
        assert "reduces in memory of a GPU" in str(refused)
    else:
        raise AssertionError("a scaler of the CPU took it")


def ranks_of_gloo_on_a_card(rank, ranks):
    torch.cuda.set_device(0)
    comm = tare.Comm.of_torch(device="cuda:0")
    beside_one_that_sees_all(comm, rank, ranks)
    sums_in_fp8(comm, tare.Comm.of_torch(device="cpu"), rank, ranks)


class NcclTest(unittest.TestCase):
    def test_a_rank_of_nccl_is_as_one_without_and_in_graphs_too(self):
        processes.on_ranks(one_rank_of_nccl, 1, "nccl")

    def test_two_processes_on_one_card_are_as_one_that_saw_all_gradients(self):
        processes.on_ranks(ranks_of_gloo_on_a_card, 2)


if __name__ == "__main__":
    unittest.main()
