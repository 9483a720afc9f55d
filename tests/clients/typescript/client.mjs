// The second TypeScript SDK, @modelcontextprotocol/client 2.x, in the era its mode makes it speak.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export const PACKAGE = '@modelcontextprotocol/client';

export async function connect({ url, command }, heard, mode) {
  const client = new Client({ name: 'wharf-matrix', version: '1.0.0' }, { versionNegotiation: { mode } });
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => heard.updated(params.uri));
  client.setNotificationHandler('notifications/resources/list_changed', () => heard.listChanged());
  const transport = url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport({ command: command[0], args: command.slice(1) });
  await client.connect(transport);
  client.onclose = () => heard.interrupted('closed');
  client.onerror = (error) => heard.interrupted(error);
  const protocol = client.getNegotiatedProtocolVersion();
  const modern = protocol === '2026-07-28';

  // Modern: a listen for the list and one for the updates, so that the one goes on when the other ends.
  const listens = new Map();
  async function listen(what, filter) {
    await listens.get(what)?.close();
    const listen = await client.listen(filter);
    for (const [key, asked] of Object.entries(filter)) {
      if (String(listen.honoredFilter[key]) !== String(asked)) throw new Error(`${key} was acknowledged as ${listen.honoredFilter[key]}`);
    }
    listens.set(what, listen);
    listen.closed.then((how) => {
      if (how !== 'local') heard.interrupted(`the listen ended: ${how}`);
    });
  }
  const lists = () => listen('list', { resourcesListChanged: true });
  if (modern) await lists();

  return {
    protocol,
    // Without a cursor the client fetches all pages by itself.
    list: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    async page(cursor) {
      const { resources, nextCursor } = await client.request({ method: 'resources/list', params: { cursor } });
      return { uris: resources.map(({ uri }) => uri), next: nextCursor };
    },
    templates: async () => (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    complete: async (uri, name, value) =>
      (await client.complete({ ref: { type: 'ref/resource', uri }, argument: { name, value } })).completion.values,
    // With the client's cache, as an application has it: what it answers from there has to be true, too.
    read: async (uri) => (await client.readResource({ uri })).contents[0],
    async subscribe(uris) {
      if (!modern) for (const uri of uris) await client.subscribeResource({ uri });
      else {
        await lists();
        await listen('updates', { resourceSubscriptions: uris });
      }
    },
    async unsubscribe(uris) {
      if (!modern) for (const uri of uris) await client.unsubscribeResource({ uri });
      else await listens.get('updates').close();
    },
    async close() {
      client.onclose = client.onerror = undefined;
      const ends = url && !modern;
      // Throws unless the server says that the session has ended.
      if (ends) await transport.terminateSession();
      await client.close();
      return ends ? 'DELETE ends the session' : '';
    },
  };
}
