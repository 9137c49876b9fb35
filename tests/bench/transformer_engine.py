#!/usr/bin/env python3
"""TransformerEngine's own library on the GPU beside tare.Quantizer: the bytes of both, and their times in turns. All
that is needed of TransformerEngine is libtransformer_engine.so of the package transformer_engine_cu13 (2.20).

    transformer_engine.py LIBTRANSFORMER_ENGINE bits|times|profile

Each recipe runs in a process of its own, since that library ends a process that asks for what it has not.
"""
import ctypes
import itertools
import os
import pathlib
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/python"))
import torch

import tare

DTYPES = {torch.float32: 4, torch.float16: 5, torch.bfloat16: 6}
FLOAT32, E8M0, FORMATS = 4, 9, {"e4m3": 7, "e5m2": 8, "e2m1": 10}
ROWWISE, COLUMNWISE, SCALE, AMAX, ROWWISE_INVERSE, COLUMNWISE_INVERSE, COLUMNWISE_AMAX = range(7)
MODES = {"delayed": 0, "current": 0, "mxfp8": 1, "blockwise_1d": 2, "blockwise_2d": 3, "nvfp4": 4}


class Shape(ctypes.Structure):
    _fields_ = [("data", ctypes.c_size_t * 15), ("ndim", ctypes.c_size_t)]


class BasicTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("shape", Shape)]


class Vector(ctypes.Structure):
    """A std::vector of pointers, as it is passed."""
    _fields_ = [("begin", ctypes.c_void_p), ("end", ctypes.c_void_p), ("room", ctypes.c_void_p)]


