"""The verbs: what `tare VERB` does to checkpoints, as functions. Each gives what `tare VERB --json` prints."""
from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Union

from . import _library
from ._library import path_bytes
from .answers import Answer, answer_of

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Value = Union[int, float, bool, str]


def state_folder() -> str | None:
    """Where the user's key lies that journals are sealed with: the same place as for the command."""
    state = os.environ.get("XDG_STATE_HOME", "")
    if state.startswith("/"):
        return state + "/tare"
    home = os.environ.get("HOME", "")
    return home + "/.local/state/tare" if home.startswith("/") else None


def options_of(**given: Any) -> bytes:
    """Options as the library takes them; what is None is left out."""
    folder = state_folder()
    if folder is not None:
        given["state_folder"] = folder
    return _library.json_of({key: value for key, value in given.items() if value is not None})


def _change(dry_run: bool, history: bool, hard_links: bool, content_addressed: bool, trust_journal: bool,
            wait: float) -> dict[str, Any]:
    return {"dry_run": dry_run, "history": history, "hard_links": hard_links, "content_addressed": content_addressed,
            "trust_journal": trust_journal, "wait_seconds": wait}


def inspect(path: Path, *, globals: bool = False, histories: bool = False) -> Answer:
    """The scaler state of a checkpoint: a file, a folder of rank files, a run. `globals`: also what pickles name.
    `histories`: all numbers of long fields, also where they are more than 65,536."""
    options = options_of(globals=globals, histories=histories)
    return answer_of(_library.text("checkpoint_inspect", path_bytes(path), options))


def edit(path: Path, set: Mapping[str, Value] | None = None, *, at: str | None = None, layer: str | None = None,
         all: bool = False, align: bool = False, force: bool = False, dry_run: bool = False, history: bool = True,
         hard_links: bool = False, content_addressed: bool = False, trust_journal: bool = False, wait: float = 0,
         **values: Value) -> Answer:
    """Changes scaler state in place, in every file that holds a copy, or in none: `edit("run", scale=65536)`. Keys that
    are no words of Python's, or options here, go into `set`: `edit("model.pt", {"scale.input": 16}, layer="layers.3.*")`.
    `wait`: seconds to try again while somebody else is editing."""
    wanted = {**(set or {}), **values}
    options = options_of(set=wanted, at=at, layer=layer, all=all, align=align, force=force,
                         **_change(dry_run, history, hard_links, content_addressed, trust_journal, wait))
    return answer_of(_library.text("checkpoint_edit", path_bytes(path), options))


def undo(path: Path, *, id: str | None = None, hard_links: bool = False, trust_journal: bool = False,
         wait: float = 0) -> Answer:
    """Brings back the exact bytes from before the last edit, or that of `id`."""
    options = options_of(id=id, hard_links=hard_links, trust_journal=trust_journal, wait_seconds=wait)
    return answer_of(_library.text("checkpoint_undo", path_bytes(path), options))


def history(path: Path, *, prune: bool = False, trust_journal: bool = False) -> Answer:
    """What was edited, when, from what to what. `prune` forgets it all, and with it the means to undo."""
    options = options_of(prune=prune, trust_journal=trust_journal)
    return answer_of(_library.text("checkpoint_history", path_bytes(path), options))


def diff(a: Path, b: Path) -> Answer:
    """How the scaler state of two checkpoints differs; `same` tells whether it does not."""
    return answer_of(_library.text("checkpoint_diff", path_bytes(a), path_bytes(b), options_of()))


