"""Write a Wharf provider in Python.

    from wharf import NotFound, Provider

    provider = Provider()

    @provider.resource("notes://today", title="What is on today", mime_type="text/markdown").read
    def today(request):
        return "- water the plants"

    @provider.template("notes://day/{date}").read
    def day(request):
        if request.variables["date"] not in NOTES:
            raise NotFound
        return NOTES[request.variables["date"]]

    provider.export(globals())

A handler never parses a URI: the host matches it, and `request.variables` has the values, decoded. It answers `str` (text), `bytes` (a
blob), `json(value)`, a `Content`, or a `Reading` of several, and it raises `NotFound`, `Invalid`, `Denied`, `Unavailable` or `Failed`. Any
other exception goes to the log with its trace, and the client is told its type and message.

What this module makes is the plain contract of `wit/deps/provider/provider.wit`. A class of your own with the name of an interface, such
as `Completions`, takes the place of the one made here; the bindings are in `wit_world`.

What Python authors should know:

- The build runs your module once and keeps the memory as it is then. What is imported by then is there; **an `import` inside a function
  fails** unless something else has imported the module before. The same holds for encodings: UTF-8, UTF-16, ASCII, Latin-1 and
  Windows-1252 are there, others are imported like modules (`import encodings.cp437`).
- What the module computes at its top is computed at build time: `time.time()` there is the time of the build, an own `random.Random()` has
  the same seed in all instances, and settings, folders and environment are not there yet. Do such things in `@provider.start`. What the
  functions of `random`, `uuid`, `secrets` and `os.urandom` give is different in each instance; `hash` of a text is not.
- No call may wait: no `time.sleep`, no threads, no sockets. Ask with `every`, `watch` and `fetch`, and be called.
- `print` and `sys.stderr` go to the host's log, with the provider's name.
"""

from .contents import Annotations, Content, Icon, Item, NOT_MODIFIED, Reading, Request, UNTIL_ANNOUNCED, json
from .errors import Denied, Failed, Invalid, NotFound, ProviderError, Unavailable
from .grants import Answer, FileChange, Webhook, WebhookAnswer
from .provider import Provider, Resource, Template

__all__ = [
    "Annotations",
    "Answer",
    "Content",
    "Denied",
    "Failed",
    "FileChange",
    "Icon",
    "Invalid",
    "Item",
    "NOT_MODIFIED",
    "NotFound",
    "Provider",
    "ProviderError",
    "Reading",
    "Request",
    "Resource",
    "Template",
    "UNTIL_ANNOUNCED",
    "Unavailable",
    "Webhook",
    "WebhookAnswer",
    "json",
]
