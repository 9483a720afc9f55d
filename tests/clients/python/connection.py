"""A connection of a client, and what it is told.

Owns the life of a client's connection. The libraries run their tasks inside a context manager, and when one of those fails they cancel
whoever is inside: so the context is entered and left by a task of its own, and a call is given up when that task has ended.
"""

import asyncio
import contextlib
from collections import Counter

# No request here takes longer than the slow load and the death of an instance together.
CALL_S = 15
# What a client's own end may take: a process that is asked to end gets some seconds by all of them.
END_S = 15


class Refused(Exception):
    """An error that the server answered."""

    def __init__(self, code, message, data):
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.data = code, message, data


class Gone(Exception):
    """The connection ended while something was asked of it."""


class Told:
    """Counts what a client was told, and lets a step wait for more."""

    def __init__(self):
        self.updates = Counter()
        self.lists = 0
        # Why a listen ended that nobody had closed; only where there are listens.
        self.lost = None
        self._changed = asyncio.Event()

    def updated(self, uri):
        self.updates[str(uri)] += 1
        self._wake()

    def list_changed(self):
        self.lists += 1
        self._wake()

    def listen_lost(self, why):
        self.lost = why
        self._wake()

    def _wake(self):
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, holds, what, limit=CALL_S):
        """Waits until it holds, which is looked at again whenever the client is told something."""
        try:
            async with asyncio.timeout(limit):
                while not holds(self):
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"{what}: nothing within {limit} s") from None


class Connection:
    """What the steps need of a client; an adapter fills it in.

    `context` is the library's context manager and gives what `self.client` then is. The methods that an adapter overrides are named after
    what they ask; they may assume that the context is entered.
    """

    # How the library lists on its own, if it follows the pages by itself.
    pages_by_itself = False
    # What is special about how this library does things, by step.
    notes = {}

    def __init__(self):
        self.told = Told()
        self.client = None
        self._ready = asyncio.Event()
        self._stop = asyncio.Event()
        self._life = None

    def context(self):
        raise NotImplementedError

    def protocol(self):
        raise NotImplementedError

    async def page(self, cursor):
        """The URIs of one page, and the next cursor."""
        raise NotImplementedError

    async def everything(self):
        """The URIs of all pages."""
        uris, cursor = [], None
        while True:
            some, cursor = await self.page(cursor)
            uris += some
            if cursor is None:
                return uris

    async def templates(self):
        raise NotImplementedError

    async def complete(self, template, argument, value):
        raise NotImplementedError

    async def read(self, uri):
        """A text, or bytes."""
        raise NotImplementedError

    async def watch(self, uris):
        raise NotImplementedError

    async def unwatch(self, uris):
        raise NotImplementedError

    async def opened(self):
        """What has to be done so that the client hears of changes of the list."""

    async def before_leaving(self):
        """What has to be done before the context is left."""

    async def _live(self):
        async with self.context() as client:
            self.client = client
            self._ready.set()
            await self._stop.wait()
            await self.before_leaving()

    async def open(self):
        self._life = asyncio.create_task(self._live())
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait({ready, self._life}, timeout=CALL_S, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._life.done():
            self._life.result()
        if not self._ready.is_set():
            self._life.cancel()
            raise AssertionError(f"no connection within {CALL_S} s")
        await self.ask(self.opened())

    async def ask(self, request, limit=CALL_S):
        """What the request gives; an error of the server is `Refused`, an end of the connection `Gone`."""
        task = asyncio.ensure_future(request)
        await asyncio.wait({task, self._life}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await asyncio.wait_for(task, 1)
            self._raise_if_over()
            raise AssertionError(f"no answer within {limit} s")
        if task.cancelled():
            raise Gone("the library cancelled the call")
        error = task.exception()
        if error is None:
            return task.result()
        answered = getattr(error, "error", None)
        if answered is not None and hasattr(answered, "code"):
            raise Refused(answered.code, answered.message, answered.data) from error
        self._raise_if_over()
        raise error

    def _raise_if_over(self):
        if self._life.done():
            raise Gone(f"the connection ended: {reason(self._life)}")

    async def close(self):
        """Leaves the library's context. What goes wrong in that is raised."""
        self._stop.set()
        done, _ = await asyncio.wait({self._life}, timeout=END_S)
        if not done:
            self._life.cancel()
            raise AssertionError(f"not closed within {END_S} s")
        self._life.result()


def reason(task):
    """Why a task ended, in a line: of a group of exceptions the first that is none."""
    if task.cancelled():
        return "cancelled"
    error = task.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return "without an error" if error is None else said(error)


def said(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = str(error).strip() or type(error).__name__
    return text if isinstance(error, (Refused, Gone, AssertionError)) else f"{type(error).__name__}: {text}"
