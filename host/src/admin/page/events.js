// The stream of what happens: the newest first, bounded, to be filtered and paused.
//
// Of each kind the last ones are kept, so that many calls do not push out the one denial. While it is paused nothing is lost that would
// have been kept, and nothing on the screen moves.

import { byId, copier, el, place, say, set, throttled } from './dom.js';
import { isFault } from './charts.js';
import { count, harmless, moment, number, took } from './text.js';

const KEPT = 500;
const SHOWN = 300;
/** As often as the list is drawn. */
const DRAW_MS = 200;

const KINDS = {
  calls: { name: 'Calls', has: ['call'] },
  updates: { name: 'Updates', has: ['updated', 'list-changed'] },
  reloads: { name: 'Reloads', has: ['loaded', 'refused', 'restored', 'gone', 'down', 'up'] },
  denials: { name: 'Denials', has: ['denied'] },
  connections: { name: 'Connections', has: ['opened', 'closed', 'began', 'ended'] },
  host: { name: 'Host', has: ['notice', 'lost', 'hello'] },
};

function connection({ kind, id, number: pipe, name, version, peer }) {
  if (kind === 'session') return `session ${harmless(id)}…`;
  if (kind === 'pipe') return `pipe ${pipe}`;
  return `${harmless(name, 100)} ${harmless(version, 40)}${peer ? ` from ${harmless(peer)}` : ''}`;
}

/** The lines of wharf.toml that would allow what was denied. */
export function allowing(provider, line) {
  return `[[provider]]\nname = ${JSON.stringify(provider)}\n[provider.grants]\n${line}\n`;
}

/** The lines that would allow it, and a button that copies them with the provider they are for. */
export function allowance(provider, line) {
  const code = el('code', { class: 'toml' }, `[provider.grants]\n${harmless(line, 1000)}`);
  return el('div', { class: 'allow' }, code, copier(allowing(provider, line), code));
}

/** What of an event is said: of whom, what, about which resource, and whether it is bad. */
function told(kind, data) {
  const of = data.provider;
  switch (kind) {
    case 'call':
      return { of, what: `${data.call} ${took(data.tookUs)}`, uri: data.uri, outcome: data.outcome, bad: isFault(data.outcome) };
    case 'updated':
      return data.uri === null ? { of, what: 'all its resources changed' } : { of, what: 'changed', uri: data.uri };
    case 'list-changed':
      return { of, what: 'its lists changed' };
    case 'loaded': {
      const holds = `${number(data.resources, 'resource')}, ${number(data.templates, 'template')}`;
      return {
        of,
        what: `${data.replaced ? `replaced by generation ${data.generation}` : 'loaded'} in ${count(data.tookMs)} ms: ${holds}`,
      };
    }
    case 'refused':
      return {
        of,
        what: `refused${data.serving ? ', the last good version goes on serving' : ''}: ${harmless(data.reason, 1000)}`,
        bad: true,
      };
    case 'restored':
      return { of, what: 'its file is again what is served' };
    case 'gone':
      return { of, what: 'its file is gone', bad: true };
    case 'down':
      return { of, what: 'its instance died', bad: true };
    case 'up':
      return { of, what: 'a fresh instance is up' };
    case 'denied':
      return { of, what: 'was denied what this would allow:', bad: true, line: data.line };
    case 'opened':
      return { what: `opened a stream: ${connection(data.connection)}` };
    case 'closed':
      return { what: `closed a stream: ${connection(data.connection)}` };
    case 'began':
      return { what: `began: ${connection(data.connection)}` };
    case 'ended':
      return { what: `ended: ${connection(data.connection)}` };
    case 'notice':
      return { what: harmless(data.message, 1000), bad: data.warning };
    case 'lost':
      return { what: `${number(data.count, 'event')} came too fast for this page`, bad: true };
    case 'hello':
      return { what: `connected to Wharf ${harmless(data.version, 40)}` };
    default:
      return { of, what: harmless(kind, 40) };
  }
}

