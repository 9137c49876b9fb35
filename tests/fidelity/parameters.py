#!/usr/bin/env python3
"""Edits copies of real MindSpore and Paddle checkpoints and loads them with the one of both that this Python has.

    parameters.py --tare BINARY --corpus FOLDER [--only GLOB] [--must NAME...]

Each case is loaded, edited (scale; then growth tracker and interval, where stored), and loaded again: the edited values
must be the new ones, of the old type, and all others as they were. MindSpore verifies a file's checksum where there is
one; Paddle's GradScaler takes the edited state and says what it is. Cases of another framework are left out. Exit 0: all
is well.
"""
import os
import pathlib
import sys
import tempfile
import types
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import numpy

from command import Tare
from corpus import cases_of, copied, planned_edits
from judge import Wrong, arguments, judge
from values import equal

CONTAINERS = {"mindspore": ("mindspore", "safetensors"), "mindformers": ("mindspore", "safetensors"),
              "paddle": ("pickle", "paddle_lod_tensor")}


class MindSpore:
    frameworks = ("mindspore", "mindformers")

    def __init__(self):
        os.environ.setdefault("GLOG_v", "3")  # of both; Paddle takes it for the opposite
        import mindspore
        self.module = mindspore
        self.name = f"mindspore {mindspore.__version__}"

    def values(self, path):
        """{name: array or text} of a file. The checksum is verified: a wrong one raises."""
        kind = "safetensors" if path.suffix == ".safetensors" else "ckpt"
        loaded = self.module.load_checkpoint(str(path), format=kind, crc_check=b"crc_num" in path.read_bytes())
        # Copies: tensors of safetensors show the mapped file, and would change along with it.
        return {name: value.asnumpy().copy() if hasattr(value, "asnumpy") else value for name, value in loaded.items()}

    def report(self, case, scaler):
        return None


class Paddle:
    frameworks = ("paddle",)

    def __init__(self):
        import paddle
        self.module = paddle
        self.name = f"paddle {paddle.__version__}"

    def values(self, path):
        """{path: array or value} of a pickle, or of one variable's file."""
        if path.parent.joinpath("loss_scaling_0").exists():
            return self.variable(path)
        return dict(self.flat(self.module.load(str(path))))

    def flat(self, value, path=""):
        if isinstance(value, dict):
            for key, item in value.items():
                yield from self.flat(item, f"{path}.{key}" if path else str(key))
        else:
            yield path, value.numpy() if hasattr(value, "numpy") else value

    def variable(self, path):
        paddle = self.module
        paddle.enable_static()
        with paddle.pir_utils.OldIrGuard():
            program = paddle.static.Program()
            kind = "float32" if path.name.startswith("loss_scaling") else "int32"
            program.global_block().create_var(name=path.name, shape=[1], dtype=kind, persistable=True)
            paddle.static.io.load_vars(paddle.static.Executor(paddle.CPUPlace()), str(path.parent),
                                       main_program=program, predicate=lambda variable: variable.persistable)
            value = numpy.array(paddle.static.global_scope().find_var(path.name).get_tensor())
        paddle.disable_static()
        return {path.name: value}

    def report(self, case, scaler):
        """What a GradScaler holds after load_state_dict; it is made while the tracer claims to be on a GPU."""
        if scaler["dialect"] != "paddle":
            return None
        state = self.module.load(str(case.folder / scaler["files"][0]))
        for key in filter(None, scaler["path"].split(".")):
            state = state[key]
        place = types.SimpleNamespace(is_gpu_place=lambda: True)
        tracer = types.SimpleNamespace(_expected_place=place)
        with unittest.mock.patch.object(self.module.amp.grad_scaler, "_dygraph_tracer", lambda: tracer):
            own = self.module.amp.GradScaler()
        own.load_state_dict(state)
        held = own.state_dict()
        return f"GradScaler: scale {held['scale'].tolist()}, incr_count {held['incr_count']}, " \
               f"incr_every_n_steps {held['incr_every_n_steps']}"


def framework():
    for kind in (MindSpore, Paddle):
        try:
            return kind()
        except ImportError:
            pass
    sys.exit("neither mindspore nor paddle is installed here")


def same(a, b):
    return type(a) is type(b) and numpy.asarray(a).dtype == numpy.asarray(b).dtype and numpy.array_equal(a, b)


def compare(scaler, edits, before, after):
    """-> (how many values the edits changed, how many others there are, all of them as before)"""
    if set(before) != set(after):
        raise Wrong(f"other names than before: {sorted(set(before) ^ set(after))[:4]}")
    changed = [name for name in before if not same(before[name], after[name])]
    for name in changed:
        old, new = numpy.asarray(before[name]), numpy.asarray(after[name])
        meant = [value for role, value in edits if equal(float(scaler["roles"][role]), float(old.item()), "float32")]
        if (old.dtype, old.shape) != (new.dtype, new.shape) or not any(equal(float(value), float(new.item()), "float32") for value in meant):
            raise Wrong(f"{name}: {old!r} became {new!r}")
    if len(changed) < len(edits):
        raise Wrong(f"{len(edits)} edits, but {changed} changed")
    return len(changed), len(before) - len(changed)


def loaded(real, case, scaler):
    return {(file, name): value for file in scaler["files"] for name, value in real.values(case.folder / file).items()}


def check(tare, real, original):
    """-> lines that tell what was loaded"""
    with tempfile.TemporaryDirectory() as scratch:
        case = copied(original, scratch)
        scaler = next(s for s in case.loaded if s["kind"] == "loss_scale" and "scale" in s["roles"])
        before = loaded(real, case, scaler)
        edits = list(planned_edits(scaler))
        told = []
        for count in range(1, len(edits) + 1):
            role, value = edits[count - 1]
            answer = tare("edit", case.target, f"{role}={value}", "--yes")
            if answer.code != 0:
                raise Wrong(str(answer))
            changed, others = compare(scaler, edits[:count], before, loaded(real, case, scaler))
            told.append(f"{role}={value}: {changed} values are new, {others} as before")
        own = real.report(case, scaler)
        return told + ([own] if own else [])


def main():
    options = arguments(__doc__)
    tare, real = Tare(options.tare), framework()

    def concerns(case):
        whose = case.truth.get("framework")
        is_stored = any("scale" in scaler["roles"] for scaler in case.scalers)
        return whose in real.frameworks and case.truth["container"] in CONTAINERS[whose] and is_stored

    cases = filter(concerns, cases_of(options.corpus, options.only))
    return judge(real.name, cases, lambda case: check(tare, real, case), options.must)


if __name__ == "__main__":
    sys.exit(main())
