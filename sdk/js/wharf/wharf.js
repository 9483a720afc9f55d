// Providers for Wharf in JavaScript and TypeScript: say what there is and how it is read, and hand the exports to the host.
//
//   import * as timers from 'wharf:provider/timers@0.1.0';
//   import { Provider } from './wharf/wharf.js';
//
//   const provider = new Provider({ timers });
//   provider.template('hello://{name}').title('A greeting').read(({ variables }) => `Hello, ${variables.name}!`);
//   export const { resources, subscriptions, timerHandler } = provider;
//
// What comes out is the plain contract (wit/deps/provider/provider.wit), so an author can write any export by hand instead. One source
// for both engines, QuickJS (componentize-qjs) and SpiderMonkey (componentize-js). The types, with a comment on each item, are in wharf.d.ts.
//
// Invariants:
// - What an author's function throws ends the call, never the instance.
// - No string with half a surrogate pair, no number beyond 31 bits and no missing list reaches the engine: each is a trap on QuickJS.
// - Nothing of the host is called before the host calls in: the top level of a module runs when the component is built.

import * as announce from 'wharf:provider/announce@0.1.0';
import * as settings from 'wharf:provider/settings@0.1.0';
import { encode, decode, wellFormed } from './text.js';
import { expand, nameOf, values } from './uri.js';
import { call, Denied, Failed, Invalid, NotFound, prepare, Unavailable } from './run.js';

export { encode, decode, expand, NotFound, Invalid, Denied, Unavailable, Failed };

/** What `read` returns if the client still holds the version `ifNoneMatch` names. */
export const notModified = Symbol('not modified');
/** Entries on a page of the list unless `pageSize` says otherwise: the contract's advice. */
const PAGE = 1000;
/** The most values a client is given (MCP, completion). */
const SUGGESTIONS = 100;
/** QuickJS takes a u32 as 31 bits. */
const MOST = 0x7fffffff;

class Content {
  constructor(body, { uri, mimeType, meta } = {}) {
    Object.assign(this, { body, uri, mimeType, meta });
  }
}

export const text = (value, options) => new Content(typeof value === 'string' ? textBody(value) : { tag: 'utf8', val: value }, options);
export const blob = (bytes, options) => new Content({ tag: 'blob', val: bytes }, options);
export const json = (value, options) => text(JSON.stringify(value, null, 2) ?? 'null', { mimeType: 'application/json', ...options });

// SpiderMonkey passes a string 400 times slower than bytes. QuickJS has no TextEncoder, and passes a string faster than it could encode it.
const textBody = typeof TextEncoder === 'undefined'
  ? (value) => ({ tag: 'text', val: wellFormed(value) })
  : (value) => ({ tag: 'utf8', val: encode(value) });

export class Reading {
  constructor(contents, { version, reuse } = {}) {
    Object.assign(this, { contents: Array.isArray(contents) ? contents : [contents], version, reuse });
  }
}

/** A resource, or with `isTemplate` a family of them. `read` ends it. */
class Entry {
  constructor(uri, isTemplate) {
    this.info = { uri: wellFormed(uri), name: nameOf(uri) };
    this.isTemplate = isTemplate;
    this.completing = new Map();
  }

