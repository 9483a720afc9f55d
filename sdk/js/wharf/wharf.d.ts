/// <reference path="./imports.d.ts" />
// Types of the SDK, with a comment on each item. The contract behind it is wit/deps/provider/provider.wit.

/** One of the expressions of a URI template (RFC 6570), without its braces, as the variables it has. */
type Expression<E extends string> = E extends `${'?' | '&' | '#'}${infer Names}` ? Optional<Names>
  : E extends `${'+' | '.' | '/'}${infer Names}` ? Needed<Names>
  : Needed<E>;
type Needed<Names extends string> = Names extends `${infer One},${infer More}` ? Needed<One> & Needed<More>
  : Names extends `${infer Name}*` ? { [N in Name]: string[] }
  : { [N in Names]: string };
type Optional<Names extends string> = Names extends `${infer One},${infer More}` ? Optional<One> & Optional<More>
  : Names extends `${infer Name}*` ? { [N in Name]: string[] }
  : { [N in Names]?: string };
/** The variables of a URI template: a string each, a list where the template explodes (`{/path*}`), maybe nothing in `{?a,b}`. */
export type Variables<T extends string> = string extends T ? Record<string, any>
  : T extends `${string}{${infer E}}${infer Rest}` ? Expression<E> & Variables<Rest>
  : unknown;

/** A request for one resource. */
export interface Request<V> {
  /** As the client sent it. Nobody needs to parse it. */
  uri: string;
  /** What the template found in it, decoded. */
  variables: V;
}

export interface ReadRequest<V> extends Request<V> {
  /** A version that `read` gave for this URI and that the host still holds. If it still is right, return `notModified`. */
  ifNoneMatch?: string;
}

/** For whom a resource is meant, and how it is weighed. */
export interface Annotations {
  audience?: ('user' | 'assistant')[];
  /** From 0, entirely optional, to 1, effectively required. */
  priority?: number;
  /** A `Date`, or milliseconds since 1970. */
  lastModified?: Date | number;
}

export interface Icon {
  /** An `https:` URL, or a `data:` URI in base64. */
  src: string;
  mimeType?: string;
  /** `48x48`, or `any`. */
  sizes?: string[];
  theme?: 'light' | 'dark';
}

export interface ContentOptions {
  /** The URI of a part of what was asked for. Left out: the URI asked for. */
  uri?: string;
  /** Left out: what the resource or template says. */
  mimeType?: string;
  /** For MCP's `_meta`. */
  meta?: object;
}

/** One content of a reading: `text(…)`, `blob(…)` or `json(…)`. */
export interface Content { readonly body: unknown }
/** Text; bytes are taken as UTF-8. */
export function text(value: string | Uint8Array, options?: ContentOptions): Content;
/** Bytes that are no text. */
export function blob(bytes: Uint8Array, options?: ContentOptions): Content;
/** A value as JSON text, `application/json`. */
export function json(value: unknown, options?: ContentOptions): Content;

/** What `read` returns where contents alone do not say it all. */
export class Reading {
  constructor(contents: string | Uint8Array | Content | (string | Uint8Array | Content)[], options?: {
    /** Differs whenever the contents differ: a hash, an ETag, a revision. */
    version?: string;
    /** For how many milliseconds the host may answer from it, or until you announce a change. Left out: it asks each time. */
    reuse?: number | 'until-announced';
  });
}

/** `read`: the client still has the version `ifNoneMatch`. (A `Reading` with that version says the same.) */
export const notModified: unique symbol;
/** What a `read` handler returns: a string is text, a `Uint8Array` a blob. Never a promise: no call may wait. */
export type Answer = string | Uint8Array | Content | Reading | typeof notModified;

/** A resource of a family that can be enumerated. What is left out of `name` and `mimeType` comes from the URI and the template. */
export interface Listed<V> {
  /** The template's variables; they make the URI. */
  variables: V;
  name?: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** Bytes. */
  size?: number;
  icons?: Icon[];
  annotations?: Annotations;
  meta?: object;
}

interface Builder<V> {
  /** Short name. Left out: the last segment of the URI. */
  name(name: string): this;
  /** Name for people. */
  title(title: string): this;
  /** What it is, for the model to decide whether to read it. */
  describe(description: string): this;
  mimeType(mimeType: string): this;
  annotations(annotations: Annotations): this;
  /** Once for each icon. */
  icon(icon: Icon): this;
  /** For MCP's `_meta`. */
  meta(object: object): this;
  /**
   * Clients may subscribe. The functions run when the first comes and after the last has left; without them it only changes when
   * `provider.updated` says so, and when the component is another one.
   */
  subscribable(onSubscribe?: (request: Request<V>) => void, onUnsubscribe?: (request: Request<V>) => void): this;
  /** How it is read. */
  read(handler: (request: ReadRequest<V>) => Answer): this;
}

export interface Resource extends Builder<{}> {
  /** Bytes of the content. */
  size(bytes: number): this;
  uri(): string;
}

export interface Template<V> extends Builder<V> {
  /** The members of the family, if they can be enumerated. Call `provider.listChanged()` when they are others. */
  list(entries: () => Listed<V>[]): this;
  /**
   * Suggestions for a variable while someone types: a list, of which those that begin with the value are given, or a function of the value and of the
   * variables filled in already. Best first; clients get the first 100.
   */
  complete(variable: keyof V & string, suggest: string[] | ((value: string, known: Partial<V>) => string[])): this;
  /** The URI of one member. */
  uri(variables: V): string;
}

