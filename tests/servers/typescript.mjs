// A server of the TypeScript SDK 1.x (packages of tests/clients/typescript) with one resource that changes while somebody subscribes to it.
//
// node typescript.mjs stdio | http      http: prints the URL
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(new URL('../clients/typescript/package.json', import.meta.url));
const sdk = (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}`)));
const { Server } = await sdk('server/index.js');
const types = await sdk('types.js');

const URI = 'test://typescript/status';
const EVERY_MS = 500;

function server() {
  const server = new Server({ name: 'typescript', version: '1.0.0' }, { capabilities: { resources: { subscribe: true } } });
  let version = 1;
  let timer;
  server.setRequestHandler(types.ListResourcesRequestSchema, () => ({ resources: [{ uri: URI, name: 'status' }] }));
  server.setRequestHandler(types.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [] }));
  server.setRequestHandler(types.ReadResourceRequestSchema, ({ params: { uri } }) => {
    if (uri !== URI) throw new types.McpError(-32002, 'Resource not found', { uri });
    return { contents: [{ uri, text: `version ${version}` }] };
  });
  server.setRequestHandler(types.SubscribeRequestSchema, ({ params: { uri } }) => {
    timer ??= setInterval(() => {
      version += 1;
      server.sendResourceUpdated({ uri }).catch(() => {});
    }, EVERY_MS);
    return {};
  });
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    return {};
  };
  server.setRequestHandler(types.UnsubscribeRequestSchema, stop);
  server.onclose = stop;
  return server;
}

if (process.argv[2] === 'stdio') {
  const { StdioServerTransport } = await sdk('server/stdio.js');
  await server().connect(new StdioServerTransport());
  process.stdin.on('end', () => process.exit(0));
} else {
  const { StreamableHTTPServerTransport } = await sdk('server/streamableHttp.js');
  const sessions = new Map();
  const http = createServer(async (request, response) => {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, transport),
      });
      await server().connect(transport);
    }
    await transport.handleRequest(request, response);
  });
  http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
}