  name(name) { return this.#set('name', name); }
  title(title) { return this.#set('title', title); }
  describe(description) { return this.#set('description', description); }
  mimeType(mimeType) { return this.#set('mimeType', mimeType); }
  size(bytes) { return this.#set('size', bytes); }
  meta(object) { return this.#set('meta', object); }
  annotations(annotations) { return this.#set('annotations', annotations); }
  icon(icon) { return this.#set('icons', [...(this.info.icons ?? []), icon]); }

  subscribable(onSubscribe, onUnsubscribe) {
    this.watching = { onSubscribe, onUnsubscribe };
    return this;
  }

  list(entries) {
    this.listing = entries;
    return this;
  }

  complete(variable, suggest) {
    this.completing.set(variable, typeof suggest === 'function' ? suggest : (value) => suggest.filter((one) => one.startsWith(value)));
    return this;
  }

  read(handler) {
    this.reading = handler;
    return this;
  }

  uri(variables = {}) {
    return this.isTemplate ? expand(this.info.uri, variables) : this.info.uri;
  }

  #set(field, value) {
    this.info[field] = value;
    return this;
  }
}

export class Provider {
  #imports;
  #resources = new Map();
  #templates = new Map();
  #listed = new Map();
  #subscribed = new Map();
  #pages = [];
  #pageSize = PAGE;
  #handlers = { timer: new Map(), file: new Map(), fetch: new Map(), webhook: new Map() };

  constructor(imports = {}) {
    this.#imports = imports;
    prepare(imports);
    this.resources = {
      list: (cursor) => call(() => this.#list(cursor)),
      templates: () => call(() => [...this.#templates.values()].map(({ info: { uri, ...info } }) => ({ uriTemplate: uri, ...written(info) }))),
      read: (request) => call(() => this.#read(request)),
    };
    this.subscriptions = {
      subscribe: (uri, matched) => call(() => this.#subscribe(uri, matched)),
      unsubscribe: (uri) => this.#dispatch(() => this.#unsubscribe(uri)),
    };
    this.completions = { complete: (request) => call(() => this.#complete(request)) };
    this.timerHandler = { fired: (names) => this.#each('timer', names, (name) => [name]) };
    this.fileHandler = { changed: (changes) => this.#changed(changes) };
    this.fetchHandler = { fetched: (outcomes) => this.#each('fetch', outcomes, ({ name, answer }) => [name, answered(answer)]) };
    this.webhookHandler = { receive: (request) => this.#receive(request) };
  }

  resource(uri) { return this.#add(this.#resources, new Entry(uri, false)); }
  template(uriTemplate) { return this.#add(this.#templates, new Entry(uriTemplate, true)); }

  pageSize(entries) {
    this.#pageSize = entries;
    return this;
  }

  updated(...uris) { announce.updated(uris.flat().map(wellFormed)); }
  listChanged() { announce.listChanged(); }
  setting(name) { return settings.get(wellFormed(name)) ?? undefined; }
  settings() { return Object.fromEntries(settings.all()); }

  every(name, ms, handler) { this.#start(name, ms, ms, handler); }
  after(name, ms, handler) {
    this.#start(name, ms, undefined, () => {
      this.#handlers.timer.delete(name);
      return handler();
    });
  }
  cancel(name) { this.#end('timer', name, this.#import('timers').cancel); }

  watch(name, path, handler, { recursive = false } = {}) {
    this.#begin('file', name, handler, () => this.#import('fileWatch').watch(name, path, recursive));
  }
  unwatch(name) { this.#end('file', name, this.#import('fileWatch').unwatch); }

  fetch(name, request, handler) {
    this.#begin('fetch', name, handler, () => this.#import('fetch').start(name, sent(request)));
  }
  poll(name, request, ms, handler) {
    this.#begin('fetch', name, handler, () => this.#import('fetch').poll(name, sent(request), whole(ms)));
  }
  cancelFetch(name) { this.#end('fetch', name, this.#import('fetch').cancel); }

  webhook(name, handler) { this.#handlers.webhook.set(name, handler); }

  publish(key, value, { title, description, annotations } = {}) {
    const content = contentOf(value);
    const shared = { title, description, annotations: annotated(annotations), mimeType: content.mimeType, body: content.body };
    if (typeof value === 'string') shared.mimeType ??= 'text/plain';
    this.#import('sharedState').set(key, cleaned(shared));
  }
  unpublish(key) { this.#import('sharedState').remove(key); }

  #add(to, entry) {
    if (to.has(entry.info.uri)) throw new Error(`${entry.info.uri} is there twice`);
    to.set(entry.info.uri, entry);
    return entry;
  }

  #import(name) {
    const found = this.#imports[name];
    if (!found) throw new Failed(`the provider was made without \`${name}\`: import it in wit/world.wit and in the module, and write \`new Provider({ ${name} })\``);
    return found;
  }

  #start(name, after, every, handler) {
    this.#begin('timer', name, handler, () => this.#import('timers').start(name, whole(after), every && whole(every)));
  }

  // Kept only if the host took it; what was there before under that name is replaced then.
  #begin(kind, name, handler, start) {
    start();
    this.#handlers[kind].set(name, handler);
  }

  #end(kind, name, cancel) {
    this.#handlers[kind].delete(name);
    cancel(name);
  }

  // A handler has no answer: what goes wrong in it is written to the log, and the others are served.
  #dispatch(handle) {
    try {
      call(handle);
    } catch {
      // Reported already.
    }
  }

  #each(kind, items, argumentsOf) {
    for (const item of items) {
      const [name, ...rest] = argumentsOf(item);
      this.#dispatch(() => awaited(this.#handlers[kind].get(name)?.(...rest), name));
    }
  }

  #changed(changes) {
    const byName = new Map();
    for (const { name, path, change } of changes) {
      if (!byName.has(name)) byName.set(name, []);
      byName.get(name).push({ path, change });
    }
    this.#each('file', [...byName], (one) => one);
  }

  #receive(request) {
    try {
      return call(() => {
        const handler = this.#handlers.webhook.get(request.name);
        if (!handler) return { status: 404 };
        const answer = awaited(handler({ ...message(request), name: request.name, method: request.method, path: request.pathAndQuery }), request.name) ?? 204;
        if (typeof answer === 'number') return { status: answer };
        return { status: answer.status ?? 200, ...packed(answer) };
      });
    } catch {
      return { status: 500 };
    }
  }

  #list(cursor) {
    // Another instance may have given the page before this one.
    if (cursor == null || this.#pages.length === 0) this.#enumerate();
    const from = cursor == null ? 0 : Number(cursor);
    if (cursor != null && (!/^[1-9]\d*$/.test(cursor) || from >= this.#pages.length)) throw new Invalid('no such page');
    const to = from + this.#pageSize;
    const moving = [...this.#templates.values()].some((template) => template.listing);
    return {
      resources: this.#pages.slice(from, to),
      nextCursor: to < this.#pages.length ? String(to) : undefined,
      // A list that is in the source changes only with it; of any other the author tells, or the host asks again.
      reuse: moving ? undefined : { tag: 'until-announced' },
    };
  }

  #enumerate() {
    this.#pages = [...this.#resources.values()].map(({ info }) => written(info));
    this.#listed.clear();
    for (const template of this.#templates.values()) {
      for (const { variables, ...rest } of awaited(template.listing?.(), template.info.uri) ?? []) {
        const uri = template.uri(variables);
        this.#listed.set(uri, { entry: template, variables });
        this.#pages.push(written({ uri, name: nameOf(uri), mimeType: template.info.mimeType, ...rest }));
      }
    }
  }

  // A URI that is listed comes without a template, also where a template lists it.
  #find(uri, matched) {
    if (matched != null) {
      const entry = this.#templates.get(matched.uriTemplate);
      return entry && { entry, variables: values(matched.uriTemplate, matched.variables) };
    }
    const entry = this.#resources.get(uri);
    if (entry) return { entry, variables: {} };
    if (!this.#listed.has(uri)) this.#enumerate();
    return this.#listed.get(uri);
  }

  #read({ uri, matched, ifNoneMatch }) {
    const found = this.#find(uri, matched);
    if (!found?.entry.reading) throw new NotFound();
    const held = ifNoneMatch ?? undefined;
    const value = awaited(found.entry.reading({ uri, variables: found.variables, ifNoneMatch: held }), uri);
    if (value === notModified) return undefined;
    const { contents, version, reuse } = value instanceof Reading ? value : new Reading(value);
    if (held !== undefined && version === held) return undefined;
    return { contents: contents.map((one) => contentsOf(one, uri)), version: version && wellFormed(version), reuse: reusable(reuse) };
  }

  #subscribe(uri, matched) {
    const found = this.#find(uri, matched);
    if (!found) throw new NotFound();
    const { entry: { watching }, variables } = found;
    if (!watching) throw new Failed(`${uri} does not tell of changes`);
    awaited(watching.onSubscribe?.({ uri, variables }), uri);
    this.#subscribed.set(uri, found);
  }

  #unsubscribe(uri) {
    const { entry, variables } = this.#subscribed.get(uri) ?? {};
    this.#subscribed.delete(uri);
    awaited(entry?.watching?.onUnsubscribe?.({ uri, variables }), uri);
  }

  #complete({ uriTemplate, argument, value, known }) {
    const suggest = this.#templates.get(uriTemplate)?.completing.get(argument);
    const found = awaited(suggest?.(value, values(uriTemplate, known)), uriTemplate) ?? [];
    return { values: found.slice(0, SUGGESTIONS).map(wellFormed), total: found.length, hasMore: found.length > SUGGESTIONS };
  }
}

function awaited(value, of) {
  if (typeof value?.then === 'function') throw new Failed(`the function for ${of} is async: no call may wait, so take what takes time over fetch, poll or a timer`);
  return value;
}

function contentOf(value, of) {
  if (value instanceof Content) return value;
  if (typeof value === 'string') return text(value);
  if (value instanceof Uint8Array) return blob(value);
  throw new Failed(`the function for ${of} returned ${value === undefined ? 'nothing' : `a ${typeof value}`}: return a string, a Uint8Array, json(…), or a Reading`);
}

function contentsOf(value, asked) {
  const { uri, mimeType, body, meta } = contentOf(value, asked);
  return cleaned({ uri, mimeType, body, metaJson: meta && JSON.stringify(meta) });
}

function reusable(reuse) {
  return typeof reuse === 'number' ? { tag: 'for-ms', val: whole(reuse) } : reuse && { tag: reuse };
}

/** An entry as the contract has it. */
function written({ meta, icons, annotations, ...info }) {
  return cleaned({ ...info, icons: icons?.map(cleaned), annotations: annotated(annotations), metaJson: meta && JSON.stringify(meta) });
}

function annotated(annotations) {
  if (!annotations) return undefined;
  const { audience, priority, lastModified } = annotations;
  return { audience, priority, lastModified: lastModified == null ? undefined : Number(lastModified) };
}

/** The same with every string in it fit for the engine. */
function cleaned(record) {
  for (const [field, value] of Object.entries(record)) if (typeof value === 'string') record[field] = wellFormed(value);
  return record;
}

function whole(ms) {
  return Math.min(MOST, Math.max(0, Math.round(ms)));
}

/** A request or answer with headers and a body, as the contract has it. */
function packed({ headers, body }) {
  const pairs = Array.isArray(headers) ? headers : Object.entries(headers ?? {});
  return { headers: pairs.map((pair) => pair.map((part) => wellFormed(String(part)))), body: typeof body === 'string' ? encode(body) : body };
}

function sent(request) {
  const { method, url, timeoutMs, ...rest } = typeof request === 'string' ? { url: request } : request;
  return { method, url: wellFormed(url), timeoutMs: timeoutMs == null ? undefined : whole(timeoutMs), ...packed(rest) };
}

/** Headers by name (the last of each) and a body that can be had in three ways. */
function message({ headers, body }) {
  return { headers: Object.fromEntries(headers), body, text: () => decode(body), json: () => JSON.parse(decode(body)) };
}

function answered({ tag, val }) {
  if (tag === 'ok') return { ok: val.status >= 200 && val.status < 300, status: val.status, ...message(val) };
  return { ok: false, status: 0, error: val.val === undefined ? val.tag : `${val.tag}: ${val.val}`, ...message({ headers: [], body: new Uint8Array() }) };
}
