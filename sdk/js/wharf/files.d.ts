/** What is at a path. */
export interface Stat {
  /** `regular-file`, `directory`, `symbolic-link` and others, as wasi:filesystem names them. */
  type: string;
  /** Bytes. */
  size: number;
  /** Milliseconds since 1970. */
  modified?: number;
}

/** All bytes of a file. Throws `NotFound`, `Denied` or `Failed`. The path is absolute, as `guest` in wharf.toml makes it. */
export function readFile(path: string): Uint8Array;
/** A file as text. What is no UTF-8 becomes U+FFFD; a byte order mark is left out. */
export function readText(path: string): string;
/** What is there; nothing if nothing is. Links are followed inside the granted folder. */
export function stat(path: string): Stat | undefined;
/** The names in a folder, sorted. A link is a `symbolic-link`. */
export function readFolder(path: string): { name: string; type: string }[];
/** The paths of the folders that wharf.toml grants. */
export function grantedFolders(): string[];
