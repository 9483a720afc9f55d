import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expand, nameOf, values } from '../wharf/uri.js';

test('templates expand as RFC 6570 has it', () => {
  const cases = [
    ['x://{a}', { a: 'b c/d!' }, 'x://b%20c%2Fd%21'],
    ['x://{a,b}', { a: 1, b: 'ü' }, 'x://1,%C3%BC'],
    ['x:/{+path}', { path: 'a b/c?d#e%20;f' }, 'x:/a%20b/c%3Fd%23e%2520;f'],
    ['x:{/seg*}', { seg: ['a', 'b/c'] }, 'x:/a/b%2Fc'],
    ['x:{/seg*}', { seg: [] }, 'x:'],
    ['x:a{.ext}', { ext: 'md' }, 'x:a.md'],
    ['x:a{?from,to}', { to: 'b&c' }, 'x:a?to=b%26c'],
    ['x:a?v=1{&tag*}', { tag: ['p', 'q'] }, 'x:a?v=1&tag=p&tag=q'],
    ['x:a{#part}', {}, 'x:a'],
    ['x://{a}', { a: '\ud800' }, 'x://%EF%BF%BD'],
  ];
  for (const [template, variables, uri] of cases) assert.equal(expand(template, variables), uri);
});

test('an exploded variable is a list however many values it has', () => {
  assert.deepEqual({ ...values('x:{/seg*}{?q,r}', []) }, { seg: [] });
  assert.deepEqual({ ...values('x:{/seg*}{?q,r}', [['seg', 'a'], ['q', 'b']]) }, { seg: ['a'], q: 'b' });
  assert.equal(values('x:{__proto__}', [['__proto__', 'a']]).__proto__, 'a');
});

test('a name is the last segment', () => {
  assert.equal(nameOf('x://host/a%20b'), 'a b');
  assert.equal(nameOf('x://echo/{word}{?from,to}'), 'echo');
  assert.equal(nameOf('x://{name}'), 'x');
  assert.equal(nameOf('x://a/%zz'), '%zz');
});
