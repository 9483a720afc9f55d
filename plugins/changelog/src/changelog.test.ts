// @ts-nocheck: node's own types are no part of the provider
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { find, kindsOf, parse, parseReleases, render, since } from './changelog.ts';

const KEPT = `# Changelog

All notable changes. See [1.0.0].

## [Unreleased]

### Added

- A thing to come

## [1.1.0] - 2026-11-30

### Added
- A new thing

\`\`\`md
## 9.9.9
\`\`\`

### Fixed
- An old thing

## [1.0.1] - 2026-10-02 [YANKED]

## 1.0.0 - 2026-10-01
First.

[1.1.0]: https://example.com/compare/v1.0.1...v1.1.0
[1.0.0]: https://example.com/releases/v1.0.0
`;

test('Keep a Changelog is read as it is meant', () => {
  const versions = parse(KEPT);
  assert.deepEqual(versions.map(({ version, date, yanked }) => [version, date, yanked]), [
    ['unreleased', undefined, false], ['1.1.0', '2026-11-30', false], ['1.0.1', '2026-10-02', true], ['1.0.0', '2026-10-01', false],
  ]);
  assert.deepEqual(versions[1].entries.map(({ kind, text }) => [kind, text.split('\n')[0]]), [['added', '- A new thing'], ['fixed', '- An old thing']]);
  assert.match(versions[1].text, /## 9\.9\.9/);
  assert.equal(versions[3].text, 'First.');
  assert.deepEqual(kindsOf(versions), ['added', 'fixed']);
});

test('other tools are understood', () => {
  const versionsOf = (text) => parse(text).map(({ version, date }) => [version, date]);
  assert.deepEqual(versionsOf('# [2.0.0](https://x/compare/v1...v2) (2026-01-02)\n\n### Bug Fixes\n\n* a\n\n## [1.9.1](https://x) (2026-01-01)\n\n* b'),
    [['2.0.0', '2026-01-02'], ['1.9.1', '2026-01-01']]);
  assert.deepEqual(versionsOf('# @scope/name\n\n## 1.2.0\n\n### Minor Changes\n\n- a\n\n## 1.1.9'), [['1.2.0', undefined], ['1.1.9', undefined]]);
  assert.deepEqual(versionsOf('v1.2.0 / 2026-01-01\n===================\n\n * a\n\n1.1.0-rc.1\n----------\n'), [['1.2.0', '2026-01-01'], ['1.1.0-rc.1', undefined]]);
  assert.deepEqual(versionsOf('## Version 3.1 (2026-01-01)\n## name@3.0.5\n## 2026-01-01\n## Notes on 5.0.0 and later\n'), [['3.1', '2026-01-01'], ['3.0.5', undefined]]);
  assert.equal(parse('## 1.0.0\n### 🐛 Bug Fixes\n- a')[0].entries[0].kind, 'fixed');
  assert.equal(parse('## 1.0.0\n### Under the hood\n- a')[0].entries[0].kind, 'under-the-hood');
});

test('a version is found by its name, and what came since it', () => {
  const versions = parse(KEPT);
  assert.equal(find(versions, 'latest').version, '1.1.0');
  assert.equal(find(versions, 'v1.0.0').date, '2026-10-01');
  assert.equal(find(versions, '1.0'), undefined);
  assert.deepEqual(since(versions, '1.0.1').map(({ version }) => version), ['unreleased', '1.1.0']);
  assert.equal(since(versions, '0.9'), undefined);
});

test('versions are rendered, all of them or one kind', () => {
  const versions = parse(KEPT);
  assert.equal(render(since(versions, '1.0.1'), 'added'), '## Unreleased\n\n- A thing to come\n\n## 1.1.0 - 2026-11-30\n\n- A new thing\n\n```md\n## 9.9.9\n```\n');
  assert.equal(render([versions[2]]), '## 1.0.1 - 2026-10-02 [YANKED]\n');
  assert.equal(render(versions, 'security'), 'nothing\n');
});

test('releases of GitHub are versions, too', () => {
  const releases = [
    { tag_name: 'v2.0.0', draft: true },
    { tag_name: 'v1.5.0', draft: false, published_at: '2026-05-01T10:00:00Z', body: "## What's Changed\r\n* a\r\n" },
    { tag_name: 'v1.4.0', draft: false, published_at: null, body: null },
  ];
  const [first, second] = parseReleases(releases);
  assert.deepEqual([first.version, first.date, first.entries[0].kind, second.text], ['1.5.0', '2026-05-01', 'whats-changed', '']);
  assert.throws(() => parseReleases({ message: 'rate limit' }));
});

test('no text makes it fail, or find what is not there', () => {
  for (const text of ['', '#', '## ', '```\n## 1.0.0', '[1.0.0]: x', 'a\n---\n', '\u0000', '#'.repeat(99_999)]) assert.deepEqual(parse(text), [], text.slice(0, 20));
});
