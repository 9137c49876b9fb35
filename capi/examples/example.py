#!/usr/bin/env python3
"""A loss scaler in Python.

    example.py LIBTARE CHECKPOINT FOLDER
"""
import array
import math
import sys

import tare

library, checkpoint, folder = sys.argv[1:]
tare.open_library(library)

scaler = tare.Scaler('{"policy":"torch","initial_scale":1024}')
gradients = array.array("f", [1024.0, math.inf, 512.0])
address, count = gradients.buffer_info()
scaler.unscale([tare.Tensor(address, count, tare.F32, 0)])
scaler.update()
print(f"unscaled {gradients[0]:g}, scale {scaler.scale:g}")

scaler.save().write(f"{folder}/python.json")
scaler.save().write(f"{folder}/python.h5")
print(f"read back {tare.State.read(f'{folder}/python.json')['scale']:g} and "
      f"{tare.State.read(f'{folder}/python.h5')['scale']:g}")

scaler.load(tare.State.from_checkpoint(checkpoint))
scaler.report_overflow(True)
scaler.update()
print(f"an overflow after the checkpoint: scale {scaler.scale:g}")
