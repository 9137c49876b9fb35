#!/usr/bin/env python3
"""Time the command on a TensorFlow checkpoint of many variables, beside TensorFlow, and print a table with ratios.

    tensor_bundle.py --tare BUILD/tools/tare --tensorflow PYTHON [--items 20000] [--pairs 50] [--folder DIR]

TensorFlow itself writes the checkpoint: 20,000 variables of 1 KB under names of an object graph, and a loss scale. Whole
processes are timed, in pairs that take turns with /bin/true: the figure is the median of the differences. TensorFlow
opens the checkpoint and reads the scale alone. Edits are timed where fsync costs nothing.
"""
import argparse
import pathlib
import subprocess
import tempfile

from checkpoint import above_true, alternating_edits, bytes_read, row, spread

SAVE = """
import os, sys
os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
import numpy, tensorflow as tf
ending = "/.ATTRIBUTES/VARIABLE_VALUE"
names = [f"model/layer_with_weights-{i // 4}/{('kernel', 'bias', 'gamma', 'beta')[i % 4]}" for i in range(int(sys.argv[2]))]
tensors = [numpy.full(256, i, numpy.float32) for i in range(len(names))]
names += ["optimizer/loss_scale/current_loss_scale", "optimizer/loss_scale/good_steps"]
tensors += [numpy.float32(32768), numpy.int64(1234)]
tf.raw_ops.SaveV2(prefix=sys.argv[1], tensor_names=[name + ending for name in names],
                  shape_and_slices=[""] * len(names), tensors=tensors)
"""

LOAD = """
import os, sys, time
os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
begin = time.perf_counter()
import tensorflow as tf
imported = time.perf_counter() - begin
begin = time.perf_counter()
reader = tf.train.load_checkpoint(sys.argv[1])
assert reader.get_tensor("optimizer/loss_scale/good_steps/.ATTRIBUTES/VARIABLE_VALUE") == 1234
print(tf.__version__, imported * 1e3, (time.perf_counter() - begin) * 1e3)
"""


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--tensorflow", required=True, help="a Python that has tensorflow")
    ask.add_argument("--items", type=int, default=20_000)
    ask.add_argument("--pairs", type=int, default=50)
    ask.add_argument("--folder", default="/dev/shm", help="where fsync costs nothing")
    options = ask.parse_args()
    options.tare = str(pathlib.Path(options.tare).resolve())

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        prefix = pathlib.Path(folder) / "ckpt-1"
        subprocess.run([options.tensorflow, "-c", SAVE, prefix, str(options.items)], stderr=subprocess.DEVNULL, check=True)
        index = prefix.with_suffix(".index")
        inspect = [options.tare, "inspect", str(index)]
        subprocess.run(inspect, stdout=subprocess.DEVNULL, check=True)
        done = subprocess.run([options.tensorflow, "-c", LOAD, prefix], capture_output=True, text=True, check=True)
        version, imported, taken = done.stdout.split()

        row(f"TensorFlow checkpoint of {options.items:,} variables", "median (quartiles)", "TensorFlow / tare")
        inspect_ms = above_true(inspect, options.pairs)
        row("tare inspect, above an empty process", spread(inspect_ms))
        row("  bytes read", f"{bytes_read(inspect):,} of {index.stat().st_size:,} index")
        row("tare edit, where fsync costs nothing", spread(alternating_edits(options.tare, index, options.pairs)))
        row(f"the scale by TensorFlow {version}", f"{float(taken):.1f} ms", f"{float(taken) / inspect_ms[0]:.1f}x")
        whole = float(taken) + float(imported)
        row("  and its import", f"{float(imported):.0f} ms", f"{whole / inspect_ms[0]:.0f}x")


if __name__ == "__main__":
    main()
