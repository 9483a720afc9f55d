// Runs the commands of the inspector: each in a home of its own and for a limited time.
//
// The tools write into the user's home (their catalog, tokens, a socket), so they get a temporary one, which is removed at the end.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The longest that a command takes here, on a machine that does much else.
export const COMMAND_MS = 30_000;
// A command that is asked to end and does not is killed.
const END_MS = 5_000;

export const installed = (path) => fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));

// What is given if the promise takes longer than it may.
export function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`${what} within ${ms} ms`)), ms)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// An error that a command told of.
export class Refused extends Error {}

export class Home {
  folder = mkdtempSync(join(tmpdir(), 'wharf-tools-'));
  #running = new Set();

  env() {
    const inside = (name) => join(this.folder, name);
    return {
      ...process.env,
      HOME: this.folder,
      XDG_CACHE_HOME: inside('cache'),
      XDG_CONFIG_HOME: inside('config'),
      XDG_DATA_HOME: inside('data'),
      XDG_RUNTIME_DIR: inside('run'),
      XDG_STATE_HOME: inside('state'),
      // Not the keychain of whoever runs the tests.
      MCP_INSPECTOR_SECRET_STORE: 'memory',
      NO_COLOR: '1',
    };
  }

  // A command that goes on: `ended` is what becomes of it.
  start(program, args, onText = () => {}) {
    const child = spawn(process.execPath, [installed(program), ...args], { env: this.env(), stdio: ['ignore', 'pipe', 'pipe'] });
    this.#running.add(child);
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      out += text;
      onText(text);
    });
    child.stderr.setEncoding('utf8').on('data', (text) => (err += text));
    const ended = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => {
        this.#running.delete(child);
        resolve({ code, signal, out, err });
      });
    });
    // Whoever awaits it hears of an error; that nobody does yet is none.
    ended.catch(() => {});
    return {
      ended,
      async end(signal) {
        child.kill(signal);
        try {
          return await within(END_MS, `the command did not end on ${signal}`, ended);
        } finally {
          child.kill('SIGKILL');
        }
      },
    };
  }

  // A command that ends by itself: the JSON that it printed.
  async run(program, args, ms = COMMAND_MS) {
    const command = this.start(program, args);
    let result;
    try {
      result = await within(ms, `no end of \`${args.join(' ')}\``, command.ended);
    } catch (error) {
      await command.end('SIGKILL');
      throw error;
    }
    if (result.code !== 0) throw new Refused(errorOf(result));
    return JSON.parse(result.out);
  }

  // A command that is to put in order what is left; how it ends is all the same.
  end(program, args) {
    spawnSync(process.execPath, [installed(program), ...args], { env: this.env(), stdio: 'ignore', timeout: END_MS });
  }

  remove() {
    for (const child of this.#running) child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

// The message of the JSON that the tools write to stderr, or its last line.
function errorOf({ code, signal, err }) {
  const lines = err.trim().split('\n');
  for (const line of lines.reverse()) {
    try {
      return JSON.parse(line).error.message;
    } catch {}
  }
  return lines[0] || `exit ${code ?? signal}`;
}
