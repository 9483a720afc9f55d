// Timers: asks the host to be called later. An entry of asconfig.json, for a world that imports `timers` and exports `timer-handler`.

import { give, putString, release, takeStrings } from "./abi";
import { Problem, takeProblem } from "./wharf";

// @ts-ignore: decorator
@external("wharf:provider/timers@0.1.0", "start")
declare function timersStart(at: usize, length: usize, after: u32, repeats: i32, every: u32, to: usize): void;
// @ts-ignore: decorator
@external("wharf:provider/timers@0.1.0", "cancel")
declare function timersCancel(at: usize, length: usize): void;

class Timer {
  constructor(public work: () => void, public repeats: bool) {}
}

const running = new Map<string, Timer>();

/** Calls `work` so many milliseconds from now, and then again and again; 100 is the least. A timer of the same name is replaced. A late one
 * fires once, not once for each period missed. */
export function every(name: string, milliseconds: u32, work: () => void): Problem | null {
  return start(name, milliseconds, true, work);
}

/** Calls `work` once, so many milliseconds from now. */
export function after(name: string, milliseconds: u32, work: () => void): Problem | null {
  return start(name, milliseconds, false, work);
}

function start(name: string, milliseconds: u32, repeats: bool, work: () => void): Problem | null {
  const given = give(8);
  putString(name, given);
  const to = give(16);
  timersStart(load<usize>(given), load<usize>(given, 4), milliseconds, repeats ? 1 : 0, milliseconds, to);
  if (load<u8>(to)) return takeProblem(to + 4);
  running.set(name, new Timer(work, repeats));
  return null;
}

/** After this it does not fire any more. Fine if there is none of that name. */
export function cancel(name: string): void {
  running.delete(name);
  const given = give(8);
  putString(name, given);
  timersCancel(load<usize>(given), load<usize>(given, 4));
}

export function onFired(at: usize, length: usize): void {
  const names = takeStrings(at, length);
  for (let i = 0; i < names.length; i++) {
    if (!running.has(names[i])) continue;
    const timer = running.get(names[i]);
    if (!timer.repeats) running.delete(names[i]);
    timer.work();
  }
  release();
}
