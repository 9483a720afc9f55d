// Plays one tool through one round of the client matrix: a command line, or a proxy with the TypeScript SDK at its other end.
//
// node round.mjs --client ID (--url URL | --command JSON)
//   --client   inspector-cli, mcpdo-legacy, mcpdo-modern, mcp-remote[-modern] (with --url), supergateway[-modern] (with --command)
//   --command  a program and its arguments as a JSON array, to be talked to over stdio
//
// stdout: who is playing (`client`, `version`, `protocol`), then an object for each step as it ends, one a line. Exit code 0 unless this
// program itself broke: what the round found is in the steps.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { installed } from './command.mjs';
import { Inspector, PACKAGE } from './inspector.mjs';
import { Mcpdo } from './mcpdo.mjs';
import { mcpRemote, supergateway } from './proxies.mjs';
import { play } from './steps.mjs';

const tool = (make) => (target) => play(make(target), JSON.parse(readFileSync(installed(`${PACKAGE}/package.json`))));
const CLIENTS = {
  'inspector-cli': tool((target) => new Inspector(target)),
  'mcpdo-legacy': tool((target) => new Mcpdo(target, 'legacy')),
  'mcpdo-modern': tool((target) => new Mcpdo(target, 'modern')),
  'mcp-remote': (target) => mcpRemote(target, 'legacy'),
  'mcp-remote-modern': (target) => mcpRemote(target, 'modern'),
  supergateway: (target) => supergateway(target, 'legacy'),
  'supergateway-modern': (target) => supergateway(target, 'modern'),
};

const string = { type: 'string' };
const { values: args } = parseArgs({ options: { client: string, url: string, command: string } });
const playClient = CLIENTS[args.client];
if (!playClient || !args.url === !args.command) {
  console.error(`round.mjs --client ${Object.keys(CLIENTS).join('|')} (--url URL | --command JSON)`);
  process.exit(2);
}
await playClient(args.url ? { url: args.url } : { command: JSON.parse(args.command) });
process.exit();
