"""The steps of a round, and what has to hold in each.

The fixture is driven in band: reading `matrix://do/<what>` does <what>. Nothing is decided by waiting for silence: a client that is to
hear nothing of one thing is made to hear of another that comes later.
"""

import asyncio
import contextlib
import importlib.metadata
import json
import logging
import os
import sys
import threading
import time

from connection import Gone, Refused, said

WHOLE_ROUND_S = 90
# The harness starts a host meanwhile; the round's own limit is the one that counts.
DONE_S = 60
# So long a client that got its host back may need to notice by itself; after that the application asks.
UNNOTICED_S = 5

ENTRIES = 2504
TEXT, BLOB = "matrix://fixture/text", "matrix://fixture/blob"
WATCHED, BYSTANDER, MISSING = "matrix://fixture/watched", "matrix://fixture/bystander", "matrix://fixture/missing"
TEMPLATES = {"matrix://item/{name}", "matrix://do/{what}"}
# What a read is answered in which the provider dies.
DIED = ("failed", "trap")
# "Far fewer" than the 10,000 that are announced: at one a URI every 50 ms, so many take a minute.
FLOOD_MOST = 1_000


class Round:
    """One client's way through the steps."""

    def __init__(self, connect):
        self.connect_anew = connect
        self.link = None
        self.initial = []
        self.version = None
        # Warnings of the library, which it logs where it does not raise: an end of the session that the host refused, for one.
        self.warnings = []

    async def ask(self, request):
        return await self.link.ask(request)

    async def read(self, uri):
        return await self.ask(self.link.read(uri))

    async def do(self, what):
        return await self.read(f"matrix://do/{what}")

    async def change_list(self, what):
        """Adds to the list or takes away, and waits until the client is told of it."""
        before = self.link.told.lists
        uri = await self.do(what)
        await self.link.told.until(lambda told: told.lists > before, f"list_changed after {what}")
        return uri

    async def update(self):
        """One update, made and heard."""
        before = self.link.told.updates[WATCHED]
        self.version = await self.do("update")
        await self.link.told.until(lambda told: told.updates[WATCHED] > before, f"the update to {self.version}")

    async def connect(self):
        self.link = self.connect_anew()
        await self.link.open()

    async def list(self):
        uris = await self.ask(self.link.everything())
        check(len(set(uris)) == len(uris), "a URI is listed twice")
        check(len(uris) == ENTRIES, f"{len(uris)} entries, not {ENTRIES}")
        self.initial = uris
        return f"{len(uris)} entries" + (", the pages by itself" if self.link.pages_by_itself else "")

    async def pages(self):
        uris, cursor = await self.ask(self.link.page(None))
        check(cursor is not None, "one page")
        before = self.link.told.lists
        await self.do("add")
        count = 1
        while cursor is not None:
            more, cursor = await self.ask(self.link.page(cursor))
            uris += more
            count += 1
        check(len(set(uris)) == len(uris), "a URI is listed twice")
        missing = set(self.initial) - set(uris)
        check(self.initial and not missing, f"{len(missing)} entries are missing")
        await self.link.told.until(lambda told: told.lists > before, "list_changed after the pages")
        return f"{count} pages"

    async def templates(self):
        templates = set(await self.ask(self.link.templates()))
        check(TEMPLATES <= templates, f"templates: {sorted(templates)}")

    async def complete(self):
        values = await self.ask(self.link.complete("matrix://item/{name}", "name", "al"))
        check(list(values) == ["alpha", "alpine"], f"completions: {values}")

    async def text(self):
        text = await self.read(TEXT)
        check(text == "The text of the matrix: äöü 漢字.", f"text: {text!r}")

    async def blob(self):
        check(await self.read(BLOB) == bytes(range(256)), "the bytes differ")

    async def not_found(self):
        refused = await self.refused(MISSING)
        check(refused.code in (-32002, -32602), f"refused with {refused.code}")
        check(MISSING in f"{refused.message} {json.dumps(refused.data)}", f"the error does not name the URI: {refused}")
        await self.text()
        return str(refused.code)

    async def refused(self, uri):
        try:
            answer = await self.read(uri)
        except Refused as refused:
            return refused
        raise AssertionError(f"{uri} was answered: {answer!r}")

    async def subscribe(self):
        await self.ask(self.link.watch([WATCHED, BYSTANDER]))

    async def update_step(self):
        await self.update()

    async def read_again(self):
        text = await self.read(WATCHED)
        check(self.version is not None and text == self.version, f"read {text!r} after {self.version!r} was announced")
        return text

    async def flood(self):
        before = self.link.told.updates[WATCHED]
        self.version = await self.do("flood")
        await self.link.told.until(lambda told: told.updates[WATCHED] > before, "an update after the flood")
        text = await self.read(WATCHED)
        check(text == self.version, f"read {text!r} after {self.version!r} was announced")
        await self.update()
        heard = self.link.told.updates[WATCHED] - before
        check(heard < FLOOD_MOST, f"{heard} updates were heard")
        check(not self.link.told.updates[BYSTANDER], "another URI was announced")
        return f"{heard} updates heard"

    async def unsubscribe(self):
        await self.ask(self.link.unwatch([WATCHED, BYSTANDER]))
        # What was under way arrives before this is heard.
        await self.change_list("add")
        before = self.link.told.updates[WATCHED]
        self.version = await self.do("update")
        await self.change_list("add")
        check(self.link.told.updates[WATCHED] == before, "an update was heard after the unsubscribe")
        check(not self.link.told.updates[BYSTANDER], "another URI was announced")

    async def list_changed(self):
        uri = await self.change_list("add")
        check(uri in await self.ask(self.link.everything()), f"{uri} was added and is not listed")
        taken = await self.change_list("remove")
        check(taken == uri, f"{taken} was taken away, not {uri}")
        check(uri not in await self.ask(self.link.everything()), f"{uri} was taken away and is listed")

    async def died(self):
        await self.ask(self.link.watch([WATCHED]))
        before = self.link.told.updates[WATCHED]
        refused = await self.refused("matrix://do/die")
        kind = (refused.data or {}).get("kind")
        check(kind in DIED, f"an error of kind {kind}: {refused}")
        await self.link.told.until(lambda told: told.updates[WATCHED] > before, "an update of the fresh instance")
        text = await self.read(WATCHED)
        check(text == "version 1", f"the fresh instance says {text!r}")
        await self.update()

    async def restart(self):
        before = await self.unlike_a_fresh_host()
        await please("restart")
        return await self.converge(before)

    async def killed(self):
        before = await self.unlike_a_fresh_host()
        reading = asyncio.create_task(self.ended_read("matrix://do/hang"))
        await please("kill")
        why = await reading
        await please("start")
        return f"{await self.converge(before)}; the read: {why}"

    async def ended_read(self, uri):
        """How a read ended that was not answered. That it has not ended at all is an assertion of `ask`."""
        try:
            answer = await self.read(uri)
        except AssertionError:
            raise
        except Exception as error:
            return said(error)
        raise AssertionError(f"{uri} was answered: {answer!r}")

    async def unlike_a_fresh_host(self):
        """Makes the host what no fresh one is, with nothing of it under way any more."""
        await self.ask(self.link.watch([WATCHED]))
        await self.update()
        while int(self.version.split()[1]) < 3:
            await self.update()
        # Told later than any update: none of the old host's is under way when this has arrived.
        await self.change_list("add")
        return self.link.told.updates[WATCHED]

    async def converge(self, before):
        """Ends up with what is true at the fresh host."""
        how = await self.come_back(before)
        text = await self.read(WATCHED)
        check(text == "version 1", f"after the restart: {text!r}")
        await self.update()
        check(self.version == "version 2", f"one update after the restart: {self.version}")
        return how

    async def come_back(self, before):
        """What a sensible application does that is told of a loss, or of nothing: it asks, and connects anew if that fails."""
        with contextlib.suppress(AssertionError, Gone):
            news = self.link.told.until(lambda told: told.updates[WATCHED] > before or told.lost, "anything", UNNOTICED_S)
            await self.link.ask(news, UNNOTICED_S + 1)
        lost = self.link.told.lost
        try:
            await self.read(WATCHED)
        except Exception as error:
            return await self.connect_again(said(error))
        if lost is None and self.link.told.updates[WATCHED] > before:
            return "reconnects by itself, and hears of the fresh content"
        await self.ask(self.link.watch([WATCHED]))
        return f"asks on by itself, and has to subscribe again: {lost or 'it hears nothing'}"

    async def connect_again(self, why):
        try:
            await self.link.close()
        except Exception as error:
            print(f"closing what was lost: {said(error)}", file=sys.stderr)
        await self.connect()
        await self.ask(self.link.watch([WATCHED]))
        return f"has to connect anew: {why}"

    async def close(self):
        self.warnings.clear()
        await self.link.close()
        check(not self.warnings, f"the library warns: {self.warnings}")


