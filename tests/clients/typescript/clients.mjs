// Which adapter plays which client, and what it is told.
import { readFileSync } from 'node:fs';

const CLIENTS = {
  'ts-sdk': ['./sdk.mjs'],
  'ts-client-legacy': ['./client.mjs', 'legacy'],
  // Asks with server/discover first.
  'ts-client-auto': ['./client.mjs', 'auto'],
  'ts-client-pinned': ['./client.mjs', { pin: '2026-07-28' }],
};

export const IDS = Object.keys(CLIENTS);

// The client as it is installed: its package, or what the package.json given says, and how it connects. Nothing if there is no such client.
export async function load(id, manifest) {
  const [module, mode] = CLIENTS[id] ?? [];
  if (!module) return undefined;
  const adapter = await import(module);
  const installed = new URL(`node_modules/${adapter.PACKAGE}/package.json`, import.meta.url);
  const { name, version } = JSON.parse(readFileSync(manifest ?? installed));
  return { name, version, connect: (target, heard) => adapter.connect(target, heard, mode) };
}
