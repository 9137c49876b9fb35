"""Equality of the values that truth.json files and inspect documents hold."""
import math
import struct


def _float32(value):
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return None


def equal(want, got, kind="", unwrap=False):
    """Exactly the same value: numbers by value, true is not 1, nan is nan. Where `kind` speaks of float32, texts that
    mean the same float32. `unwrap`: an array of one element stands for that element."""
    if unwrap:
        while isinstance(want, list) and len(want) == 1:
            want = want[0]
        while isinstance(got, list) and len(got) == 1:
            got = got[0]
    if isinstance(want, dict) and isinstance(got, dict):
        return want.keys() == got.keys() and all(equal(want[key], got[key], kind, unwrap) for key in want)
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(equal(a, b, kind, unwrap) for a, b in zip(want, got))
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in (want, got)):
        return type(want) is type(got) and want == got
    if want == got or (math.isnan(want) and math.isnan(got)):
        return True
    return "float32" in kind and _float32(want) is not None and _float32(want) == _float32(got)


def field_changes(before, after):
    """The names of what is not equal in two maps, or is in one alone."""
    return sorted(name for name in {**before, **after}
                  if name not in before or name not in after or not equal(before[name], after[name]))


def shown(value):
    """A value for a message: short."""
    text = repr(value)
    return text if len(text) <= 90 else text[:87] + "..."
