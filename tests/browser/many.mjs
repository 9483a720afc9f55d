// Ten thousand resources: the list scrolls, the filter finds, and the document stays small.

import { ask, calm, ensure, isLive, open, says, withBrowser } from './harness.mjs';

const NUMBER = 10_000;
/** Rows that exist at a time: of a screen, and some beyond its edges. */
const MOST_ROWS = 120;

await withBrowser(async (browser) => {
  const { page, complaints } = await open(browser, { fragment: '#resources' });
  await isLive(page);
  await says(page.locator('#resources-count'), '10,000');
  const table = page.getByRole('table', { name: 'Resources' });
  const rows = page.locator('#resources-rows tbody tr[data-key]');
  ensure((await table.getAttribute('aria-rowcount')) === String(NUMBER + 1), 'the whole number is told');
  ensure((await rows.count()) <= MOST_ROWS, `${await rows.count()} rows`);

  // To the end, the middle and back.
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  const last = page.locator('tr[data-key="texts://entry/009999"]');
  await last.waitFor();
  ensure((await last.getAttribute('aria-rowindex')) === String(NUMBER + 1), 'the last row');
  ensure((await rows.count()) <= MOST_ROWS, `${await rows.count()} rows`);
  const box = await last.boundingBox();
  ensure(box.y + box.height <= 800, 'the last row can be seen');
  await page.mouse.wheel(0, -56 * 5000);
  await page.waitForFunction(() => {
    const first = document.querySelector('#resources-rows tr[data-key]');
    const index = Number(first.getAttribute('aria-rowindex'));
    return index > 4000 && index < 6000;
  });
  await page.evaluate(() => scrollTo(0, 0));
  await page.locator('tr[data-key="texts://new/256"]').waitFor();

  // The filter, by several words in any order; and it is in the address.
  const filter = page.getByRole('searchbox', { name: 'Filter' });
  await filter.fill('entry 7777');
  await says(page.locator('#resources-count'), '1 of 10,000');
  ensure((await rows.count()) === 1, 'one fits');
  await page.reload();
  await says(page.locator('#resources-count'), '1 of 10,000');
  await filter.press('ArrowDown');
  await page.keyboard.press('Enter');
  await says(page.locator('#reader-state'), 'not-found');
  await filter.fill('nothing such');
  await says(page.locator('#resources-rows'), 'There is none.');
  await filter.fill('');
  await says(page.locator('#resources-count'), /^10,000$/);

  // The keyboard goes on where no row has been yet, by Tab and by arrow.
  await filter.focus();
  await filter.press('ArrowDown');
  const at = () => page.evaluate(() => Number(document.activeElement.closest('tr')?.getAttribute('aria-rowindex')));
  for (let pressed = 0; pressed < 80; pressed++) {
    await page.keyboard.press('Tab');
    await page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));
  }
  ensure((await at()) === 82, `after 80 times Tab it is at row ${await at()}`);
  for (let pressed = 0; pressed < 20; pressed++) await page.keyboard.press('PageDown');
  ensure((await at()) === 282, `after 20 pages it is at row ${await at()}`);
  const seen = await page.evaluate(() => document.activeElement.getBoundingClientRect());
  ensure(seen.top > 0 && seen.bottom < 800, 'what has the focus can be seen');

  // What has the focus keeps it when it is scrolled out of sight.
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  await last.waitFor();
  ensure((await at()) === 282, 'the focus is lost');
  ensure((await rows.count()) <= MOST_ROWS, `${await rows.count()} rows`);
  calm(complaints);
  await ask('done');
});
