// What is to be known at a glance: whether the host is ready and why not, how much it holds, and what needs attention.

import { byId, el, place, say, set } from './dom.js';
import { allowance } from './events.js';
import { count, harmless, moment, number, span } from './text.js';

/** As many as are shown before one asks for all. */
const SHOWN = 6;
const FIGURES = [
  ['Providers serve', ({ providers }) => `${providers.filter(serves).length} of ${providers.length}`, 'overview'],
  ['Resources', ({ providers }) => count(providers.reduce((sum, { resources }) => sum + resources, 0)), 'resources'],
  ['Subscriptions', ({ subscriptions }) => count(subscriptions.length), 'subscriptions'],
  ['Listeners', ({ listeners }) => count(listeners), 'subscriptions'],
  ['Sessions', ({ sessions }) => count(sessions), 'subscriptions'],
];

function serves({ state }) {
  return state === 'serving';
}

/** Why a provider does not serve, or what is wrong although it does. */
function trouble({ state, reason, required }) {
  const must = required ? ', and it is required' : '';
  if (state === 'serving') return reason ? `its newest version was refused, and the last good one goes on: ${harmless(reason, 600)}` : null;
  if (state === 'loading') return `is loading${must}`;
  if (state === 'restarting') return `is restarting after its instance died${must}`;
  if (state === 'parked') return `keeps dying, and pauses before the next try${must}${reason ? `: ${harmless(reason, 600)}` : ''}`;
  if (state === 'gone') return `has no file${must}`;
  return `is ${harmless(state)}${must}${reason ? `: ${harmless(reason, 600)}` : ''}`;
}

/** What needs attention, with a key that tells one from the other. */
function matters({ providers }) {
  const [wrongs, denials] = [[], []];
  for (const provider of providers) {
    const of = () => el('bdi', { class: 'of' }, harmless(provider.name));
    const wrong = trouble(provider);
    const bad = provider.state !== 'serving' && provider.state !== 'loading';
    if (wrong)
      wrongs.push({ key: `${provider.name} ${wrong}`, make: () => el('li', { class: bad ? 'bad' : null }, el('p', {}, of(), ' ', wrong)) });
    for (const { line, times } of provider.denied) {
      const said = `was denied, ${number(times, 'time')}, what this would allow:`;
      const make = () => el('li', {}, el('p', {}, of(), ' ', el('span', { class: 'times' }, said)), allowance(provider.name, line));
      denials.push({ key: `${provider.name} ${line}`, said, make });
    }
  }
  return [...wrongs, ...denials];
}

export class Overview {
  constructor() {
    this.rows = new Map();
    this.all = false;
    this.status = null;
    byId('attention-all').addEventListener('click', () => {
      this.all = !this.all;
      this.show(this.status);
    });
    this.figures = FIGURES.map(([name, value, view]) => {
      const shown = el('strong', {}, '\u2013');
      byId('figures').append(el('li', {}, el('a', { href: `#${view}`, 'data-view': view }, shown, ' ', el('span', {}, name))));
      return (status) => say(shown, value(status));
    });
  }

  show(status) {
    this.status = status;
    for (const figure of this.figures) figure(status);
    const lead = byId('lead');
    set(lead, 'data-state', status.ready ? 'good' : 'bad');
    say(byId('headline'), status.ready ? 'Ready' : 'Not ready');
    say(byId('why'), why(status));
    document.title = `${status.ready ? 'Ready' : 'Not ready'} \u00b7 Wharf`;
    const every = matters(status);
    const found = this.all ? every : every.slice(0, SHOWN);
    byId('attention').hidden = every.length === 0;
    byId('attention-all').hidden = every.length <= SHOWN;
    say(byId('attention-all'), this.all ? 'Show fewer' : `Show all ${count(every.length)}`);
    const kept = new Map();
    const items = found.map(({ key, said, make }) => {
      const item = this.rows.get(key) ?? make();
      if (said) say(item.querySelector('.times'), said);
      kept.set(key, item);
      return item;
    });
    this.rows = kept;
    place(byId('matters'), items);
  }

  lost(since) {
    set(byId('lead'), 'data-state', 'wait');
    say(byId('headline'), 'Not connected');
    say(byId('why'), `Since ${moment(since)}. What is below is what the host said last; the page tries again by itself.`);
    document.title = 'Not connected \u00b7 Wharf';
  }
}

function why({ ready, notReady, providers, started, uptimeSeconds }) {
  const since = `Up for ${span(uptimeSeconds * 1000)}, since ${moment(started)}.`;
  if (!ready && notReady.length === 0) return `It has not looked yet which providers there are. ${since}`;
  if (!ready) {
    const named = notReady.slice(0, 5).map((name) => {
      const provider = providers.find((one) => one.name === name);
      return `${harmless(name, 100)} ${provider ? (trouble(provider) ?? 'does not serve') : 'is not there, and it is required'}`;
    });
    return `${named.join('. ')}. ${notReady.length > 5 ? `So are ${notReady.length - 5} others. ` : ''}${since}`;
  }
  const required = providers.filter((provider) => provider.required).length;
  const idle = providers.filter((provider) => !serves(provider)).length;
  const spared =
    idle === 1 ? '1 provider does not serve, and is not required.' : `${count(idle)} providers do not serve, none of them required.`;
  const serving = idle === 0 ? 'Every provider serves.' : spared;
  return `${idle > 0 && required > 0 ? 'All that is required serves. ' : ''}${serving} ${since}`;
}
