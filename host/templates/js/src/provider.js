// `{{name}}`, a Wharf provider: what it offers. What the resources hold is in content.js.

import * as timers from 'wharf:provider/timers@0.1.0';
import * as random from 'wasi:random/random@0.2.0';
import * as stderr from 'wasi:cli/stderr@0.2.0';
import { greeting, Seconds, SENTENCE } from './content.js';
import { Provider } from './wharf/wharf.js';

const SECONDS = '{{scheme}}://seconds';
const EVERY_SECOND = 1000; // milliseconds

// With these the SDK can start timers, Math.random differs each time, and `console.log` shows up in `wharf dev`.
const provider = new Provider({ timers, random, stderr });

// Calls come one at a time, all to this one instance, which lives until the next reload: what one call leaves here is there in the next.
const counted = new Seconds();

provider.resource('{{scheme}}://sentence')
  .title('A sentence')
  .mimeType('text/plain')
  .subscribable() // It changes only when its source does, and the host tells of that by itself.
  .read(() => SENTENCE);

provider.resource(SECONDS)
  .title('How long somebody has been subscribed')
  .mimeType('text/plain')
  .subscribable(
    // For the first that subscribes, not for each. No call may wait, so time comes from the host.
    () => provider.every('seconds', EVERY_SECOND, () => {
      counted.tick();
      provider.updated(SECONDS);
    }),
    // When nobody is left.
    () => provider.cancel('seconds'),
  )
  .read(() => counted.text());

provider.template('{{scheme}}://greeting/{name}')
  .title('A greeting for anybody')
  .mimeType('text/plain')
  .subscribable()
  .complete('name', ['Ada', 'Grace', 'world'])
  .read(({ variables: { name } }) => greeting(name));

// What wit/world.wit exports.
export const { resources, subscriptions, completions, timerHandler } = provider;
