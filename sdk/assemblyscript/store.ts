// A small store that the host keeps over reloads, crashes and restarts. wharf.toml grants it (`state = "1MiB"`); the world needs `import
// wharf:provider/store@0.1.0`. Keys have 1 to 1024 bytes. Each call is atomic, also against other hosts that serve the same wharf.toml.
//
//     import * as state from "./wharf/store";      (`store` is a word of the language's own)

import { give, putBytes, putString, takeBytes, takeStrings } from "./abi";
import { Problem, takeProblem } from "./wharf";

// @ts-ignore: decorator
@external("wharf:provider/store@0.1.0", "get")
declare function storeGet(keyAt: usize, keyLength: usize, to: usize): void;
// @ts-ignore: decorator
@external("wharf:provider/store@0.1.0", "set")
declare function storeSet(keyAt: usize, keyLength: usize, valueAt: usize, valueLength: usize, to: usize): void;
// @ts-ignore: decorator
@external("wharf:provider/store@0.1.0", "remove")
declare function storeRemove(keyAt: usize, keyLength: usize, to: usize): void;
// @ts-ignore: decorator
@external("wharf:provider/store@0.1.0", "replace")
declare function storeReplace(
  keyAt: usize, keyLength: usize, isExpected: i32, expectedAt: usize, expectedLength: usize, isValue: i32, valueAt: usize, valueLength: usize,
  to: usize,
): void;
// @ts-ignore: decorator
@external("wharf:provider/store@0.1.0", "keys")
declare function storeKeys(prefixAt: usize, prefixLength: usize, to: usize): void;

const RESULT = 16;

/** What a call of the store gave: look at `problem` first. */
export class Kept {
  problem: Problem | null = null;
  /** `get`: null if there is none. */
  value: Uint8Array | null = null;
  /** `replace`: whether what was kept was what was expected. */
  done: bool = false;
  keys: string[] = [];

  /** The value as text, "" if there is none. */
  text(): string {
    const value = this.value;
    return value === null ? "" : String.UTF8.decodeUnsafe(value.dataStart, value.length);
  }
}

function givenText(text: string): usize {
  const at = give(8);
  putString(text, at);
  return at;
}

function givenBytes(value: Uint8Array | null): usize {
  const at = give(8);
  if (value !== null) putBytes(value, at);
  return at;
}

/** The bytes of a text, as the store keeps it. */
export function utf8(text: string): Uint8Array {
  return Uint8Array.wrap(String.UTF8.encode(text));
}

/** The value. */
export function get(key: string): Kept {
  const name = givenText(key), to = give(RESULT), kept = new Kept();
  storeGet(load<usize>(name), load<usize>(name, 4), to);
  if (load<u8>(to)) kept.problem = takeProblem(to + 4);
  else if (load<u8>(to, 4)) kept.value = takeBytes(load<usize>(to, 8), load<usize>(to, 12));
  return kept;
}

/** Keeps a value. `Kind.Denied`: no state is granted, or this would go over the limit. */
export function set(key: string, value: Uint8Array): Problem | null {
  const name = givenText(key), given = givenBytes(value), to = give(RESULT);
  storeSet(load<usize>(name), load<usize>(name, 4), load<usize>(given), load<usize>(given, 4), to);
  return load<u8>(to) ? takeProblem(to + 4) : null;
}

/** Forgets a value. Fine if there is none. */
export function remove(key: string): Problem | null {
  const name = givenText(key), to = give(RESULT);
  storeRemove(load<usize>(name), load<usize>(name, 4), to);
  return load<u8>(to) ? takeProblem(to + 4) : null;
}

/** Keeps `value` (null: forgets the key) if what is kept is `expected` (null: nothing is). */
export function replace(key: string, expected: Uint8Array | null, value: Uint8Array | null): Kept {
  const name = givenText(key), from = givenBytes(expected), given = givenBytes(value), to = give(RESULT), kept = new Kept();
  storeReplace(
    load<usize>(name), load<usize>(name, 4),
    expected === null ? 0 : 1, load<usize>(from), load<usize>(from, 4),
    value === null ? 0 : 1, load<usize>(given), load<usize>(given, 4), to,
  );
  if (load<u8>(to)) kept.problem = takeProblem(to + 4);
  else kept.done = load<u8>(to, 4) != 0;
  return kept;
}

/** All keys that begin with `prefix`, in byte order. */
export function keys(prefix: string): Kept {
  const name = givenText(prefix), to = give(RESULT), kept = new Kept();
  storeKeys(load<usize>(name), load<usize>(name, 4), to);
  if (load<u8>(to)) kept.problem = takeProblem(to + 4);
  else kept.keys = takeStrings(load<usize>(to, 4), load<usize>(to, 8));
  return kept;
}
