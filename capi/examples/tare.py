"""tare for Python, over ctypes: no build, no dependency. `open_library` once, then Scaler and State; torch_scaler.py has
a GradScaler on top of them."""
import ctypes
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_float, c_int32, c_uint64, c_void_p

F32, F64, F16, BF16, F8E4M3FN, F8E5M2 = 1, 2, 3, 4, 5, 6
SCALE, INVERSE_SCALE, FOUND_INF, NOOP, MULTIPLIER = 1, 2, 3, 4, 5
MISMATCH = 33  # a status


class _Error(ctypes.Structure):
    _fields_ = [("struct_size", c_uint64), ("status", c_int32), ("detail", c_int32), ("message", c_char * 1024)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("count", c_uint64), ("dtype", c_int32), ("reserved", c_int32)]


class TareError(Exception):
    def __init__(self, error):
        super().__init__(error.message.decode("utf-8", "replace"))
        self.status, self.detail = error.status, error.detail


# Arguments before the error: results first, then the handle, then what it takes.
_SIGNATURES = {
    "scaler_create": [POINTER(c_void_p), c_char_p],
    "scaler_create_from_state": [POINTER(c_void_p), c_void_p, c_char_p],
    "scaler_scale": [POINTER(c_double), c_void_p, c_void_p],
    "scaler_pointer": [POINTER(c_void_p), c_void_p, c_int32],
    "scaler_unscale": [c_void_p, POINTER(Tensor), c_uint64, c_void_p],
    "scaler_observe": [c_void_p, POINTER(Tensor), c_uint64, c_void_p],
    "scaler_report_overflow": [c_void_p, c_int32, c_void_p],
    "scaler_update": [c_void_p, c_void_p],
    "scaler_set_scale": [c_void_p, c_double, c_void_p],
    "scaler_statistics": [POINTER(c_void_p), c_void_p, c_void_p],
    "scaler_save": [POINTER(c_void_p), c_void_p, c_void_p],
    "scaler_load": [c_void_p, c_void_p, c_void_p],
    "grads_create": [POINTER(c_void_p), c_void_p, POINTER(Tensor), c_uint64],
    "grads_rebind": [c_void_p, POINTER(Tensor), c_uint64, c_void_p],
    "grads_unscale": [c_void_p, c_void_p],
    "grads_observe": [c_void_p, c_void_p],
    "grads_write": [c_void_p, POINTER(Tensor), c_uint64, c_char_p, c_void_p],
    "grads_pointer": [POINTER(c_void_p), c_void_p, c_int32],
    "grads_statistics": [POINTER(c_void_p), c_void_p, c_void_p],
    "state_read": [POINTER(c_void_p), c_char_p],
    "state_findings": [POINTER(c_void_p), c_void_p],
    "state_write": [c_void_p, c_char_p, c_char_p],
    "state_from_json": [POINTER(c_void_p), c_char_p, c_uint64],
    "state_to_json": [POINTER(c_void_p), c_void_p],
    "state_number": [POINTER(c_double), c_void_p, c_char_p],
    "state_set_number": [c_void_p, c_char_p, c_double],
    "states_create": [POINTER(c_void_p)],
    "states_read": [POINTER(c_void_p), c_char_p],
    "states_write": [c_void_p, c_char_p],
    "states_count": [POINTER(c_uint64), c_void_p],
    "states_name": [POINTER(c_void_p), c_void_p, c_uint64],
    "states_get": [POINTER(c_void_p), c_void_p, c_char_p],
    "states_add": [c_void_p, c_char_p, c_void_p],
    "checkpoint_state": [POINTER(c_void_p), c_char_p, c_char_p],
    "checkpoint_inspect": [POINTER(c_void_p), c_char_p, c_char_p],
}

_library = None


def open_library(path="libtare.so.0"):
    global _library
    _library = ctypes.CDLL(path)
    for name, arguments in _SIGNATURES.items():
        function = getattr(_library, "tare_" + name)
        function.argtypes, function.restype = [*arguments, POINTER(_Error)], c_int32
    for name in ("scaler_destroy", "grads_destroy", "state_destroy", "states_destroy", "text_destroy"):
        function = getattr(_library, "tare_" + name)
        function.argtypes, function.restype = [c_void_p], None
    _library.tare_text_data.argtypes, _library.tare_text_data.restype = [c_void_p], c_char_p


def _call(name, *arguments):
    error = _Error(struct_size=ctypes.sizeof(_Error))
    if getattr(_library, "tare_" + name)(*arguments, byref(error)) != 0:
        raise TareError(error)


def _made(name, *arguments):
    handle = c_void_p()
    _call(name, byref(handle), *arguments)
    return handle


def _text(name, *arguments):
    handle = _made(name, *arguments)
    try:
        return _library.tare_text_data(handle).decode()
    finally:
        _library.tare_text_destroy(handle)


def _bytes(text):
    return None if text is None else text.encode()


