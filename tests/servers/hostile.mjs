// A server without measure, to hit the probe's limits: it initializes as it should, and then does what its first argument says.
//
// node hostile.mjs pages|chatter|line stdio      each list has a next page; a list is answered after 10,001 notifications, or with 65 MiB
// node hostile.mjs pages|chatter|body http       likewise; prints the URL
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const MANY = 10_001;
// Past the 64 MiB that the probe takes.
const HUGE = 65 * 1024 * 1024;
const [does, transport] = process.argv.slice(2);

const ANSWERS = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { resources: {} }, serverInfo: { name: 'hostile', version: '1' } },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
  'resources/read': { contents: [] },
};
let pages = 0;

function answer({ id, method }) {
  const result = ANSWERS[method];
  if (!result) return { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } };
  const next = does === 'pages' && method === 'resources/list' ? { nextCursor: `${(pages += 1)}` } : {};
  return { jsonrpc: '2.0', id, result: { ...result, ...next } };
}

const lists = ({ method }) => method === 'resources/list';
const CHATTER = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: '' } });

if (transport === 'stdio') {
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    if (request.id === undefined) continue;
    if (does === 'chatter' && lists(request)) process.stdout.write(`${CHATTER}\n`.repeat(MANY));
    if (does === 'line' && lists(request)) process.stdout.write(' '.repeat(HUGE));
    process.stdout.write(`${JSON.stringify(answer(request))}\n`);
  }
} else {
  const http = createServer(async (request, response) => {
    // It has no stream and no sessions.
    if (request.method !== 'POST') return response.writeHead(405).end();
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    const message = JSON.parse(body);
    if (message.id === undefined) return response.writeHead(202).end();
    const answered = JSON.stringify(answer(message));
    if (does === 'chatter' && lists(message)) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${CHATTER}\n\n`.repeat(MANY));
      return response.end(`data: ${answered}\n\n`);
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    if (does === 'body' && lists(message)) response.write(' '.repeat(HUGE));
    response.end(answered);
  });
  http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
}
