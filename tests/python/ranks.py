"""Processes of torch.distributed as the ranks of a test: forked, so that torch is imported once, and bounded in time."""
import datetime
import faulthandler
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
import traceback

import torch
from torch import distributed

LIMIT = 200  # seconds; ranks take few, on a machine that does much else they may take many


def _be(function, rank, ranks, backend, folder):
    said = open(f"{folder}/{rank}", "w")
    os.dup2(said.fileno(), sys.stderr.fileno())
    faulthandler.dump_traceback_later(LIMIT, exit=True)  # where it waits
    torch.set_num_threads(1)
    try:
        distributed.init_process_group(backend, init_method=f"file://{folder}/store", rank=rank, world_size=ranks,
                                       timeout=datetime.timedelta(seconds=LIMIT))
        function(rank, ranks)
        if distributed.is_initialized():
            distributed.barrier()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)  # the others find the connection closed
    os._exit(0)  # the group stays: to destroy it may hang, where gloo's threads still hold what Python made (torch_ranks.py)


def on_ranks(function, ranks, backend="gloo"):
    """Runs `function(rank, ranks)` in as many processes. Raises AssertionError with what each said where one fails, or they
    are not over in time."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    processes = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        all_ranks = [processes.Process(target=_be, args=(function, rank, ranks, backend, folder)) for rank in range(ranks)]
        for one in all_ranks:
            one.start()
        end = time.monotonic() + LIMIT + 20
        while any(one.exitcode is None for one in all_ranks) and time.monotonic() < end:
            time.sleep(0.02)
            if any(one.exitcode for one in all_ranks):  # the others have little left to say
                end = min(end, time.monotonic() + 20)
        codes = [one.exitcode for one in all_ranks]
        for one in all_ranks:
            one.kill()
            one.join()
        said = [f"rank {rank}, exit {code}:\n" + pathlib.Path(folder, str(rank)).read_text() for rank, code in enumerate(codes)]
        assert codes == [0] * ranks, "\n".join(said)
