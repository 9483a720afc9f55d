// A server of the TypeScript SDK 2.x (packages of tests/clients/typescript), of both eras, with one resource that changes all the time.
//
// node typescript2.mjs stdio | http      http: prints the URL
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(new URL('../clients/typescript/package.json', import.meta.url));
const sdk = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/${name}`)));
const { Server, ResourceNotFoundError, createMcpHandler, isLegacyRequest } = await sdk('server');

const URI = 'test://typescript/status';
const EVERY_MS = 500;

let version = 1;
// What tells of each change, of whoever wants to.
const tells = new Set();
setInterval(() => {
  version += 1;
  for (const tell of tells) tell();
}, EVERY_MS).unref();

function server({ era }) {
  const server = new Server({ name: 'typescript2', version: '1.0.0' }, { capabilities: { resources: { subscribe: true } } });
  const tell = () => server.sendResourceUpdated({ uri: URI }).catch(() => {});
  server.setRequestHandler('resources/list', () => ({ resources: [{ uri: URI, name: 'status' }] }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    if (uri !== URI) throw new ResourceNotFoundError(uri);
    return { contents: [{ uri, text: `version ${version}` }] };
  });
  if (era === 'legacy') {
    server.setRequestHandler('resources/subscribe', () => {
      tells.add(tell);
      return {};
    });
    server.setRequestHandler('resources/unsubscribe', () => {
      tells.delete(tell);
      return {};
    });
    server.onclose = () => tells.delete(tell);
  }
  return { server, tell };
}

if (process.argv[2] === 'stdio') {
  const { serveStdio } = await sdk('server/stdio');
  serveStdio((context) => {
    const { server: made, tell } = server(context);
    // The SDK itself tells those that listen, and nobody else.
    if (context.era === 'modern') tells.add(tell);
    return made;
  });
} else {
  const { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } = await sdk('node');
  const modern = createMcpHandler((context) => server(context).server, { legacy: 'reject' });
  tells.add(() => modern.notify.resourceUpdated(URI));
  const modernly = toNodeHandler(modern);
  const sessions = new Map();
  const legacy = async (request, response, body) => {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, transport),
      });
      await server({ era: 'legacy' }).server.connect(transport);
    }
    await transport.handleRequest(request, response, body);
  };
  const http = createServer(async (request, response) => {
    if (request.method !== 'POST') return legacy(request, response);
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part;
    const body = JSON.parse(text);
    const serve = (await isLegacyRequest(await toWebRequest(request, body))) ? legacy : modernly;
    return serve(request, response, body);
  });
  http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
}
