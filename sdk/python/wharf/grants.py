"""What wharf.toml can grant: folders that are watched, fetches, webhooks, a store; and values that are published.

Each part needs its interfaces in the project's `wit/world.wit`, an import and where something comes back an export:

    import wharf:provider/file-watch@0.1.0;   export wharf:provider/file-handler@0.1.0;
    import wharf:provider/fetch@0.1.0;        export wharf:provider/fetch-handler@0.1.0;
                                              export wharf:provider/webhook-handler@0.1.0;
    import wharf:provider/store@0.1.0;
    import wharf:provider/shared-state@0.1.0;

A part that is not used needs nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Sequence, TypeVar, Union

from . import bindings, contents, errors
from .contents import Annotations, Content
from .errors import Denied, Failed, ProviderError, Unavailable

Headers = Sequence["tuple[str, str]"]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class FileChange:
    """One change below a watched path."""

    path: str
    """In the same terms as the watch's path."""
    change: str
    """`created`, `modified`, `removed`, or `rescan`: changes were lost, look at everything below `path`."""


@dataclass(frozen=True)
class Answer:
    """What became of a fetch."""

    status: int = 0
    """Of HTTP; 0 if there is no answer."""
    headers: Headers = ()
    """In order, names in lower case."""
    body: bytes = b""
    error: Optional[ProviderError] = None
    """Why there is no answer: `Denied` (a redirect to where nothing is granted), `Unavailable` (it took too long) or `Failed`."""

    @property
    def ok(self) -> bool:
        """There is an answer, and its status is 2xx."""
        return self.error is None and 200 <= self.status < 300

    def header(self, name: str) -> Optional[str]:
        """The first header of that name."""
        return next((value for known, value in self.headers if known == name.lower()), None)

    def text(self) -> str:
        """The body as UTF-8; what is none is replaced."""
        return self.body.decode(errors="replace")

    def json(self) -> Any:
        """The body as JSON. ValueError: it is none."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Webhook:
    """What someone sent to a webhook."""

    name: str
    """As wharf.toml names it."""
    method: str
    path_and_query: str
    """Below the webhook's own path: empty, or from `/` or `?` on."""
    headers: Headers
    """In order, names in lower case."""
    body: bytes

    def header(self, name: str) -> Optional[str]:
        """The first header of that name."""
        return next((value for known, value in self.headers if known == name.lower()), None)


@dataclass(frozen=True)
class WebhookAnswer:
    """What to answer."""

    status: int = 204
    headers: Headers = ()
    body: Union[str, bytes, None] = None


class Store:
    """What the host keeps for this provider, over reloads and restarts. Each call is atomic. Keys have 1 to 1024 bytes."""

    def get(self, key: str) -> Optional[bytes]:
        """The value, or nothing."""
        with errors.translated():
            value: Optional[bytes] = bindings.imported("store").get(key)
        return value

    def set(self, key: str, value: bytes) -> None:
        """`Denied`: wharf.toml grants no state, or this would be more than it grants."""
        with errors.translated():
            bindings.imported("store").set(key, value)

    def remove(self, key: str) -> None:
        """Fine if there is none."""
        with errors.translated():
            bindings.imported("store").remove(key)

    def replace(self, key: str, expected: Optional[bytes], value: Optional[bytes]) -> bool:
        """Stores `value` (`None` removes it) if what is there is `expected` (`None`: nothing); else `False`, and nothing is changed."""
        with errors.translated():
            return bool(bindings.imported("store").replace(key, expected, value))

    def keys(self, prefix: str = "") -> list[str]:
        """All keys that begin so, sorted."""
        with errors.translated():
            return list(bindings.imported("store").keys(prefix))


