// What the host calls to subscribe. An entry of asconfig.json, for a world that exports `subscriptions`.

import { give, release, takeString } from "./abi";
import { find, putProblem } from "./dispatch";
import { Offer, Problem, Request } from "./wharf";

const UNIT_RESULT = 16;

class Subscription {
  constructor(public offer: Offer, public request: Request) {}
}

// What is subscribed: unsubscribe is given nothing but the URI.
const subscribed = new Map<string, Subscription>();

export function onSubscribe(
  uriAt: usize, uriLength: usize, matched: i32, templateAt: usize, templateLength: usize, pairsAt: usize, pairs: usize,
): usize {
  const found = find(uriAt, uriLength, matched, templateAt, templateLength, pairsAt, pairs);
  const offer = found.offer;
  const to = give(UNIT_RESULT);
  if (offer === null) return putProblem(Problem.notFound(), to);
  // The host takes it as ours, and not watched.
  if (!offer.isSubscribable) return putProblem(Problem.failed(found.request.uri + " does not tell of changes"), to);
  const on = offer.onSubscribe;
  if (on !== null) {
    const problem = on(found.request);
    if (problem !== null) return putProblem(problem, to);
  }
  subscribed.set(found.request.uri, new Subscription(offer, found.request));
  return to;
}

export function onUnsubscribe(uriAt: usize, uriLength: usize): void {
  const uri = takeString(uriAt, uriLength);
  if (!subscribed.has(uri)) return;
  const subscription = subscribed.get(uri);
  subscribed.delete(uri);
  const off = subscription.offer.onUnsubscribe;
  if (off !== null) off(subscription.request);
  release();
}
