"""The contract fixture in Python: what every language's fixture offers, `contract:`, so that one test runs on them all."""

import random
import sys
import time

from wharf import (
    Annotations,
    Content,
    Denied,
    Failed,
    Icon,
    Invalid,
    NotFound,
    Provider,
    Reading,
    Unavailable,
    UNTIL_ANNOUNCED,
)

provider = Provider(page_size=1, list_reuse=UNTIL_ANNOUNCED)

FULL = {
    "mime_type": "text/plain",
    "icons": [Icon("data:image/png;base64,AAAA", "image/png", ["48x48"], "dark")],
    "annotations": Annotations(["user", "assistant"], 0.5, 1700000000000),
    "meta": {"contract/x": 1},
}
ERRORS = {"not-found": NotFound, "invalid": Invalid, "denied": Denied, "unavailable": Unavailable, "failed": Failed}
WORDS = ["alpha", "beta", "gamma"]
count = 0

full = provider.resource(
    "contract://full", title="Everything", description="Every field that a list can carry.", size=5, **FULL
).subscribable()
utf8 = provider.resource("contract://utf8", mime_type="text/plain").subscribable()
blob = provider.resource("contract://blob", mime_type="application/octet-stream").subscribable()
two = provider.resource("contract://two", mime_type="text/plain").subscribable()
counter = provider.resource("contract://count", mime_type="text/plain")
setting = provider.resource("contract://setting", mime_type="text/plain").subscribable()
echo = provider.template(
    "contract://echo/{word}{?from,to}", name="echo", title="Echo", description="What the URI says.", **FULL
).subscribable().complete("word", WORDS)
path = provider.template("contract://path/{+path}").subscribable()
error = provider.template("contract://error/{kind}")
do = provider.template("contract://do/{what}").subscribable()


@full.read
def read_full(request):
    return Reading("hello", version="1", reuse=1000)


@utf8.read
def read_utf8(request):
    return Content("grüße, 世界".encode(), utf8=True)


@blob.read
def read_blob(request):
    return bytes(range(256))


@two.read
def read_two(request):
    return Reading("one", Content("two", "text/markdown", "contract://two/part", {"contract/part": 2}))


@counter.read
def read_count(request):
    return str(count)


@counter.on_subscribe
def start_counting(request):
    provider.every("count", 100, count_one)


@counter.on_unsubscribe
def stop_counting(request):
    provider.cancel("count")


def count_one():
    global count
    count += 1
    provider.updated(counter.uri)


@setting.read
def read_setting(request):
    return provider.setting("greeting", "none")


@echo.read
def read_echo(request):
    word, start, end = (request.variables.get(name, "-") for name in ("word", "from", "to"))
    return f"word={word} from={start} to={end}"


@echo.complete("from")
def complete_from(value, known):
    return [known["word"]] if "word" in known else []


@path.read
def read_path(request):
    return request.variables["path"]


@error.read
@error.on_subscribe
def fail(request):
    kind = request.variables["kind"]
    raise ERRORS.get(kind, NotFound)(f"as asked: {kind}")


@do.read
def read_do(request):
    what = request.variables["what"]
    if what == "trap":
        print("about to die", file=sys.stderr, flush=True)
        sys.exit(1)
    if what == "loop":
        while True:
            pass
    if what == "allocate":
        allocate()
    if what == "stderr":
        print("a line from the guest", file=sys.stderr)
        return "done"
    if what == "random":
        return f"{random.random():.16f}"
    if what == "now":
        return str(int(time.time() * 1000))
    if what == "announce":
        provider.updated(setting.uri)
        return "done"
    raise NotFound


def allocate():
    """Until the host says no."""
    held = []
    while True:
        held.append(bytearray(b"x") * (1 << 20))


provider.export(globals())
