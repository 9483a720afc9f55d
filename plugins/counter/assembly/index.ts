// counter, a Wharf provider: counters that webhooks raise, kept by the host, for agents to read and to watch.

import { NO_STEP, isName, kept, nameOf, shown, stepOf, stepped, valueOf } from "./count";
import * as state from "./wharf/store";
import { cancel, every } from "./wharf/timers";
import { Hook, Reply, webhook } from "./wharf/webhooks";
import { Answer, Offer, Problem, Request, Variables, entry, listChanged, now, provider, updated } from "./wharf/wharf";

const SCHEME = "counter://";
const MIME_TYPE = "application/json";
/** Other hosts that serve the same wharf.toml raise the same counters, and tell nobody here: so while somebody is subscribed, look. */
const LOOK = "look";
const LOOK_EVERY = 2000; // milliseconds
/** So many others may be quicker, one after the other, before a step is given up. */
const TRIES = 20;

/** What is subscribed, by name: what was kept of it when it was last looked at. */
const watched = new Map<string, string>();

provider.listFor = LOOK_EVERY;

provider.template("counter://{name}")
  .name("counter")
  .title("A counter")
  .describe("Its value, and when it changed. Raised by POST /hooks/counter/add/NAME, or …/NAME?by=2. One that nobody raised is 0.")
  .mimeType(MIME_TYPE)
  .list(listed)
  .complete("name", (value, known) => names(value))
  .subscribable(watch, unwatch)
  .read(read);

webhook("add", add);

function read(request: Request): Answer {
  const name = request.get("name");
  if (!isName(name)) return Answer.notFound();
  const found = state.get(name);
  const problem = found.problem;
  if (problem !== null) return Answer.fail(problem);
  return Answer.text(shown(name, found.text()));
}

function names(prefix: string): string[] {
  // Without state there are none; a read says why.
  return state.keys(prefix).keys;
}

function listed(): Offer[] {
  const all = names("");
  const entries = new Array<Offer>();
  for (let i = 0; i < all.length; i++) entries.push(entry(new Variables().with("name", all[i])));
  return entries;
}

function watch(request: Request): Problem | null {
  const name = request.get("name");
  if (!isName(name)) return Problem.notFound();
  if (watched.size == 0) {
    const problem = every(LOOK, LOOK_EVERY, look);
    if (problem !== null) return problem;
  }
  watched.set(name, state.get(name).text());
  return null;
}

function unwatch(request: Request): void {
  watched.delete(request.get("name"));
  if (watched.size == 0) cancel(LOOK);
}

function look(): void {
  const all = watched.keys();
  for (let i = 0; i < all.length; i++) {
    const is = state.get(all[i]);
    if (is.problem === null) tell(all[i], is.text());
  }
}

/** Announces a counter if that is not what was known of it. */
function tell(name: string, is: string): void {
  if (!watched.has(name) || watched.get(name) == is) return;
  watched.set(name, is);
  updated([SCHEME + name]);
}

/** POST /hooks/counter/add/NAME?by=STEP */
function add(hook: Hook): Reply {
  if (hook.method != "POST") return new Reply(405, "a counter is raised by POST\n");
  const name = nameOf(hook.pathAndQuery);
  if (!name.length) return new Reply(404, "POST …/add/NAME: letters, digits, `.`, `_` and `-`, at most 100\n");
  const step = stepOf(hook.pathAndQuery);
  if (step == NO_STEP) return new Reply(400, "?by= takes a whole number up to 1000000000, or down to its negative\n");
  for (let i = 0; i < TRIES; i++) {
    const before = state.get(name);
    let problem = before.problem;
    if (problem !== null) return new Reply(503, problem.message + "\n");
    const value = stepped(valueOf(before.text()), step);
    const after = kept(value, now());
    const replaced = state.replace(name, before.value, state.utf8(after));
    problem = replaced.problem;
    if (problem !== null) return new Reply(503, problem.message + "\n");
    if (!replaced.done) continue;
    tell(name, after);
    if (before.value === null) listChanged();
    return new Reply(200, value.toString() + "\n");
  }
  return new Reply(503, "others raise it all the time: try again\n");
}
