// Plays one client through one round of the client matrix: the steps are in steps.mjs, what is the client's own in an adapter each.
//
// node round.mjs --client ID (--url URL | --command JSON) [--package FILE]
//   --command  a program and its arguments as a JSON array, to be talked to over stdio
//   --package  the package.json whose name and version are reported: that of a proxy in between, where this is about the proxy
//
// stdout: who is playing (`client`, `version`, `protocol`), then an object for each step as it ends, one a line. Exit code 0 unless this
// program itself broke: what the round found is in the steps.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { play } from './steps.mjs';

// Which adapter, and what it is told, by client.
const CLIENTS = {
  'ts-sdk': ['./sdk.mjs'],
  'ts-client-legacy': ['./client.mjs', 'legacy'],
  // Asks with server/discover first.
  'ts-client-auto': ['./client.mjs', 'auto'],
  'ts-client-pinned': ['./client.mjs', { pin: '2026-07-28' }],
};

const string = { type: 'string' };
const { values: args } = parseArgs({ options: { client: string, url: string, command: string, package: string } });
const [module, mode] = CLIENTS[args.client] ?? [];
if (!module || !args.url === !args.command) {
  console.error(`round.mjs --client ${Object.keys(CLIENTS).join('|')} (--url URL | --command JSON) [--package FILE]`);
  process.exit(2);
}
const target = args.url ? { url: new URL(args.url) } : { command: JSON.parse(args.command) };
const adapter = await import(module);
const { name, version } = JSON.parse(readFileSync(args.package ?? new URL(`node_modules/${adapter.PACKAGE}/package.json`, import.meta.url)));

await play({ name, version, connect: (heard) => adapter.connect(target, heard, mode) });
// Whatever a client leaves open does not keep the round from ending.
process.exit(0);