STEPS = {
    "connect": Round.connect,
    "list": Round.list,
    "pages": Round.pages,
    "templates": Round.templates,
    "complete": Round.complete,
    "text": Round.text,
    "blob": Round.blob,
    "not-found": Round.not_found,
    "subscribe": Round.subscribe,
    "update": Round.update_step,
    "read-again": Round.read_again,
    "flood": Round.flood,
    "unsubscribe": Round.unsubscribe,
    "list-changed": Round.list_changed,
    "died": Round.died,
    "restart": Round.restart,
    "killed": Round.killed,
    "close": Round.close,
}


def check(held, what):
    if not held:
        raise AssertionError(what)


def put(line):
    print(json.dumps(line, ensure_ascii=False), flush=True)


async def please(what):
    """Has the harness do something to the host."""
    put({"please": what})
    answer = await asyncio.wait_for(asyncio.to_thread(sys.stdin.readline), DONE_S)
    check(answer.strip() == "done", f"the harness said {answer!r}")


class Warnings(logging.Handler):
    def __init__(self, kept):
        super().__init__(logging.WARNING)
        self.kept = kept

    def emit(self, record):
        # An event that comes while the client closes its own stream; the library says so itself, where it logs this as an event it cannot parse.
        closing = record.exc_info and type(record.exc_info[1]).__name__ in ("BrokenResourceError", "ClosedResourceError")
        if not closing:
            self.kept.append(record.getMessage())


