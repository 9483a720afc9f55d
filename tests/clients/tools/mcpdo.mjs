// The inspector's `mcpdo`: commands that share a connection, which a daemon of it holds.
import assert from 'node:assert/strict';
import { COMMAND_MS, Home, within } from './command.mjs';
import { BYSTANDER, Cannot, ITEM, Tool, WATCHED, killedUnder, please } from './steps.mjs';

export const PACKAGE = '@modelcontextprotocol/inspector';
const PROGRAM = `${PACKAGE}/clients/mcpdo/build/mcp-bin.js`;
const CONNECTION = 'matrix';
// "Far fewer" than the 10,000 that are announced.
const FEW = 1_000;
// So long a client that got its host back may need to notice by itself; after that the application asks.
const UNNOTICED_MS = 5_000;

// What `resources/subscribe` prints, for as long as it runs.
class Watch {
  updates = 0;
  #text = '';
  #subscribed = false;
  #wake = new Set();
  #uri;
  #command;

  constructor(home, uri) {
    this.#uri = uri;
    const args = ['--connection', CONNECTION, 'resources/subscribe', uri, '--format', 'json'];
    this.#command = home.start(PROGRAM, args, (text) => this.#hear(text));
    this.ended = this.#command.ended;
  }

  #hear(text) {
    this.#text += text;
    // Each object is printed over several lines, and only its end begins a line with a brace.
    const objects = this.#text.split(/(?<=^\})\n/m);
    this.#text = objects.pop();
    for (const object of objects) {
      const { type, uri } = JSON.parse(object);
      assert.equal(uri, this.#uri);
      if (type === 'subscribed') this.#subscribed = true;
      else this.updates += 1;
    }
    for (const wake of this.#wake) wake();
  }

  async until(holds, what, ms = COMMAND_MS) {
    const held = new Promise((resolve) => {
      const look = () => {
        if (!holds()) return;
        this.#wake.delete(look);
        resolve();
      };
      this.#wake.add(look);
      look();
    });
    const over = this.ended.then(({ code, err }) => {
      throw new Error(`resources/subscribe ${code === 0 ? 'ends with the connection' : `ended with ${code}: ${err.trim()}`}`);
    });
    await within(ms, `no ${what}`, Promise.race([held, over]));
  }

  subscribed() {
    return this.until(() => this.#subscribed, 'word that it is subscribed');
  }

  async end() {
    return this.#command.end('SIGINT');
  }
}

export class Mcpdo extends Tool {
  #home = new Home();
  #connect;
  #watches = new Map();
  #answered;

  constructor({ url, command }, era) {
    super();
    const target = url ? ['--transport', 'http', url] : ['--transport', 'stdio', '--', ...command];
    this.#connect = ['connect', '--connection', CONNECTION, '--era', era, '--format', 'json', ...target];
  }

  #ask(...args) {
    return this.#home.run(PROGRAM, ['--connection', CONNECTION, ...args, '--format', 'json']);
  }

  async #watch(uri) {
    const watch = new Watch(this.#home, uri);
    await watch.subscribed();
    this.#watches.set(uri, watch);
    return watch;
  }

  async #endWatches() {
    const watches = [...this.#watches.values()];
    this.#watches.clear();
    return Promise.all(watches.map((watch) => watch.end()));
  }

  // Does something after which an update has to arrive.
  async #updated(act) {
    const watch = this.#watches.get(WATCHED);
    assert(watch, 'it is not subscribed');
    const before = watch.updates;
    const answer = await act();
    await watch.until(() => watch.updates > before, 'update');
    return answer;
  }

