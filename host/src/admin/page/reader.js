// Shows one resource, and shows it again whenever it changes.
//
// Invariants: one read is under way at a time, and the last wish is always followed by a read; an answer for another resource than the one
// that is open now is not shown; what was shown stays until there is something newer.

import { byId, el, place, say, set, throttled } from './dom.js';
import { Contents } from './contents.js';
import { ask } from './live.js';
import { bytes, harmless, moment, span } from './text.js';

/** As often as it is read, however fast it changes. */
const READ_MS = 250;
/** A change so soon after another one is shown, and not read out. */
const QUIET_MS = 10_000;

export class Reader {
  /** `entry(uri)` is what the list says of a resource. */
  constructor(go, entry) {
    this.entry = entry;
    this.uri = null;
    this.template = null;
    this.owner = null;
    this.unwatched = null;
    this.shownAt = null;
    this.changed = null;
    this.changedAt = 0;
    this.element = byId('reader');
    this.title = byId('reader-title');
    this.field = byId('reader-uri');
    this.contents = new Contents(byId('reader-contents'));
    this.read = throttled(() => this.now(), READ_MS);
    const close = () => go({ read: null, template: null });
    byId('reader-close').addEventListener('click', close);
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') close();
    });
    byId('reader-form').addEventListener('submit', (event) => {
      event.preventDefault();
      const uri = this.field.value.trim();
      if (!uri) return;
      if (uri === this.uri) this.read();
      else go({ read: uri, template: null });
    });
  }

  /** Opens this resource, or a template to be filled in, or closes. */
  at(uri, template) {
    this.element.hidden = uri === null && template === null;
    byId('reader-hint').hidden = uri !== null || template === null;
    if (uri === this.uri && template === this.template) return;
    this.uri = uri;
    this.template = template;
    this.owner = null;
    this.unwatched = null;
    this.shownAt = null;
    this.changed = null;
    this.changedAt = 0;
    this.contents.clear();
    byId('reader-facts').replaceChildren();
    this.element.classList.remove('failed');
    say(byId('reader-state'), uri === null ? '' : 'Reading');
    this.field.value = uri ?? template ?? '';
    if (uri === null) {
      say(this.title, 'Read by a template');
      return;
    }
    this.describe();
    this.read();
  }

  focus() {
    if (this.uri !== null) {
      this.title.focus({ preventScroll: true });
      return;
    }
    const [from, to] = [this.template.indexOf('{'), this.template.indexOf('}')];
    this.field.focus();
    if (from >= 0) this.field.setSelectionRange(from, to + 1);
  }

  /** Whether the list says something else of it now. */
  describe() {
    if (this.uri === null) return;
    const entry = this.entry(this.uri);
    say(this.title, entry ? harmless(entry.title || entry.name) : 'Reader');
    const facts = [
      ['Provider', entry?.provider && harmless(entry.provider)],
      [
        'Goes before',
        entry?.shadowed.length > 0 &&
          entry.shadowed
            .slice(0, 10)
            .map((name) => harmless(name, 100))
            .join(', '),
      ],
      ['About', entry?.description && harmless(entry.description, 1000)],
      ['Type', entry?.mimeType && harmless(entry.mimeType, 100)],
      ['Size', Number.isFinite(entry?.size) && bytes(entry.size)],
      ['Not watched', this.unwatched && harmless(this.unwatched, 300)],
    ];
    this.owner = entry?.provider ?? null;
    const shown = facts.filter(([, value]) => value).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value)));
    place(byId('reader-facts'), shown);
  }

  /** It is not told of changes. */
  notWatched(why) {
    this.unwatched = why;
    this.describe();
  }

  /** Something happened that may have changed it. */
  heard(kind, { uri, provider }) {
    if (this.uri === null) return;
    const mayBe = this.owner === null || this.owner === provider;
    if (
      kind === 'updated' ? uri === this.uri || (uri === null && mayBe) : ['loaded', 'restored', 'gone', 'up', 'list-changed'].includes(kind)
    ) {
      this.read();
    }
  }

  async now() {
    const uri = this.uri;
    if (uri === null) return;
    let [answer, error] = [null, null];
    try {
      answer = await ask(`/read?uri=${encodeURIComponent(uri)}`);
      error = answer.error ?? null;
    } catch (failure) {
      error = { kind: 'no answer', message: failure.message };
    }
    if (uri !== this.uri) return;
    const first = this.shownAt === null;
    const time = moment(new Date());
    if (error) {
      const { kind, message, provider, retryAfterMs } = error;
      const who = provider ? ` (${harmless(provider, 100)})` : '';
      const again = retryAfterMs ? `; it may be there in ${span(retryAfterMs)}` : '';
      say(byId('reader-state'), `${time}: ${harmless(kind, 60)}${who}: ${harmless(message, 1000)}${again}`);
      this.element.classList.add('failed');
      return;
    }
    this.element.classList.remove('failed');
    const entry = this.entry(uri);
    const news = this.contents.show(answer.contents, entry?.title || entry?.name || uri);
    this.shownAt = time;
    if (!first && news) {
      // What changes all the time is not read out each time.
      set(byId('reader-state'), 'aria-live', Date.now() - this.changedAt < QUIET_MS ? 'off' : 'polite');
      this.changedAt = Date.now();
      this.changed = `Changed at ${time}: ${news}`;
    }
    say(byId('reader-state'), this.changed ?? `Read at ${time}${this.unwatched ? '' : ', and followed'}`);
  }
}
