// A host that goes away and comes back, with other resources and while something is open.

import { ask, ensure, isLive, open, says, view, withBrowser } from './harness.mjs';

await withBrowser(async (browser) => {
  const { page, complaints } = await open(browser, { fragment: '#resources?read=x%3A%2F%2Fnote' });
  await isLive(page);
  const contents = page.locator('#reader-contents');
  await says(contents, 'before');
  const unsaid = page.getByRole('link', { name: 'Added later' });
  ensure((await unsaid.count()) === 0, 'it is there already');

  await ask('stop');
  await says(page.locator('#link'), /^Not connected since \d\d:\d\d:\d\d/);
  await says(contents, 'before');
  ensure((await page.title()).startsWith('Not connected'), await page.title());
  await view(page, 'Overview');
  await says(page.locator('#headline'), 'Not connected');

  await ask('start');
  await isLive(page);
  await says(page.locator('#headline'), 'Not ready');
  await says(page.locator('#why'), /absent .*required/);
  await says(page.locator('#reader-contents mark'), 'after');
  await view(page, 'Resources');
  await unsaid.waitFor();

  // It is heard again, and watches what is open.
  await page.getByRole('link', { name: 'live://log' }).click();
  await says(contents, 'subscribe live://log');
  // That nobody answers meanwhile is all that there is to complain of.
  const others = complaints.filter(
    (text) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/.test(text),
  );
  ensure(others.length === 0, others.join('\n'));
  await ask('done');
});
