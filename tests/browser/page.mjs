// Loads, says what there is, shows an update as it comes, and fits on a phone.

import { LIMIT_MS, ask, calm, ensure, isLive, open, read, says, view, withBrowser } from './harness.mjs';

/** What the test writes. */
const NOTE = 'file:///docs/note.txt';
const VIEWS = ['overview', 'resources', 'subscriptions', 'events'];

await withBrowser(async (browser) => {
  const { page, complaints } = await open(browser);
  await isLive(page);
  await says(page.locator('#headline'), /^Ready$/);
  const row = page.locator('table.providers tbody tr', { has: page.getByRole('button', { name: 'live' }) }).first();
  await says(row, 'serving');
  await row.getByRole('button', { name: 'live' }).click();
  await says(page.locator('tr.details:visible'), /generation 1/);
  ensure(new URL(page.url()).hash === '#overview?provider=live', page.url());

  // What was denied, with the line that would allow it.
  await view(page, 'Events');
  await isDenied();
  await says(page.locator('#events-list li.bad', { hasText: 'was denied' }), 'state = "1MiB"');
  await view(page, 'Overview');
  await says(page.locator('#matters li'), 'state = "1MiB"');

  // A list that grows, by a component that is dropped in.
  await view(page, 'Resources');
  await page.getByRole('link', { name: 'docs/note.txt' }).waitFor();
  await ask('drop basic');
  await page.getByRole('link', { name: 'Full' }).waitFor();

  // A resource that changes while it is open.
  const contents = page.locator('#reader-contents');
  await page.getByRole('link', { name: 'docs/note.txt' }).click();
  await says(contents, 'one');
  await says(page.locator('#reader-state'), 'followed');
  await ask('change the note');
  await says(contents.locator('mark'), 'two');
  await says(page.locator('#reader-state'), /^Changed at .*1 line new/);
  ensure((await contents.locator('mark').count()) === 1, 'only what is new is marked');
  ensure(new URL(page.url()).hash.includes(`read=${encodeURIComponent(NOTE)}`), page.url());

  // Who is subscribed to it, and that the page is among them.
  await view(page, 'Subscriptions');
  await says(page.locator(`#subscriptions-rows tr[data-key="${NOTE}"]`), 'with this page');

  // A link leads to the same, and so does a reload.
  await page.reload();
  await says(contents, 'two');
  await says(page.locator('#views [aria-current="page"]'), 'Subscriptions');

  // Other kinds of contents.
  await shown(page, 'x://json', '"deep": {\n    "number": 12345678901234567890.10\n  }');
  await shown(page, 'x://markdown', '# No heading');
  ensure((await contents.locator('h1, strong').count()) === 0, 'Markdown is text');
  await go(page, 'handbook://wharf/logo');
  await contents.locator('img').waitFor();
  ensure(await contents.locator('img').evaluate((image) => image.decode().then(() => image.naturalWidth === 96)), 'the image');
  await shown(page, 'x://long', 'the first 5,000 lines');
  await go(page, 'x://nobody');
  await says(page.locator('#reader-state'), 'not-found');

  // A pause holds the list, and what happens meanwhile is counted.
  await view(page, 'Events');
  await page.getByRole('button', { name: 'Pause' }).click();
  const newest = await page.locator('#events-list li').first().textContent();
  await read('live://ticks');
  await says(page.locator('#events-count'), /[1-9]\d* since the pause/);
  ensure((await page.locator('#events-list li').first().textContent()) === newest, 'it moved');
  await page.getByRole('button', { name: 'Go on' }).click();
  await says(page.locator('#events-list li'), 'live://ticks');
  await page.locator('#events-filter').fill('live://ticks');
  await page.getByLabel('Updates').uncheck();
  await page.waitForFunction(() =>
    [...document.querySelectorAll('#events-list li')].every((row) => row.textContent.includes('live://ticks')),
  );
  ensure(new URL(page.url()).hash.includes('q=live') && new URL(page.url()).hash.includes('off=updates'), page.url());

  await named(page);
  calm(complaints);

  // On a phone of 320 px, in the dark.
  const phone = await open(browser, { viewport: { width: 320, height: 640 }, colorScheme: 'dark', fragment: '#overview?provider=live' });
  await isLive(phone.page);
  for (const name of VIEWS) {
    await phone.page.evaluate((name) => (location.hash = `#${name}`), name);
    await phone.page.locator(`#${name}`).waitFor();
    await fits(phone.page, name);
  }
  await phone.page.evaluate(() => (location.hash = '#resources?read=x%3A%2F%2Fjson'));
  await says(phone.page.locator('#reader-contents'), 'deep');
  await fits(phone.page, 'the reader');
  ensure(await phone.page.locator('main').isHidden(), 'the reader has the whole of a phone');
  await phone.page.getByRole('button', { name: 'Close' }).click();
  ensure(await phone.page.locator('#resources').isVisible(), 'and gives it back');
  await phone.page.evaluate(() => (location.hash = '#resources?read=x%3A%2F%2Fjson'));
  await says(phone.page.locator('#reader-contents'), 'deep');
  await view(phone.page, 'Events');
  await phone.page.locator('#events').waitFor();
  const ground = await phone.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  ensure(
    ground.match(/\d+/g).every((part) => Number(part) < 64),
    `dark is ${ground}`,
  );
  calm(phone.complaints);

  await ask('done');
});

