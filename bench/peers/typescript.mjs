// What `cargo xtask bench` measures the host against: a server of the TypeScript SDK 2.x, of both eras, with JSON answers in each.
//
// node typescript.mjs PACKAGES FOLDER      PACKAGES is where the SDK is installed; serves FOLDER/NAME.txt as texts://NAME, and lists what
// FOLDER/page.list has. Prints where it listens.
import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [packages, folder] = process.argv.slice(2);
const require = createRequire(join(resolve(packages), 'package.json'));
const sdk = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/${name}`)));
const { Server, ResourceNotFoundError, createMcpHandler, isLegacyRequest } = await sdk('server');
const { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } = await sdk('node');

const text = (file) => readFileSync(join(folder, file), 'utf8');
const named = readdirSync(folder).filter((file) => file.endsWith('.txt'));
const texts = new Map(named.map((file) => [`texts://${file.slice(0, -4)}`, text(file)]));
const page = JSON.parse(text('page.list'));
const list = { resources: page.resources, ...(page.nextCursor ? { nextCursor: page.nextCursor } : {}) };

function server() {
  const server = new Server({ name: 'typescript', version: '1.0.0' }, { capabilities: { resources: {} } });
  server.setRequestHandler('resources/list', () => list);
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    if (!texts.has(uri)) throw new ResourceNotFoundError(uri);
    return { contents: [{ uri, mimeType: 'text/plain', text: texts.get(uri) }] };
  });
  return server;
}

const modern = toNodeHandler(createMcpHandler(server, { legacy: 'reject', responseMode: 'json' }));
const sessions = new Map();
const legacy = async (request, response, body) => {
  let transport = sessions.get(request.headers['mcp-session-id']);
  if (!transport) {
    transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    await server().connect(transport);
  }
  await transport.handleRequest(request, response, body);
};
const http = createServer(async (request, response) => {
  if (request.method !== 'POST') return legacy(request, response);
  let body = '';
  for await (const part of request.setEncoding('utf8')) body += part;
  const message = JSON.parse(body);
  const serve = (await isLegacyRequest(await toWebRequest(request, message))) ? legacy : modern;
  return serve(request, response, message);
});
http.listen(0, '127.0.0.1', () => console.log(`listening 127.0.0.1:${http.address().port}`));
