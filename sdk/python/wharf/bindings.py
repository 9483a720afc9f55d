"""The one place that knows the modules `componentize-py` makes of the contract.

A module is there only if the project's world imports or exports the interface, and none is on your own Python, where tests run. All that
are there are imported at once: at run time it would be too late.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

_PACKAGE = "wharf:provider"
_VERSION = "0.1.0"
_IMPORTS = ("types", "announce", "settings", "timers", "file_watch", "fetch", "store", "shared_state")
_EXPORTS = ("resources", "subscriptions", "completions", "timer_handler", "file_handler", "fetch_handler", "webhook_handler")


def _found(kind: str, names: tuple[str, ...]) -> dict[str, ModuleType]:
    found = {}
    for name in names:
        try:
            found[name] = importlib.import_module(f"wit_world.{kind}.{name}")
        except ModuleNotFoundError:
            pass
    return found


class _Err(Exception):
    """Stands in for that of the bindings on your own Python."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


Err: Any = _Err
"""What the bindings raise, and take, for the error of a `result`."""
try:
    Err = importlib.import_module("componentize_py_types").Err
except ModuleNotFoundError:
    pass

# What the standard library itself imports only when it is used.
for _hidden in ("_strptime", "encodings.ascii", "encodings.cp1252", "encodings.latin_1", "encodings.utf_16", "encodings.utf_8_sig"):
    importlib.import_module(_hidden)

_imports = _found("imports", _IMPORTS)
_exports = _found("exports", _EXPORTS)


def imported(name: str) -> Any:
    """An interface that the world imports."""
    return _need(_imports, name, "import")


def exported(name: str) -> Any:
    """The types of an interface that the world exports."""
    return _need(_exports, name, "export")


def need_export(name: str) -> None:
    """Complains while the component is built if its world does not export the interface; on your own Python nothing is built."""
    if _exports:
        exported(name)


def _need(modules: dict[str, ModuleType], name: str, kind: str) -> Any:
    if name not in modules:
        interface = f"{_PACKAGE}/{name.replace('_', '-')}@{_VERSION}"
        line = f"{kind} {interface};"
        raise RuntimeError(f"the world does not {kind} it: add `{line}` to wit/world.wit (on your own Python nothing is there)")
    return modules[name]


def case(variant: str, name: str) -> Any:
    """The class of a variant's case in `types`."""
    return getattr(imported("types"), f"{variant}_{name}")


def enum(kind: Any, value: str) -> Any:
    """An enum's value by its name in the contract, `not-found` for instance."""
    return kind[value.upper().replace("-", "_")]
