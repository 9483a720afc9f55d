// The providers, a row each, with the rest of what is known of one under its row.

import { byId, el, place, say, set } from './dom.js';
import { bytes, count, harmless, moment, number, span } from './text.js';

const CALM = new Set(['serving']);
const WAITS = new Set(['loading', 'restarting']);

function mood({ state, reason }) {
  if (CALM.has(state)) return reason ? 'warn' : 'good';
  return WAITS.has(state) ? 'wait' : 'bad';
}

/** Each with a name and what is said: null leaves it out. */
const FACTS = [
  ['Why', ({ reason }) => reason && harmless(reason, 1000)],
  ['File', ({ file }) => file && harmless(file, 600)],
  ['Version', ({ hash, generation }) => hash && `${harmless(hash)}, generation ${count(generation)}`],
  ['Since', ({ since }) => since && `${moment(since)}, for ${span(Date.now() - Date.parse(since))}`],
  ['Reloads', ({ reloads, restarts, direct }) => !direct && `${count(reloads)}, and ${number(restarts, 'restart')}`],
  ['Holds', ({ resources, templates }) => `${number(resources, 'resource')}, ${number(templates, 'template')}`],
  ['Subscriptions', ({ subscriptions }) => count(subscriptions)],
  ['Memory', ({ memoryBytes, memoryLimitBytes }) => memoryBytes !== null && `${bytes(memoryBytes)} of ${bytes(memoryLimitBytes)}`],
  [
    'Queue',
    ({ queue, direct }) =>
      !direct && `${number(queue.reads, 'read')}, ${number(queue.controls, 'control')}, ${number(queue.webhooks, 'webhook')}`,
  ],
  ['Calls', ({ calls }) => counted(calls)],
  [
    'Last error',
    ({ lastError: last }) =>
      last && `${moment(last.at)}: ${harmless(last.call)} ended ${harmless(last.kind)}: ${harmless(last.message, 1000)}`,
  ],
  ['Denied', ({ denied, deniedOthers }) => deniedSaid(denied, deniedOthers)],
];

function counted(calls) {
  const made = Object.entries(calls).filter(([, times]) => times > 0);
  return (
    made.length > 0 &&
    made
      .sort((a, b) => b[1] - a[1])
      .map(([outcome, times]) => `${count(times)} ${harmless(outcome)}`)
      .join(', ')
  );
}

function deniedSaid(denied, others) {
  const lines = denied.map(({ line, times }) => `${harmless(line, 600)} (${count(times)}\u00d7)`);
  return [...lines, others > 0 && `and ${count(others)} others`].filter(Boolean).join('; ') || null;
}

function total(calls) {
  return Object.values(calls).reduce((sum, times) => sum + times, 0);
}

class Row {
  constructor(name, toggle) {
    this.name = name;
    const id = `provider-${(Row.made = (Row.made ?? 0) + 1)}`;
    this.button = el(
      'button',
      { type: 'button', class: 'more', 'aria-expanded': 'false', 'aria-controls': id },
      el('bdi', {}, harmless(name)),
    );
    this.button.addEventListener('click', () => toggle(name));
    this.badge = el('span', { class: 'badge', hidden: true }, 'required');
    this.state = el('span', { class: 'mood' });
    this.calls = el('td', { class: 'number calls' });
    this.errors = el('td', { class: 'number' });
    this.fill = el('span', { class: 'fill' });
    this.meter = el('span', { class: 'meter', 'aria-hidden': 'true' }, this.fill);
    this.memory = el('span');
    this.queue = el('td', { class: 'number wide' });
    this.holds = el('td', { class: 'number wide' });
    this.element = el(
      'tr',
      {},
      el('th', { scope: 'row' }, this.button, ' ', this.badge),
      el('td', {}, this.state),
      this.holds,
      this.calls,
      this.errors,
      el('td', { class: 'wide memory' }, this.memory, this.meter),
      this.queue,
    );
    this.facts = FACTS.map(([label, value]) => {
      const shown = el('dd');
      const line = el('div', {}, el('dt', {}, label), shown);
      return { line, shown, value };
    });
    const facts = el(
      'dl',
      { class: 'facts' },
      this.facts.map(({ line }) => line),
    );
    this.details = el('tr', { class: 'details', id, hidden: true }, el('td', { colspan: 7 }, facts));
  }

  show(provider, open) {
    set(this.button, 'aria-expanded', open);
    this.details.hidden = !open;
    this.badge.hidden = !provider.required;
    set(this.state, 'data-mood', mood(provider));
    say(this.state, provider.state === 'serving' && provider.reason ? 'serving, newest refused' : harmless(provider.state));
    say(this.holds, count(provider.resources));
    say(this.calls, count(total(provider.calls)));
    say(this.errors, count(provider.errors));
    this.errors.classList.toggle('bad', provider.errors > 0);
    const { memoryBytes: held, memoryLimitBytes: most, queue } = provider;
    say(this.memory, bytes(held));
    this.meter.hidden = !held || !most;
    this.fill.style.width = `${held && most ? Math.min(100, (100 * held) / most) : 0}%`;
    say(this.queue, provider.direct ? '\u2013' : count(queue.reads + queue.controls + queue.webhooks));
    if (!open) return;
    for (const { line, shown, value } of this.facts) {
      const said = value(provider);
      line.hidden = !said;
      say(shown, said || '');
    }
  }
}

export class Providers {
  constructor(go) {
    this.rows = new Map();
    this.open = null;
    this.last = [];
    this.toggle = (name) => go({ provider: this.open === name ? null : name }, true);
    const head = [
      ['Provider'],
      ['State'],
      ['Resources', 'number wide'],
      ['Calls', 'number calls'],
      ['Errors', 'number'],
      ['Memory', 'wide'],
      ['Queue', 'number wide'],
    ];
    this.body = el('tbody');
    const heads = head.map(([name, kind]) => el('th', { scope: 'col', class: kind }, name));
    byId('providers').append(
      el('table', { class: 'providers', 'aria-labelledby': 'providers-title' }, el('thead', {}, el('tr', {}, heads)), this.body),
    );
  }

  /** Opens the details of this provider, and closes the others. */
  at(name) {
    this.open = name;
    this.show(this.last);
  }

  show(providers) {
    this.last = providers;
    const kept = new Map();
    for (const provider of providers) {
      const row = this.rows.get(provider.name) ?? new Row(provider.name, this.toggle);
      row.show(provider, provider.name === this.open);
      kept.set(provider.name, row);
    }
    this.rows = kept;
    place(
      this.body,
      [...kept.values()].flatMap(({ element, details }) => [element, details]),
    );
  }
}
