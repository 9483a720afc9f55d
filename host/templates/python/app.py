"""`{{name}}`, a Wharf provider: what it offers, and how the host asks for it. What the resources hold is in `content.py`.

What a provider can do in Python is in `wharf/`; the contract behind it, with a comment on every item, is `wit/deps/provider/provider.wit`.
"""

import content
from wharf import Provider

EVERY_SECOND = 1000  # milliseconds
TEXT = "text/plain"

provider = Provider()
# Calls come one at a time, all to one instance, which lives until the next reload: what one call leaves here is there in the next.
counted = content.Seconds()

# These two change only when the source does: the host tells of that by itself.
sentence = provider.resource("{{scheme}}://sentence", title="A sentence", mime_type=TEXT).subscribable()
greeting = provider.template("{{scheme}}://greeting/{name}", title="A greeting for anybody", mime_type=TEXT).subscribable()
seconds = provider.resource("{{scheme}}://seconds", title="How long somebody has been subscribed", mime_type=TEXT)


@sentence.read
def read_sentence(request):
    return content.SENTENCE


@greeting.read
def read_greeting(request):
    return content.greeting(request.variables["name"])


@seconds.read
def read_seconds(request):
    return counted.text()


@seconds.on_subscribe
def start(request):
    """Called for the first that subscribes, not for each. No call may wait, so time comes from the host: it calls `tick`."""
    provider.every("second", EVERY_SECOND, tick)


@seconds.on_unsubscribe
def stop(request):
    """Called when nobody is left."""
    provider.cancel("second")


def tick():
    """First change what `read` answers, then say so."""
    counted.tick()
    provider.updated(seconds.uri)


provider.export(globals())