def migrate(source: Path, *, to: str | None = None, output: Path | None = None, into: Path | None = None,
            rename: str | None = None, at: str | None = None, into_at: str | None = None,
            set: Mapping[str, Value] | None = None, fp8: bool = False, modules: Mapping[str, str] | None = None,
            strict: bool = False, align: bool = False, force: bool = False, dry_run: bool = False, history: bool = True,
            hard_links: bool = False, content_addressed: bool = False, trust_journal: bool = False,
            wait: float = 0) -> Answer:
    """Carries a scaler's state to another framework, and accounts for every value: into a new file (`to` a framework,
    `output`), `into` a checkpoint, or under another key in `source` itself (`rename="lightning:2.2"`).

    FP8 state goes into the layers of the same names, as `modules` puts parts of their paths; `fp8` takes it where
    `source` has a loss scaler, too."""
    options = options_of(to=to, output=None if output is None else os.fsdecode(output),
                         into=None if into is None else os.fsdecode(into), rename=rename, at=at, into_at=into_at,
                         set=None if set is None else dict(set), fp8=fp8,
                         modules=None if modules is None else dict(modules), strict=strict, align=align, force=force,
                         **_change(dry_run, history, hard_links, content_addressed, trust_journal, wait))
    return answer_of(_library.text("checkpoint_migrate", path_bytes(source), options))


def attest(path: Path, *, torch: str | None = None, all: bool = False) -> Answer:
    """What loading the checkpoint could run: every class and function that its pickles name. `plain`: nothing. `torch`:
    the release whose weights_only counts; `all`: every checkpoint of a run."""
    return answer_of(_library.text("checkpoint_attest", path_bytes(path), options_of(torch=torch, all=all)))


def trace(*paths: Path, tag: str | None = None) -> Answer:
    """What a run's logs, event files, tables and checkpoints tell of its scale, step by step. `tag`: of several series
    that could be the scale, the one of that name."""
    return _of_run("trace_read", paths, {"tag": tag})


def doctor(*paths: Path, thresholds: Mapping[str, float] | None = None, tag: str | None = None) -> Answer:
    """What is wrong with the checkpoints, logs and event files of one run: since which step, what to do, and the last
    healthy checkpoint. `thresholds`: where rules draw their lines, by the names that `tare doctor --rules` lists."""
    return _of_run("health_doctor", paths, {"thresholds": None if thresholds is None else dict(thresholds), "tag": tag})


def timeline(*paths: Path, tag: str | None = None) -> Answer:
    """The scale of a run as a curve, with its overflows, and its checkpoints with what lies between them."""
    return _of_run("health_timeline", paths, {"tag": tag})


def ls(*paths: Path) -> list[Answer]:
    """The checkpoints at the paths and below them: path, step, framework, scale, and what is wrong with each."""
    return [answer_of(line) for line in _text_of_run("health_list", paths, {}).splitlines()]


def simulate(*paths: Path, **options: Any) -> Answer:
    """What other settings would have done in a recorded run; the options are those of tare_health_simulate in tare.h."""
    return _of_run("health_simulate", paths, options)


def _of_run(call: str, paths: tuple[Path, ...], options: dict[str, Any]) -> Answer:
    return answer_of(_text_of_run(call, paths, options))


def _text_of_run(call: str, paths: tuple[Path, ...], options: dict[str, Any]) -> str:
    given = [path_bytes(path) for path in paths]
    return _library.text(call, _library.texts(given), len(given), options_of(**options))


def fp8_change(verb: str, path: Path, handle: Any = None, *, release: str | None = None, old: str | None = None,
               new: str | None = None, dry_run: bool = False, history: bool = True,
               hard_links: bool = False, content_addressed: bool = False, trust_journal: bool = False, wait: float = 0,
               **options: Any) -> Answer:
    words: dict[str, Any] = {"for": release, "from": old, "to": new}
    given = options_of(verb=verb, **words, **options,
                       **_change(dry_run, history, hard_links, content_addressed, trust_journal, wait))
    return answer_of(_library.text("checkpoint_fp8", path_bytes(path), handle, given))


def policies() -> Answer:
    """Every rule: its framework, parameters (names, types, defaults, ranges) and fields."""
    return answer_of(_library.text("policies"))


__all__ = ["attest", "diff", "doctor", "edit", "history", "inspect", "ls", "migrate", "policies", "simulate", "timeline",
           "trace", "undo"]
