// One whole round of a client against a host, with the official TypeScript SDK: connect, list, read, subscribe, receive an update,
// read the new content, unsubscribe, and hear nothing more. Prints one JSON line a step; exits with 0 only if every step held.
//
// node round.mjs (--url URL | --command JSON) --era legacy|modern|pinned --text URI --blob URI --watch URI --before TEXT --after TEXT --ticking URI
//   --command  a program and its arguments as a JSON array, to be talked to over stdio
//   --watch    changes once, some time after the first subscription; its text contains BEFORE before, and AFTER after it
//   --ticking  is announced again and again for as long as anybody subscribes to it (somebody else has to)
import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const WHOLE_ROUND_MS = 60_000;
const STEP_MS = 15_000;
// What was under way when the subscription ended may still arrive; after that, ten ticks of silence.
const UNDER_WAY_MS = 500;
const SILENCE_MS = 1_000;

const string = { type: 'string' };
const { values: args } = parseArgs({
  options: { url: string, command: string, era: string, text: string, blob: string, watch: string, before: string, after: string, ticking: string },
});
assert(args.url || args.command, '--url or --command is missing');
for (const name of ['era', 'text', 'blob', 'watch', 'before', 'after', 'ticking']) assert(args[name], `--${name} is missing`);
const modern = args.era !== 'legacy';

const began = Date.now();
const say = (step, what = {}) => console.log(JSON.stringify({ step, ms: Date.now() - began, ...what }));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
setTimeout(() => {
  say('timeout', { limit: WHOLE_ROUND_MS });
  process.exit(1);
}, WHOLE_ROUND_MS).unref();

// Counts updates by URI, and lets a step wait for the next one.
const told = new Map();
const waiting = new Map();
const next = (uri) =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no update of ${uri} within ${STEP_MS} ms`)), STEP_MS);
    waiting.set(uri, () => {
      clearTimeout(late);
      resolve();
    });
  });

const text = async (client, uri) => (await client.readResource({ uri }, { cacheMode: 'bypass' })).contents[0].text;

async function pages(client, list, key) {
  const all = [];
  let cursor;
  do {
    // With a cursor the SDK gives one page; without one it would fetch them all by itself and hide a broken cursor.
    const page = await list({ cursor }, { cacheMode: 'bypass' });
    all.push(...page[key]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return all;
}

// 'auto' asks with server/discover, as a client in the field does; the check of the version sees to it that nothing fell back.
const client = new Client(
  { name: 'wharf-e2e-typescript', version: '1.0.0' },
  { versionNegotiation: { mode: { legacy: 'legacy', modern: 'auto', pinned: { pin: '2026-07-28' } }[args.era] } },
);
client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => {
  told.set(uri, (told.get(uri) ?? 0) + 1);
  waiting.get(uri)?.();
  waiting.delete(uri);
});

try {
  const [command, ...rest] = args.command ? JSON.parse(args.command) : [];
  const transport = command ? new StdioClientTransport({ command, args: rest }) : new StreamableHTTPClientTransport(new URL(args.url));
  await client.connect(transport, { timeout: STEP_MS });
  const version = client.getNegotiatedProtocolVersion();
  assert.equal(version === '2026-07-28', modern, `the wrong era: ${version}`);
  assert.equal(client.getServerCapabilities()?.resources?.subscribe, true, 'resources.subscribe is not advertised');
  say('connect', { version });

  const resources = await pages(client, (...page) => client.listResources(...page), 'resources');
  const uris = resources.map((resource) => resource.uri);
  for (const uri of [args.text, args.blob, args.watch]) assert(uris.includes(uri), `${uri} is not listed`);
  assert.equal(new Set(uris).size, uris.length, 'a URI is listed twice');
  const templates = await pages(client, (...page) => client.listResourceTemplates(...page), 'resourceTemplates');
  say('list', { resources: uris.length, templates: templates.length });

  const [asText] = (await client.readResource({ uri: args.text })).contents;
  assert.equal(asText.uri, args.text);
  assert(asText.text.length > 0);
  const [asBlob] = (await client.readResource({ uri: args.blob })).contents;
  const bytes = Buffer.from(asBlob.blob, 'base64');
  const listed = resources.find((resource) => resource.uri === args.blob);
  assert.equal(asBlob.mimeType, listed.mimeType);
  if (listed.size !== undefined) assert.equal(bytes.length, listed.size);
  say('read', { text: asText.text.length, blob: bytes.length });

  const before = await text(client, args.watch);
  assert(before.includes(args.before), `before: ${before}`);
  const updated = next(args.watch);
  const ticked = next(args.ticking);
  let listening;
  if (modern) {
    listening = await client.listen({ resourceSubscriptions: [args.watch, args.ticking] }, { timeout: STEP_MS });
    assert.deepEqual(listening.honoredFilter.resourceSubscriptions, [args.watch, args.ticking]);
  } else {
    for (const uri of [args.watch, args.ticking]) await client.subscribeResource({ uri });
  }
  say('subscribe');

  await Promise.all([updated, ticked]);
  say('update');
  const after = await text(client, args.watch);
  assert(after.includes(args.after), `after: ${after}`);
  say('read again', { text: after });

  if (modern) {
    await listening.close();
    assert.equal(await listening.closed, 'local');
  } else {
    for (const uri of [args.watch, args.ticking]) await client.unsubscribeResource({ uri });
  }
  say('unsubscribe');
  await sleep(UNDER_WAY_MS);
  const then = [...told];
  await sleep(SILENCE_MS);
  assert.deepEqual([...told], then, 'updates arrive after the subscription ended');
  assert.deepEqual([...told.keys()].sort(), [args.watch, args.ticking].sort(), 'updates of other URIs arrived');
  assert((await text(client, args.text)).length > 0, 'the connection did not outlive the subscription');
  say('silence');

  if (!modern && !command) await transport.terminateSession();
  await client.close();
  say('close');
  process.exit(0);
} catch (error) {
  say('failed', { error: String(error?.stack ?? error) });
  process.exit(1);
}