  async connect() {
    await this.#home.run(PROGRAM, this.#connect);
    return (await this.#ask('connections/show')).protocolVersion;
  }

  async list() {
    return (await this.#ask('resources/list')).resources.map(({ uri }) => uri);
  }

  async templates() {
    return (await this.#ask('resources/templates/list')).resourceTemplates.map(({ uriTemplate }) => uriTemplate);
  }

  async read(uri) {
    return (await this.#ask('resources/read', uri)).contents[0];
  }

  async complete() {
    const ref = ['--complete-ref-type', 'ref/resource', '--complete-ref', ITEM];
    const { values } = await this.#ask('prompts/complete', ...ref, '--complete-arg-name', 'name', '--complete-arg-value', 'al');
    assert.deepEqual(values, ['alpha', 'alpine']);
  }

  async subscribe() {
    await Promise.all([this.#watch(WATCHED), this.#watch(BYSTANDER)]);
  }

  async update() {
    this.#answered = await this.#updated(() => this.act('update'));
  }

  async readAgain() {
    const text = await this.text(WATCHED);
    assert.equal(text, this.#answered);
    return text;
  }

  async flood() {
    const before = this.#watches.get(WATCHED)?.updates;
    const answered = await this.#updated(() => this.act('flood'));
    assert.equal(await this.text(WATCHED), answered);
    await this.#updated(() => this.act('update'));
    const heard = this.#watches.get(WATCHED).updates - before;
    assert(heard < FEW, `${heard} updates`);
    assert.equal(this.#watches.get(BYSTANDER).updates, 0, 'another URI was announced');
    return `${heard} updates heard`;
  }

  async unsubscribe() {
    // The subscription ends with the command that began it; what it ends with says whether that went well.
    for (const { code, err } of await this.#endWatches()) assert.equal(code, 0, err);
    for (const uri of [WATCHED, BYSTANDER]) assert.deepEqual(await this.#ask('resources/unsubscribe', uri), { unsubscribed: true, uri });
    await this.act('update');
    return 'by ending what prints the updates: nothing is left that could hear one';
  }

  async listChanged() {
    await this.listFollows();
    throw new Cannot('no command tells that the list changed; the next list shows it');
  }

  async died() {
    await this.#watch(WATCHED);
    await this.#updated(() => this.crashes());
    await this.#updated(() => this.act('update'));
  }

  async restart() {
    const before = await this.#unlikeAFreshHost();
    await please('restart');
    return this.#converge(before);
  }

  async killed() {
    const before = await this.#unlikeAFreshHost();
    const error = await killedUnder(this);
    return `${await this.#converge(before)}: ${error}`;
  }

  async #unlikeAFreshHost() {
    let version;
    do version = await this.#updated(() => this.act('update'));
    while (Number(version.split(' ')[1]) < 3);
    return this.#watches.get(WATCHED).updates;
  }

  // Ends up with what is true at the fresh host.
  async #converge(before) {
    const watch = this.#watches.get(WATCHED);
    const how = await watch.until(() => watch.updates > before, 'update', UNNOTICED_MS).then(
      () => 'reconnects by itself, and hears of the fresh content',
      (error) => this.#comeBack(error),
    );
    assert.equal(await this.text(WATCHED), 'version 1');
    assert.equal(await this.#updated(() => this.act('update')), 'version 2');
    return how;
  }

  async #comeBack(why) {
    await this.text(WATCHED);
    await this.#endWatches();
    await this.#watch(WATCHED);
    return `the next command connects by itself, and it has to subscribe again: ${why.message}`;
  }

  async close() {
    for (const { code, err } of await this.#endWatches()) assert.equal(code, 0, err);
    await this.#home.run(PROGRAM, ['disconnect', CONNECTION, '--format', 'json']);
    const { pid } = await this.#home.run(PROGRAM, ['daemon', 'status', '--format', 'json']);
    await this.#home.run(PROGRAM, ['daemon', 'stop', '--format', 'json']);
    const until = Date.now() + COMMAND_MS;
    while ((await this.#home.run(PROGRAM, ['daemon', 'status', '--format', 'json'])).running) {
      assert(Date.now() < until, `the daemon ${pid} does not end`);
    }
  }

  // Leaves nothing behind, whatever happened before.
  abandon() {
    this.#home.end(PROGRAM, ['daemon', 'stop']);
    this.#home.remove();
  }
}
