// The whole page without a mouse.

import { ask, calm, ensure, isLive, open, says, withBrowser } from './harness.mjs';

await withBrowser(async (browser) => {
  const { page, complaints } = await open(browser);
  await isLive(page);
  const focus = () =>
    page.evaluate(() => {
      const element = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const ring = outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2;
      return { name: (element.labels?.[0]?.textContent ?? element.textContent).trim(), id: element.id, tag: element.tagName, ring };
    });
  /** Presses Tab until this has the focus; each stop on the way can be seen. */
  const until = async (name) => {
    const passed = [];
    for (let pressed = 0; pressed < 60; pressed++) {
      await page.keyboard.press('Tab');
      const now = await focus();
      passed.push(now.name.slice(0, 20));
      // A choice shows its ring on the word beside it.
      if (now.tag !== 'INPUT') ensure(now.ring, `the focus cannot be seen on ${JSON.stringify(now)}`);
      if (now.name === name || now.id === name) return;
    }
    ensure(false, `Tab leads to ${passed.join(', ')}, and not to ${name}`);
  };

  await until('Skip to the content');
  await page.keyboard.press('Enter');
  ensure((await focus()).id === 'content', 'it skips');
  await until('live');
  await page.keyboard.press('Enter');
  await page.locator('tr.details:visible').waitFor();
  await page.keyboard.press('Space');
  await page.locator('tr.details:visible').waitFor({ state: 'detached' });

  await page.reload();
  await isLive(page);
  await until('Resources');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'live://log' }).waitFor();
  await until('resources-filter');
  await page.keyboard.type('live log');
  await says(page.locator('#resources-count'), '1 of 2');
  await page.keyboard.press('ArrowDown');
  ensure((await focus()).name === 'live://log', 'the arrow leads into the list');
  await page.keyboard.press('Enter');
  await says(page.locator('#reader-contents'), 'subscribe live://log');
  ensure((await focus()).id === 'reader-title', 'the reader has the focus');
  await page.keyboard.press('Escape');
  await page.locator('#reader').waitFor({ state: 'hidden' });
  ensure((await focus()).name === 'live://log', 'it is back where it was');
  await page.goBack();
  await page.locator('#reader').waitFor();
  await until('Close');
  await page.keyboard.press('Space');
  await page.locator('#reader').waitFor({ state: 'hidden' });

  await page.locator('#resources-filter').focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowRight');
  ensure(await page.getByRole('radio', { name: 'Templates' }).isChecked(), 'arrows choose');
  calm(complaints);
  await ask('done');
});
