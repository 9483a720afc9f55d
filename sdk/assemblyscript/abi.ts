// The canonical ABI of the Component Model, as far as the contract needs it: how strings and lists lie in memory when they go to the host
// and come from it. Nothing here is for an author.
//
// What comes from the host is allocated by `cabi_realloc`; it is copied into a managed object and freed at once. What goes to the host is
// put into one block that is used anew for each call (`release`), so that no call leaves anything behind.

/** Where the host puts what it hands over. It never asks for more room for something it has. */
export function cabi_realloc(old: usize, oldSize: usize, align: usize, size: usize): usize {
  if (old != 0 || align > 16) throw new Error("cabi_realloc moves nothing, and aligns to 16 at the most");
  // Of nothing, any address that is aligned will do.
  return size == 0 ? align : heap.alloc(size);
}

/** A string that came from the host. Its memory is freed. */
export function takeString(at: usize, length: usize): string {
  if (length == 0) return "";
  const text = String.UTF8.decodeUnsafe(at, length);
  heap.free(at);
  return text;
}

/** Bytes that came from the host. Their memory is freed. */
export function takeBytes(at: usize, length: usize): Uint8Array {
  const bytes = new Uint8Array(<i32>length);
  if (length != 0) {
    memory.copy(bytes.dataStart, at, length);
    heap.free(at);
  }
  return bytes;
}

/** A list of strings. */
export function takeStrings(at: usize, length: usize): string[] {
  const strings = new Array<string>();
  for (let i: usize = 0; i < length; i++) strings.push(takeString(load<usize>(at + i * 8), load<usize>(at + i * 8, 4)));
  if (length != 0) heap.free(at);
  return strings;
}

/** A list of pairs of strings: one after the other. */
export function takePairs(at: usize, length: usize): string[] {
  return takeStrings(at, length * 2);
}

// Most answers fit; of what does not, a block of its own is made, and freed with the rest.
const ROOM: usize = 65536;
let room: usize = 0;
let used: usize = 0;
let large = new Array<usize>();

/** What went to the host is not needed any more. */
export function release(): void {
  used = 0;
  for (let i = 0; i < large.length; i++) heap.free(large[i]);
  large.length = 0;
}

/** Zeroed room for what goes to the host: in zeros, every option is left out and every list empty. */
export function give(size: usize): usize {
  if (room == 0) room = heap.alloc(ROOM);
  size = (size + 7) & ~7;
  let at: usize;
  if (size > ROOM - used) {
    at = heap.alloc(size);
    large.push(at);
  } else {
    at = room + used;
    used += size;
  }
  memory.fill(at, 0, size);
  return at;
}

function giveText(text: string, to: usize): void {
  const length = <usize>String.UTF8.byteLength(text);
  const at = give(length);
  // A lone surrogate has no UTF-8: left as it is, it would end the instance.
  String.UTF8.encodeUnsafe(changetype<usize>(text), text.length, at, false, String.UTF8.ErrorMode.REPLACE);
  store<usize>(to, at);
  store<usize>(to, length, 4);
}

/** Writes a string at `to`: 8 bytes. */
export function putString(text: string, to: usize): void {
  giveText(text, to);
}

/** Writes an `option<string>`, 12 bytes; the empty string is left out. */
export function putText(text: string, to: usize): void {
  if (text.length == 0) return;
  store<u8>(to, 1);
  giveText(text, to + 4);
}

/** Writes a list of bytes: 8 bytes. */
export function putBytes(bytes: Uint8Array, to: usize): void {
  const at = give(bytes.length);
  memory.copy(at, bytes.dataStart, bytes.length);
  store<usize>(to, at);
  store<usize>(to, <usize>bytes.length, 4);
}

/** Writes a list of strings: 8 bytes. */
export function putStrings(strings: string[], to: usize): void {
  const at = give(strings.length * 8);
  for (let i = 0; i < strings.length; i++) giveText(strings[i], at + i * 8);
  store<usize>(to, at);
  store<usize>(to, <usize>strings.length, 4);
}

/** Writes an `option<f64>`, 16 bytes; NaN is left out. */
export function putNumber(value: f64, to: usize): void {
  if (isNaN(value)) return;
  store<u8>(to, 1);
  store<f64>(to, value, 8);
}
