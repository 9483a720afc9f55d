// The steps of a round, the same for every client; what they are is told by the fixture, tests/guests/matrix.
import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { Heard } from './heard.mjs';

const ROUND_MS = 90_000;
// The longest a step waits for something: far more than anything takes on a slow machine.
const STEP_MS = 20_000;
// The longest a read takes to end whose host was killed: less than the clients' own limit, of 60 s, since it is to be told.
const READ_MS = 10_000;
// So long a client that got its server back may need to notice by itself; after that the application asks.
const UNNOTICED_MS = 5_000;

const TEXT = 'matrix://fixture/text';
const BLOB = 'matrix://fixture/blob';
const WATCHED = 'matrix://fixture/watched';
const BYSTANDER = 'matrix://fixture/bystander';
const MISSING = 'matrix://fixture/missing';
const ITEM = 'matrix://item/{name}';
const PAGES = 2500;
const INITIAL = [TEXT, BLOB, WATCHED, BYSTANDER, ...Array.from({ length: PAGES }, (_, n) => `matrix://page/${String(n + 1).padStart(4, '0')}`)];
const FLOOD = 10_000;
// At most one update in 50 ms: of a flood in one call a listener hears a handful.
const FEW = 1_000;

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

// What goes on stdin, line by line. Unread until it is asked for.
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const within = (ms, what, promise) => {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`timeout: ${what} took more than ${ms} ms`)), ms)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

// Has the harness do something to the host.
async function please(what) {
  say({ please: what });
  const { value } = await within(STEP_MS, what, lines.next());
  assert.equal(value, 'done');
}

// `connect(heard)` gives a connection:
//   protocol                     the version agreed on
//   list()                       the URIs of all resources, by the client's own paging if it has one
//   page(cursor)                 { uris, next } of one page
//   templates()                  the URI templates
//   complete(template, name, value)
//   read(uri)                    the first content: { uri, text } or { uri, blob }
//   subscribe(uris)              also to changes of the list, where they have to be asked for; again after an interruption, too
//   unsubscribe(uris)            of the updates alone
//   close()                      gives what is to be told of it
class Round {
  heard = new Heard();

  constructor(client) {
    this.client = client;
  }

  async text(uri) {
    return (await this.connection.read(uri)).text;
  }

  act(what) {
    return this.text(`matrix://do/${what}`);
  }

  // Does something after which an update of what is watched has to arrive.
  async updated(act) {
    const before = this.heard.updates(WATCHED);
    const answer = await act();
    await this.heard.until(() => this.heard.updates(WATCHED) > before, `an update of ${WATCHED}`);
    return answer;
  }

  // Does something that changes the list, and looks at the list each time it is told of a change, until it holds what it should.
  async listed(what, holds) {
    let before = this.heard.lists;
    const uri = await this.act(what);
    for (;;) {
      await this.heard.until(() => this.heard.lists > before, `a change of the list after ${what} of ${uri}`);
      before = this.heard.lists;
      if (holds(await this.connection.list(), uri)) return uri;
    }
  }

  added() {
    return this.listed('add', (uris, added) => uris.includes(added));
  }

  async connect() {
    this.connection = await this.client.connect(this.heard);
    say({ client: this.client.name, version: this.client.version, protocol: this.connection.protocol });
  }

  async list() {
    assert.deepEqual(await this.connection.list(), INITIAL);
    return `${INITIAL.length} entries`;
  }

  async pages() {
    let { uris, next } = await this.connection.page();
    const all = [...uris];
    const added = await this.act('add');
    let pages = 1;
    for (; next !== undefined; pages++) {
      ({ uris, next } = await this.connection.page(next));
      all.push(...uris);
    }
    assert.equal(new Set(all).size, all.length, 'an entry came twice');
    assert.deepEqual(all.filter((uri) => uri !== added), INITIAL);
    return `${pages} pages`;
  }

  async templates() {
    const templates = await this.connection.templates();
    assert(templates.includes(ITEM) && templates.includes('matrix://do/{what}'), templates.join(' '));
    assert.equal(await this.text('matrix://item/an%20item'), 'item an item');
  }

  async complete() {
    assert.deepEqual(await this.connection.complete(ITEM, 'name', 'al'), ['alpha', 'alpine']);
  }

  async readText() {
    const content = await this.connection.read(TEXT);
    assert.equal(content.uri, TEXT);
    assert.equal(content.text, 'The text of the matrix: äöü 漢字.');
  }

  async blob() {
    const { blob } = await this.connection.read(BLOB);
    assert.deepEqual([...Buffer.from(blob, 'base64')], Array.from({ length: 256 }, (_, byte) => byte));
  }

  async notFound() {
    const error = await this.connection.read(MISSING).then(
      () => assert.fail('an answer'),
      (error) => error,
    );
    assert([-32002, -32602].includes(error.code), `${error.code}: ${error.message}`);
    assert(error.data?.uri === MISSING || error.message.includes(MISSING), 'the error does not name the URI');
    assert.equal(await this.text('matrix://item/alpha'), 'item alpha');
    return `${error.code}`;
  }

  async subscribe() {
    await this.connection.subscribe([WATCHED, BYSTANDER]);
  }

  async update() {
    this.answered = await this.updated(() => this.act('update'));
  }

  async readAgain() {
    const text = await this.text(WATCHED);
    assert.match(text, /^version \d+$/);
    assert.equal(text, this.answered);
  }

