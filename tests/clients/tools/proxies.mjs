// Proxies between the two transports, each with the TypeScript SDK at its other end: that one plays the round, through the proxy.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Home, installed, within } from './command.mjs';

const ROUND = fileURLToPath(new URL('../typescript/round.mjs', import.meta.url));
const LOOPBACK = new URL('loopback.mjs', import.meta.url).href;
// Which client of the TypeScript driver speaks which era.
const CLIENTS = { legacy: 'ts-client-legacy', modern: 'ts-client-auto' };
const START_MS = 20_000;
const END_MS = 10_000;

// Serves over stdio what a host serves over HTTP.
export async function mcpRemote({ url }, era) {
  if (!url) throw new Error('mcp-remote talks HTTP to the host: it takes --url');
  const program = installed('mcp-remote/dist/proxy.js');
  const command = [process.execPath, program, url, '--allow-http', '--transport', 'http-only'];
  const home = new Home();
  await round(era, ['--package', installed('mcp-remote/package.json'), '--command', JSON.stringify(command)], home.env());
  home.remove();
}

// Serves over HTTP what a host serves over stdio.
export async function supergateway({ command }, era) {
  if (!command) throw new Error('supergateway starts the host: it takes --command');
  const home = new Home();
  const port = await freePort();
  const args = ['--stdio', shell(command), '--outputTransport', 'streamableHttp', '--stateful', '--port', String(port)];
  const proxy = spawn(process.execPath, ['--import', LOOPBACK, installed('supergateway/dist/index.js'), ...args], {
    env: home.env(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => proxy.once('close', resolve));
  try {
    await within(START_MS, 'supergateway does not listen', listening(proxy));
    await round(era, ['--package', installed('supergateway/package.json'), '--url', `http://127.0.0.1:${port}/mcp`], home.env());
  } finally {
    // It ends its own processes when it is asked to.
    proxy.kill('SIGTERM');
    await within(END_MS, 'supergateway does not end', ended).catch(() => proxy.kill('SIGKILL'));
    home.remove();
  }
}

// stdin and stdout are those of the harness.
async function round(era, args, env) {
  const driver = spawn(process.execPath, [ROUND, '--client', CLIENTS[era], ...args], { env, stdio: 'inherit' });
  const code = await new Promise((resolve, reject) => driver.once('error', reject).once('close', resolve));
  if (code !== 0) process.exitCode = code;
}

function listening(proxy) {
  return new Promise((resolve, reject) => {
    let said = '';
    proxy.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
      if (said.includes('Listening on port')) {
        resolve();
        said = '';
      }
    });
    proxy.once('close', (code) => reject(new Error(`supergateway ended with ${code}: ${said}`)));
  });
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// A command as a shell takes it.
const shell = (command) => command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
