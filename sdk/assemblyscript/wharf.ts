// What a Wharf provider in AssemblyScript is written with: an author says which resources there are and what they hold, and never parses a
// URI.
//
//     provider.resource("tide://sentence").title("A sentence").read(() => Answer.text("The tide is coming in."));
//     provider.template("tide://greeting/{name}").read((request) => Answer.text("Hello, " + request.get("name") + "!"));
//
// AssemblyScript has no closures: what a handler needs beside its arguments is a global. It has no exceptions either: a handler answers with
// an error (`Answer.invalid`), and `throw` ends the instance, of which the host then makes a fresh one.

import { Offer } from "./offers";
import { give, putString, putStrings, takeString } from "./abi";
export { Icon, Offer, entry } from "./offers";
export { log, now } from "./system";

// @ts-ignore: decorator
@external("wharf:provider/announce@0.1.0", "updated")
declare function announceUpdated(at: usize, length: usize): void;
// @ts-ignore: decorator
@external("wharf:provider/announce@0.1.0", "list-changed")
declare function announceListChanged(): void;
// @ts-ignore: decorator
@external("wharf:provider/settings@0.1.0", "get")
declare function settingsGet(at: usize, length: usize, to: usize): void;

/** The contract's errors, in its order. */
export const enum Kind { NotFound, Invalid, Denied, Unavailable, Failed }

/** Why there is no answer. Its text is shown to the client's user and model: say what to do about it, and no secrets. */
export class Problem {
  constructor(public kind: Kind, public message: string = "") {}
  /** There is no such resource here: the host asks the next provider that may own the URI. Any other is final. */
  static notFound(): Problem { return new Problem(Kind.NotFound); }
  /** The request cannot be right: a bad variable. */
  static invalid(message: string): Problem { return new Problem(Kind.Invalid, message); }
  /** It exists, and may not be had. */
  static denied(message: string): Problem { return new Problem(Kind.Denied, message); }
  /** The same request may succeed later. */
  static unavailable(message: string): Problem { return new Problem(Kind.Unavailable, message); }
  /** Anything else. */
  static failed(message: string): Problem { return new Problem(Kind.Failed, message); }
}

/** Names and values of a template's variables, decoded. An exploded one (`{/seg*}`) is there once for each value. */
export class Variables {
  constructor(public pairs: string[] = []) {}
  /** The (first) value, "" if the URI leaves it out. */
  get(name: string): string {
    for (let i = 0; i < this.pairs.length; i += 2) if (this.pairs[i] == name) return this.pairs[i + 1];
    return "";
  }
  has(name: string): bool {
    for (let i = 0; i < this.pairs.length; i += 2) if (this.pairs[i] == name) return true;
    return false;
  }
  all(name: string): string[] {
    const values = new Array<string>();
    for (let i = 0; i < this.pairs.length; i += 2) if (this.pairs[i] == name) values.push(this.pairs[i + 1]);
    return values;
  }
  /** Adds one, for `Entry`. */
  with(name: string, value: string): Variables {
    this.pairs.push(name);
    this.pairs.push(value);
    return this;
  }
}

/** What a handler is asked for. */
export class Request {
  /** `ifNoneMatch` is a version this provider gave, and whose content the host still holds; "" if there is none. */
  constructor(public uri: string, public variables: Variables = new Variables(), public ifNoneMatch: string = "") {}
  /** The value of a variable, "" if the URI leaves it out. */
  get(name: string): string { return this.variables.get(name); }
}

/** One content of a resource. `uri`: "" for the URI asked for, else that of a part of it. `mimeType`: "" for what the list says. */
export class Content {
  text: string = "";
  bytes: Uint8Array | null = null;
  /** A JSON object, as text, for MCP's `_meta`. */
  meta: string = "";
  constructor(public uri: string = "", public mimeType: string = "") {}
}