/** What to do about it is for the message to say: the client's user and model see it. No secrets. */
declare class ProviderError extends Error {
  readonly tag: 'not-found' | 'invalid' | 'denied' | 'unavailable' | 'failed';
  constructor(message?: string);
}
/** There is no such resource here. */
export class NotFound extends ProviderError {}
/** The request cannot be right. */
export class Invalid extends ProviderError {}
/** It exists, and may not be had. */
export class Denied extends ProviderError {}
/** Not now; the same request may succeed later. */
export class Unavailable extends ProviderError {}
/** Anything else. What is thrown otherwise becomes this one, and its trace goes to the log. */
export class Failed extends ProviderError {}

export interface FetchRequest {
  method?: string;
  url: string;
  headers?: Record<string, string> | [name: string, value: string][];
  /** A string is sent as UTF-8. */
  body?: string | Uint8Array;
  /** For the whole exchange. Left out: the host's limit. */
  timeoutMs?: number;
}

interface Message {
  /** By name in lower case; of several the last. */
  headers: Record<string, string>;
  body: Uint8Array;
  text(): string;
  json(): any;
}

export interface FetchResponse extends Message {
  /** A status from 200 to 299. */
  ok: boolean;
  /** 0 if there was no answer. */
  status: number;
  /** Why there was none. */
  error?: string;
}

export interface WebhookRequest extends Message {
  name: string;
  method: string;
  /** Below the webhook's own path, with the query. */
  path: string;
}

export type WebhookAnswer = void | number | { status?: number; headers?: FetchRequest['headers']; body?: string | Uint8Array };

/** One change of a file. After `rescan` look at everything below `path`. */
export interface FileChange {
  path: string;
  change: 'created' | 'modified' | 'removed' | 'rescan';
}

/** The imports of your world that the SDK is to use: `import * as timers from 'wharf:provider/timers@0.1.0'`. */
export interface Imports {
  timers?: typeof import('wharf:provider/timers@0.1.0');
  fileWatch?: typeof import('wharf:provider/file-watch@0.1.0');
  fetch?: typeof import('wharf:provider/fetch@0.1.0');
  sharedState?: typeof import('wharf:provider/shared-state@0.1.0');
  /** `wasi:random/random@0.2.0`. Without it the seed of `Math.random` comes from the clock on QuickJS. SpiderMonkey needs none. */
  random?: typeof import('wasi:random/random@0.2.0');
  /** `wasi:cli/stderr@0.2.0`. Makes `console` on QuickJS, which has none. SpiderMonkey needs none. */
  stderr?: typeof import('wasi:cli/stderr@0.2.0');
}

type Export = (...args: any[]) => any;

export class Provider {
  constructor(imports?: Imports);

  /** Exports for the host, each as the interface of that name has it: take those that your world has. */
  readonly resources: { list: Export; templates: Export; read: Export };
  readonly subscriptions: { subscribe: Export; unsubscribe: Export };
  readonly completions: { complete: Export };
  readonly timerHandler: { fired: Export };
  readonly fileHandler: { changed: Export };
  readonly fetchHandler: { fetched: Export };
  readonly webhookHandler: { receive: Export };

  /** One resource, which is listed. */
  resource(uri: string): Resource;
  /** A family of resources: every URI that matches (RFC 6570). The first template that matches answers. */
  template<const T extends string>(uriTemplate: T): Template<Variables<T>>;
  /** Entries on a page of the list. Left out: 1000. */
  pageSize(entries: number): this;

  /** The contents of these have changed. First change what `read` answers, then say so. */
  updated(...uris: (string | string[])[]): void;
  /** The list, or the templates, are others. */
  listChanged(): void;

  /** A setting of wharf.toml; anything but a string is JSON text. */
  setting(name: string): string | undefined;
  settings(): Record<string, string>;

  /** Every so many milliseconds, from now on. A name in use is replaced. Below 100 ms the host takes 100. */
  every(name: string, ms: number, handler: () => void): void;
  /** Once. */
  after(name: string, ms: number, handler: () => void): void;
  cancel(name: string): void;

  /** Changes of a granted file or folder, which need not be there yet. */
  watch(name: string, path: string, handler: (changes: FileChange[]) => void, options?: { recursive?: boolean }): void;
  unwatch(name: string): void;

  /** Asks for an HTTP exchange; the handler gets the answer when it is there. */
  fetch(name: string, request: string | FetchRequest, handler: (response: FetchResponse) => void): void;
  /** Asks again and again; the handler gets the first answer, and each that differs from the one before. */
  poll(name: string, request: string | FetchRequest, ms: number, handler: (response: FetchResponse) => void): void;
  /** Ends a fetch or a poll. */
  cancelFetch(name: string): void;

  /** Answers a webhook of wharf.toml. Nothing returned is 204; an exception is 500. */
  webhook(name: string, handler: (request: WebhookRequest) => WebhookAnswer): void;

  /** Publishes a value, which the host serves as `wharf://state/<provider>/<key>`. A string is `text/plain`, `json(…)` is JSON. */
  publish(key: string, value: string | Uint8Array | Content, options?: { title?: string; description?: string; annotations?: Annotations }): void;
  unpublish(key: string): void;
}

/** The URI of a template for these variables. */
export function expand(uriTemplate: string, variables: Record<string, unknown>): string;
/** Text as UTF-8. Half a surrogate pair becomes U+FFFD. */
export function encode(text: string): Uint8Array;
/** UTF-8 as text. What is none becomes U+FFFD. */
export function decode(bytes: Uint8Array): string;
