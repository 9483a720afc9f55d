// What the programs of this folder share: a browser, a page that reports what goes wrong in it, and a line to the test that started them.
//
// A program is started as `node NAME.mjs ADMIN MAIN`, with the two addresses of a host. It asks the test for something to be done to the
// host by a line on stdout, and the answer is a line on stdin. Nothing waits for a time; what is awaited may take LIMIT_MS.

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';

import { chromium } from 'playwright-core';

export const [ADMIN, MAIN] = process.argv.slice(2);
export const URL_OF_PAGE = `http://${ADMIN}/`;
/** Far more than anything here takes on a slow machine. */
export const LIMIT_MS = 60_000;
const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

function found() {
  const named = process.env.WHARF_CHROMIUM;
  if (named) return named;
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of NAMES) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // The next one.
      }
    }
  }
  throw new Error('there is no chromium: run `cargo xtask clients`, or name one with WHARF_CHROMIUM');
}

export function ensure(holds, what) {
  if (!holds) throw new Error(typeof what === 'string' ? what : JSON.stringify(what));
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Has the test do something to the host. */
export async function ask(what) {
  process.stdout.write(`${what}\n`);
  const { value, done } = await lines.next();
  ensure(!done, `nobody does: ${what}`);
  return value;
}

/** What a request of MCP answers at the main address. */
export async function call(method, params) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'browser-test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(params.uri ? { 'mcp-name': params.uri } : {}),
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: { ...meta, ...params._meta } } });
  return fetch(`http://${MAIN}/mcp`, { method: 'POST', headers, body });
}

/** Reads a resource as a client would. */
export async function read(uri) {
  const answer = await (await call('resources/read', { uri })).json();
  ensure(answer.result, answer);
  return answer.result;
}

export async function withBrowser(work) {
  const browser = await chromium.launch({
    executablePath: found(),
    // Chromium's own sandbox refuses to be started by root.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  try {
    await work(browser);
  } finally {
    await browser.close();
  }
  process.exit(0);
}

/** A page that is at the status page, and the list of all that its console complained of. */
export async function open(browser, { fragment = '', at = URL_OF_PAGE, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT_MS);
  const complaints = [];
  page.on('console', (message) => {
    // That a resource is not there, or cannot be read, the console says of the answer's status.
    const isAnswer = new URL(message.location().url || at).pathname === '/read';
    if (['error', 'warning'].includes(message.type()) && !isAnswer) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`error: ${error.stack ?? error}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.host !== ADMIN) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(at + fragment);
  return { page, complaints };
}

/** Waits until an element has this text. */
export async function says(locator, text) {
  await locator.filter({ hasText: text }).first().waitFor({ timeout: LIMIT_MS });
}

export async function isLive(page) {
  await page.locator('#link[data-state="live"]').waitFor();
  await page.locator('#headline', { hasText: /ready/i }).waitFor({ state: 'attached' });
}

/** Goes to a view as people do. */
export async function view(page, name) {
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }).click();
}

export function calm(complaints) {
  ensure(complaints.length === 0, `the browser complained: ${complaints.join('\n')}`);
}
