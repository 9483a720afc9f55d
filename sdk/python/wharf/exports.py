"""The classes that a component exports, one for each interface of the contract. Which of them count is up to the project's world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

from . import bindings, contents, errors

if TYPE_CHECKING:
    from .provider import Provider, Resource, Template

T = TypeVar("T")


def classes(provider: Provider) -> dict[str, type]:
    """By their names in the bindings."""

    def answer(function: Callable[..., T], *arguments: Any) -> T:
        """What goes wrong becomes the answer. (`SystemExit` and its like are no answer: they end the instance.)"""
        try:
            provider._begin()
            return function(*arguments)
        except Exception as error:
            raise errors.to_host(error) from None

    def tell(function: Callable[..., object], *arguments: Any) -> None:
        """The same where the contract takes no answer."""
        with errors.logged():
            provider._begin()
            function(*arguments)

    class Resources:
        def list(self, cursor: Optional[str]) -> Any:
            def page() -> Any:
                infos, following, reuse = provider._list(cursor)
                return bindings.imported("types").ResourcePage(infos, following, contents.to_reuse(reuse))

            return answer(page)

        def templates(self) -> Any:
            return answer(lambda: [template_info(template) for template in provider._templates()])

        def read(self, request: Any) -> Any:
            return answer(provider._read, request)

    class Subscriptions:
        def subscribe(self, uri: str, matched: Any) -> None:
            answer(provider._subscribe, uri, matched)

        def unsubscribe(self, uri: str) -> None:
            tell(provider._unsubscribe, uri)

    class Completions:
        def complete(self, request: Any) -> Any:
            def completion() -> Any:
                values, total = provider._complete(request)
                return bindings.exported("completions").Completion(values, total, total > len(values))

            return answer(completion)

    class TimerHandler:
        def fired(self, names: Any) -> None:
            tell(provider._fired, names)

    class FileHandler:
        def changed(self, changes: Any) -> None:
            tell(provider._changed, changes)

    class FetchHandler:
        def fetched(self, outcomes: Any) -> None:
            tell(provider._fetched, outcomes)

    class WebhookHandler:
        def receive(self, request: Any) -> Any:
            return provider._receive(request)

    made = (Resources, Subscriptions, Completions, TimerHandler, FileHandler, FetchHandler, WebhookHandler)
    return {one.__name__: one for one in made}


def resource_info(fields: Resource) -> Any:
    """An entry of the list, of a resource."""
    more = (fields._icons, fields._annotations, fields._meta)
    return _info(fields._uri, fields._name, fields._title, fields._description, fields._mime_type, fields._size, *more)


def item_info(uri: str, item: contents.Item, template: Template, name: str) -> Any:
    """An entry of the list, of a template's family."""
    mime_type, icons = item.mime_type or template._mime_type, item.icons or template._icons
    return _info(uri, name, item.title, item.description, mime_type, item.size, icons, item.annotations, item.meta)


def _info(uri: str, name: str, title: Any, description: Any, mime_type: Any, size: Any, icons: Any, annotations: Any, meta: Any) -> Any:
    text = contents.text
    size = None if size is None else float(size)
    more = (contents.to_icons(icons), contents.to_annotations(annotations), contents.to_meta(meta))
    return bindings.imported("types").ResourceInfo(text(uri), text(name), text(title), text(description), mime_type, size, *more)


def template_info(template: Template) -> Any:
    """An entry of the list of templates."""
    text = contents.text
    more = (contents.to_icons(template._icons), contents.to_annotations(template._annotations), contents.to_meta(template._meta))
    named = (template._uri, text(template._name), text(template._title), text(template._description))
    return bindings.imported("types").TemplateInfo(*named, template._mime_type, *more)