def up(value, to):
    return -(-value // to) * to


def opened(path):
    library = ctypes.CDLL(path, os.RTLD_LAZY | os.RTLD_GLOBAL)
    for name in ("nvte_create_tensor", "nvte_create_quantization_config"):
        getattr(library, name).restype = ctypes.c_void_p
    return library


class Theirs:
    """A matrix as TransformerEngine quantises it."""

    def __init__(self, library, recipe, config, values, has_columnwise=True, scale=1.0):
        self.library, self.recipe, self.values = library, recipe, values
        rows, columns = values.shape
        kind = FORMATS[config["format"]]
        self.has_columnwise = has_columnwise
        half = 2 if recipe == "nvfp4" else 1
        self.rowwise = torch.full((rows, columns // half), 0x55, dtype=torch.uint8, device="cuda")
        flipped = (rows, columns) if recipe == "mxfp8" else (columns, rows // half)
        self.columnwise = torch.full(flipped, 0x55, dtype=torch.uint8, device="cuda")
        width = torch.uint8 if recipe in ("mxfp8", "nvfp4") else torch.float32
        self.scales = [torch.zeros(shape, dtype=width, device="cuda")
                       for shape in self.scale_shapes(recipe, rows, columns)]
        if MODES[recipe] == 0:
            self.scales[1] = self.scales[0]  # the two sides must share theirs
        self.amax = torch.zeros(1, device="cuda")
        self.scale = torch.full((1,), scale, device="cuda")
        scale_kind = {"mxfp8": E8M0, "nvfp4": FORMATS["e4m3"]}.get(recipe, FLOAT32)
        self.input, self.output = self._tensor(0), self._tensor(MODES[recipe])
        self._set(self.input, ROWWISE, values, DTYPES[values.dtype], (rows, columns))
        self._set(self.output, ROWWISE, self.rowwise, kind, (rows, columns))
        self._set(self.output, ROWWISE_INVERSE, self.scales[0], scale_kind)
        if has_columnwise:
            turned = (rows, columns) if recipe == "mxfp8" else (columns, rows)
            self._set(self.output, COLUMNWISE, self.columnwise, kind, turned)
            self._set(self.output, COLUMNWISE_INVERSE, self.scales[1], scale_kind)
        if MODES[recipe] == 0:
            self._set(self.output, SCALE, self.scale, FLOAT32)
        if recipe in ("delayed", "current", "nvfp4"):
            self._set(self.output, AMAX, self.amax, FLOAT32)
        if recipe == "nvfp4" and has_columnwise:
            self._set(self.output, COLUMNWISE_AMAX, self.amax, FLOAT32)
        self.config = ctypes.c_void_p(library.nvte_create_quantization_config())
        pow_2 = ctypes.c_bool(config.get("force_pow_2_scales", recipe.startswith("blockwise")))
        epsilon = ctypes.c_float(config.get("amax_epsilon", 0.0))
        if recipe != "nvfp4":
            library.nvte_set_quantization_config_attribute(self.config, 0, ctypes.byref(pow_2), ctypes.c_size_t(1))
            library.nvte_set_quantization_config_attribute(self.config, 1, ctypes.byref(epsilon), ctypes.c_size_t(4))

    @staticmethod
    def scale_shapes(recipe, rows, columns):
        if recipe == "mxfp8":
            return (up(rows, 128), up(-(-columns // 32), 4)), (up(-(-rows // 32), 4), up(columns, 128))
        if recipe == "nvfp4":
            return (up(rows, 128), up(-(-columns // 16), 4)), (up(columns, 128), up(-(-rows // 16), 4))
        tiles = -(-rows // 128), -(-columns // 128)
        if recipe == "blockwise_1d":
            return (tiles[1], up(rows, 4)), (tiles[0], up(columns, 4))
        if recipe == "blockwise_2d":
            return (tiles[0], up(tiles[1], 4)), (tiles[1], up(tiles[0], 4))
        return (1,), (1,)

    def _tensor(self, mode):
        return ctypes.c_void_p(self.library.nvte_create_tensor(mode))

    def _set(self, tensor, parameter, buffer, kind, shape=None):
        sizes = tuple(buffer.shape) if shape is None else shape
        basic = BasicTensor(buffer.data_ptr() if buffer is not None else None, kind,
                            Shape((ctypes.c_size_t * 15)(*sizes), len(sizes)))
        self.library.nvte_set_tensor_param(ctypes.byref(tensor), parameter, ctypes.byref(basic))

    def quantise(self, stream):
        at = ctypes.c_void_p(stream)
        library = self.library
        if self.recipe in ("current", "nvfp4"):
            library.nvte_compute_amax_with_config(self.input, self.output, self.config, at)
        if self.recipe == "current":
            library.nvte_compute_scale_from_amax(self.output, self.config, at)
        library.nvte_quantize_v2(self.input, self.output, self.config, at)


class Ours:
    """The same matrix and sides as tare quantises it, with TransformerEngine's distances between scales."""

    def __init__(self, recipe, config, values, like, scale=1.0):
        self.quantizer = tare.Quantizer(recipe, device="cuda:0", **config)
        self.rowwise, self.columnwise = torch.full_like(like.rowwise, 0xAA), torch.full_like(like.columnwise, 0xAA)
        self.scales = [torch.zeros_like(scales) for scales in like.scales]
        self.amax, self.scale = torch.zeros(1, device="cuda"), torch.full((1,), scale, device="cuda")

        def side(data, scales):
            if scales.dim() == 1:
                return tare.Side(data, scales)
            strides = (1, scales.shape[1]) if recipe == "blockwise_1d" else (scales.shape[1], 1)
            return tare.Side(data, scales, *strides)
        self.matrix = tare.Matrix(values, side(self.rowwise, self.scales[0]),
                                  side(self.columnwise, self.scales[1]) if like.has_columnwise else None,
                                  amax=self.amax if MODES[recipe] in (0, 4) else None,
                                  scale=self.scale if MODES[recipe] == 0 else None)

    def quantise(self, stream):
        self.quantizer.quantize(self.matrix, stream)


def values_of(kind, rows, columns, dtype, seed):
    random = torch.Generator(device="cuda").manual_seed(seed)
    values = torch.randn(rows, columns, generator=random, device="cuda")
    if kind != "normal":
        values *= torch.exp2(torch.randint(-20, 14, (rows, columns), generator=random, device="cuda").float())
        values[torch.rand(rows, columns, generator=random, device="cuda") < 0.1] = 0.0
    values[rows // 2, : columns // 2] = 0.0
    values = values.to(dtype)
    if kind == "special":
        for i, special in enumerate((float("nan"), float("inf"), -float("inf"), -0.0)):
            at = torch.randint(0, rows * columns, (3,), generator=random, device="cuda")
            values.view(-1)[at] = special
    return values


ROUGH = {"format": "e4m3", "amax_epsilon": 3.0}
BLOCKWISE = [{"format": "e4m3"}, {"format": "e5m2", "force_pow_2_scales": False}, ROUGH]
CONFIGS = {
    "delayed": [{"format": "e4m3"}, {"format": "e5m2"}],
    "current": [{"format": "e4m3"}, {"format": "e5m2", "force_pow_2_scales": True}, ROUGH],
    "mxfp8": [{"format": "e4m3"}, {"format": "e5m2"}],
    "blockwise_1d": BLOCKWISE,
    "blockwise_2d": BLOCKWISE,
    "nvfp4": [{"format": "e2m1"}],
}
SHAPES = ((128, 128), (256, 640), (512, 1152), (1024, 4096))


def parts_of(recipe, theirs, ours):
    """What both have written, by name, as bytes."""
    parts = {"rowwise": (theirs.rowwise, ours.rowwise), "columnwise": (theirs.columnwise, ours.columnwise),
             "rowwise scales": (theirs.scales[0], ours.scales[0]),
             "columnwise scales": (theirs.scales[1], ours.scales[1])}
    if MODES[recipe] == 0:
        parts |= {"amax": (theirs.amax, ours.amax), "scale": (theirs.scale, ours.scale)}
    return {name: (a.view(torch.uint8).view(-1), b.view(torch.uint8).view(-1)) for name, (a, b) in parts.items()}


def compare(library, recipe):
    matrices = seen = 0
    differences = []
    scale = 3.7 if recipe == "delayed" else 1.0
    stream = torch.cuda.current_stream().cuda_stream
    for case in itertools.product(CONFIGS[recipe], DTYPES, ("normal", "wide", "special"), enumerate(SHAPES)):
        config, dtype, kind, (seed, (rows, columns)) = case
        values = values_of(kind, rows, columns, dtype, 100 + seed)
        theirs = Theirs(library, recipe, config, values, scale=scale)
        ours = Ours(recipe, config, values, theirs, scale=scale)
        theirs.quantise(stream)
        ours.quantise(stream)
        torch.cuda.synchronize()
        matrices += 1
        for name, (a, b) in parts_of(recipe, theirs, ours).items():
            seen += a.numel()
            where = (a != b).nonzero()[:, 0].tolist()
            if where:
                first = [(at, int(a[at]), int(b[at])) for at in where[:4]]
                words = f"    {name} of {case}: {len(where)}, the first (where, theirs, ours): {first}"
                differences.append((len(where), words))
    print(f"{recipe:13} {matrices} matrices, {seen} bytes: {sum(count for count, _ in differences)} differ", flush=True)
    for _, words in differences:
        print(words, flush=True)


def microseconds_of(works, samples=15):
    """Of one of the works, which take turns in a captured graph; medians, each graph in turn with the other's."""
    graphs = []
    for group in works:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for work in group:
                work(stream.cuda_stream)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for work in group:
                work(torch.cuda.current_stream().cuda_stream)
        graphs.append((graph, len(group)))
    times = [[] for _ in works]
    for sample in range(samples + 3):
        for i, (graph, count) in enumerate(graphs):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            if sample >= 3:
                times[i].append(begin.elapsed_time(end) * 1e3 / count)
    return [statistics.median(of) for of in times]


def time_recipe(library, recipe):
    config = CONFIGS[recipe][0]
    for rows, columns in ((8192, 8192), (4096, 4096), (4096, 1024), (512, 512)):
        for has_columnwise in (False, True):
            count = max(3, min(64, int(400e6 // (rows * columns * 4))))
            values = [values_of("normal", rows, columns, torch.bfloat16, i) for i in range(count)]
            theirs = [Theirs(library, recipe, config, one, has_columnwise) for one in values]
            ours = [Ours(recipe, config, one.values, one) for one in theirs]
            a, b = microseconds_of([[one.quantise for one in ours], [one.quantise for one in theirs]])
            sides = "both sides" if has_columnwise else "rowwise"
            print(f"{recipe:13} {rows} x {columns} bf16, {sides:10} tare {a:8.2f} us, "
                  f"TransformerEngine {b:8.2f} us = {b / a:.2f}x", flush=True)


def profile(library, recipe):
    for has_columnwise in (False, True):
        values = values_of("normal", 4096, 4096, torch.bfloat16, 1)
        like = Theirs(library, recipe, CONFIGS[recipe][0], values, has_columnwise)
        Ours(recipe, CONFIGS[recipe][0], values, like).quantise(torch.cuda.current_stream().cuda_stream)
        torch.cuda.synchronize()


def history_update(library):
    """3,334 modules of 3 slots, a history of 1,024: what TransformerEngine does at the end of each step."""
    def basic(tensor):
        handle = ctypes.c_void_p(library.nvte_create_tensor(0))
        shape = Shape((ctypes.c_size_t * 15)(*tensor.shape), tensor.dim())
        given = BasicTensor(tensor.data_ptr(), FLOAT32, shape)
        library.nvte_set_tensor_param(ctypes.byref(handle), ROWWISE, ctypes.byref(given))
        return handle.value
    modules = 3334
    histories = [torch.rand(1024, 3, device="cuda") for _ in range(modules)]
    scales = [torch.ones(3, device="cuda") for _ in range(modules)]
    amaxes = torch.rand(3 * modules, device="cuda")
    lists = [(ctypes.c_void_p * modules)(*(basic(t) for t in tensors)) for tensors in (histories, scales)]
    vectors = []
    for of in lists:
        begin = ctypes.addressof(of)
        end = begin + ctypes.sizeof(of)
        vectors.append(Vector(begin, end, end))
    reduction = ctypes.c_void_p(basic(amaxes))

    def theirs(stream):
        library.nvte_delayed_scaling_recipe_amax_and_scale_update_after_reduction(
            reduction, ctypes.byref(vectors[0]), ctypes.byref(vectors[1]), b"max", FORMATS["e4m3"], ctypes.c_float(0.0),
            ctypes.c_void_p(stream))
    time = microseconds_of([[theirs]])[0]
    print(f"G7   TransformerEngine's update of 10,002 slots, history of 1,024: {time:.2f} us", flush=True)


def in_a_process(work, *arguments):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            work(opened(sys.argv[1]), *arguments)
            sys.stdout.flush()
            os._exit(0)
        except BaseException as error:
            print("   ", type(error).__name__, error, flush=True)
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        print(f"{arguments}: NOT RUN to the end: the process ended with {status}", flush=True)


def recipes():
    """Those that its library has kernels for on this card: what it does of the others on Hopper is nothing, or an error
    of the device."""
    chosen = sys.argv[3:] or list(MODES)
    asked = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]  # not of CUDA: no fork survives that
    if float(subprocess.run(asked, capture_output=True, text=True).stdout.split()[0]) >= 10:
        return chosen
    for recipe in set(chosen) & {"mxfp8", "nvfp4"}:
        print(f"{recipe:13} NOT RUN: TransformerEngine has its kernels for compute capability 10.0 and above")
    return [recipe for recipe in chosen if recipe not in ("mxfp8", "nvfp4")]


works = {"bits": compare, "times": time_recipe, "profile": profile}
for recipe in recipes():
    in_a_process(works[sys.argv[2]], recipe)
if sys.argv[2] == "times":
    in_a_process(history_update)
