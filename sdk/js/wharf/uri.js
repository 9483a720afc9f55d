// URI templates (RFC 6570): expansion, and the values that the host has found by matching. Nothing here parses a URI.

import { wellFormed } from './text.js';

/** Of each operator (RFC 6570, appendix A): what comes first, what comes between, whether names are written, whether reserved characters stay. */
const OPERATORS = {
  '': ['', ',', false, false],
  '+': ['', ',', false, true],
  '#': ['#', ',', false, true],
  '.': ['.', '.', false, false],
  '/': ['/', '/', false, false],
  '?': ['?', '&', true, false],
  '&': ['&', '&', true, false],
};
const EXPRESSION = /\{([+#./?&]?)([^{}]*)\}/g;

/** The URI for these values. A list is written once for each of its values where the template explodes it (`{/v*}`), else with `,`. */
export function expand(template, variables) {
  return template.replace(EXPRESSION, (_, operator, names) => {
    const [first, between, named, reserved] = OPERATORS[operator];
    const parts = [];
    for (const each of names.split(',')) {
      const exploded = each.endsWith('*');
      const name = exploded ? each.slice(0, -1) : each;
      const value = variables[name];
      if (value == null || value.length === 0 && Array.isArray(value)) continue;
      const all = (Array.isArray(value) ? value : [value]).map((one) => encoded(String(one), reserved));
      for (const one of exploded ? all : [all.join(',')]) parts.push(named ? `${name}=${one}` : one);
    }
    return parts.length === 0 ? '' : first + parts.join(between);
  });
}

// `?`, `#` and `%` are encoded everywhere: the host takes them so, and without it a value could not be told from what follows it.
function encoded(value, reserved) {
  const strict = encodeURIComponent(wellFormed(value)).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  return reserved ? strict.replace(/%(?:2[146-9A-CF]|3[ABD]|40|5[BD])/g, decodeURIComponent) : strict;
}

/** Names and values as the host gives them, as an object. A variable that the template explodes is always a list, any other only if it has several values. */
export function values(template, pairs) {
  const found = Object.create(null);
  for (const [, , names] of template.matchAll(EXPRESSION)) {
    for (const name of names.split(',')) if (name.endsWith('*')) found[name.slice(0, -1)] = [];
  }
  for (const [name, value] of pairs) {
    if (Array.isArray(found[name])) found[name].push(value);
    else found[name] = name in found ? [found[name], value] : value;
  }
  return found;
}

/** The last segment of a URI; of a template, without its variables. */
export function nameOf(uri) {
  const last = uri.replace(EXPRESSION, '').split(/[/:?#]/).filter(Boolean).at(-1) ?? uri;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
