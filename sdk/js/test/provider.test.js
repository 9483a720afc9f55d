import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { announced } from './fake.js';
import { blob, Denied, json, NotFound, notModified, Provider, Reading, text } from '../wharf/wharf.js';

const HALF = 'half \ud800';
const bodyText = ({ body }) => new TextDecoder().decode(body.val);
const read = (provider, uri, more) => provider.resources.read({ uri, matched: undefined, ifNoneMatch: undefined, ...more });
const thrown = (work) => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return assert.fail('it did not throw');
};
const logged = [];
console.error = (line) => logged.push(line);

beforeEach(() => {
  announced.length = 0;
  logged.length = 0;
});

test('a list has all fields, in pages, and no half surrogate pair', () => {
  const provider = new Provider().pageSize(2);
  provider.resource('x://a').title(HALF).describe('d').mimeType('text/plain').size(1).icon({ src: 's' }).annotations({ lastModified: new Date(5) })
    .meta({ k: 1 }).read(() => '');
  provider.resource('x://b').name('bee').read(() => '');
  provider.template('x://t/{v}').mimeType('text/plain').list(() => [{ variables: { v: 'q r' }, title: 'Q' }]).read(({ variables }) => variables.v);
  const first = provider.resources.list(undefined);
  assert.equal(first.nextCursor, '2');
  const [a, b] = first.resources;
  assert.deepEqual([a.title, a.metaJson, a.icons, a.annotations.lastModified], ['half \ufffd', '{"k":1}', [{ src: 's' }], 5]);
  assert.equal(b.name, 'bee');
  const second = provider.resources.list('2');
  assert.deepEqual([second.nextCursor, second.resources[0].uri, second.resources[0].mimeType], [undefined, 'x://t/q%20r', 'text/plain']);
  assert.equal(thrown(() => provider.resources.list('3')).tag, 'invalid');
  assert.equal(thrown(() => provider.resources.list('01')).tag, 'invalid');
});

test('what a template lists is read and subscribed though the host names no template', () => {
  const provider = new Provider();
  provider.template('x://t/{v}').list(() => [{ variables: { v: 'q r' } }]).subscribable().read(({ variables }) => variables.v);
  assert.equal(bodyText(read(provider, 'x://t/q%20r').contents[0]), 'q r');
  provider.subscriptions.subscribe('x://t/q%20r', undefined);
  assert.equal(thrown(() => read(provider, 'x://t/other')).tag, 'not-found');
});

test('a handler answers with text, bytes, JSON or a reading', () => {
  const provider = new Provider();
  const answers = {
    text: HALF, bytes: Uint8Array.of(1), json: json({ a: 1 }), utf8: text(Uint8Array.of(65)), none: notModified,
    all: new Reading(['a', blob(Uint8Array.of(2), { uri: 'x://part', meta: {} })], { version: 'v', reuse: 5 }),
  };
  for (const [name, answer] of Object.entries(answers)) provider.resource(`x://${name}`).read(() => answer);
  assert.equal(bodyText(read(provider, 'x://text').contents[0]), 'half \ufffd');
  assert.equal(read(provider, 'x://bytes').contents[0].body.tag, 'blob');
  assert.equal(read(provider, 'x://json').contents[0].mimeType, 'application/json');
  assert.equal(bodyText(read(provider, 'x://utf8').contents[0]), 'A');
  assert.equal(read(provider, 'x://none'), undefined);
  const all = read(provider, 'x://all');
  assert.deepEqual([all.version, all.reuse, all.contents[1].uri, all.contents[1].metaJson], ['v', { tag: 'for-ms', val: 5 }, 'x://part', '{}']);
  assert.equal(read(provider, 'x://all', { ifNoneMatch: 'v' }), undefined);
});

test('what a handler throws is an error of the contract, and only the unforeseen is logged', () => {
  const provider = new Provider();
  const errors = {
    denied: new Denied('ask'), missing: new NotFound(), own: { tag: 'unavailable', val: 'later' }, odd: new TypeError(HALF), string: 'what',
    import: Object.assign(new Error('import'), { payload: { tag: 'invalid', val: 'from the host' } }),
  };
  for (const [name, error] of Object.entries(errors)) provider.resource(`x://${name}`).read(() => { throw error; });
  const got = (name) => thrown(() => read(provider, `x://${name}`));
  assert.deepEqual(got('denied'), { tag: 'denied', val: 'ask' });
  assert.deepEqual(got('missing'), { tag: 'not-found' });
  assert.deepEqual(got('own'), { tag: 'unavailable', val: 'later' });
  assert.deepEqual(got('import'), { tag: 'invalid', val: 'from the host' });
  assert.equal(logged.length, 0);
  assert.deepEqual(got('odd'), { tag: 'failed', val: 'TypeError: half \ufffd' });
  assert.match(logged[0], /provider\.test\.js/);
  assert.deepEqual(got('string'), { tag: 'failed', val: 'what' });
});

test('a handler that returns nothing, or a promise, is told so', () => {
  const provider = new Provider();
  provider.resource('x://nothing').read(() => {});
  provider.resource('x://promise').read(async () => 'later');
  assert.match(thrown(() => read(provider, 'x://nothing')).val, /returned nothing/);
  assert.match(thrown(() => read(provider, 'x://promise')).val, /no call may wait/);
});

