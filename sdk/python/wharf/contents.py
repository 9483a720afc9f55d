"""What a provider lists and what its handlers are given and answer, and how that becomes the records of the contract."""

from __future__ import annotations

import json as _json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, Mapping, Optional, Sequence, Union

from . import bindings
from .uris import Variables

Reuse = Union[int, Literal["until-announced"]]
"""How long the host may answer without asking again: milliseconds, or `UNTIL_ANNOUNCED`."""

UNTIL_ANNOUNCED: Final = "until-announced"
"""Until `provider.updated` names the URI. The host relies on it only while somebody is subscribed."""


class _NotModified:
    def __repr__(self) -> str:
        return "NOT_MODIFIED"


NOT_MODIFIED: Final = _NotModified()
"""Answer this when the content still is the version that `request.if_none_match` names, and making it costs something. (A `Reading` of
that very version becomes this by itself.)"""


@dataclass(slots=True)
class Request:
    """What a handler is asked for."""

    uri: str
    """What the client sent, unchanged."""
    variables: Variables = field(default_factory=dict)
    """The template's variables, decoded. One that the URI leaves out is not there; one that came more than once, and each exploded one
    (`{/seg*}`), is a list."""
    if_none_match: Optional[str] = None
    """A version you gave for this URI, whose content the host still holds."""


@dataclass(frozen=True)
class Annotations:
    """Hints for the client."""

    audience: Optional[Sequence[Literal["user", "assistant"]]] = None
    """For whom it is meant: the person, the model, or both."""
    priority: Optional[float] = None
    """From 0.0, entirely optional, to 1.0, effectively required."""
    last_modified: Union[float, datetime, None] = None
    """Milliseconds since 1970, or a datetime that knows its zone."""


@dataclass(frozen=True)
class Icon:
    """An icon a client may show."""

    src: str
    """An `https:` URL or a `data:` URI."""
    mime_type: Optional[str] = None
    sizes: Optional[Sequence[str]] = None
    """`48x48`, or `any` for a scalable one."""
    theme: Optional[Literal["light", "dark"]] = None
    """The background it is drawn for."""


@dataclass(frozen=True)
class Item:
    """One resource that a template's `list` gives: its variables, and what of the fields is its own."""

    variables: Variables
    name: Optional[str] = None
    """Otherwise the last segment of its URI."""
    title: Optional[str] = None
    description: Optional[str] = None
    mime_type: Optional[str] = None
    """Otherwise the template's."""
    size: Optional[float] = None
    """Bytes of the content."""
    icons: Sequence[Icon] = ()
    annotations: Optional[Annotations] = None
    meta: Optional[Mapping[str, Any]] = None


@dataclass(frozen=True)
class Content:
    """One content of a resource."""

    body: Union[str, bytes]
    """Text, or bytes."""
    mime_type: Optional[str] = None
    """Otherwise what the list or the template says."""
    uri: Optional[str] = None
    """Otherwise the URI asked for. The URI of a part, such as a file of the folder asked for."""
    meta: Optional[Mapping[str, Any]] = None
    """For MCP's `_meta`: what `json.dumps` takes."""
    utf8: bool = False
    """The bytes are text in UTF-8: spares you the decoding. (`str` is quicker, if that is what you have.)"""
    is_json: bool = False
    """`application/json`, unless something else is said here, in the list or by the template."""


def json(value: Any, *, indent: Optional[int] = None, meta: Optional[Mapping[str, Any]] = None) -> Content:
    """A value as JSON text."""
    separators = (",", ":") if indent is None else None
    return Content(_json.dumps(value, ensure_ascii=False, indent=indent, separators=separators), meta=meta, is_json=True)


@dataclass(slots=True, init=False)
class Reading:
    """What a resource holds at one moment, where that is more than one text or blob."""

    contents: tuple[Union[str, bytes, Content], ...]
    version: Optional[str]
    """Any string that differs whenever the contents differ: a hash, a revision."""
    reuse: Optional[Reuse]
    """Absent: the host asks again each time."""

    def __init__(self, *contents: Union[str, bytes, Content], version: Optional[str] = None, reuse: Optional[Reuse] = None) -> None:
        self.contents, self.version, self.reuse = contents, version, reuse


Answered = Union[str, bytes, Content, Reading, _NotModified]
"""What a `read` may answer."""


# From here on: to the records of the contract.


def text(value: Optional[str]) -> Any:
    """A lone surrogate, as `os.listdir` gives for bytes that are no text, would end the instance: it is replaced."""
    if value is None or value.isascii():
        return value
    try:
        value.encode()
        return value
    except UnicodeEncodeError:
        return value.encode(errors="replace").decode()


def to_reading(answered: Any, request: Request, mime_type: Optional[str]) -> Any:
    """The answer to a `read`; `mime_type` is what the list or the template says."""
    if answered is NOT_MODIFIED:
        return None
    reading = bindings.exported("resources").Reading
    if not isinstance(answered, Reading):
        return reading([_content(answered, mime_type)], None, None)
    if answered.version is not None and answered.version == request.if_none_match:
        return None
    contents = [_content(content, mime_type) for content in answered.contents]
    return reading(contents, text(answered.version), to_reuse(answered.reuse))


def _content(content: Any, mime_type: Optional[str]) -> Any:
    types = bindings.imported("types")
    if isinstance(content, (str, bytes)):
        return types.Contents(None, mime_type, body(content), None)
    if not isinstance(content, Content):
        raise TypeError(f"read answers str, bytes, json(value), Content or Reading, not {type(content).__name__}")
    own = content.mime_type or mime_type or ("application/json" if content.is_json else None)
    return types.Contents(text(content.uri), own, body(content.body, content.utf8), to_meta(content.meta))


def body(value: Union[str, bytes], utf8: bool = False) -> Any:
    types = bindings.imported("types")
    if isinstance(value, str):
        return types.Body_Text(text(value))
    return types.Body_Utf8(value) if utf8 else types.Body_Blob(value)


def to_reuse(reuse: Optional[Reuse]) -> Any:
    if reuse is None:
        return None
    types = bindings.imported("types")
    return types.Reuse_UntilAnnounced() if reuse == UNTIL_ANNOUNCED else types.Reuse_ForMs(int(reuse))


def to_meta(meta: Optional[Mapping[str, Any]]) -> Optional[str]:
    return None if meta is None else text(_json.dumps(meta, ensure_ascii=False))


def to_annotations(annotations: Optional[Annotations]) -> Any:
    if annotations is None:
        return None
    types = bindings.imported("types")
    audience = annotations.audience and [bindings.enum(types.Role, role) for role in annotations.audience]
    modified = annotations.last_modified
    if isinstance(modified, datetime):
        modified = modified.timestamp() * 1000
    return types.Annotations(audience, annotations.priority, None if modified is None else float(round(modified)))


def to_icons(icons: Sequence[Icon]) -> Any:
    types = bindings.imported("types")
    themed = ((icon, icon.theme and bindings.enum(types.IconTheme, icon.theme)) for icon in icons)
    return [types.Icon(icon.src, icon.mime_type, icon.sizes and list(icon.sizes), theme) for icon, theme in themed] or None
