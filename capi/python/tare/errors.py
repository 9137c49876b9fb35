"""Exceptions: one for each status of tare.h, each also of the built-in kind that Python programs expect."""
from __future__ import annotations

import errno


class Error(Exception):
    """What libtare refused or could not do. `str()` is one line that names the place and the value."""

    status = 90

    def __init__(self, message: str, hint: str = "", detail: int = 0):
        super().__init__(f"{message}\n{hint}" if hint else message)
        self.message = message
        self.hint = hint
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message

    def __reduce__(self):
        return type(self), (self.message, self.hint, self.detail)


class InvalidArgument(Error, ValueError):
    status = 1


class WrongKind(Error, TypeError):
    """A call that this policy has no use for."""
    status = 2


class OutOfMemory(Error, MemoryError):
    status = 3


class Unsupported(Error, NotImplementedError):
    """This build, device or release cannot do it."""
    status = 10


class BackendError(Error, RuntimeError):
    """CUDA is missing or failed; `detail` is its cudaError_t."""
    status = 20


class FileError(Error, OSError):
    """A file cannot be read or written; `errno` says why."""
    status = 30

    def __init__(self, message: str, hint: str = "", detail: int = 0):
        super().__init__(message, hint, detail)
        self.errno = detail or None
        self.strerror = message


class FileMissing(FileError, FileNotFoundError):
    """There is nothing at that path."""


class Corrupt(Error, ValueError):
    """A file contradicts its format, or itself."""
    status = 31


class NotFound(Error, KeyError):
    """What was asked for is not in there; the message lists what is."""
    status = 32


class NothingThere(NotFound, FileMissing):
    """None of a run is at that path: what is not found is a file, too."""


class Mismatch(Error, ValueError):
    """Fine by itself, but not beside what it is for."""
    status = 33


class Refused(Error):
    """Ambiguous or dangerous; the hint says what would make it allowed."""
    status = 34


class Conflict(Error):
    """Copies in a checkpoint disagree."""
    status = 35


class Busy(Error):
    """Somebody else is editing the checkpoint."""
    status = 36


class RuleRaised(Error, ArithmeticError):
    """The scaler's own rule raised, as its framework does: DeepSpeed at its minimum ..."""
    status = 40


class InternalError(Error):
    """A bug of tare: please report it."""
    status = 90


_BY_STATUS = {kind.status: kind for kind in (
    InvalidArgument, WrongKind, OutOfMemory, Unsupported, BackendError, FileError, Corrupt, NotFound, Mismatch, Refused,
    Conflict, Busy, RuleRaised, InternalError)}


def error_of(status: int, detail: int, text: str) -> Error:
    """The exception for what a call wrote into its tare_error."""
    message, _, hint = text.partition("\n")
    kind = _BY_STATUS.get(status, Error)
    if detail == errno.ENOENT:
        kind = {FileError: FileMissing, NotFound: NothingThere}.get(kind, kind)
    return kind(message, hint, detail)
