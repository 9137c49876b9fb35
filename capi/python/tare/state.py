"""State: what a scaler is, apart from any file or running object."""
from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

from . import _library
from ._library import Handle, encoded, path_bytes
from .answers import Answer, answer_of
from .checkpoint import Path, options_of
from .errors import InvalidArgument, Mismatch

_NONE, _NUMBER, _INTEGER, _BOOLEAN, _TEXT, _ARRAY = range(6)  # TARE_KIND_; what comes behind is JSON


class State(Handle, MutableMapping[str, Any]):
    """Values by key: a role ("scale"), a framework's name ("_growth_tracker"), or a name in full
    ("params.growth_interval"). Iterating gives the full names, "policy" first."""

    _kind = "state"

    def __init__(self, source: Any):
        """`source`: a dict or JSON text, such as {"policy": "torch", "fields": {"scale": 65536}}."""
        text = source if isinstance(source, (str, bytes)) else _library.json_of(source)
        data = text.encode() if isinstance(text, str) else text
        self._own(_library.made("state_from_json", data, len(data)))

    @classmethod
    def _of(cls, handle: ctypes.c_void_p) -> State:
        state = cls.__new__(cls)
        state._own(handle)
        return state

    @classmethod
    def read(cls, path: Path) -> State:
        """tare's own JSON or HDF5, or lerobot's scaler_state.json."""
        return cls._of(_library.made("state_read", path_bytes(path)))

    @classmethod
    def from_bytes(cls, data: bytes) -> State:
        return cls._of(_library.made("state_from_bytes", data, len(data)))

    @classmethod
    def from_checkpoint(cls, path: Path, at: str | None = None) -> State:
        """Out of a checkpoint of any framework; `at` where it holds several scalers."""
        return cls._of(_library.made("checkpoint_state_as", path_bytes(path), options_of(at=at)))

    def write(self, path: Path, *, compression: str | None = None, shape: str | None = None) -> None:
        """By the path's ending: .json, .h5, .hdf5. The file appears whole or not at all."""
        options = _given(compression=compression, shape=shape)
        _library.call("state_write", self._handle, path_bytes(path), options)

    def to_bytes(self, format: str = ".json", *, compression: str | None = None, shape: str | None = None) -> bytes:
        options = _given(compression=compression, shape=shape)
        return _library.content("state_to_bytes", self._handle, encoded(format), options)

    def write_checkpoint(self, path: Path, framework: str | None = None, *, set: dict[str, Any] | None = None,
                         strict: bool = False, force: bool = False) -> Answer:
        """A new file that holds this state alone, as `framework` would save it (by default the policy's own)."""
        options = _given(framework=framework, set=set, strict=strict, force=force)
        return answer_of(_library.text("checkpoint_write", self._handle, path_bytes(path), options))

    def to_json(self) -> str:
        return _library.text("state_to_json", self._handle)

    def copy(self) -> State:
        return self._of(_library.made("state_clone", self._handle))

    __copy__ = copy

    def __deepcopy__(self, memo: dict) -> State:
        return self.copy()

    def __reduce__(self):
        return State, (self.to_json(),)

    def convert(self, policy: str) -> tuple[State, Answer]:
        """In another policy's terms, and what became of every value."""
        report = ctypes.c_void_p()
        made = _library.made("state_convert", self._handle, encoded(policy), ctypes.byref(report))
        return self._of(made), answer_of(_library._taken(report).decode())

    @property
    def policy(self) -> str:
        return self["policy"]

    def __getitem__(self, key: str) -> Any:
        name = encoded(key)
        kind = _library.number(ctypes.c_int32, "state_kind", self._handle, name)
        if kind == _NUMBER:
            return _library.number(ctypes.c_double, "state_number", self._handle, name)
        if kind == _INTEGER:
            return _library.number(ctypes.c_int64, "state_integer", self._handle, name)
        if kind == _BOOLEAN:
            return bool(_library.number(ctypes.c_int64, "state_integer", self._handle, name))
        text = _library.text("state_text", self._handle, name)
        if kind == _TEXT:
            return text
        return _with_numbers(json.loads(text)) if kind == _ARRAY else json.loads(text)

    def __setitem__(self, key: str, value: Any) -> None:
        """An array keeps the shape that it has: it takes one of that shape, or its elements in a row. Raises Mismatch for
        another."""
        name = encoded(key)
        value = _library.plain(value)
        if isinstance(value, int):
            _library.set_whole("state_set", self._handle, name, value)
        elif isinstance(value, str):
            _library.call("state_set_text", self._handle, name, encoded(value))
        elif isinstance(value, Sequence):
            numbers = self._elements(key, value)
            _library.call("state_set_array", self._handle, name, (ctypes.c_double * len(numbers))(*numbers),
                          len(numbers))
        else:
            _library.call("state_set_number", self._handle, name, value)

    def _elements(self, key: str, value: Sequence) -> list[float]:
        given = _shape(value)
        if len(given) > 1:
            held = self.get(key)
            if not isinstance(held, list) or given != _shape(held):
                there = f"{_sizes(_shape(held))} elements" if isinstance(held, list) else "no array"
                raise Mismatch(f"{key} has {there}, {_sizes(given)} are given",
                               "Give as many in each dimension, or make a State of all its values.")
        return _flat(value)

    def __delitem__(self, key: str) -> None:
        if key == "policy":
            raise InvalidArgument("the policy of a state cannot be removed")
        _library.call("state_remove", self._handle, encoded(key))

    def clear(self) -> None:
        """There is no state without its values: raises TypeError."""
        raise TypeError("a state is not cleared: make another, or delete keys of it")

    def popitem(self) -> tuple[str, Any]:
        """As a dict's: the last one. KeyError where the policy is all that there is."""
        key = list(self)[-1]
        if key == "policy":
            raise KeyError("the state has nothing but its policy")
        return key, self.pop(key)

    def __contains__(self, key: object) -> bool:
        try:
            _library.number(ctypes.c_int32, "state_kind", self._handle, encoded(str(key)))
        except LookupError:
            return False
        return True

    def __len__(self) -> int:
        return _library.number(ctypes.c_uint64, "state_count", self._handle)

    def __iter__(self) -> Iterator[str]:
        for index in range(len(self)):
            yield _library.text("state_key", self._handle, index)

    def __repr__(self) -> str:
        return f"State({self.to_json()})"

    def _repr_html_(self) -> str:
        return Answer(self)._repr_html_()


def _given(**options: Any) -> bytes:
    return _library.json_of({key: value for key, value in options.items() if value is not None})


def _with_numbers(array: list) -> list:
    """inf and nan, which are texts in JSON, as the numbers that they are; names stay texts."""
    elements = _flat(array)
    if not any(isinstance(element, str) for element in elements):
        return array
    is_of_names = all(isinstance(element, str) for element in elements) and not {"inf", "-inf", "nan"}.issuperset(elements)
    return array if is_of_names else _each(float, array)


def _each(function: Callable, value: Any) -> Any:
    return [_each(function, item) for item in value] if isinstance(value, list) else function(value)


def _shape(value: Any) -> tuple[int, ...]:
    """Of nested lists. Raises ValueError for rows that differ."""
    if not isinstance(value, (list, tuple)):
        return ()
    shapes = {_shape(item) for item in value}
    if len(shapes) > 1:
        raise ValueError("rows of an array are of different lengths")
    return (len(value), *(shapes.pop() if shapes else ()))


def _sizes(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _flat(value: Any) -> list[float]:
    return [number for item in value for number in _flat(item)] if isinstance(value, (list, tuple)) else [value]


__all__ = ["State"]
