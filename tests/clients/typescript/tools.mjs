// A client that knows tools only: with the official TypeScript SDK it lists, searches, reads, and waits through a hundred updates and more
// without losing one. Prints one JSON line a step; exits with 0 only if every step held. The SDK checks each structured result against
// the output schema of its tool.
//
// node tools.mjs (--url URL | --command JSON) --era legacy|modern|pinned --updates N --file PATH
//   --command  a program and its arguments as a JSON array, to be talked to over stdio
//   --file     what file://status is read from; it is written here, again and again
// The host has to serve `handbook` besides.
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const WHOLE_RUN_MS = 80_000;
// An update that is not told within so long is lost.
const WAIT_SECONDS = 20;
// A wait in which nothing changes; its client gives up after less, unless it hears of progress.
const QUIET_SECONDS = 13;
const QUIET_MS = 11_000;
const MOST_PAUSE_MS = 80;
const STATUS = 'file://status';
const WELCOME = 'handbook://wharf/welcome';
const LOGO = 'handbook://wharf/logo';

const string = { type: 'string' };
const { values: args } = parseArgs({ options: { url: string, command: string, era: string, updates: string, file: string } });
assert(args.url || args.command, '--url or --command is missing');
for (const name of ['era', 'updates', 'file']) assert(args[name], `--${name} is missing`);
const updates = Number(args.updates);

const began = Date.now();
const say = (step, what = {}) => console.log(JSON.stringify({ step, ms: Date.now() - began, ...what }));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const pause = () => sleep(Math.random() * MOST_PAUSE_MS);
setTimeout(() => {
  say('timeout', { limit: WHOLE_RUN_MS });
  process.exit(1);
}, WHOLE_RUN_MS).unref();

const client = new Client(
  { name: 'wharf-e2e-tools', version: '1.0.0' },
  { versionNegotiation: { mode: { legacy: 'legacy', modern: 'auto', pinned: { pin: '2026-07-28' } }[args.era] } },
);

async function call(name, given, options) {
  const result = await client.callTool({ name, arguments: given }, options);
  assert(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
  return result;
}
const get = async (name, given, options) => (await call(name, given, options)).structuredContent;
const read = (uri) => get('read_resource', { uri });
const version = async () => Number((await read(STATUS)).contents[0].text);
let written = 0;
// At once as a whole, as editors do it.
function update() {
  written += 1;
  writeFileSync(`${args.file}.new`, `${written}`);
  renameSync(`${args.file}.new`, args.file);
}
const wait = (token) => get('wait_for_update', { uris: [STATUS], token, timeout: WAIT_SECONDS }, { timeout: WHOLE_RUN_MS });

try {
  const [command, ...rest] = args.command ? JSON.parse(args.command) : [];
  const transport = command ? new StdioClientTransport({ command, args: rest }) : new StreamableHTTPClientTransport(new URL(args.url));
  await client.connect(transport, { timeout: 15_000 });
  assert.equal(client.getNegotiatedProtocolVersion() === '2026-07-28', args.era !== 'legacy');
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map((tool) => tool.name),
    ['list_resources', 'list_resource_templates', 'read_resource', 'search_resources', 'wait_for_update'],
  );
  for (const tool of tools) assert.equal(tool.annotations.readOnlyHint, true);
  say('connect', { version: client.getNegotiatedProtocolVersion() });

  const listed = [];
  let cursor;
  do {
    const page = await get('list_resources', { limit: 2, ...(cursor && { cursor }) });
    listed.push(...page.resources.map((resource) => resource.uri));
    cursor = page.nextCursor;
  } while (cursor);
  assert.equal(new Set(listed).size, listed.length);
  for (const uri of [STATUS, WELCOME, LOGO]) assert(listed.includes(uri), `${uri} is not listed`);
  const markdown = await call('list_resources', { provider: 'handbook', mime_type: 'text/*' });
  assert(markdown.structuredContent.resources.every((resource) => resource.provider === 'handbook'));
  assert(markdown.content.some((block) => block.type === 'resource_link' && block.uri === WELCOME));
  assert((await get('list_resource_templates', {})).templates.length > 0);
  say('list', { resources: listed.length });

  const welcome = (await read(WELCOME)).contents[0].text;
  const word = welcome.match(/[a-z]{8,}/i)[0];
  assert((await get('search_resources', { query: word, in_text: true })).resources.some((resource) => resource.uri === WELCOME));
  assert((await get('search_resources', { query: 'LOGO handbook' })).resources.some((resource) => resource.uri === LOGO));
  say('search', { word });

  const piece = await get('read_resource', { uri: WELCOME, offset: 3, length: 5 });
  assert.equal(piece.contents[0].text, [...welcome].slice(3, 8).join(''));
  assert.equal(piece.nextOffset, 8);
  const logo = await call('read_resource', { uri: LOGO });
  assert.equal(logo.content[0].type, 'image');
  const missing = await client.callTool({ name: 'read_resource', arguments: { uri: 'handbook://wharf/nothing' } });
  assert(missing.isError && missing.content[0].text.includes('not-found'));
  const wrong = await client.callTool({ name: 'read_resource', arguments: { url: WELCOME } });
  assert(wrong.isError && wrong.content[0].text.includes('`uri`'));
  await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }));
  say('read', { welcome: welcome.length });

  // Nothing changes here, so this one lasts, beside all that follows.
  let progress = 0;
  const { token: welcomeToken } = await read(WELCOME);
  const quiet = get(
    'wait_for_update',
    { uris: [WELCOME], token: welcomeToken, timeout: QUIET_SECONDS },
    { timeout: QUIET_MS, resetTimeoutOnProgress: true, onprogress: () => (progress += 1) },
  );
  quiet.catch(() => {});

  const given = new AbortController();
  const cancelled = get('wait_for_update', { uris: [STATUS] }, { signal: given.signal, timeout: WHOLE_RUN_MS });
  cancelled.catch(() => {});
  await pause();
  given.abort('enough');
  await assert.rejects(cancelled);
  say('cancel');

  const foreign = await wait('0badf00d-1-00000000');
  assert.deepEqual([foreign.status, foreign.unsure], ['changed', [STATUS]]);
  let { token } = foreign;
  let known = await version();
  assert.equal(known, 0);
  for (let count = 1; count <= updates; count += 1) {
    // Before the call, between it and its beginning, or while it waits.
    const when = Math.floor(Math.random() * 3);
    if (when === 0) update();
    if (when === 0 && count % 2) await pause();
    const waiting = wait(token);
    if (when === 2) await pause();
    if (when !== 0) update();
    const told = await waiting;
    assert.deepEqual([told.status, told.changed, told.unsure], ['changed', [STATUS], undefined], `update ${count}`);
    token = told.token;
    known = await version();
    assert.equal(known, written, `update ${count}`);
    if (count % 3 === 0) await pause();
  }
  say('updates one by one', { updates });

  const last = written + updates;
  const running = (async () => {
    for (let count = 0; count < updates; count += 1) {
      await pause();
      update();
    }
  })();
  let told = 0;
  while (known < last) {
    const { status, token: next } = await wait(token);
    assert.equal(status, 'changed', `at ${known} of ${last}`);
    token = next;
    told += 1;
    const newer = await version();
    assert(newer >= known);
    known = newer;
  }
  await running;
  say('updates at any time', { updates, told });

  assert.equal((await quiet).status, 'timeout');
  assert(progress >= 2, `progress was told ${progress} times`);
  say('quiet', { progress });
  await client.close();
  say('close');
  process.exit(0);
} catch (error) {
  say('failed', { error: String(error?.stack ?? error) });
  process.exit(1);
}
