// What is sent to an HTTP path under the host's own address; wharf.toml grants it. An entry of asconfig.json, for a world that exports
// `webhook-handler`.

import { give, putBytes, putStrings, takeBytes, takePairs, takeString } from "./abi";
import { Variables } from "./wharf";

const RESPONSE = 28;

/** What someone sent. Names of headers are in lower case. */
export class Hook {
  constructor(
    public method: string,
    /** Below the webhook's own path: empty, or from `/` or `?` on. */
    public pathAndQuery: string,
    public headers: Variables,
    public body: Uint8Array,
  ) {}
  /** The body as text; what is no UTF-8 in it becomes U+FFFD. */
  text(): string { return String.UTF8.decodeUnsafe(this.body.dataStart, this.body.length); }
}

/** What to answer. */
export class Reply {
  headers: Variables = new Variables();
  constructor(public status: u16 = 204, public body: string = "") {}
}

const hooks = new Map<string, (hook: Hook) => Reply>();

/** Calls `work` for each request to the webhook that wharf.toml calls by this name. */
export function webhook(name: string, work: (hook: Hook) => Reply): void {
  hooks.set(name, work);
}

export function onReceive(
  nameAt: usize, nameLength: usize, methodAt: usize, methodLength: usize, pathAt: usize, pathLength: usize,
  headersAt: usize, headers: usize, bodyAt: usize, bodyLength: usize,
): usize {
  const name = takeString(nameAt, nameLength);
  const hook = new Hook(
    takeString(methodAt, methodLength), takeString(pathAt, pathLength), new Variables(takePairs(headersAt, headers)),
    takeBytes(bodyAt, bodyLength),
  );
  const reply = hooks.has(name) ? hooks.get(name)(hook) : new Reply(404);
  const to = give(RESPONSE);
  store<u16>(to, reply.status);
  if (reply.headers.pairs.length) {
    // A list of pairs is a list of strings, twice as long.
    putStrings(reply.headers.pairs, to + 8);
    store<usize>(to, reply.headers.pairs.length / 2, 12);
    store<u8>(to, 1, 4);
  }
  if (reply.body.length) {
    store<u8>(to, 1, 16);
    putBytes(Uint8Array.wrap(String.UTF8.encode(reply.body)), to + 20);
  }
  return to;
}
