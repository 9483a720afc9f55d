import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NoValue, outline, pointersFrom, valueAt } from './json.js';

// The example of RFC 6901, section 5.
const EXAMPLE = { foo: ['bar', 'baz'], '': 0, 'a/b': 1, 'c%d': 2, 'e^f': 3, 'g|h': 4, 'i\\j': 5, 'k"l': 6, ' ': 7, 'm~n': 8 };

test('pointers lead where RFC 6901 says', () => {
  assert.equal(valueAt(EXAMPLE, ''), EXAMPLE);
  const cases = { '/foo/0': 'bar', '/': 0, '/a~1b': 1, '/c%d': 2, '/e^f': 3, '/g|h': 4, '/i\\j': 5, '/k"l': 6, '/ ': 7, '/m~0n': 8 };
  for (const [pointer, value] of Object.entries(cases)) assert.equal(valueAt(EXAMPLE, pointer), value, pointer);
});

test('a pointer that leads nowhere says where it ends', () => {
  for (const pointer of ['/foo/2', '/foo/-', '/foo/01', '/foo/length', '/none', '/foo/0/0', '/toString', 'foo']) {
    assert.throws(() => valueAt(EXAMPLE, pointer), NoValue, pointer);
  }
  assert.throws(() => valueAt(EXAMPLE, '/foo/2'), { message: 'nothing is at /foo/2: /foo is an array of 2, without `2`' });
});

test('pointers are suggested one level at a time', () => {
  const document = { name: 'x', names: { 'a/b': [1, 2] } };
  assert.deepEqual(pointersFrom(document, ''), ['/name', '/names']);
  assert.deepEqual(pointersFrom(document, '/names'), ['/names']);
  assert.deepEqual(pointersFrom(document, '/names/'), ['/names/a~1b']);
  assert.deepEqual(pointersFrom(document, '/names/a~1b/1'), ['/names/a~1b/1']);
  assert.deepEqual(pointersFrom(document, '/name/'), []);
  assert.deepEqual(pointersFrom(document, '/none/'), []);
});

test('an outline shows keys and types, and the items of an array as one', () => {
  const document = { name: 'x', servers: [{ host: 'a', port: 1 }, { host: null, tags: ['x'] }], empty: {}, none: [] };
  assert.equal(outline(document), `object
  name: string
  servers: array of 2 × object
    host: null or string
    port?: number
    tags?: array of 1 × string
  empty: object without keys
  none: array of 0`);
  assert.equal(outline(5), 'number');
  assert.equal(outline([[{ a: 1 }], []]), 'array of 2 × array of 0 to 1 × object\n  a: number');
});

test('an outline is short however large the document is', () => {
  const large = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i]));
  assert.match(outline(large), /… and 601 lines more$/);
});
