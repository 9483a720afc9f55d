// The first TypeScript SDK, @modelcontextprotocol/sdk 1.x: the legacy era alone, pages by hand.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceListChangedNotificationSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

export const PACKAGE = '@modelcontextprotocol/sdk';

export async function connect({ url, command }, heard) {
  const client = new Client({ name: 'wharf-matrix', version: '1.0.0' });
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => heard.updated(params.uri));
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => heard.listChanged());
  const transport = url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport({ command: command[0], args: command.slice(1) });
  let protocol;
  // The client has the transport told and keeps it to itself.
  transport.setProtocolVersion ??= () => {};
  const told = transport.setProtocolVersion.bind(transport);
  transport.setProtocolVersion = (version) => told((protocol = version));
  await client.connect(transport);
  client.onclose = () => heard.interrupted('closed');
  client.onerror = (error) => heard.interrupted(error);

  return {
    protocol,
    async list() {
      const all = [];
      let cursor;
      do {
        const { resources, nextCursor } = await client.listResources({ cursor });
        all.push(...resources.map(({ uri }) => uri));
        cursor = nextCursor;
      } while (cursor !== undefined);
      return all;
    },
    async page(cursor) {
      const { resources, nextCursor } = await client.listResources({ cursor });
      return { uris: resources.map(({ uri }) => uri), next: nextCursor };
    },
    templates: async () => (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    complete: async (uri, name, value) =>
      (await client.complete({ ref: { type: 'ref/resource', uri }, argument: { name, value } })).completion.values,
    read: async (uri) => (await client.readResource({ uri })).contents[0],
    async subscribe(uris) {
      for (const uri of uris) await client.subscribeResource({ uri });
    },
    async unsubscribe(uris) {
      for (const uri of uris) await client.unsubscribeResource({ uri });
    },
    async close() {
      client.onclose = client.onerror = undefined;
      // Throws unless the server says that the session has ended.
      if (url) await transport.terminateSession();
      await client.close();
      return url ? 'DELETE ends the session' : '';
    },
  };
}
