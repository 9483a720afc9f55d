"""One whole round of a client against a host, with the official Python SDK: connect, list, read, subscribe, receive an update, read the
new content, unsubscribe, and hear nothing more. Prints one JSON line a step; exits with 0 only if every step held.

python round.py (--url URL | --command JSON) --era legacy|modern --text URI --blob URI --watch URI --before TEXT --after TEXT --ticking URI
  --command  a program and its arguments as a JSON array, to be talked to over stdio
  --watch    changes once, some time after the first subscription; its text contains BEFORE before, and AFTER after it
  --ticking  is announced again and again for as long as anybody subscribes to it (somebody else has to)
"""

import argparse
import base64
import json
import sys
import time
import traceback
import warnings
from collections import Counter
from contextlib import AsyncExitStack

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.subscriptions import ResourceUpdated

WHOLE_ROUND_S = 60
STEP_S = 15
# What was under way when the subscription ended may still arrive; after that, ten ticks of silence.
UNDER_WAY_S = 0.5
SILENCE_S = 1.0

BEGAN = time.monotonic()


def say(step, **what):
    print(json.dumps({"step": step, "ms": round((time.monotonic() - BEGAN) * 1000), **what}), flush=True)


def check(held, what):
    if not held:
        raise AssertionError(what)


class Told:
    """Counts updates by URI, and lets a step wait for one."""

    def __init__(self):
        self.counts = Counter()
        self.changed = anyio.Event()

    def update(self, uri):
        self.counts[str(uri)] += 1
        self.changed.set()
        self.changed = anyio.Event()

    async def of(self, uri):
        with anyio.fail_after(STEP_S):
            while not self.counts[uri]:
                await self.changed.wait()


async def pages(fetch, key):
    entries, cursor = [], None
    while True:
        page = await fetch(cursor=cursor, cache_mode="bypass")
        entries += getattr(page, key)
        cursor = page.next_cursor
        if cursor is None:
            return entries


async def content(client, uri):
    return (await client.read_resource(uri, cache_mode="bypass")).contents[0]


async def round_trip(args):
    modern = args.era == "modern"
    told = Told()

    async def on_message(message):
        if isinstance(message, types.ResourceUpdatedNotification):
            told.update(message.params.uri)

    async def hear(subscription):
        async for event in subscription:
            if isinstance(event, ResourceUpdated):
                told.update(event.uri)

    # "auto" asks with server/discover, as a client in the field does; the check below sees to it that nothing fell back.
    mode = "auto" if modern else "legacy"
    server = args.url
    if args.command:
        command, *rest = json.loads(args.command)
        server = StdioServerParameters(command=command, args=rest)
    async with Client(server, mode=mode, message_handler=on_message, read_timeout_seconds=STEP_S) as client:
        check((client.protocol_version == "2026-07-28") == modern, f"the wrong era: {client.protocol_version}")
        check(client.server_capabilities.resources.subscribe, "resources.subscribe is not advertised")
        say("connect", version=client.protocol_version)

        resources = await pages(client.list_resources, "resources")
        uris = [str(resource.uri) for resource in resources]
        for uri in (args.text, args.blob, args.watch):
            check(uri in uris, f"{uri} is not listed")
        check(len(set(uris)) == len(uris), "a URI is listed twice")
        templates = await pages(client.list_resource_templates, "resource_templates")
        say("list", resources=len(uris), templates=len(templates))

        text = await content(client, args.text)
        check(str(text.uri) == args.text and text.text, "the text is empty, or of another URI")
        blob = await content(client, args.blob)
        listed = resources[uris.index(args.blob)]
        size = len(base64.b64decode(blob.blob, validate=True))
        check(blob.mime_type == listed.mime_type, f"listed as {listed.mime_type}, read as {blob.mime_type}")
        check(listed.size in (None, size), f"listed with {listed.size} bytes, read {size}")
        say("read", text=len(text.text), blob=size)

        before = (await content(client, args.watch)).text
        check(args.before in before, f"before: {before}")
        watched = [args.watch, args.ticking]
        async with anyio.create_task_group() as tasks:
            async with AsyncExitStack() as listening:
                if modern:
                    subscription = await listening.enter_async_context(client.listen(resource_subscriptions=watched))
                    check(list(subscription.honored.resource_subscriptions) == watched, "not all of it was acknowledged")
                    tasks.start_soon(hear, subscription)
                else:
                    for uri in watched:
                        await client.subscribe_resource(uri)
                say("subscribe")

                for uri in watched:
                    await told.of(uri)
                say("update")
                after = (await content(client, args.watch)).text
                check(args.after in after, f"after: {after}")
                say("read again", text=after)
                if not modern:
                    for uri in watched:
                        await client.unsubscribe_resource(uri)
            say("unsubscribe")

        await anyio.sleep(UNDER_WAY_S)
        then = dict(told.counts)
        await anyio.sleep(SILENCE_S)
        check(dict(told.counts) == then, "updates arrive after the subscription ended")
        check(set(then) == set(watched), f"updates of other URIs arrived: {then}")
        check((await content(client, args.text)).text, "the connection did not outlive the subscription")
        say("silence")
    say("close")


async def main(args):
    with anyio.fail_after(WHOLE_ROUND_S):
        await round_trip(args)


if __name__ == "__main__":
    # The legacy era's methods are marked deprecated in the SDK; they are what is tried here.
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--era", choices=["legacy", "modern"], required=True)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--url")
    where.add_argument("--command")
    for name in ("text", "blob", "watch", "before", "after", "ticking"):
        parser.add_argument(f"--{name}", required=True)
    try:
        anyio.run(main, parser.parse_args())
    except Exception:
        say("failed", error=traceback.format_exc())
        sys.exit(1)
