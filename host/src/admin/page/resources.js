// The merged list with who owns what and who is shadowed, and who is subscribed to what.

import { byId, el, say } from './dom.js';
import { Rows } from './rows.js';
import { bytes, count, harmless, number } from './text.js';

function owner(provider) {
  return provider === null ? el('span', { class: 'none' }, 'nobody') : el('bdi', {}, harmless(provider));
}

/** All of these words are in it, in any order. */
function fits(item, words) {
  item.text ??= item.says.join('\n').toLowerCase();
  return words.every((word) => item.text.includes(word));
}

export class Resources {
  constructor(go) {
    this.go = go;
    this.list = { resources: [], templates: [], shadowed: [] };
    this.route = { q: '', which: 'resources' };
    this.rows = new Rows({
      label: 'Resources',
      columns: [{ name: 'Resource' }, { name: 'Provider', class: 'owner' }, { name: 'Type', class: 'wide type' }],
      cells: ({ entry }) => [this.name(entry), this.owner(entry), this.type(entry)],
      key: ({ entry }) => entry.uri ?? entry.uriTemplate,
      empty: 'There is none.',
    });
    byId('resources-rows').append(this.rows.element);
    this.filter = byId('resources-filter');
    this.choices = [...document.getElementsByName('which')];
    const changed = () => go({ q: this.filter.value, which: this.choices.find((choice) => choice.checked).value }, true);
    this.filter.addEventListener('input', changed);
    this.choices.forEach((choice) => choice.addEventListener('change', changed));
    this.filter.addEventListener('keydown', (event) => {
      if (event.key !== 'ArrowDown' || this.rows.items.length === 0) return;
      event.preventDefault();
      this.rows.focus(0);
    });
  }

  name({ uri, uriTemplate, name, title }) {
    const address = uri ?? uriTemplate;
    const label = harmless(title || name || address);
    const link = uri
      ? el('a', { href: `#resources?${new URLSearchParams({ read: uri })}`, 'data-read': uri }, label)
      : el('button', { type: 'button', class: 'plain', on: { click: () => this.go({ read: null, template: uriTemplate }) } }, label);
    return el('div', { class: 'two' }, link, el('code', { class: 'uri' }, harmless(address, 600)));
  }

  owner({ provider, shadowed }) {
    const others =
      shadowed.length > 0 &&
      el(
        'span',
        { class: 'shadowed' },
        `before ${shadowed
          .slice(0, 5)
          .map((name) => harmless(name, 60))
          .join(', ')}`,
      );
    return el('div', { class: 'two' }, owner(provider), others);
  }

  type({ mimeType, size }) {
    return el(
      'div',
      { class: 'two' },
      el('span', {}, mimeType ? harmless(mimeType, 80) : '\u2013'),
      Number.isFinite(size) && size !== null ? el('span', {}, bytes(size)) : null,
    );
  }

  /** A new list came. */
  set({ resources, templates }) {
    const of = (entry) => ({
      entry,
      says: [entry.uri ?? entry.uriTemplate, entry.name, entry.title, entry.description, entry.mimeType, entry.provider].map(
        (text) => text ?? '',
      ),
    });
    const [listed, templated] = [resources.map(of), templates.map(of)];
    const shadowed = [...listed, ...templated].filter(({ entry }) => entry.shadowed.length > 0);
    this.list = { resources: listed, templates: templated, shadowed };
    this.show();
  }

  at({ q, which }) {
    this.route = { q, which };
    if (this.filter.value !== q) this.filter.value = q;
    for (const choice of this.choices) choice.checked = choice.value === which;
    this.show();
  }

  /** The entry of this URI, if it is listed. */
  entry(uri) {
    return this.list.resources.find(({ entry }) => entry.uri === uri)?.entry ?? null;
  }

  show() {
    const all = this.list[this.route.which] ?? [];
    const words = this.route.q.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = words.length > 0 ? all.filter((item) => fits(item, words)) : all;
    say(byId('resources-count'), words.length > 0 ? `${count(fitting.length)} of ${count(all.length)}` : count(all.length));
    this.rows.set(fitting);
  }
}

export class Subscriptions {
  constructor(go) {
    this.all = [];
    this.q = '';
    this.rows = new Rows({
      label: 'Subscriptions',
      columns: [{ name: 'Resource' }, { name: 'Provider', class: 'owner' }, { name: 'Listeners', class: 'number listeners' }],
      cells: ({ uri, provider, listeners, own }) => [
        el(
          'div',
          { class: 'two' },
          el('a', { class: 'uri', href: `#subscriptions?${new URLSearchParams({ read: uri })}`, 'data-read': uri }, harmless(uri, 600)),
        ),
        el('div', { class: 'two' }, provider === null ? [owner(null), el('span', {}, 'pending until somebody has it')] : owner(provider)),
        el('div', { class: 'two' }, el('span', {}, count(listeners)), own && el('span', {}, 'with this page')),
      ],
      key: ({ uri }) => uri,
      empty: 'Nobody is subscribed to anything.',
    });
    byId('subscriptions-rows').append(this.rows.element);
    this.filter = byId('subscriptions-filter');
    this.filter.addEventListener('input', () => go({ q: this.filter.value }, true));
  }

  at({ q }) {
    this.q = q.toLowerCase();
    if (this.filter.value !== q) this.filter.value = q;
    this.show();
  }

  /** `own` is what this page itself watches. */
  set({ subscriptions, sessions, listeners }, own) {
    this.all = subscriptions.map((one) => ({ ...one, own: one.uri === own }));
    this.said = `${number(this.all.length, 'resource')}, ${number(listeners, 'listener')}, ${number(sessions, 'session')}`;
    this.show();
  }

  show() {
    const fitting = this.q ? this.all.filter(({ uri, provider }) => `${uri}\n${provider ?? ''}`.toLowerCase().includes(this.q)) : this.all;
    say(byId('subscriptions-count'), this.said ?? '');
    this.rows.set(fitting);
  }
}
