"""A run that is under way: what changes, and what goes wrong."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import _library
from ._library import Handle, path_bytes
from .answers import Answer, answer_of
from .checkpoint import Path, options_of


class Watch(Handle):
    """Follows the logs, event files and checkpoints at `paths` as they are written. Iterating gives each change
    ("tare.watch/1": `event` is "scale", "finding", "checkpoint" ...), and waits for the next; it does not end."""

    _kind = "watch"

    def __init__(self, *paths: Path, thresholds: Mapping[str, float] | None = None, tag: str | None = None,
                 settle: int | None = None, every: float = 30):
        """`thresholds`, `tag`: as for doctor. `settle`: seconds that a checkpoint is left alone before it is read.
        `every`: how long iterating waits at most before it looks at files of which nobody says that they changed."""
        given = [path_bytes(path) for path in paths]
        options = options_of(thresholds=None if thresholds is None else dict(thresholds), tag=tag, settle=settle)
        self._every = every
        self._own(_library.made("watch_create", _library.texts(given), len(given), options))

    def look(self, seconds: float = 0) -> list[Answer]:
        """What changed since the look before: waits for it `seconds` at most. The first returns at once."""
        lines = _library.text("watch_look", self._handle, seconds)
        return [answer_of(line) for line in lines.splitlines()]

    def status(self) -> Answer:
        """How the run stood at the last look: steps, overflows, scale, and the findings that hold now."""
        return answer_of(_library.text("watch_status", self._handle))

    def metrics(self) -> str:
        """The same for Prometheus, as OpenMetrics has it."""
        return _library.text("watch_metrics", self._handle)

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield from self.look(self._every)


__all__ = ["Watch"]
