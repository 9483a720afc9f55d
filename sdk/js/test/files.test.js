import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantedFolders, readFile, readFolder, readText, stat } from '../wharf/files.js';
import { Denied, NotFound } from '../wharf/run.js';

test('a file is read piece by piece, and as text', () => {
  assert.equal(readText('/d/a.json'), 'hello, 世界');
  assert.equal(readFile('/d/a.json').length, 13);
  assert.equal(readText('/d/sub/b'), 'b');
});

test('what is there has a size and a date, and what is not is nothing', () => {
  assert.deepEqual(stat('/d/a.json'), { type: 'regular-file', size: 9, modified: 2005 });
  assert.equal(stat('/d').type, 'directory');
  assert.equal(stat('/d/none'), undefined);
});

test('a folder is sorted', () => {
  assert.deepEqual(readFolder('/d').map(({ name }) => name), ['a.json', 'sub']);
  assert.deepEqual(grantedFolders(), ['/d']);
});

test('errors are those of the contract, and another folder is not granted', () => {
  assert.throws(() => readFile('/d/none'), NotFound);
  assert.throws(() => readFile('/d/secret'), Denied);
  assert.throws(() => readFile('/elsewhere'), Denied);
  assert.throws(() => readFile('/dd'), /wharf\.toml grants/);
});