export class Events {
  /** `go` leads to what a route holds. */
  constructor(go) {
    this.go = go;
    this.kept = new Map();
    this.number = 0;
    this.paused = null;
    this.since = 0;
    this.route = { q: '', off: new Set() };
    this.list = byId('events-list');
    this.draw = throttled(() => this.now(), DRAW_MS);
    this.boxes = Object.entries(KINDS).map(([id, { name }]) => {
      const box = el('input', { type: 'checkbox', value: id, checked: true });
      box.addEventListener('change', () => this.chosen());
      byId('kinds').append(el('label', {}, box, el('span', {}, name)));
      return box;
    });
    this.filter = byId('events-filter');
    this.filter.addEventListener('input', () => this.chosen());
    this.pause = byId('pause');
    this.pause.addEventListener('click', () => {
      this.paused = this.paused === null ? this.all() : null;
      this.since = 0;
      set(this.pause, 'aria-pressed', this.paused !== null);
      this.now();
    });
  }

  add(kind, data) {
    const group = Object.keys(KINDS).find((id) => KINDS[id].has.includes(kind)) ?? 'host';
    const kept = this.kept.get(group) ?? [];
    this.kept.set(group, kept);
    kept.push({ number: (this.number += 1), group, kind, data, element: null, text: null });
    if (kept.length > 2 * KEPT) kept.splice(0, KEPT);
    if (this.paused !== null) this.since += 1;
    this.draw();
  }

  all() {
    return [...this.kept.values()].flatMap((kept) => kept.slice(-KEPT)).sort((a, b) => b.number - a.number);
  }

  chosen() {
    const off = this.boxes.filter((box) => !box.checked).map((box) => box.value);
    this.go({ q: this.filter.value, off: off.join(' ') }, true);
  }

  /** Shows what this part of the route says. */
  at({ q, off }) {
    this.route = { q: q.toLowerCase(), off: new Set(off.split(' ')) };
    if (this.filter.value !== q) this.filter.value = q;
    for (const box of this.boxes) box.checked = !this.route.off.has(box.value);
    this.now();
  }

  now() {
    if (this.list.offsetParent === null && !byId('events').offsetParent) return;
    const { q, off } = this.route;
    const from = this.paused ?? this.all();
    const fitting = from.filter((event) => !off.has(event.group) && (!q || this.textOf(event).includes(q)));
    place(
      this.list,
      fitting.slice(0, SHOWN).map((event) => (event.element ??= this.row(event))),
    );
    byId('events-none').hidden = fitting.length > 0;
    say(byId('events-none'), from.length === 0 ? 'Nothing has happened since this page was opened.' : 'No event fits.');
    const more = fitting.length > SHOWN ? `the newest ${count(SHOWN)} of ${count(fitting.length)}` : number(fitting.length, 'event');
    say(byId('events-count'), this.paused === null ? more : `${more}, ${count(this.since)} since the pause`);
    say(this.pause, this.paused === null ? 'Pause' : 'Go on');
  }

  textOf(event) {
    event.text ??= `${event.kind} ${JSON.stringify(event.data)}`.toLowerCase();
    return event.text;
  }

  row({ group, kind, data }) {
    const { of, what, uri, outcome, bad, line } = told(kind, data);
    return el(
      'li',
      { class: bad ? 'bad' : null, 'data-group': group },
      el('time', { datetime: data.at, title: data.at }, moment(data.at)),
      el('span', { class: 'tag' }, KINDS[group].name.replace(/s$/, '')),
      el(
        'div',
        { class: 'what' },
        of && el('bdi', { class: 'of' }, harmless(of)),
        ' ',
        what,
        outcome && [' ', el('span', { class: `outcome ${bad ? 'bad' : ''}` }, outcome)],
        uri && [' ', el('a', { class: 'uri', href: `#events?${new URLSearchParams({ read: uri })}`, 'data-read': uri }, harmless(uri))],
        line && allowance(of, line),
      ),
    );
  }
}