async function isDenied() {
  await read('grants://get/key').then(
    () => ensure(false, 'it is granted'),
    () => null,
  );
}

async function go(page, uri) {
  await page.locator('#reader-uri').fill(uri);
  await page.locator('#reader-uri').press('Enter');
}

async function shown(page, uri, text) {
  await go(page, uri);
  await page.waitForFunction((text) => document.querySelector('#reader-contents').textContent.includes(text), text);
}

async function fits(page, what) {
  const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  ensure(wide <= screen, `${what} is ${wide} px wide on ${screen}`);
}

/** The roles and names that a screen reader has of each view. */
async function named(page) {
  const expected = {
    overview: [
      /heading "Ready" \[level=2\]/,
      /heading "Needs attention" \[level=3\]/,
      /table "Providers/,
      /columnheader "State"/,
      /rowheader "live"/,
      /img "In two minutes/,
    ],
    resources: [
      /search "Resources"/,
      /searchbox "Filter"/,
      /radio "Shadowed"/,
      /table "Resources"/,
      /columnheader "Provider"/,
      /link "live:\/\/log"/,
    ],
    subscriptions: [/table "Subscriptions"/],
    events: [/group "Kinds"/, /checkbox "Denials"/, /button "Pause"/, /list "Events, the newest first"/],
  };
  await go(page, 'x://json');
  for (const [name, patterns] of Object.entries(expected)) {
    await page.evaluate((name) => (location.hash = `#${name}?read=x%3A%2F%2Fjson`), name);
    await page.locator(`#${name}`).waitFor();
    // What a view shows first, it shows when its first answer is there.
    for (const pattern of patterns) await has(page, name, pattern);
    const snapshot = await page.locator('body').ariaSnapshot();
    for (const pattern of [
      /- banner/,
      /- main/,
      /navigation "Views"/,
      /heading ".*Wharf.*" \[level=1\]/,
      /status: Live/,
      /complementary "/,
      /textbox "URI"/,
    ]) {
      ensure(pattern.test(snapshot), `${name} has no ${pattern}: ${snapshot}`);
    }
    const nameless = snapshot
      .split('\n')
      .filter((line) => /- (link|button|textbox|searchbox|checkbox|radio|img|table)(:|$| \[)/.test(line));
    ensure(nameless.length === 0, `without a name in ${name}: ${nameless.join(', ')}`);
  }
}

async function has(page, name, pattern) {
  const until = Date.now() + LIMIT_MS;
  for (;;) {
    const snapshot = await page.locator('body').ariaSnapshot();
    if (pattern.test(snapshot)) return;
    ensure(Date.now() < until, `${name} has no ${pattern}: ${snapshot}`);
    await page.evaluate(() => new Promise((next) => requestAnimationFrame(next)));
  }
}