test('timers go by name, and one that throws does not keep the others', () => {
  const started = [];
  const provider = new Provider({ timers: { start: (...all) => started.push(all), cancel: (name) => started.push([name]) } });
  const fired = [];
  provider.every('tick', 2 ** 40, () => fired.push('tick'));
  provider.after('once', 5.4, () => fired.push('once'));
  provider.every('bad', 100, () => { throw new Error('bad'); });
  assert.deepEqual(started, [['tick', 0x7fffffff, 0x7fffffff], ['once', 5, undefined], ['bad', 100, 100]]);
  provider.timerHandler.fired(['bad', 'once', 'tick', 'unknown']);
  provider.timerHandler.fired(['once', 'tick']);
  assert.deepEqual(fired, ['once', 'tick', 'tick']);
  assert.equal(logged.length, 1);
  provider.cancel('tick');
  provider.timerHandler.fired(['tick']);
  assert.deepEqual(fired, ['once', 'tick', 'tick']);
});

test('who is not subscribable says so, and the functions get the variables', () => {
  const provider = new Provider();
  const calls = [];
  provider.resource('x://still').read(() => '');
  provider.template('x://{v}').subscribable(({ variables }) => calls.push(variables.v), ({ variables }) => calls.push(`no ${variables.v}`)).read(() => '');
  const matched = { uriTemplate: 'x://{v}', variables: [['v', 'a']] };
  provider.subscriptions.subscribe('x://a', matched);
  provider.subscriptions.unsubscribe('x://a');
  assert.deepEqual(calls, ['a', 'no a']);
  assert.deepEqual(thrown(() => provider.subscriptions.subscribe('x://still', undefined)), { tag: 'failed', val: 'x://still does not tell of changes' });
  assert.equal(thrown(() => provider.subscriptions.subscribe('y://', undefined)).tag, 'not-found');
});

test('suggestions are a list filtered, or what a function says of what is known', () => {
  const provider = new Provider();
  provider.template('x://{a}/{b}').complete('a', ['one', 'other', 'two']).complete('b', (value, known) => Array(150).fill(known.a + value)).read(() => '');
  const complete = (argument, value, known) => provider.completions.complete({ uriTemplate: 'x://{a}/{b}', argument, value, known });
  assert.deepEqual(complete('a', 'o', []), { values: ['one', 'other'], total: 2, hasMore: false });
  const many = complete('b', '!', [['a', 'x']]);
  assert.deepEqual([many.values.length, many.values[0], many.total, many.hasMore], [100, 'x!', 150, true]);
  assert.deepEqual(complete('c', '', []).values, []);
});

test('fetches, files and webhooks are told by name', () => {
  const asked = [];
  const keep = (...all) => { asked.push(all); };
  const provider = new Provider({ fetch: { start: keep, poll: keep, cancel: keep }, fileWatch: { watch: keep, unwatch: keep } });
  const got = [];
  provider.fetch('a', 'https://x', (response) => got.push(response.json().b));
  provider.poll('p', { url: 'https://y', method: 'POST', headers: { k: 1 }, body: 'ü' }, 1000, (response) => got.push(response.error));
  provider.watch('w', '/d', (changes) => got.push(changes), { recursive: true });
  assert.deepEqual(asked[1], ['p', { method: 'POST', url: 'https://y', timeoutMs: undefined, headers: [['k', '1']], body: Uint8Array.of(0xc3, 0xbc) }, 1000]);
  const ok = { tag: 'ok', val: { status: 200, headers: [], body: new TextEncoder().encode('{"b":7}') } };
  provider.fetchHandler.fetched([{ name: 'a', answer: ok }, { name: 'p', answer: { tag: 'err', val: { tag: 'failed', val: 'no way' } } }]);
  provider.fileHandler.changed([{ name: 'w', path: '/d/a', change: 'created' }, { name: 'w', path: '/d/b', change: 'removed' }]);
  assert.deepEqual(got, [7, 'failed: no way', [{ path: '/d/a', change: 'created' }, { path: '/d/b', change: 'removed' }]]);
  provider.webhook('hook', ({ text }) => ({ status: 201, body: text() }));
  provider.webhook('bad', () => { throw new Error('bad'); });
  const receive = (name) => provider.webhookHandler.receive({ name, method: 'POST', pathAndQuery: '', headers: [], body: Uint8Array.of(65) });
  assert.deepEqual(receive('hook'), { status: 201, headers: [], body: Uint8Array.of(65) });
  assert.deepEqual([receive('bad').status, receive('none').status], [500, 404]);
});

test('an import that was not handed over is named', () => {
  const provider = new Provider();
  provider.resource('x://a').subscribable(() => provider.every('t', 100, () => {})).read(() => '');
  assert.match(thrown(() => provider.subscriptions.subscribe('x://a', undefined)).val, /new Provider\(\{ timers \}\)/);
});

test('changes are announced, and settings are there', () => {
  const provider = new Provider();
  provider.updated('x://a', ['x://b', HALF]);
  provider.listChanged();
  assert.deepEqual(announced, ['x://a', 'x://b', 'half \ufffd', 'the list']);
  assert.deepEqual([provider.setting('greeting'), provider.setting('other'), provider.settings()], ['hi', undefined, { greeting: 'hi' }]);
});
