// The contract fixture in TypeScript: the same resources as in every other language, so that one test drives them all.

import * as timers from 'wharf:provider/timers@0.1.0';
import {
  type Annotations, Denied, Failed, type Icon, Invalid, NotFound, Provider, Reading, type Request, text, Unavailable,
} from './wharf/wharf.js';

const ERRORS = new Map([['not-found', NotFound], ['invalid', Invalid], ['denied', Denied], ['unavailable', Unavailable], ['failed', Failed]]);
const ICON: Icon = { src: 'data:image/png;base64,AAAA', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' };
const ANNOTATIONS: Annotations = { audience: ['user', 'assistant'], priority: 0.5, lastModified: 1700000000000 };
const META = { 'contract/x': 1 };
const WORDS = ['alpha', 'beta', 'gamma'];

const provider = new Provider({ timers }).pageSize(1);
let count = 0;

provider.resource('contract://full').title('Everything').describe('Every field that a list can carry.').mimeType('text/plain').size(5)
  .icon(ICON).annotations(ANNOTATIONS).meta(META).subscribable()
  .read(() => new Reading('hello', { version: '1', reuse: 1000 }));

provider.resource('contract://utf8').mimeType('text/plain').subscribable()
  .read(() => text(Uint8Array.of(103, 114, 0xc3, 0xbc, 0xc3, 0x9f, 101, 44, 32, 0xe4, 0xb8, 0x96, 0xe7, 0x95, 0x8c)));

provider.resource('contract://blob').mimeType('application/octet-stream').subscribable()
  .read(() => Uint8Array.from({ length: 256 }, (_, byte) => byte));

provider.resource('contract://two').mimeType('text/plain').subscribable()
  .read(() => new Reading([text('one'), text('two', { uri: 'contract://two/part', mimeType: 'text/markdown', meta: { 'contract/part': 2 } })]));

provider.resource('contract://count').mimeType('text/plain')
  .subscribable(
    () => provider.every('count', 100, () => {
      count += 1;
      provider.updated('contract://count');
    }),
    () => provider.cancel('count'),
  )
  .read(() => String(count));

provider.resource('contract://setting').mimeType('text/plain').subscribable()
  .read(() => provider.setting('greeting') ?? 'none');

provider.template('contract://echo/{word}{?from,to}').title('Echo').describe('What the URI says.').mimeType('text/plain')
  .icon(ICON).annotations(ANNOTATIONS).meta(META).subscribable()
  .complete('word', WORDS)
  .complete('from', (_value, known) => (known.word === undefined ? [] : [known.word]))
  .read(({ variables: { word, from = '-', to = '-' } }) => `word=${word} from=${from} to=${to}`);

provider.template('contract://path/{+path}').subscribable()
  .read(({ variables: { path } }) => path);

provider.template('contract://error/{kind}').subscribable(fail)
  .read(fail);

provider.template('contract://do/{what}').subscribable()
  .read(({ variables: { what } }) => {
    switch (what) {
      case 'trap':
        console.error('about to die');
        return 'never seen';
      case 'loop':
        for (;;);
      case 'allocate':
        for (const all: Uint8Array[] = []; ; ) all.push(new Uint8Array(1 << 20).fill(1));
      case 'stderr':
        console.error('a line from the guest');
        return 'done';
      case 'random':
        return String(Math.random());
      case 'now':
        return String(Date.now());
      case 'announce':
        provider.updated('contract://setting');
        return 'done';
      default:
        throw new NotFound();
    }
  });

function fail({ variables: { kind } }: Request<{ kind: string }>): never {
  throw new (ERRORS.get(kind) ?? NotFound)(`as asked: ${kind}`);
}

export const { subscriptions, completions, timerHandler } = provider;

export const resources = {
  ...provider.resources,
  read(request: { uri: string }) {
    const answer = provider.resources.read(request);
    // The SDK catches what a handler throws, so this is thrown past it.
    if (request.uri === 'contract://do/trap') throw new Error('as asked');
    return answer;
  },
};
