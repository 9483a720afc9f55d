// The inspector's one-shot command line, `mcp-inspector --cli`: a connection for each command.
import assert from 'node:assert/strict';
import { Home } from './command.mjs';
import { Cannot, Tool, WATCHED, killedUnder, please } from './steps.mjs';

export const PACKAGE = '@modelcontextprotocol/inspector';
const PROGRAM = `${PACKAGE}/clients/launcher/build/index.js`;
const NO_SUBSCRIBE = 'it has no method to subscribe, and no command of it stays to hear anything';

export class Inspector extends Tool {
  #home = new Home();
  #server;
  // Whether each command starts a host of its own, where nothing is left of what the one before did.
  #alone = false;

  constructor({ url, command }) {
    super();
    this.#server = url ? [url, '--transport', 'http'] : [...command, '--transport', 'stdio'];
  }

  async #ask(method, ...args) {
    const answer = await this.#home.run(PROGRAM, ['--cli', ...this.#server, '--method', method, ...args, '--format', 'json']);
    return answer.result;
  }

  async connect() {
    const { protocolVersion } = await this.#ask('initialize');
    return protocolVersion;
  }

  async list() {
    return (await this.#ask('resources/list')).resources.map(({ uri }) => uri);
  }

  async templates() {
    return (await this.#ask('resources/templates/list')).resourceTemplates.map(({ uriTemplate }) => uriTemplate);
  }

  async read(uri) {
    return (await this.#ask('resources/read', '--uri', uri)).contents[0];
  }

  async complete() {
    const error = await this.#ask('completion/complete').then(
      () => assert.fail('it has a method to complete'),
      (error) => error,
    );
    assert.match(error.message, /^Unsupported method/);
    throw new Cannot('it has no method to complete');
  }

  async subscribe() {
    const error = await this.#ask('resources/subscribe', '--uri', WATCHED).then(
      () => assert.fail('it has a method to subscribe'),
      (error) => error,
    );
    assert.match(error.message, /^Unsupported method/);
    throw new Cannot(NO_SUBSCRIBE);
  }

  update() {
    throw new Cannot(NO_SUBSCRIBE);
  }

  async readAgain() {
    const answered = await this.act('update');
    const text = await this.text(WATCHED);
    this.#alone = answered === 'version 2' && text === 'version 1';
    if (this.#alone) throw new Cannot('each command starts a host of its own, which ends with it');
    assert.equal(text, answered);
    return text;
  }

  async flood() {
    const answered = await this.act('flood');
    if (!this.#alone) assert.equal(await this.text(WATCHED), answered);
    throw new Cannot(NO_SUBSCRIBE);
  }

  unsubscribe() {
    throw new Cannot(NO_SUBSCRIBE);
  }

  async listChanged() {
    if (!this.#alone) await this.listFollows();
    throw new Cannot(NO_SUBSCRIBE);
  }

  async died() {
    await this.crashes();
    throw new Cannot(NO_SUBSCRIBE);
  }

  async restart() {
    if (this.#alone) throw new Cannot('each command starts a host of its own: there is none to end');
    await this.act('update');
    await this.act('update');
    await please('restart');
    assert.equal(await this.text(WATCHED), 'version 1');
    assert.equal(await this.act('update'), 'version 2');
    return 'connects anew for each command';
  }

  async killed() {
    if (!this.#alone) await this.act('update');
    const how = await killedUnder(this);
    assert.equal(await this.text(WATCHED), 'version 1');
    return `connects anew for each command: ${how}`;
  }

  close() {
    return 'at the end of each command';
  }

  abandon() {
    this.#home.remove();
  }
}
