"""The verbs of `tare fp8`: repairs of the FP8 state of a checkpoint's layers. Every change is one transaction that
`tare.undo` takes back. All take `layer` (a pattern: * and ? are wildcards) and the options of `tare.edit`: dry_run,
history, hard_links, content_addressed, trust_journal, wait."""
from __future__ import annotations

import os
from typing import Any

from . import _library
from .answers import Answer, answer_of
from .checkpoint import Path, fp8_change
from .state import State


def strip(path: Path, layer: str | None = None, *, remove: bool = False, release: str | None = None,
          **options: Any) -> Answer:
    """Leaves no FP8 state, so that the checkpoint loads where FP8 is off; `remove` takes the keys away, too."""
    return fp8_change("strip", path, layer=layer, remove=remove, release=release, **options)


def reset(path: Path, layer: str | None = None, *, history_length: int | None = None, **options: Any) -> Answer:
    """Scales of 1 and empty histories, as training starts."""
    return fp8_change("reset", path, layer=layer, history_length=history_length, **options)


def recompute(path: Path, layer: str | None = None, **options: Any) -> Answer:
    """Scales from the histories, by the framework's own rule."""
    return fp8_change("recompute", path, layer=layer, **options)


def rename(path: Path, old: str, new: str, layer: str | None = None, **options: Any) -> Answer:
    """Other paths for modules, as other releases call them."""
    return fp8_change("rename", path, layer=layer, old=old, new=new, **options)


def resize(path: Path, history_length: int, layer: str | None = None, **options: Any) -> Answer:
    """Histories of another length, as TransformerEngine makes them."""
    return fp8_change("resize", path, layer=layer, history_length=history_length, **options)


def reencode(path: Path, release: str, layer: str | None = None, *, force: bool = False, **options: Any) -> Answer:
    """The form in which another release of TransformerEngine keeps it."""
    return fp8_change("reencode", path, layer=layer, force=force, release=release, **options)


def inject(path: Path, state: State | Path, layer: str | None = None, *, release: str | None = None,
           **options: Any) -> Answer:
    """A saved state (or the path of one), for modules that keep none."""
    handle = state._handle if isinstance(state, State) else None
    file = None if handle is not None else os.fsdecode(state)  # type: ignore[arg-type]
    return fp8_change("inject", path, handle, layer=layer, state=file, release=release, **options)


def regroup(path: Path, layer: str, release: str, **options: Any) -> Answer:
    """The columns of GroupedLinear in the order of another release."""
    return fp8_change("regroup", path, layer=layer, release=release, **options)


def policies() -> Answer:
    """Every FP8 rule: its framework, parameters and fields."""
    return answer_of(_library.text("fp8_policies"))