/** What a resource holds at one moment, or why there is no answer. */
export class Answer {
  contents: Content[] = [];
  problem: Problem | null = null;
  theVersion: string = "";
  /** Milliseconds; negative: until it is announced; NaN: ask each time. */
  reuse: f64 = NaN;
  isNotModified: bool = false;

  static text(text: string): Answer {
    const content = new Content();
    content.text = text;
    return Answer.of([content]);
  }
  /** JSON as text. (AssemblyScript has no JSON of its own.) */
  static json(text: string): Answer {
    const answer = Answer.text(text);
    answer.contents[0].mimeType = "application/json";
    return answer;
  }
  static bytes(bytes: Uint8Array): Answer {
    const content = new Content();
    content.bytes = bytes;
    return Answer.of([content]);
  }
  static of(contents: Content[]): Answer {
    const answer = new Answer();
    answer.contents = contents;
    return answer;
  }
  /** The content still is the version `request.ifNoneMatch` names. */
  static notModified(): Answer {
    const answer = new Answer();
    answer.isNotModified = true;
    return answer;
  }
  static fail(problem: Problem): Answer {
    const answer = new Answer();
    answer.problem = problem;
    return answer;
  }
  static notFound(): Answer { return Answer.fail(Problem.notFound()); }
  static invalid(message: string): Answer { return Answer.fail(Problem.invalid(message)); }
  static denied(message: string): Answer { return Answer.fail(Problem.denied(message)); }
  static unavailable(message: string): Answer { return Answer.fail(Problem.unavailable(message)); }
  static failed(message: string): Answer { return Answer.fail(Problem.failed(message)); }

  /** Any string that differs whenever the contents differ. With it a read may answer `notModified`. */
  version(version: string): Answer { this.theVersion = version; return this; }
  /** The host may answer with it for so long without asking again, or until it is announced as changed. */
  reuseFor(milliseconds: u32): Answer { this.reuse = <f64>milliseconds; return this; }
  /** The same, until it is announced as changed. It counts only while somebody is subscribed. */
  untilAnnounced(): Answer { this.reuse = -1; return this; }
}

/** What there is. */
export class Provider {
  resources: Offer[] = [];
  templates: Offer[] = [];
  /** Resources a page of the list has; a page may have 16 MiB. */
  pageSize: i32 = 1000;
  /** For how many milliseconds the host may use a list without asking again; 0: until `listChanged`. */
  listFor: u32 = 0;

  /** Adds a resource with a URI of its own. */
  resource(uri: string): Offer {
    const offer = new Offer(uri);
    this.resources.push(offer);
    return offer;
  }
  /** Adds a family: every URI that matches (RFC 6570: `{v}`, `{+v}`, `{/v*}`, `{?a,b}`). The host tries them in this order. */
  template(uriTemplate: string): Offer {
    const offer = new Offer(uriTemplate);
    this.templates.push(offer);
    return offer;
  }
}

/** The one that is served. */
export const provider = new Provider();

/** Tells the clients that subscribed that these resources have changed, or may have. First change what `read` answers, then say so. */
export function updated(uris: string[]): void {
  const list = give(8);
  putStrings(uris, list);
  announceUpdated(load<usize>(list), load<usize>(list, 4));
}

/** Tells that the list of resources or templates would be another one now. */
export function listChanged(): void {
  announceListChanged();
}

/** What `[provider.settings]` in wharf.toml sets under this name, or null: a string as it is, anything else as its JSON text. */
export function setting(name: string): string | null {
  const given = give(8);
  putString(name, given);
  const to = give(12);
  settingsGet(load<usize>(given), load<usize>(given, 4), to);
  return load<u8>(to) ? takeString(load<usize>(to, 4), load<usize>(to, 8)) : null;
}

/** Reads what an import answered: a `result<_, error>` of which the error is at `at`. */
export function takeProblem(at: usize): Problem {
  const kind = load<u8>(at);
  return new Problem(kind, kind == Kind.NotFound ? "" : takeString(load<usize>(at, 4), load<usize>(at, 8)));
}