async def play(adapter, era, url, command):
    round_ = Round(lambda: adapter.connection(era, url, command))
    logging.basicConfig(stream=sys.stderr)
    logging.getLogger().addHandler(Warnings(round_.warnings))
    said_steps, begun = [], time.monotonic()

    def report(step, outcome, detail=""):
        said_steps.append(step)
        put({"step": step, "outcome": outcome, "detail": detail or "", "ms": round((time.monotonic() - begun) * 1000)})

    # A thread, since a client that hangs may hang all of this one.
    def late():
        left = [step for step in STEPS if step not in said_steps]
        report(left[0], "failed", f"timeout in {left[0]}: the round took longer than {WHOLE_ROUND_S} s")
        for step in left[1:]:
            report(step, "failed", "not reached")
        os._exit(0)

    watchdog = threading.Timer(WHOLE_ROUND_S, late)
    watchdog.daemon = True
    watchdog.start()

    identity = {"client": adapter.PACKAGE, "version": importlib.metadata.version(adapter.PACKAGE), "protocol": "none"}
    for step, play_step in STEPS.items():
        begun = time.monotonic()
        connected = round_.link is not None and round_.link.client is not None
        if step != "connect" and not connected:
            report(step, "failed", "not connected")
            continue
        try:
            detail = await play_step(round_)
            outcome = "ok"
        except Exception as error:
            outcome, detail = "failed", said(error)
        if step == "connect":
            if round_.link is not None and round_.link.client is not None:
                identity["protocol"] = round_.link.protocol()
            put(identity)
        note = round_.link.notes.get(step) if round_.link else None
        report(step, outcome, "; ".join(part for part in (detail, note) if part))
    watchdog.cancel()
