"""Why a call gave no answer.

Raise these. What an import of the host refuses arrives as the same exceptions, so that one that is not caught becomes the answer.
"""

from __future__ import annotations

import sys
import traceback
from contextlib import contextmanager
from typing import Any, Iterator

from . import bindings


class ProviderError(Exception):
    """One of the five. The message is shown to the client's user and model: say what to do about it, and no secrets."""

    _case = "Failed"


class NotFound(ProviderError):
    """There is no such resource here. The host asks the next provider that may own the URI. (It has no message.)"""

    _case = "NotFound"


class Invalid(ProviderError):
    """The request cannot be right: a bad variable, for instance."""

    _case = "Invalid"


class Denied(ProviderError):
    """It exists, and may not be had. From the host: no line of wharf.toml grants this; the message says which would."""

    _case = "Denied"


class Unavailable(ProviderError):
    """Not now; the same request may succeed later."""

    _case = "Unavailable"


class Failed(ProviderError):
    """Anything else."""

    _case = "Failed"


_BY_CASE = {kind._case: kind for kind in (NotFound, Invalid, Denied, Unavailable, Failed)}


def from_host(value: Any) -> ProviderError:
    """The exception for an `error` of the contract."""
    kind = _BY_CASE.get(type(value).__name__.removeprefix("Error_"), Failed)
    message = getattr(value, "value", None)
    return kind() if message is None else kind(message)


def to_host(error: Exception) -> Any:
    """What is raised to the host for an exception of a handler. What nobody foresaw goes to the log with its trace."""
    if isinstance(error, bindings.Err):
        return error
    if not isinstance(error, ProviderError):
        log(error)
        error = Failed(_told(error))
    case = bindings.case("Error", error._case)
    return bindings.Err(case() if isinstance(error, NotFound) else case(str(error)))


def _told(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "MemoryError: it takes more than the memory that wharf.toml gives it ([provider.limits] memory)"
    if isinstance(error, ModuleNotFoundError):
        return f"{error}: import it at the top of a file, while the component is built"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def log(error: Exception) -> None:
    """To the host's log."""
    traceback.print_exception(error, file=sys.stderr)
    sys.stderr.flush()


@contextmanager
def translated() -> Iterator[None]:
    """Around a call of the host: its errors become exceptions of this module."""
    try:
        yield
    except bindings.Err as error:
        raise from_host(error.value) from None


@contextmanager
def logged() -> Iterator[None]:
    """Around a handler whose caller takes no error: one that fails keeps no other from its turn."""
    try:
        yield
    except Exception as error:
        log(error)