class State:
    def __init__(self, handle):
        self.handle = handle

    def __del__(self):
        if _library is not None:
            _library.tare_state_destroy(self.handle)

    @classmethod
    def read(cls, path):
        return cls(_made("state_read", _bytes(path)))

    @classmethod
    def from_json(cls, text):
        return cls(_made("state_from_json", _bytes(text), len(_bytes(text))))

    @classmethod
    def from_checkpoint(cls, path, at=None):
        return cls(_made("checkpoint_state", _bytes(path), _bytes(at)))

    def write(self, path, options=None):
        _call("state_write", self.handle, _bytes(path), _bytes(options))

    def json(self):
        return _text("state_to_json", self.handle)

    def __getitem__(self, key):
        value = c_double()
        _call("state_number", byref(value), self.handle, _bytes(key))
        return value.value

    def __setitem__(self, key, value):
        _call("state_set_number", self.handle, _bytes(key), value)


class States:
    """States by name, in one file: {"schema": "tare.states/1", ...}."""

    def __init__(self, handle=None):
        self.handle = _made("states_create") if handle is None else handle

    def __del__(self):
        if _library is not None:
            _library.tare_states_destroy(self.handle)

    @classmethod
    def read(cls, path):
        return cls(_made("states_read", _bytes(path)))

    def write(self, path):
        _call("states_write", self.handle, _bytes(path))

    def __len__(self):
        count = c_uint64()
        _call("states_count", byref(count), self.handle)
        return count.value

    def names(self):
        return [_text("states_name", self.handle, index) for index in range(len(self))]

    def __getitem__(self, name):
        return State(_made("states_get", self.handle, _bytes(name)))

    def add(self, name, state):
        _call("states_add", self.handle, _bytes(name), state.handle)


class Scaler:
    def __init__(self, config=None, state=None):
        if state is None:
            self.handle = _made("scaler_create", _bytes(config))
        else:
            self.handle = _made("scaler_create_from_state", state.handle, _bytes(config))

    def __del__(self):
        if _library is not None and hasattr(self, "handle"):
            _library.tare_scaler_destroy(self.handle)

    @property
    def scale(self):
        value = c_double()
        _call("scaler_scale", byref(value), self.handle, None)
        return value.value

    def pointer(self, which):
        """The address of SCALE, FOUND_INF ...; of device memory where the scaler is on a GPU."""
        return _made("scaler_pointer", self.handle, which).value

    def found_inf(self):
        """On the CPU."""
        return c_float.from_address(self.pointer(FOUND_INF)).value

    # `stream` is a CUDA stream's address, None or 0 the legacy default stream; the CPU ignores it.

    def unscale(self, tensors, stream=None):
        _call("scaler_unscale", self.handle, (Tensor * len(tensors))(*tensors), len(tensors), stream)

    def observe(self, tensors, stream=None):
        _call("scaler_observe", self.handle, (Tensor * len(tensors))(*tensors), len(tensors), stream)

    def report_overflow(self, overflow, stream=None):
        _call("scaler_report_overflow", self.handle, int(bool(overflow)), stream)

    def update(self, stream=None):
        _call("scaler_update", self.handle, stream)

    def set_scale(self, scale, stream=None):
        _call("scaler_set_scale", self.handle, scale, stream)

    def statistics(self):
        return _text("scaler_statistics", self.handle, None)

    def grads(self, tensors):
        return Grads(self, tensors)

    def save(self):
        return State(_made("scaler_save", self.handle, None))

    def load(self, state):
        _call("scaler_load", self.handle, state.handle, None)


class Grads:
    """A list of tensors, made ready once and used every step; it has a found-inf of its own."""

    def __init__(self, scaler, tensors):
        self.scaler = scaler  # lives as long as its lists
        self.handle = _made("grads_create", scaler.handle, (Tensor * len(tensors))(*tensors), len(tensors))

    def __del__(self):
        if _library is not None and hasattr(self, "handle"):
            _library.tare_grads_destroy(self.handle)

    def rebind(self, tensors, stream=None):
        """Other addresses for the same counts and dtypes; False for other ones."""
        try:
            _call("grads_rebind", self.handle, (Tensor * len(tensors))(*tensors), len(tensors), stream)
        except TareError as error:
            if error.status != MISMATCH:
                raise
            return False
        return True

    def unscale(self, stream=None):
        _call("grads_unscale", self.handle, stream)

    def observe(self, stream=None):
        _call("grads_observe", self.handle, stream)

    def write(self, tensors, options=None, stream=None):
        _call("grads_write", self.handle, (Tensor * len(tensors))(*tensors), len(tensors), _bytes(options), stream)

    def pointer(self, which):
        return _made("grads_pointer", self.handle, which).value

    def found_inf(self):
        """On the CPU, as multiplier."""
        return c_float.from_address(self.pointer(FOUND_INF)).value

    def multiplier(self):
        return c_float.from_address(self.pointer(MULTIPLIER)).value

    def statistics(self):
        return _text("grads_statistics", self.handle, None)
