// What surrounds every call: errors, the log, random numbers.

import { encode, wellFormed } from './text.js';

class ProviderError extends Error {
  constructor(tag, message = '') {
    super(message);
    this.name = new.target.name;
    this.tag = tag;
  }
}

export class NotFound extends ProviderError { constructor(message) { super('not-found', message); } }
export class Invalid extends ProviderError { constructor(message) { super('invalid', message); } }
export class Denied extends ProviderError { constructor(message) { super('denied', message); } }
export class Unavailable extends ProviderError { constructor(message) { super('unavailable', message); } }
export class Failed extends ProviderError { constructor(message) { super('failed', message); } }

const TAGS = ['not-found', 'invalid', 'denied', 'unavailable', 'failed'];
/** The most that one write to a WASI stream takes (wasi:io, blocking-write-and-flush). */
const WRITE = 4096;

// False while the module is evaluated, which is when the component is built.
let running = false;
let stderr;

/** Runs what the host has asked for. What it throws becomes one of the contract's errors. */
export function call(work) {
  running = true;
  try {
    return work();
  } catch (error) {
    throw asError(error);
  }
}

/** What an export throws: plain data, as both engines take it. An error of an import is passed on as the provider's own. */
export function asError(error) {
  if (error instanceof ProviderError) return plain(error.tag, error.message);
  const payload = error?.payload ?? error;
  if (TAGS.includes(payload?.tag)) return plain(payload.tag, payload.val);
  report(error);
  return plain('failed', error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}

function plain(tag, val) {
  return tag === 'not-found' ? { tag } : { tag, val: wellFormed(String(val ?? '')) };
}

/** Writes where it happened to the log. */
export function report(error) {
  globalThis.console?.error(error instanceof Error ? `${error}\n${error.stack ?? ''}`.trimEnd() : `thrown: ${shown(error)}`);
}

/** Gives the engine what it lacks, from the imports the provider was made with. */
export function prepare({ random, stderr: stream }) {
  stderr ??= stream;
  if (stderr && typeof console === 'undefined') {
    const print = (...values) => write(values.map(shown).join(' '));
    globalThis.console = { log: print, info: print, debug: print, warn: print, error: print, trace: print };
  }
  seedAtRunTime(random);
}

function write(line) {
  if (!running) return;
  const bytes = encode(`${line}\n`);
  const stream = stderr.getStderr();
  for (let at = 0; at < bytes.length; at += WRITE) stream.blockingWriteAndFlush(bytes.subarray(at, at + WRITE));
  stream[Symbol.dispose]?.();
}

function shown(value) {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return `${value}\n${value.stack ?? ''}`.trimEnd();
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

// The seed of Math.random is part of the snapshot that a component is built from, so all instances would draw the same numbers.
function seedAtRunTime(random) {
  const before = Math.random;
  let draw;
  Math.random = () => {
    if (!running) return before();
    draw ??= sfc32(seed(random));
    // 53 bits, as many as a number has.
    return ((draw() >>> 5) * 0x4000000 + (draw() >>> 6)) / 0x20000000000000;
  };
}

function seed(random) {
  const words = new Uint32Array(4);
  if (random) words.set(new Uint32Array(Uint8Array.from(random.getRandomBytes(16)).buffer));
  else if (globalThis.crypto) crypto.getRandomValues(words);
  else words.set([Date.now() >>> 0, Date.now() / 0x100000000, performance.now() * 1e6 % 0x100000000, 1]);
  return words;
}

// Small Fast Counter, 32 bits (Chris Doty-Humphrey, PractRand): good numbers, no secrets.
function sfc32([a, b, c, d]) {
  const next = () => {
    const sum = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum | 0;
    return sum;
  };
  for (let i = 0; i < 12; i++) next();
  return next;
}