  async flood() {
    const before = this.heard.updates(WATCHED);
    const answered = await this.updated(() => this.act('flood'));
    assert(Number(answered.split(' ')[1]) > FLOOD, answered);
    assert.equal(await this.text(WATCHED), answered);
    const heard = this.heard.updates(WATCHED) - before;
    assert(heard < FEW, `${heard} updates`);
    assert.equal(await this.text('matrix://item/beta'), 'item beta');
    return `heard ${heard} of ${FLOOD}`;
  }

  async unsubscribe() {
    await this.connection.unsubscribe([WATCHED, BYSTANDER]);
    // What was on its way when the server heard of it may arrive until this does.
    await this.text(TEXT);
    const before = this.heard.updates(WATCHED);
    await this.act('update');
    // Told later than an update would be.
    await this.added();
    assert.equal(this.heard.updates(WATCHED), before, 'an update arrived after the subscription ended');
    assert.equal(this.heard.updates(BYSTANDER), 0, 'an update of what never changed arrived');
  }

  async listChanged() {
    const added = await this.added();
    assert.equal(await this.listed('remove', (uris, removed) => !uris.includes(removed)), added);
  }

  async died() {
    await this.connection.subscribe([WATCHED]);
    const error = await this.updated(() =>
      this.act('die').then(
        () => assert.fail('an answer'),
        (error) => error,
      ),
    );
    assert.equal(error.code, -32603, error.message);
    if (error.data !== undefined) assert.equal(error.data.kind, 'trap');
    assert.equal(await this.text(WATCHED), 'version 1');
    assert.equal(await this.updated(() => this.act('update')), 'version 2');
  }

  async restart() {
    const { updates, interruptions } = await this.unlikeAFreshHost();
    await please('restart');
    return this.converge(updates, interruptions);
  }

  async killed() {
    const { updates, interruptions } = await this.unlikeAFreshHost();
    const ended = this.act('hang').then(
      (text) => new Error(`the read was answered: ${text}`),
      (error) => error,
    );
    await please('kill');
    const error = await within(READ_MS, 'the end of the read', ended);
    assert.doesNotMatch(error.message, /was answered/);
    await please('start');
    return `${await this.converge(updates, interruptions)}: ${error.message}`;
  }

  // Makes the host what no fresh one is, with nothing of it under way any more.
  async unlikeAFreshHost() {
    let version;
    do version = await this.updated(() => this.act('update'));
    while (Number(version.split(' ')[1]) < 3);
    // Told later than any update: none of the old server's is on its way when this has arrived.
    await this.added();
    return { updates: this.heard.updates(WATCHED), interruptions: this.heard.interruptions.length };
  }

  // Ends up with what is true at the fresh host.
  async converge(updates, interruptions) {
    const interrupted = () => this.heard.interruptions.length > interruptions;
    const heard = () => this.heard.updates(WATCHED) > updates;
    await this.heard.until(() => heard() || interrupted(), 'anything', UNNOTICED_MS).catch(() => {});
    const how = heard() && !interrupted() ? 'reconnects by itself, and hears of the fresh content' : await this.comeBack();
    assert.equal(await this.text(WATCHED), 'version 1');
    assert.equal(await this.updated(() => this.act('update')), 'version 2');
    return how;
  }

  // What an application does that finds its connection interrupted, or an answer missing: asks, and if that fails connects anew.
  async comeBack() {
    try {
      await this.text(WATCHED);
      await this.connection.subscribe([WATCHED]);
      return 'has to subscribe anew on the connection it has';
    } catch (error) {
      await this.connection.close().catch(() => {});
      this.connection = await this.client.connect(this.heard);
      await this.connection.subscribe([WATCHED]);
      console.error('after the restart:', error.message);
      return 'has to connect anew';
    }
  }

  async close() {
    return this.connection.close();
  }
}

// In the order in which they are reported.
const STEPS = {
  connect: 'connect',
  list: 'list',
  pages: 'pages',
  templates: 'templates',
  complete: 'complete',
  text: 'readText',
  blob: 'blob',
  'not-found': 'notFound',
  subscribe: 'subscribe',
  update: 'update',
  'read-again': 'readAgain',
  flood: 'flood',
  unsubscribe: 'unsubscribe',
  'list-changed': 'listChanged',
  died: 'died',
  restart: 'restart',
  killed: 'killed',
  close: 'close',
};

// Plays all steps; one that fails does not keep the others from being tried.
export async function play(client) {
  const round = new Round(client);
  const left = Object.keys(STEPS);
  let began = Date.now();
  const ends = (outcome, detail) => say({ step: left.shift(), outcome, detail, ms: Date.now() - began });
  setTimeout(() => {
    ends('failed', `timeout in ${left[0]}: the round took more than ${ROUND_MS} ms`);
    while (left.length) ends('failed', 'not reached');
    process.exit(0);
  }, ROUND_MS).unref();
  while (left.length) {
    const step = left[0];
    began = Date.now();
    try {
      if (step !== 'connect' && !round.connection) throw new Error('there is no connection');
      ends('ok', (await within(STEP_MS, step, round[STEPS[step]]())) ?? '');
    } catch (error) {
      ends('failed', String(error?.message ?? error).split('\n').slice(0, 4).join(' '));
    }
  }
}
