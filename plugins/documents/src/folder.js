// The JSON documents of the granted folders: which there are, and what is in them.
//
// Invariant: a document is named by its path without the leading slash, and no name leads out of the granted folders.

import { decode, Failed, NotFound } from './wharf/wharf.js';
import { grantedFolders, readFile, readFolder, stat } from './wharf/files.js';

/** Larger ones are refused: parsed they are many times as large, and a call has some seconds. */
const MAX_BYTES = 4 << 20;
/** Documents in the list. The others can be read all the same. */
const MAX_LISTED = 1000;
/** Folders below a granted one that are looked into. */
const MAX_DEPTH = 12;
/** Parsed documents that are kept. */
const KEPT = 8;

export const isDocument = (path) => path.endsWith('.json');
const isHidden = (name) => name.startsWith('.') || name === 'node_modules';

/** Name, size and date of each document, by name. */
export function documents() {
  const found = [];
  const look = (folder, depth) => {
    for (const { name, type } of readFolder(folder)) {
      if (isHidden(name) || found.length >= MAX_LISTED) continue;
      const path = `${folder === '/' ? '' : folder}/${name}`;
      if (type === 'directory') {
        if (depth > 0) look(path, depth - 1);
      } else if (type === 'regular-file' && isDocument(name)) {
        const { size, modified } = stat(path) ?? {};
        if (size !== undefined) found.push({ path: path.slice(1), size, modified });
      }
    }
  };
  for (const folder of grantedFolders()) look(folder, MAX_DEPTH);
  return found;
}

/** The bytes of a document. */
export function source(name) {
  const found = name.split('/').some(isHidden) || !isDocument(name) ? undefined : stat(`/${name}`);
  if (found?.type !== 'regular-file') throw new NotFound();
  if (found.size > MAX_BYTES) throw new Failed(`${name} has ${found.size} bytes; documents of at most ${MAX_BYTES} are read`);
  return readFile(`/${name}`);
}

const parsed = new Map();

/** A document, parsed. Of the last few the value is kept as long as their text is the same. */
export function parse(name) {
  const text = decode(source(name));
  const kept = parsed.get(name);
  parsed.delete(name);
  const entry = kept?.text === text ? kept : { text, value: parseText(text, name) };
  parsed.set(name, entry);
  if (parsed.size > KEPT) parsed.delete(parsed.keys().next().value);
  return entry.value;
}

function parseText(text, name) {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    throw new Failed(`${name} is no JSON: ${error.message}`);
  }
}
