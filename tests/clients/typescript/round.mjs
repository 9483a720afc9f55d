// Plays one client through one round of the client matrix: the steps are in steps.mjs, what is the client's own in an adapter each.
//
// node round.mjs --client ID (--url URL | --command JSON) [--package FILE]
//   --command  a program and its arguments as a JSON array, to be talked to over stdio
//   --package  the package.json whose name and version are reported: that of a proxy in between, where this is about the proxy
//
// stdout: who is playing (`client`, `version`, `protocol`), then an object for each step as it ends, one a line. Exit code 0 unless this
// program itself broke: what the round found is in the steps.
import { parseArgs } from 'node:util';
import { IDS, load } from './clients.mjs';
import { play } from './steps.mjs';

const string = { type: 'string' };
const { values: args } = parseArgs({ options: { client: string, url: string, command: string, package: string } });
const client = await load(args.client, args.package);
if (!client || !args.url === !args.command) {
  console.error(`round.mjs --client ${IDS.join('|')} (--url URL | --command JSON) [--package FILE]`);
  process.exit(2);
}
const target = args.url ? { url: new URL(args.url) } : { command: JSON.parse(args.command) };
await play({ ...client, connect: (heard) => client.connect(target, heard) });
// Whatever a client leaves open does not keep the round from ending.
process.exit(0);
