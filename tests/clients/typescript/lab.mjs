// A client under `wharf lab`: a full round with its one resource, or as much of one as is asked for. Shares the adapters of round.mjs.
//
// node lab.mjs --client ID (--url URL | --command JSON) --do round|list
//
// stdout: what is playing, as round.mjs says it. Exit code 0 if it could do what was asked for.
import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { load } from './clients.mjs';
import { Heard } from './heard.mjs';

const STATUS = 'test://review/status';

const string = { type: 'string' };
const { values: args } = parseArgs({ options: { client: string, url: string, command: string, do: string } });
const { name, version: installed, connect } = await load(args.client);
const target = args.url ? { url: new URL(args.url) } : { command: JSON.parse(args.command) };
const heard = new Heard();
const connection = await connect(target, heard);
console.log(JSON.stringify({ client: name, version: installed }));
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