class Grants:
    """The part of `Provider` that deals with them."""

    store: Store
    """What the host keeps for this provider."""

    def __init__(self) -> None:
        self.store = Store()
        self._watches: dict[str, Callable[[list[FileChange]], object]] = {}
        self._fetches: dict[str, tuple[Callable[[Answer], object], bool]] = {}
        self._webhooks: dict[str, Callable[[Webhook], Any]] = {}

    def watch(self, name: str, path: str, function: Callable[[list[FileChange]], object], *, recursive: bool = False) -> None:
        """Calls `function(changes)` when something changes at the path, or with `recursive` anywhere below it. The path need not be there
        yet; its granted folder must. `Denied`: it is in no granted folder, or there are more than 256 watches."""
        with errors.translated():
            bindings.imported("file_watch").watch(name, path, recursive)
        self._watches[name] = function

    def unwatch(self, name: str) -> None:
        """Ends a watch. Nothing happens if there is none of that name."""
        bindings.imported("file_watch").unwatch(name)
        self._watches.pop(name, None)

    def fetch(
        self,
        name: str,
        url: str,
        function: Callable[[Answer], object],
        *,
        method: Optional[str] = None,
        headers: Headers = (),
        body: Optional[bytes] = None,
        timeout_ms: Optional[int] = None,
    ) -> None:
        """Sends a request and calls `function(answer)` with what became of it. `Denied`: the origin is not granted, or too many are under
        way. The host has a limit of its own to how long one may take."""
        with errors.translated():
            bindings.imported("fetch").start(name, self._request(url, method, headers, body, timeout_ms))
        self._fetches[name] = (function, False)

    def poll(
        self,
        name: str,
        url: str,
        every_ms: int,
        function: Callable[[Answer], object],
        *,
        method: Optional[str] = None,
        headers: Headers = (),
        body: Optional[bytes] = None,
        timeout_ms: Optional[int] = None,
    ) -> None:
        """Sends a request again and again, and calls `function(answer)` for the first answer and for each that differs from the one before.
        The host does the comparing, and sends If-None-Match and If-Modified-Since by itself."""
        with errors.translated():
            bindings.imported("fetch").poll(name, self._request(url, method, headers, body, timeout_ms), every_ms)
        self._fetches[name] = (function, True)

    def cancel_fetch(self, name: str) -> None:
        """Ends a fetch or a poll. Nothing happens if there is none of that name."""
        bindings.imported("fetch").cancel(name)
        self._fetches.pop(name, None)

    def _request(self, url: str, method: Optional[str], headers: Headers, body: Optional[bytes], timeout_ms: Optional[int]) -> Any:
        return bindings.imported("fetch").FetchRequest(method, url, list(headers) or None, body, timeout_ms)

    def webhook(self, name: str) -> Callable[[F], F]:
        """Decorates what takes the requests to a webhook of wharf.toml: `function(webhook)`. It answers nothing (204), a status, or a
        `WebhookAnswer`; one that raises answers 500, so that the sender tries again."""

        def decorated(function: F) -> F:
            self._webhooks[name] = function
            return function

        return decorated

    def publish(
        self,
        key: str,
        value: Union[str, bytes, Content],
        *,
        title: Optional[str] = None,
        description: Optional[str] = None,
        mime_type: Optional[str] = None,
        annotations: Optional[Annotations] = None,
    ) -> None:
        """Publishes a value as `wharf://state/PROVIDER/KEY`: the host keeps it, answers reads by itself, and tells of changes. Text is
        `application/json` unless `mime_type` says otherwise."""
        content = value if isinstance(value, Content) else Content(value)
        own = mime_type or content.mime_type
        state = bindings.imported("shared_state")
        body = contents.body(content.body, content.utf8)
        text = contents.text
        with errors.translated():
            state.set(key, state.SharedValue(text(title), text(description), own, contents.to_annotations(annotations), body))

    def unpublish(self, key: str) -> None:
        """Fine if there is none."""
        bindings.imported("shared_state").remove(key)

    # What follows is called by the exports.

    def _begin(self) -> None:
        raise NotImplementedError

    def _changed(self, changes: Any) -> None:
        by_name: dict[str, list[FileChange]] = {}
        for change in changes:
            by_name.setdefault(change.name, []).append(FileChange(change.path, change.change.name.lower()))
        for name, found in by_name.items():
            # One that a handler of this batch has ended is not there any more.
            function = self._watches.get(name)
            if function is not None:
                with errors.logged():
                    function(found)

    def _fetched(self, outcomes: Any) -> None:
        for outcome in outcomes:
            function, again = self._fetches.get(outcome.name, (None, True))
            if not again:
                del self._fetches[outcome.name]
            if function is not None:
                with errors.logged():
                    function(_answer(outcome.answer))

    def _receive(self, asked: Any) -> Any:
        response = bindings.exported("webhook_handler").WebhookResponse
        function = self._webhooks.get(asked.name)
        if function is None:
            return response(404, None, None)
        try:
            self._begin()
            answer = function(Webhook(asked.name, asked.method, asked.path_and_query, asked.headers, asked.body))
        except Exception as error:
            errors.log(error)
            return response(500, None, None)
        if not isinstance(answer, WebhookAnswer):
            answer = WebhookAnswer() if answer is None else WebhookAnswer(answer)
        body = answer.body.encode(errors="replace") if isinstance(answer.body, str) else answer.body
        return response(answer.status, list(answer.headers) or None, body)


def _answer(result: Any) -> Answer:
    """Of the contract's `result<fetch-response, fetch-error>`."""
    value = result.value
    if not isinstance(result, bindings.Err):
        return Answer(value.status, value.headers, value.body)
    kind = type(value).__name__.removeprefix("FetchError_")
    if kind == "TimedOut":
        return Answer(error=Unavailable("no answer in time"))
    if kind == "TooLarge":
        return Answer(error=Failed(f"the answer has more than {value.value} bytes"))
    return Answer(error=Denied(f"a redirect to {value.value}, which is not granted") if kind == "Denied" else Failed(value.value))
