// Which resource or template a call is about.

import { putString, takePairs, takeString } from "./abi";
import { expand } from "./expand";
import { Kind, Offer, Problem, Request, Variables, provider } from "./wharf";

/** One of those that the last list gave. */
export class Listed {
  constructor(public uri: string, public offer: Offer, public fields: Offer, public variables: Variables) {}
}

let listed = new Map<string, Listed>();

export function listAll(): Listed[] {
  const all = new Array<Listed>();
  for (let i = 0; i < provider.resources.length; i++) {
    const offer = provider.resources[i];
    all.push(new Listed(offer.uri, offer, offer, new Variables()));
  }
  for (let i = 0; i < provider.templates.length; i++) {
    const offer = provider.templates[i];
    const on = offer.onList;
    if (on === null) continue;
    const entries = on();
    for (let j = 0; j < entries.length; j++) {
      const entry = entries[j];
      if (!entry.theMimeType.length) entry.theMimeType = offer.theMimeType;
      all.push(new Listed(expand(offer.uri, entry.variables), offer, entry, entry.variables));
    }
  }
  listed = new Map<string, Listed>();
  for (let i = 0; i < all.length; i++) listed.set(all[i].uri, all[i]);
  return all;
}

/** What a request is about: the offer is null if there is none. */
export class Found {
  offer: Offer | null = null;
  constructor(public request: Request) {}
}

/** Takes the arguments that `read` and `subscribe` begin with. */
export function find(uriAt: usize, uriLength: usize, matched: i32, templateAt: usize, templateLength: usize, pairsAt: usize, pairs: usize): Found {
  const found = new Found(new Request(takeString(uriAt, uriLength)));
  if (matched) {
    const template = takeString(templateAt, templateLength);
    found.request.variables = new Variables(takePairs(pairsAt, pairs));
    for (let i = 0; i < provider.templates.length; i++) {
      if (provider.templates[i].uri == template) found.offer = provider.templates[i];
    }
    return found;
  }
  const uri = found.request.uri;
  // A fresh instance is asked for what an earlier one listed.
  if (!listed.has(uri)) listAll();
  if (listed.has(uri)) {
    const one = listed.get(uri);
    found.offer = one.offer;
    found.request.variables = one.variables;
  }
  return found;
}

/** How what has no name is called. */
export function lastSegment(uri: string): string {
  let end = uri.length;
  while (end > 0 && uri.charAt(end - 1) == "/") end--;
  let start = end;
  while (start > 0 && uri.charAt(start - 1) != "/" && uri.charAt(start - 1) != ":") start--;
  return uri.substring(start, end);
}

/** A result that is an error. */
export function putProblem(problem: Problem, to: usize): usize {
  store<u8>(to, 1);
  store<u8>(to, problem.kind, 4);
  if (problem.kind != Kind.NotFound) putString(problem.message, to + 8);
  return to;
}
