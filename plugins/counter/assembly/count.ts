// What a counter is called, what is kept of it, and what a webhook asks for. Nothing here knows of the host: `npm test` tests it by itself.

/** Names go into URIs and paths as they are. */
const LONGEST = 100;
/** A step is at most this, up or down. */
const LARGEST_STEP: i64 = 1000000000;
/** Further than this, JSON's numbers are not exact. */
const FURTHEST: i64 = 9007199254740991;
/** What `stepOf` gives for what is no step. */
export const NO_STEP: i64 = i64.MIN_VALUE;

/** Letters, digits, `.`, `_` and `-`. */
export function isName(text: string): bool {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    const letter = (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || (c >= 48 && c <= 57);
    if (!letter && c != 45 && c != 46 && c != 95) return false;
  }
  return text.length > 0 && text.length <= LONGEST;
}

/** Of `/builds?by=2` the name, "" if there is none. */
export function nameOf(pathAndQuery: string): string {
  const path = pathAndQuery.split("?")[0];
  if (!path.startsWith("/")) return "";
  const name = path.substring(1);
  return isName(name) ? name : "";
}

/** Of `/builds?by=2` the step: 1 if it does not say. */
export function stepOf(pathAndQuery: string): i64 {
  const at = pathAndQuery.indexOf("?");
  if (at < 0) return 1;
  const query = pathAndQuery.substring(at + 1).split("&");
  for (let i = 0; i < query.length; i++) {
    if (query[i].startsWith("by=")) return parse(query[i].substring(3));
  }
  return 1;
}

function parse(text: string): i64 {
  const negative = text.startsWith("-");
  const digits = negative ? text.substring(1) : text;
  if (digits.length == 0 || digits.length > 10) return NO_STEP;
  let value: i64 = 0;
  for (let i = 0; i < digits.length; i++) {
    const c = digits.charCodeAt(i);
    if (c < 48 || c > 57) return NO_STEP;
    value = value * 10 + (c - 48);
  }
  if (value > LARGEST_STEP) return NO_STEP;
  return negative ? -value : value;
}

/** The value after a step; it stops where numbers are not exact any more. */
export function stepped(value: i64, step: i64): i64 {
  return max(-FURTHEST, min(FURTHEST, value + step));
}

/** Of what is kept, `VALUE CHANGED`, the value; 0 of nothing. */
export function valueOf(kept: string): i64 {
  return kept.length ? I64.parseInt(kept.split(" ")[0]) : 0;
}

/** What is kept of a counter: its value, and when it changed in milliseconds since 1970. */
export function kept(value: i64, changed: f64): string {
  return value.toString() + " " + (<i64>changed).toString();
}

/** What clients read. */
export function shown(name: string, kept: string): string {
  if (!kept.length) return `{"name":"${name}","value":0}`;
  const parts = kept.split(" ");
  const changed = new Date(I64.parseInt(parts[1])).toISOString();
  return `{"name":"${name}","value":${parts[0]},"changed":"${changed}"}`;
}
