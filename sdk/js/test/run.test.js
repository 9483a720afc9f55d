import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, prepare } from '../wharf/run.js';

test('random numbers come from the host, from the first call on', () => {
  let asked = 0;
  const bytes = (length) => {
    asked += 1;
    return Uint8Array.from({ length }, (_, i) => i);
  };
  prepare({ random: { getRandomBytes: bytes } });
  Math.random();
  assert.equal(asked, 0);
  const drawn = call(() => Array.from({ length: 1000 }, () => Math.random()));
  assert.equal(asked, 1);
  assert.equal(new Set(drawn).size, 1000);
  assert.ok(drawn.every((one) => one >= 0 && one < 1));
  const mean = drawn.reduce((sum, one) => sum + one) / 1000;
  assert.ok(mean > 0.4 && mean < 0.6, String(mean));
  // The same seed gives the same numbers: they come from the bytes and from nothing else.
  prepare({ random: { getRandomBytes: bytes } });
  assert.deepEqual(call(() => Array.from({ length: 1000 }, () => Math.random())), drawn);
});

test('a console is made of stderr where there is none, a long line in pieces', () => {
  const before = globalThis.console;
  const pieces = [];
  try {
    delete globalThis.console;
    prepare({ stderr: { getStderr: () => ({ blockingWriteAndFlush: (bytes) => pieces.push(bytes.length) }) } });
    call(() => console.log('x'.repeat(5000), { a: 1 }));
  } finally {
    globalThis.console = before;
  }
  assert.deepEqual(pieces, [4096, 5000 + 1 + 7 + 1 - 4096]);
});
