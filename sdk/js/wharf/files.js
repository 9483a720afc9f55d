// The files of the folders that wharf.toml grants (wasi:filesystem), to read, on both engines.
//
// A path is absolute, as the provider sees it: `/docs/a.json` for `folders = [{ host = "…", guest = "/docs" }]`.

import * as preopens from 'wasi:filesystem/preopens@0.2.0';
import { decode } from './text.js';
import { Denied, Failed, NotFound } from './run.js';

/** Bytes of one read: large enough that few calls are needed, and small against the memory an instance may have. */
const PIECE = 1 << 18;
const FOLLOW = { symlinkFollow: true };
let folders;

/** All bytes of a file. */
export function readFile(path) {
  return at(path, (folder, rest) => using(folder.openAt(FOLLOW, rest, {}, { read: true }), (file) => {
    const pieces = [];
    let length = 0;
    for (let end = false; !end; ) {
      let piece;
      [piece, end] = file.read(PIECE, length);
      if (piece.length === 0) break;
      pieces.push(piece);
      length += piece.length;
    }
    if (pieces.length === 1) return Uint8Array.from(pieces[0]);
    const bytes = new Uint8Array(length);
    let from = 0;
    for (const piece of pieces) {
      bytes.set(piece, from);
      from += piece.length;
    }
    return bytes;
  }));
}

/** A file as text, a byte order mark left out. */
export function readText(path) {
  return decode(readFile(path)).replace(/^\ufeff/, '');
}

/** What is there: `type` (`regular-file`, `directory`, …), `size` in bytes, `modified` in milliseconds since 1970 if known. Nothing if nothing is. */
export function stat(path) {
  try {
    return at(path, (folder, rest) => {
      const { type, size, dataModificationTimestamp: time } = folder.statAt(FOLLOW, rest);
      return { type, size: Number(size), modified: time == null ? undefined : Number(time.seconds) * 1000 + Math.floor(time.nanoseconds / 1e6) };
    });
  } catch (error) {
    if (error instanceof NotFound) return undefined;
    throw error;
  }
}

/** The names in a folder, each with its `type`, sorted by name. A link is a `symbolic-link`. */
export function readFolder(path) {
  const found = at(path, (folder, rest) => using(folder.openAt(FOLLOW, rest, { directory: true }, { read: true }), (opened) =>
    using(opened.readDirectory(), (entries) => {
      const all = [];
      for (let entry = entries.readDirectoryEntry(); entry != null; entry = entries.readDirectoryEntry()) all.push({ name: entry.name, type: entry.type });
      return all;
    })));
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The paths of the folders granted. */
export function grantedFolders() {
  return opened().map(([, path]) => path);
}

// The granted folders stay open for the life of the instance.
function opened() {
  folders ??= preopens.getDirectories();
  return folders;
}

function at(path, work) {
  for (const [folder, root] of opened()) {
    const prefix = root.endsWith('/') ? root : `${root}/`;
    const rest = path === root ? '.' : path.startsWith(prefix) ? path.slice(prefix.length) : undefined;
    if (rest === undefined) continue;
    try {
      return work(folder, rest);
    } catch (error) {
      throw translated(error, path);
    }
  }
  throw new Denied(`${path} is in no folder that wharf.toml grants: folders = [{ host = "…", guest = "…" }] under [provider.grants]`);
}

// wasi:filesystem, error-code
function translated(error, path) {
  const code = error?.payload;
  if (typeof code !== 'string') return error;
  if (code === 'no-entry' || code === 'not-directory') return new NotFound(path);
  if (code === 'access' || code === 'not-permitted') return new Denied(`${path} may not be read`);
  return new Failed(`${path}: ${code}`);
}

// A handle is given back at once: an instance may have some thousand of them.
function using(handle, work) {
  try {
    return work(handle);
  } finally {
    handle[Symbol.dispose]?.();
  }
}
