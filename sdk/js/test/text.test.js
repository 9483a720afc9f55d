import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeByHand, encodeByHand } from '../wharf/text.js';

const UNITS = [0x41, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xfeff, 0xffff];
const BYTES = [0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff];

test('text is encoded as TextEncoder does it, half pairs too', () => {
  for (const a of UNITS) for (const b of UNITS) for (const c of UNITS) {
    const text = String.fromCharCode(a, b, c);
    assert.deepEqual(encodeByHand(text), new TextEncoder().encode(text));
  }
});

test('bytes are decoded as TextDecoder does it, broken ones too', () => {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  for (const a of BYTES) for (const b of BYTES) for (const c of BYTES) for (const d of BYTES) {
    const bytes = Uint8Array.of(a, b, c, d);
    assert.equal(decodeByHand(bytes), decoder.decode(bytes), String(bytes));
  }
});

test('a long text comes back whole', () => {
  const text = 'grüße, 世界 👋\n'.repeat(10_000);
  assert.equal(decodeByHand(encodeByHand(text)), text);
});
