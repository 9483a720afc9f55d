// What is inside a JSON document: values by JSON Pointer (RFC 6901), and its outline. Plain JavaScript, tested by `npm test`.

/** Lines of an outline: past this a model gains nothing from it. */
const MAX_LINES = 400;
/** Items of an array that are looked at for its outline. */
const MAX_ITEMS = 1000;

/** Thrown by `valueAt`; says how far the pointer leads. */
export class NoValue extends Error {}

/** The value at a pointer; the empty pointer is the whole document. */
export function valueAt(document, pointer) {
  let value = document;
  let walked = '';
  for (const key of keysOf(pointer)) {
    const inside = Array.isArray(value) ? /^(0|[1-9]\d*)$/.test(key) && Number(key) < value.length : isObject(value) && Object.hasOwn(value, key);
    if (!inside) throw new NoValue(`nothing is at ${pointer}: ${walked || 'the document'} is ${described(value)}, without \`${key}\``);
    value = value[key];
    walked += `/${escaped(key)}`;
  }
  return value;
}

/** Pointers that begin with what is typed: one level at a time, as a person walks down. */
export function pointersFrom(document, typed) {
  const end = typed.lastIndexOf('/');
  const parent = end < 0 ? '' : typed.slice(0, end);
  let value;
  try {
    value = valueAt(document, parent);
  } catch (error) {
    if (error instanceof NoValue) return [];
    throw error;
  }
  if (!isObject(value) && !Array.isArray(value)) return [];
  return Object.keys(value).map((key) => `${parent}/${escaped(key)}`).filter((pointer) => pointer.startsWith(typed));
}

/** The form of a document: keys, types, how many items; a line each, deeper ones indented. Items of an array are shown as one. */
export function outline(document) {
  const lines = [];
  write(shapeOf([document]), '', '', lines);
  return lines.length > MAX_LINES ? [...lines.slice(0, MAX_LINES), `… and ${lines.length - MAX_LINES} lines more`].join('\n') : lines.join('\n');
}

function keysOf(pointer) {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) throw new NoValue(`\`${pointer}\` is no JSON pointer: it begins with \`/\`, as in /servers/0/name`);
  return pointer.slice(1).split('/').map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function escaped(key) {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function described(value) {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (isObject(value)) return 'an object';
  return value === null ? 'null' : `a ${typeof value}`;
}

/** What several values have in common: their types, and of objects and arrays the shape of what is in them. */
function shapeOf(values) {
  const objects = values.filter(isObject);
  const arrays = values.filter(Array.isArray);
  const types = new Set(values.filter((value) => !isObject(value) && !Array.isArray(value)).map((value) => (value === null ? 'null' : typeof value)));
  const keys = new Map();
  for (const object of objects) {
    for (const key of Object.keys(object)) {
      if (!keys.has(key)) keys.set(key, []);
      keys.get(key).push(object[key]);
    }
  }
  return {
    types: [...types].sort(),
    keys: [...keys].map(([key, inside]) => ({ key, optional: inside.length < objects.length, shape: shapeOf(inside) })),
    isObject: objects.length > 0,
    lengths: arrays.map((array) => array.length),
    items: arrays.some((array) => array.length > 0) ? shapeOf(arrays.flat().slice(0, MAX_ITEMS)) : undefined,
  };
}

function write(shape, label, indent, lines) {
  lines.push(`${indent}${label}${summary(shape)}`);
  const inside = contents(shape);
  for (const { key, optional, shape: of } of inside.keys) write(of, `${key}${optional ? '?' : ''}: `, `${indent}  `, lines);
}

/** The object that a shape leads to, through its arrays. */
function contents(shape) {
  return shape.keys.length > 0 || !shape.items ? shape : contents(shape.items);
}

function summary({ types, isObject: object, keys, lengths, items }) {
  const all = [...types];
  if (object) all.push(keys.length > 0 ? 'object' : 'object without keys');
  if (lengths.length > 0) {
    const [least, most] = [Math.min(...lengths), Math.max(...lengths)];
    all.push(`array of ${least === most ? most : `${least} to ${most}`}${items ? ` × ${summary(items)}` : ''}`);
  }
  return all.join(' or ');
}
