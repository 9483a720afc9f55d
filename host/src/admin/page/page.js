// Puts the page together: the route, what is asked when, and who hears of what.
//
// The fragment is the route, `#VIEW?key=value`: `read` the resource that is open, `template` the
// one to be filled in, `provider` the one whose details are, `q` a filter,
// `which` a list of resources, `off` the kinds of events that are not shown. So a link leads others to the same, and a reload changes nothing.

import { Charts } from './charts.js';
import { byId, el, say, set, throttled } from './dom.js';
import { Events } from './events.js';
import { Live, ask } from './live.js';
import { Overview } from './overview.js';
import { Providers } from './providers.js';
import { Reader } from './reader.js';
import { Resources, Subscriptions } from './resources.js';
import { harmless, moment } from './text.js';

/** As often as the status and the list are asked for, however much happens. */
const [STATUS_MS, LIST_MS] = [1000, 1000];
/** Without an event: memory, queues and the time go on. */
const IDLE_MS = 5000;
const CHART_MS = 1000;
const VIEWS = ['overview', 'resources', 'subscriptions', 'events'];
const DEFAULTS = { read: null, template: null, provider: null, q: '', which: 'resources', off: '' };
/** What is said of them is in the list. */
const LISTS = new Set(['loaded', 'list-changed', 'gone', 'restored', 'up']);
const TOLD = { refused: 'was refused', gone: 'is gone', down: 'died', denied: 'was denied something', loaded: 'was loaded' };

function parse(fragment) {
  const [view, query] = fragment.replace(/^#/, '').split(/\?(.*)/s);
  const route = { view: VIEWS.includes(view) ? view : 'overview', ...DEFAULTS };
  for (const [key, value] of new URLSearchParams(query ?? '')) if (Object.hasOwn(DEFAULTS, key)) route[key] = value || DEFAULTS[key];
  return route;
}

function written(route) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(DEFAULTS)) {
    const said = route[key] ?? value;
    if (said !== value && said !== null) query.set(key, said);
  }
  return `#${route.view}${query.size > 0 ? `?${query}` : ''}`;
}

let route = parse(location.hash);
let status = null;
let hello = null;
let lostSince = null;
let opener = null;

/** Goes to what differs from now; `quietly` without a step in the history. */
function go(changes, quietly = false) {
  const next = written({ ...route, ...changes });
  if (next === location.hash) return;
  if (quietly) history.replaceState(null, '', next);
  else history.pushState(null, '', next);
  show();
}
/** The fragment of it: another view begins without what was filtered, and keeps what is open. */
go.to = (target) => written({ read: route.read, ...target });

const overview = new Overview();
const providers = new Providers(go);
const resources = new Resources(go);
const subscriptions = new Subscriptions(go);
const events = new Events(go);
const reader = new Reader(go, (uri) => resources.entry(uri));
const charts = new Charts();
byId('charts').append(...charts.element);

function show(moved = true) {
  const before = route;
  route = parse(location.hash);
  for (const view of VIEWS) byId(view).hidden = view !== route.view;
  for (const link of document.querySelectorAll('a[data-view]')) {
    // On a phone the reader has all of the screen, and another view takes its place.
    set(link, 'href', go.to({ view: link.dataset.view, ...(narrow() ? { read: null } : {}) }));
    if (link.closest('nav')) set(link, 'aria-current', link.dataset.view === route.view ? 'page' : null);
  }
  const [open, was] = [route, before].map(({ read, template }) => read ?? template);
  if (open !== null && was === null) opener = { y: scrollY, from: document.activeElement };
  reader.at(route.read, route.template);
  byId('frame').classList.toggle('reading', open !== null);
  live.watch(route.read);
  resources.rows.mark(open);
  subscriptions.rows.mark(open);
  providers.at(route.provider);
  if (route.view === 'resources') resources.at(route);
  if (route.view === 'subscriptions') subscriptions.at(route);
  if (route.view === 'events') events.at(route);
  if (!moved) return;
  if (open !== null && open !== was) {
    reader.focus();
    if (narrow()) scrollTo(0, 0);
  } else if (was !== null && open === null) {
    closed(was);
  }
  if (before.view !== route.view) scrollTo(0, 0);
}

function narrow() {
  return getComputedStyle(byId('frame')).getPropertyValue('--narrow').trim() === '1';
}

/** Where the reader was opened from has the focus again. */
function closed(uri) {
  if (opener && narrow()) scrollTo(0, opener.y);
  resources.rows.draw();
  subscriptions.rows.draw();
  const rows = { resources, subscriptions }[route.view]?.rows;
  const back =
    rows?.find(uri)?.querySelector('a, button') ?? (opener?.from?.isConnected ? opener.from : null) ?? byId(route.view).querySelector('h2');
  back.focus({ preventScroll: true });
  opener = null;
}

function link(state, text) {
  set(byId('link'), 'data-state', state);
  say(byId('link'), text);
  document.body.classList.toggle('lost', state === 'lost');
}

const askStatus = throttled(async () => {
  try {
    status = await ask('/status');
  } catch {
    // The stream tells whether the host is there; the next wish asks again.
    return;
  }
  if (lostSince !== null) return;
  overview.show(status);
  providers.show(status.providers);
  subscriptions.set(status, live.current?.watched ?? null);
}, STATUS_MS);

const askList = throttled(async () => {
  try {
    resources.set(await ask('/resources'));
  } catch {
    return;
  }
  reader.describe();
}, LIST_MS);

const live = new Live({
  event(kind, data) {
    if (kind === 'call') charts.add(data);
    events.add(kind, data);
    reader.heard(kind, data);
    if (LISTS.has(kind)) askList();
    askStatus();
    if (kind in TOLD) say(byId('said'), `${harmless(data.provider, 100)} ${TOLD[kind]}`);
  },

  up(said, watched) {
    const again = hello !== null && hello.started !== said.started;
    const back = lostSince !== null;
    if (hello !== null && hello.version !== said.version) renewed(said.version);
    if (hello === null || again || back) events.add('hello', said);
    // What changed while nobody listened is not told.
    if (hello === null || again || back) askList();
    if (watched !== null) reader.notWatched(null);
    if (again || back || watched !== null) reader.read();
    hello = said;
    lostSince = null;
    say(byId('version'), harmless(said.version, 40));
    link('live', 'Live');
    askStatus();
  },

  down(why) {
    lostSince ??= new Date();
    link('lost', `Not connected since ${moment(lostSince)}: ${harmless(why)}`);
    overview.lost(lostSince);
  },

  unwatched(why) {
    reader.notWatched(why);
  },
});

function renewed(version) {
  const button = el('button', { type: 'button' }, 'Load it again');
  button.addEventListener('click', () => location.reload());
  byId('renewed').replaceChildren(`The host is Wharf ${harmless(version, 40)} now, and this page is of an earlier one. `, button);
  byId('renewed').hidden = false;
}

addEventListener('hashchange', () => show());
addEventListener('popstate', () => show());
document.addEventListener('click', (event) => {
  const opens = event.target.closest('a[data-read]');
  if (!opens || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  // With what is filtered now: its address, made earlier, is for other tabs.
  event.preventDefault();
  go({ read: opens.dataset.read, template: null });
});
byId('skip').addEventListener('click', (event) => {
  event.preventDefault();
  byId('content').focus();
});
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'visible') return;
  askStatus();
  askList();
});
setInterval(() => document.visibilityState === 'visible' && lostSince === null && askStatus(), IDLE_MS);
setInterval(() => document.visibilityState === 'visible' && route.view === 'overview' && charts.draw(), CHART_MS);

show(false);
charts.draw();
live.open();
