import assert from 'node:assert/strict';
import { test } from 'node:test';
import { greeting, Seconds } from './content.js';

test('a greeting has the name in it', () => {
  assert.equal(greeting('Ada'), 'Hello, Ada!');
});

test('seconds are counted', () => {
  const seconds = new Seconds();
  assert.equal(seconds.text(), '0 seconds');
  seconds.tick();
  assert.equal(seconds.text(), '1 second');
});
