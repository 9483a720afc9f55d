"""Stands in for the modules that `componentize-py` makes of the contract, so that the tests run on any Python: records and cases as it
makes them, and imports that write down what they are called with."""

import enum
import sys
from dataclasses import make_dataclass
from types import ModuleType

called = []
"""What the host has been asked for: the function's name, and its arguments."""


class Err(Exception):
    def __init__(self, value):
        super().__init__(value)
        self.value = value


def _record(name, fields=""):
    return make_dataclass(name, fields.split())


def _module(name, **items):
    module = ModuleType(name)
    module.__dict__.update(items)
    sys.modules[name] = module
    return module


def _asked(*names, answer=None):
    return {name: (lambda *arguments, name=name: (called.append((name, *arguments)), answer)[1]) for name in names}


def _records(**fields):
    return {name: _record(name, of) for name, of in fields.items()}


types = _module(
    "wit_world.imports.types",
    Role=enum.Enum("Role", "USER ASSISTANT"),
    IconTheme=enum.Enum("IconTheme", "LIGHT DARK"),
    **_records(
        Annotations="audience priority last_modified",
        Icon="src mime_type sizes theme",
        ResourceInfo="uri name title description mime_type size icons annotations meta_json",
        TemplateInfo="uri_template name title description mime_type icons annotations meta_json",
        ResourcePage="resources next_cursor reuse",
        TemplateMatch="uri_template variables",
        Contents="uri mime_type body meta_json",
        Body_Text="value",
        Body_Utf8="value",
        Body_Blob="value",
        Reuse_ForMs="value",
        Reuse_UntilAnnounced="",
        Error_NotFound="",
        Error_Invalid="value",
        Error_Denied="value",
        Error_Unavailable="value",
        Error_Failed="value",
    ),
)
_module("componentize_py_types", Err=Err)
_module("wit_world")
_module("wit_world.imports")
_module("wit_world.exports")
_module("wit_world.imports.announce", **_asked("updated", "list_changed"))
_module("wit_world.imports.timers", **_asked("start", "cancel"))
_module("wit_world.imports.file_watch", **_asked("watch", "unwatch"))
_module("wit_world.imports.settings", get={"greeting": "moin"}.get, all=lambda: [("greeting", "moin")])
_module("wit_world.exports.subscriptions")
fetch = _module(
    "wit_world.imports.fetch",
    **_records(FetchRequest="method url headers body timeout_ms"),
    **_asked("start", "poll", "cancel"),
)
fetches = _module(
    "wit_world.exports.fetch_handler",
    **_records(FetchResponse="status headers body", FetchOutcome="name answer", FetchError_TimedOut="", FetchError_Denied="value"),
)
Ok = _record("Ok", "value")
resources = _module("wit_world.exports.resources", **_records(ReadRequest="uri matched if_none_match", Reading="contents version reuse"))
completions = _module(
    "wit_world.exports.completions",
    **_records(CompletionRequest="uri_template argument value known", Completion="values total has_more"),
)
webhooks = _module(
    "wit_world.exports.webhook_handler",
    **_records(WebhookRequest="name method path_and_query headers body", WebhookResponse="status headers body"),
)
file_handler = _module(
    "wit_world.exports.file_handler",
    Change=enum.Enum("Change", "CREATED MODIFIED REMOVED RESCAN"),
    **_records(FileChange="name path change"),
)


def request(uri, template=None, version=None, **variables):
    """A read-request."""
    return resources.ReadRequest(uri, template and types.TemplateMatch(template, list(variables.items())), version)
