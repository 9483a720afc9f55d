"""From a template and its variables to a URI (RFC 6570). The other direction is the host's."""

from __future__ import annotations

import re
from typing import Iterable, Mapping, Union
from urllib.parse import quote

Value = Union[str, "list[str]"]
Variables = Mapping[str, Value]

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
# RFC 6570, appendix A: what goes first, what between, whether names are said, and what stays as it is beside the unreserved.
_OPERATORS = {
    "": ("", ",", False, ""),
    "+": ("", ",", False, ":/?#[]@!$&'()*+,;="),
    "#": ("#", ",", False, ":/?#[]@!$&'()*+,;="),
    ".": (".", ".", False, ""),
    "/": ("/", "/", False, ""),
    ";": (";", ";", True, ""),
    "?": ("?", "&", True, ""),
    "&": ("&", "&", True, ""),
}


def variables(template: str) -> dict[str, bool]:
    """The names of a template's variables, and whether each is exploded (`{/seg*}`) and so is a list."""
    names = (name for _, names in _EXPRESSION.findall(template) for name in names.split(","))
    return {name.rstrip("*").split(":")[0]: name.endswith("*") for name in names}


def expand(template: str, values: Variables) -> str:
    """The URI that these values make. A variable that is not among them is left out."""
    unknown = set(values) - set(variables(template))
    if unknown:
        raise ValueError(f"{template} has no variable {', '.join(sorted(unknown))}")

    def expression(found: re.Match[str]) -> str:
        first, between, named, safe = _OPERATORS[found[1]]
        parts: list[str] = []
        for name in found[2].split(","):
            explode, name = name.endswith("*"), name.rstrip("*").split(":")[0]
            value = values.get(name)
            if value is None or value == []:
                continue
            encoded = [quote(one, safe="~" + safe) for one in ([value] if isinstance(value, str) else value)]
            encoded = encoded if explode else [",".join(encoded)]
            parts += [_named(name, one, found[1]) for one in encoded] if named else encoded
        return first + between.join(parts) if parts else ""

    return _EXPRESSION.sub(expression, template)


def _named(name: str, value: str, operator: str) -> str:
    return name if operator == ";" and not value else f"{name}={value}"


def collect(pairs: Iterable[tuple[str, str]], template: str) -> dict[str, Value]:
    """What the host found in a URI: a variable that came more than once, or could, is a list."""
    found: dict[str, Value] = {name: [] for name, exploded in variables(template).items() if exploded}
    for name, value in pairs:
        if name not in found:
            found[name] = value
        else:
            known = found[name]
            found[name] = [*known, value] if isinstance(known, list) else [known, value]
    return found
