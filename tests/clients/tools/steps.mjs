// The steps of a round for tools that are commands; what they are is told by the fixture, tests/guests/matrix.
//
// A tool that has no way to do a step throws `Cannot`, after it has tried what it can of it: so a step is `cannot` only if the rest holds.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Refused } from './command.mjs';

// Twice that of the clients which stay: here every question is a process that loads a megabyte of JavaScript, some forty in a round.
const ROUND_MS = 180_000;
// The harness starts a host meanwhile.
const DONE_MS = 60_000;

export const TEXT = 'matrix://fixture/text';
export const BLOB = 'matrix://fixture/blob';
export const WATCHED = 'matrix://fixture/watched';
export const BYSTANDER = 'matrix://fixture/bystander';
export const MISSING = 'matrix://fixture/missing';
export const ITEM = 'matrix://item/{name}';
const PAGES = 2500;
const page = (_, n) => `matrix://page/${String(n + 1).padStart(4, '0')}`;
export const INITIAL = [TEXT, BLOB, WATCHED, BYSTANDER, ...Array.from({ length: PAGES }, page)];

export class Cannot extends Error {}

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

// What all tools have: a list without pages, and reads.
export class Tool {
  // Gives the resources, the templates, a resource's first content.
  list() {}
  templates() {}
  read(_uri) {}

  async text(uri) {
    return (await this.read(uri)).text;
  }

  act(what) {
    return this.text(`matrix://do/${what}`);
  }

  async refused(uri) {
    return this.read(uri).then(
      (content) => assert.fail(`${uri} was answered: ${content.text}`),
      (error) => error,
    );
  }

  async lists() {
    assert.deepEqual(await this.list(), INITIAL);
    return `${INITIAL.length} entries, the pages by itself`;
  }

  pages() {
    throw new Cannot('it follows the pages by itself, and nothing can be done between two');
  }

  async hasTemplates() {
    const templates = await this.templates();
    assert(templates.includes(ITEM) && templates.includes('matrix://do/{what}'), templates.join(' '));
  }

  async readsText() {
    const content = await this.read(TEXT);
    assert.equal(content.uri, TEXT);
    assert.equal(content.text, 'The text of the matrix: äöü 漢字.');
  }

  async readsBlob() {
    const { blob } = await this.read(BLOB);
    assert.deepEqual([...Buffer.from(blob, 'base64')], Array.from({ length: 256 }, (_, byte) => byte));
  }

  async notFound() {
    const error = await this.refused(MISSING);
    assert.match(error.message, /not found/);
    await this.readsText();
    if (error.message.includes(MISSING)) return error.message;
    throw new Cannot(`of an error it prints the message alone, and no code or data: ${error.message}`);
  }

  // A change of the list: the host asks a provider for its list once a second at the most, and a tool that is not told looks again.
  async becomesListed(uri, listed) {
    const until = Date.now() + 10_000;
    while ((await this.list()).includes(uri) !== listed) {
      assert(Date.now() < until, `${uri} is ${listed ? 'not' : 'still'} listed`);
    }
  }

  async listFollows() {
    const added = await this.act('add');
    await this.becomesListed(added, true);
    assert.equal(await this.act('remove'), added);
    await this.becomesListed(added, false);
  }

  async crashes() {
    const error = await this.refused('matrix://do/die');
    assert.match(error.message, /crashed/);
    assert.equal(await this.text(WATCHED), 'version 1');
  }
}

// The host is killed while a read is under way at it: gives how that one ended.
export async function killedUnder(tool) {
  const ended = tool.read('matrix://do/hang').then(
    (content) => new Error(`the read was answered: ${content.text}`),
    (error) => error,
  );
  await please('kill');
  const error = await ended;
  // Anything else is not what the command told of, but that it told nothing.
  if (!(error instanceof Refused)) throw error;
  await please('start');
  return error.message;
}

// Has the harness do something to the host. Only here is anything read from stdin, which may
// be for a driver that this process starts.
export async function please(what) {
  const answer = createInterface({ input: process.stdin });
  say({ please: what });
  let late;
  const timeout = new Promise((_, reject) => (late = setTimeout(() => reject(new Error(`${what}: not done`)), DONE_MS)));
  const [line] = await Promise.race([once(answer, 'line'), timeout]).finally(() => clearTimeout(late));
  answer.close();
  assert.equal(line, 'done');
}

// In the order in which they are reported: the tool's method for each.
const STEPS = {
  connect: 'connect',
  list: 'lists',
  pages: 'pages',
  templates: 'hasTemplates',
  complete: 'complete',
  text: 'readsText',
  blob: 'readsBlob',
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
export async function play(tool, { name, version }) {
  const left = Object.keys(STEPS);
  let began = Date.now();
  const ends = (outcome, detail) => say({ step: left.shift(), outcome, detail, ms: Date.now() - began });
  setTimeout(() => {
    ends('failed', `timeout in ${left[0]}: the round took more than ${ROUND_MS} ms`);
    while (left.length) ends('failed', 'not reached');
    tool.abandon();
    process.exit(0);
  }, ROUND_MS).unref();
  let protocol = null;
  while (left.length) {
    const step = left[0];
    began = Date.now();
    let outcome = 'ok';
    let detail;
    try {
      if (step !== 'connect' && protocol === null) throw new Error('there is no connection');
      detail = await tool[STEPS[step]]();
    } catch (error) {
      outcome = error instanceof Cannot ? 'cannot' : 'failed';
      detail = String(error?.message ?? error).split('\n').slice(0, 4).join(' ');
    }
    if (step === 'connect') {
      protocol = outcome === 'ok' ? detail : null;
      say({ client: name, version, protocol: protocol ?? 'none' });
      detail = protocol === null ? detail : '';
    }
    ends(outcome, detail ?? '');
  }
  tool.abandon();
}
