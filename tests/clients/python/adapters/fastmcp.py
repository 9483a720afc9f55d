"""PyPI `fastmcp`, by its `Client`, which stands on `mcp`: both protocols."""

import fastmcp
import mcp_types as types
from adapters.mcp2 import Sdk2, body
from connection import CALL_S, Connection
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

PACKAGE = "fastmcp"


def connection(era, url, command):
    return FastMcp(era, url, command)


class FastMcp(Sdk2):
    pages_by_itself = True
    notes = {"subscribe": "by Client.session: Client has no method for it"}

    def __init__(self, era, url, command):
        Connection.__init__(self)
        self.era = era
        self.listens = None
        self.transport = StdioTransport(command[0], command[1:]) if command else StreamableHttpTransport(url)
        self.made = fastmcp.Client(self.transport, mode=era, timeout=CALL_S, message_handler=self.hear)

    async def page(self, cursor):
        page = await self.client.list_resources_mcp(cursor=cursor)
        return [resource.uri for resource in page.resources], page.next_cursor

    async def everything(self):
        return [resource.uri for resource in await self.client.list_resources()]

    async def templates(self):
        return [template.uri_template for template in await self.client.list_resource_templates()]

    async def complete(self, template, argument, value):
        ref = types.ResourceTemplateReference(uri=template)
        return (await self.client.complete(ref, {"name": argument, "value": value})).values

    async def read(self, uri):
        (content,) = await self.client.read_resource(uri)
        return body(content, uri)

    async def close(self):
        await super().close()
        # It keeps a process that it started, for the next `async with`, until it is told.
        await self.transport.close()
