"""PyPI `mcp` before 2.0: the stateful protocol only."""

import base64
from contextlib import asynccontextmanager
from datetime import timedelta

from connection import CALL_S, Connection
from mcp import types
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

PACKAGE = "mcp"


def connection(era, url, command):
    assert era == "legacy", f"there is no {era} here"
    return Sdk1(url, command)


class Sdk1(Connection):
    def __init__(self, url, command):
        super().__init__()
        self.url, self.command = url, command
        self.version = None

    @asynccontextmanager
    async def context(self):
        async with self._streams() as (read, write, *_):
            limit = timedelta(seconds=CALL_S)
            async with ClientSession(read, write, read_timeout_seconds=limit, message_handler=self._hear) as session:
                self.version = (await session.initialize()).protocolVersion
                yield session

    def _streams(self):
        if self.url:
            return streamable_http_client(self.url)
        command, *args = self.command
        return stdio_client(StdioServerParameters(command=command, args=args))

    async def _hear(self, message):
        if not isinstance(message, types.ServerNotification):
            return
        match message.root:
            case types.ResourceUpdatedNotification(params=params):
                self.told.updated(params.uri)
            case types.ResourceListChangedNotification():
                self.told.list_changed()

    def protocol(self):
        return str(self.version)

    async def page(self, cursor):
        page = await self.client.list_resources(params=types.PaginatedRequestParams(cursor=cursor) if cursor else None)
        return [str(resource.uri) for resource in page.resources], page.nextCursor

    async def templates(self):
        return [template.uriTemplate for template in (await self.client.list_resource_templates()).resourceTemplates]

    async def complete(self, template, argument, value):
        ref = types.ResourceTemplateReference(type="ref/resource", uri=template)
        return (await self.client.complete(ref, {"name": argument, "value": value})).completion.values

    async def read(self, uri):
        (content,) = (await self.client.read_resource(uri)).contents
        assert str(content.uri) == uri, f"{uri} is answered as {content.uri}"
        return content.text if isinstance(content, types.TextResourceContents) else base64.b64decode(content.blob, validate=True)

    async def watch(self, uris):
        for uri in uris:
            await self.client.subscribe_resource(uri)

    async def unwatch(self, uris):
        for uri in uris:
            await self.client.unsubscribe_resource(uri)
