// What AssemblyScript expects of its surroundings: where `abort` and `seed` lead (asconfig.json says so), the clock and stderr. It is WASI
// preview 1, which `wharf componentize` makes into what a component imports.

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: u32, iovs: usize, count: u32, written: usize): u32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "clock_time_get")
declare function clock_time_get(clock: u32, precision: u64, time: usize): u32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "random_get")
declare function random_get(at: usize, length: usize): u32;

const STDERR: u32 = 2;
const REALTIME: u32 = 0;
const scratch = memory.data(16, 8);

/** Writes a line into the host's log. */
export function log(line: string): void {
  const text = line + "\n";
  const length = <usize>String.UTF8.byteLength(text);
  const at = heap.alloc(length);
  String.UTF8.encodeUnsafe(changetype<usize>(text), text.length, at, false, String.UTF8.ErrorMode.REPLACE);
  store<usize>(scratch, at);
  store<usize>(scratch, length, 4);
  fd_write(STDERR, scratch, 1, scratch + 8);
  heap.free(at);
}

/** Milliseconds since 1970-01-01T00:00:00Z: what `Date.now()` is elsewhere. */
export function now(): f64 {
  clock_time_get(REALTIME, 0, scratch);
  return <f64>(load<u64>(scratch) / 1000000);
}

/** Where `throw`, `assert` and failed checks lead: the instance ends, and the host makes a fresh one. */
export function onAbort(message: string | null, file: string | null, line: u32, column: u32): void {
  const what = message ? message : "aborted";
  const where = file ? file : "?";
  log(what + " (" + where + ":" + line.toString() + ":" + column.toString() + ")");
  unreachable();
}

/** What `Math.random()` begins with. */
export function onSeed(): f64 {
  random_get(scratch, 8);
  return reinterpret<f64>(load<u64>(scratch));
}
