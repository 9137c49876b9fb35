#!/usr/bin/env python3
"""Time the command on a TensorFlow checkpoint of many variables, beside TensorFlow, and print a table with ratios.

    tensor_bundle.py --tare BUILD/tools/tare --tensorflow PYTHON [--items 20000] [--pairs 50] [--folder DIR]

TensorFlow itself writes the checkpoint: 20,000 variables of 1 KB under names of an object graph, and a loss scale. Whole
processes are timed, in pairs that take turns with /bin/true: the figure is the median of the differences. TensorFlow
opens the checkpoint and reads the scale alone. Edits are timed where fsync costs nothing.
"""
import pathlib
import subprocess
import tempfile

from processes import checkpoint_rows, framework_ms, framework_rows, parser

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
    ask = parser(__doc__)
    ask.add_argument("--tensorflow", required=True, help="a Python that has tensorflow")
    ask.add_argument("--items", type=int, default=20_000)
    options = ask.parse_args()

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        prefix = pathlib.Path(folder) / "ckpt-1"
        subprocess.run([options.tensorflow, "-c", SAVE, prefix, str(options.items)], stderr=subprocess.DEVNULL, check=True)
        index = prefix.with_suffix(".index")
        version, imported, taken = framework_ms(options.tensorflow, LOAD, prefix)
        inspect_ms = checkpoint_rows(options, f"TensorFlow checkpoint of {options.items:,} variables", index,
                                     f" of {index.stat().st_size:,} index", "TensorFlow")
        framework_rows(f"the scale by TensorFlow {version}", imported, taken, inspect_ms)


if __name__ == "__main__":
    main()
