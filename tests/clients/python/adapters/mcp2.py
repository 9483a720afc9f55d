"""PyPI `mcp` from 2.0 on, by its `Client`: both protocols."""

import asyncio
import base64
import warnings
from contextlib import AsyncExitStack

import mcp_types as types
from connection import CALL_S, Connection
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated, SubscriptionLost, listen
from mcp.shared.exceptions import MCPDeprecationWarning

PACKAGE = "mcp"
MODERN = "2026-07-28"

# The stateful protocol's methods are deprecated, and are what is tested here.
warnings.simplefilter("ignore", MCPDeprecationWarning)


def connection(era, url, command):
    return Sdk2(era, url, command)


class Listens:
    """The `subscriptions/listen` requests of a connection: one for the list, one for what is watched."""

    def __init__(self, session, told):
        self.session, self.told = session, told
        self.open = {}

    async def begin(self, name, **what):
        await self.end(name)
        ready, stop = asyncio.get_running_loop().create_future(), asyncio.Event()
        task = asyncio.create_task(self._keep(ready, stop, what))
        await asyncio.wait({ready, task}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            task.result()
            raise AssertionError("the listen ended before it began")
        assert ready.result() == what, f"asked to hear {what}, and {ready.result()} was granted"
        self.open[name] = (task, stop)

    async def end(self, name):
        if name in self.open:
            task, stop = self.open.pop(name)
            stop.set()
            await task

    async def end_all(self):
        for name in list(self.open):
            await self.end(name)

    # Entered and left by one task, as the library wants it.
    async def _keep(self, ready, stop, what):
        async with AsyncExitStack() as stack:
            subscription = await stack.enter_async_context(listen(self.session, **what))
            granted = {key: value for key in what if (value := getattr(subscription.honored, key))}
            ready.set_result(granted)
            hearing = asyncio.create_task(self._hear(subscription))
            stack.callback(hearing.cancel)
            stopped = asyncio.create_task(stop.wait())
            await asyncio.wait({hearing, stopped}, return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()

    async def _hear(self, subscription):
        try:
            async for event in subscription:
                match event:
                    case ResourceUpdated(uri=uri):
                        self.told.updated(uri)
                    case ResourcesListChanged():
                        self.told.list_changed()
            self.told.listen_lost("the listen ended")
        except SubscriptionLost as lost:
            self.told.listen_lost(str(lost))


class Sdk2(Connection):
    def __init__(self, era, url, command):
        super().__init__()
        self.era = era
        if command:
            program, *args = command
            server = StdioServerParameters(command=program, args=args)
        else:
            server = url
        self.made = Client(server, mode=era, read_timeout_seconds=CALL_S, message_handler=self.hear)
        self.listens = None

    def context(self):
        return self.made

    # In the modern era a listen's own iterator says the same.
    async def hear(self, message):
        if self.modern():
            return
        match message:
            case types.ResourceUpdatedNotification(params=params):
                self.told.updated(params.uri)
            case types.ResourceListChangedNotification():
                self.told.list_changed()

    def modern(self):
        return self.client is not None and self.client.protocol_version == MODERN

    def session(self):
        return self.client.session

    def protocol(self):
        return self.client.protocol_version

    async def opened(self):
        # "auto" falls back by itself, and then the round would be that of another client.
        assert self.modern() == (self.era != "legacy"), f"{self.era} came to {self.protocol()}"
        if self.modern():
            self.listens = Listens(self.session(), self.told)
            await self.listens.begin("list", resources_list_changed=True)

    async def page(self, cursor):
        page = await self.client.list_resources(cursor=cursor)
        return [resource.uri for resource in page.resources], page.next_cursor

    async def templates(self):
        return [template.uri_template for template in (await self.client.list_resource_templates()).resource_templates]

    async def complete(self, template, argument, value):
        ref = types.ResourceTemplateReference(uri=template)
        return (await self.client.complete(ref, {"name": argument, "value": value})).completion.values

    async def read(self, uri):
        (content,) = (await self.client.read_resource(uri)).contents
        return body(content, uri)

    async def watch(self, uris):
        if self.modern():
            self.told.lost = None
            # Of the two, whichever ended with the host.
            if "list" not in self.listens.open or self.listens.open["list"][0].done():
                await self.listens.begin("list", resources_list_changed=True)
            return await self.listens.begin("watched", resource_subscriptions=uris)
        for uri in uris:
            await self.session().subscribe_resource(uri)

    async def unwatch(self, uris):
        if self.modern():
            return await self.listens.end("watched")
        for uri in uris:
            await self.session().unsubscribe_resource(uri)

    async def before_leaving(self):
        if self.listens:
            await self.listens.end_all()


def body(content, uri):
    assert content.uri == uri, f"{uri} is answered as {content.uri}"
    return content.text if isinstance(content, types.TextResourceContents) else base64.b64decode(content.blob, validate=True)
