// A client under `wharf lab`: a full round with its one resource, or as much of one as is asked for. Shares the adapters of round.mjs.
//
// node lab.mjs --client ID (--url URL | --command JSON) --do round|list
import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { Heard } from './heard.mjs';

const CLIENTS = {
  'ts-sdk': ['./sdk.mjs'],
  'ts-client-legacy': ['./client.mjs', 'legacy'],
  'ts-client-auto': ['./client.mjs', 'auto'],
};
const STATUS = 'test://review/status';

const string = { type: 'string' };
const { values: args } = parseArgs({ options: { client: string, url: string, command: string, do: string } });
const [module, mode] = CLIENTS[args.client];
const target = args.url ? { url: new URL(args.url) } : { command: JSON.parse(args.command) };
const heard = new Heard();
const connection = await (await import(module)).connect(target, heard, mode);
assert.deepEqual(await connection.list(), [STATUS]);
if (args.do === 'round') {
  const version = async () => JSON.parse((await connection.read(STATUS)).text).version;
  const before = await version();
  await connection.subscribe([STATUS]);
  await heard.until(() => heard.updates(STATUS) > 0, 'an update');
  assert.ok((await version()) > before);
  await connection.unsubscribe([STATUS]);
}
await connection.close();
process.exit(0);
