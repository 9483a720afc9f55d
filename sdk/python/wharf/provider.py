"""The provider, and the builders of its resources and templates."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any, Callable, Iterable, Mapping, MutableMapping, Optional, Sequence, TypeVar, overload
from urllib.parse import unquote

from . import bindings, contents, errors, exports, uris
from .contents import Annotations, Answered, Icon, Item, Request, Reuse
from .errors import Failed, Invalid, NotFound
from .grants import Grants

F = TypeVar("F", bound=Callable[..., Any])
B = TypeVar("B", bound="_Builder")
Read = Callable[[Request], Answered]

_PAGE = 1000
"""Entries in one page of the list: some hundred KB."""
_SUGGESTED = 100
"""The host passes on no more (MCP, completion)."""


class _Builder:
    """What a resource and a template have in common."""

    def __init__(
        self,
        uri: str,
        name: Optional[str],
        title: Optional[str],
        description: Optional[str],
        mime_type: Optional[str],
        icons: Sequence[Icon],
        annotations: Optional[Annotations],
        meta: Optional[Mapping[str, Any]],
    ) -> None:
        self._uri, self._name, self._title, self._description = uri, name or _last_segment(uri), title, description
        self._mime_type, self._icons, self._annotations, self._meta = mime_type, icons, annotations, meta
        self._subscribable = False
        self._on_subscribe: Optional[Callable[[Request], object]] = None
        self._on_unsubscribe: Optional[Callable[[Request], object]] = None
        self._read: Optional[Read] = None

    def read(self, function: Read) -> Read:
        """Decorates what reads it: `function(request)` answers `str`, `bytes`, `json(value)`, a `Content` or a `Reading`."""
        self._read = function
        return function

    def subscribable(self: B) -> B:
        """It can be subscribed, and changes only when `provider.updated` says so, or at a reload. Gives this builder."""
        self._subscribable = True
        return self

    def on_subscribe(self, function: F) -> F:
        """Decorates what is called for the first subscriber of a URI: `function(request)`, to start looking for changes."""
        self._subscribable, self._on_subscribe = True, function
        return function

    def on_unsubscribe(self, function: F) -> F:
        """Decorates what is called when the last subscriber of a URI is gone: `function(request)`."""
        self._subscribable, self._on_unsubscribe = True, function
        return function


class Resource(_Builder):
    """One resource with a fixed URI. Made by `provider.resource`."""

    _size: Optional[float] = None

    @property
    def uri(self) -> str:
        """Its URI, for `provider.updated`."""
        return self._uri


class Template(_Builder):
    """A family of resources. Made by `provider.template`."""

    _list: Optional[Callable[[], Iterable[Item]]] = None

    def __init__(self, *fields: Any) -> None:
        super().__init__(*fields)
        self._complete: dict[str, Callable[[str, dict[str, str]], Iterable[str]]] = {}

    def uri(self, values: Optional[uris.Variables] = None, /, **named: uris.Value) -> str:
        """The URI that these variables make: `rows.uri(file="a.csv")`, or `rows.uri({"from": "2"})`."""
        return uris.expand(self._uri, {**(values or {}), **named})

    def list(self, function: F) -> F:
        """Decorates what enumerates the family, or some of it, for the list of resources: `function()` gives `Item`s."""
        self._list = function
        return function

    @overload
    def complete(self, variable: str) -> Callable[[F], F]: ...

    @overload
    def complete(self, variable: str, among: Sequence[str]) -> Template: ...

    def complete(self, variable: str, among: Optional[Sequence[str]] = None) -> Any:
        """Decorates what suggests values of a variable while someone types: `function(value, known)` gives those that suit what is typed
        so far, best first; `known` has the variables that are filled in already. Or it is given all values there are: then those are
        suggested that begin with what is typed, and this builder is what it gives."""
        if variable not in uris.variables(self._uri):
            raise ValueError(f"{self._uri} has no variable {variable}")

        def decorated(function: F) -> F:
            self._complete[variable] = function
            return function

        if among is None:
            return decorated
        self._complete[variable] = lambda value, known: [one for one in among if one.startswith(value)]
        return self


class Provider(Grants):
    """What is offered. See the module's own documentation for how it is used.

    `page_size` is how many resources one page of the list has. `list_reuse` is for how long the host may keep the list: if it is not said,
    until `list_changed`, or 2 seconds if a template has a `list`, which may give something else each time.
    """

    def __init__(self, *, page_size: int = _PAGE, list_reuse: Optional[Reuse] = None) -> None:
        super().__init__()
        self._page_size, self._list_reuse = page_size, list_reuse
        self._builders: dict[str, _Builder] = {}
        self._start: list[Callable[[], object]] = []
        self._timers: dict[str, tuple[Callable[[], object], bool]] = {}
        self._subscribed: dict[str, tuple[_Builder, Request]] = {}
        self._listed: dict[str, tuple[Template, uris.Variables]] = {}
        self._page: Optional[list[Any]] = None

    def resource(
        self,
        uri: str,
        *,
        name: Optional[str] = None,
        title: Optional[str] = None,
        description: Optional[str] = None,
        mime_type: Optional[str] = None,
        size: Optional[float] = None,
        icons: Sequence[Icon] = (),
        annotations: Optional[Annotations] = None,
        meta: Optional[Mapping[str, Any]] = None,
    ) -> Resource:
        """A resource that is listed. `name` is the last segment of the URI if it is not given; `title` is for people, `description` for the
        model to decide whether to read it; `size` is in bytes; `meta` is for MCP's `_meta`."""
        made = Resource(uri, name, title, description, mime_type, icons, annotations, meta)
        made._size = size
        return self._add(made)

    def template(
        self,
        uri_template: str,
        *,
        name: Optional[str] = None,
        title: Optional[str] = None,
        description: Optional[str] = None,
        mime_type: Optional[str] = None,
        icons: Sequence[Icon] = (),
        annotations: Optional[Annotations] = None,
        meta: Optional[Mapping[str, Any]] = None,
    ) -> Template:
        """A family of resources by a template of RFC 6570: `{v}`, `{+v}`, `{/v*}`, `{?a,b}`. They are tried in the order in which they are
        made. The fields are those of `resource`."""
        return self._add(Template(uri_template, name, title, description, mime_type, icons, annotations, meta))

    def _add(self, made: B) -> B:
        if made._uri in self._builders:
            raise ValueError(f"{made._uri} is there already")
        self._builders[made._uri] = made
        return made

    def start(self, function: F) -> F:
        """Decorates what is called once in each instance, before the first request: here settings, folders and the time are there."""
        self._start.append(function)
        return function

    def setting(self, name: str, default: Optional[str] = None) -> Optional[str]:
        """A setting of wharf.toml. A string as it is, anything else as its JSON text; one in a table has a dotted name, `db.host`."""
        value = bindings.imported("settings").get(name)
        return default if value is None else value

    def settings(self) -> dict[str, str]:
        """All of them, sorted by name."""
        return dict(bindings.imported("settings").all())

    def updated(self, *changed: str) -> None:
        """These URIs have changed, or may have. First change what `read` answers, then say so."""
        bindings.imported("announce").updated([contents.text(uri) for uri in changed])

    def list_changed(self) -> None:
        """The list of resources is another one now."""
        bindings.imported("announce").list_changed()

    @property
    def subscribed(self) -> Mapping[str, Request]:
        """The URIs that somebody is subscribed to, and of each what its handler is asked for."""
        return MappingProxyType({uri: request for uri, (_, request) in self._subscribed.items()})

    def every(self, name: str, ms: int, function: Callable[[], object]) -> None:
        """Calls `function()` every so many milliseconds (100 at least), the first time after the first period. One of that name is
        replaced; each ends with the instance, so one that is always wanted is started in `@provider.start`."""
        self._timer(name, ms, ms, function)

    def after(self, name: str, ms: int, function: Callable[[], object]) -> None:
        """Calls `function()` once, so many milliseconds from now."""
        self._timer(name, ms, None, function)

    def _timer(self, name: str, after: int, every: Optional[int], function: Callable[[], object]) -> None:
        with errors.translated():
            bindings.imported("timers").start(name, after, every)
        self._timers[name] = (function, every is not None)

    def cancel(self, name: str) -> None:
        """Ends a timer. Nothing happens if there is none of that name."""
        bindings.imported("timers").cancel(name)
        self._timers.pop(name, None)

    def export(self, namespace: MutableMapping[str, Any]) -> None:
        """The last line of the module: `provider.export(globals())`. Gives it the classes that a component has as its exports, one for each
        interface, but for those the module has itself."""
        for builder in self._builders.values():
            if builder._read is None:
                raise ValueError(f"{builder._uri} has no read")
            if builder._subscribable:
                bindings.need_export("subscriptions")
            if isinstance(builder, Template) and builder._complete:
                bindings.need_export("completions")
        if self._webhooks:
            bindings.need_export("webhook_handler")
        for name, made in exports.classes(self).items():
            namespace.setdefault(name, made)

    # What follows is called by the exports.

    def _begin(self) -> None:
        while self._start:
            self._start[0]()
            self._start.pop(0)

    def _find(self, uri: str, matched: Any, if_none_match: Optional[str] = None) -> tuple[_Builder, Request]:
        """Whose URI it is. One that `Template.list` gave comes without a match, as every listed one does."""
        if matched is not None:
            template = self._builders.get(matched.uri_template)
            if isinstance(template, Template):
                return template, Request(uri, uris.collect(matched.variables, template._uri), if_none_match)
            raise NotFound
        resource = self._builders.get(uri)
        if isinstance(resource, Resource):
            return resource, Request(uri, {}, if_none_match)
        if uri not in self._listed:
            self._infos()
        if uri not in self._listed:
            raise NotFound
        template, variables = self._listed[uri]
        return template, Request(uri, variables, if_none_match)

    def _read(self, asked: Any) -> Any:
        builder, request = self._find(asked.uri, asked.matched, asked.if_none_match)
        assert builder._read is not None  # see export
        return contents.to_reading(builder._read(request), request, builder._mime_type)

    def _templates(self) -> Iterable[Template]:
        return (builder for builder in self._builders.values() if isinstance(builder, Template))

    def _infos(self) -> list[Any]:
        """All entries of the list."""
        listed: dict[str, tuple[Template, uris.Variables]] = {}
        infos = []
        for builder in self._builders.values():
            if isinstance(builder, Resource):
                infos.append(exports.resource_info(builder))
            elif isinstance(builder, Template) and builder._list is not None:
                for item in builder._list():
                    uri = contents.text(builder.uri(item.variables))
                    listed[uri] = (builder, item.variables)
                    infos.append(exports.item_info(uri, item, builder, item.name or _last_segment(uri)))
        self._listed = listed
        return infos

    def _list(self, cursor: Optional[str]) -> tuple[list[Any], Optional[str], Optional[Reuse]]:
        """A page: later ones are cut from what the first one was, since the family may be another by then."""
        first = int(cursor) if cursor is not None and cursor.isascii() and cursor.isdigit() and len(cursor) < 10 else 0
        if cursor is None or self._page is None:
            self._page = self._infos()
        infos = self._page
        if cursor is not None and not (0 < first < len(infos) and first % self._page_size == 0):
            raise Invalid(f"there is no page {cursor} of this list")
        last = first + self._page_size
        following = str(last) if last < len(infos) else None
        if following is None:
            self._page = None
        changes = any(template._list is not None for template in self._templates())
        reuse = self._list_reuse if self._list_reuse is not None or changes else contents.UNTIL_ANNOUNCED
        return infos[first:last], following, reuse

    def _complete(self, asked: Any) -> tuple[list[str], int]:
        template = self._builders.get(asked.uri_template)
        function = template._complete.get(asked.argument) if isinstance(template, Template) else None
        if function is None:
            return [], 0
        found = [contents.text(value) for value in function(asked.value, dict(asked.known))]
        return found[:_SUGGESTED], len(found)

    def _subscribe(self, uri: str, matched: Any) -> None:
        builder, request = self._find(uri, matched)
        if not builder._subscribable:
            raise Failed(f"{uri} does not tell of changes")
        # Before the handler runs: it may look at what is subscribed.
        self._subscribed[uri] = (builder, request)
        if builder._on_subscribe is not None:
            try:
                builder._on_subscribe(request)
            except BaseException:
                del self._subscribed[uri]
                raise

    def _unsubscribe(self, uri: str) -> None:
        builder, request = self._subscribed.pop(uri, (None, None))
        if builder is not None and builder._on_unsubscribe is not None and request is not None:
            builder._on_unsubscribe(request)

    def _fired(self, names: list[str]) -> None:
        for name in names:
            # One of this batch that another one has cancelled is not there any more.
            function, again = self._timers.get(name, (None, True))
            if not again:
                del self._timers[name]
            if function is not None:
                with errors.logged():
                    function()


def _last_segment(uri: str) -> str:
    """`notes://a/b` and `notes://a/b/{c}{?d}` are called `b`; one that has no other name is called as its scheme."""
    scheme, _, rest = uri.partition(":")
    plain = re.sub(r"\{[^{}]*\}", "", rest).split("?")[0]
    return unquote(next((segment for segment in reversed(plain.split("/")) if segment), scheme))
