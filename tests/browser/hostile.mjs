// Names and contents that are scripts stay text, the policy blocks what would not, and what is asked from elsewhere is refused.

import { createServer } from 'node:http';

import { ADMIN, MAIN, URL_OF_PAGE, ask, calm, call, ensure, isLive, open, says, withBrowser } from './harness.mjs';

await withBrowser(async (browser) => {
  const { page, complaints } = await open(browser, { fragment: '#resources' });
  await isLive(page);

  // In the list: titles, names, URIs, templates and reasons.
  const rows = page.locator('#resources-rows');
  await rows.getByRole('link', { name: '<img src=x onerror="window.hacked=1">' }).waitFor();
  await rows.getByRole('link', { name: '</title><script>window.hacked=1</script>' }).waitFor();
  await rows.getByRole('link', { name: 'invoice⟨U+202E⟩fdp.exe' }).waitFor();
  await rows.getByRole('link', { name: 'two⟨U+000A⟩lines' }).waitFor();

  await rows.getByRole('link', { name: '<img src=x' }).click();

  // In the reader: what they hold, whatever they say it is.
  for (const [uri, text] of [
    ['evil://html', '<script>window.hacked=1</script><img src=x onerror="window.hacked=1">'],
    ['evil://json', '"__proto__": "</pre><script>window.hacked=1</script>"'],
    ['evil://svg', '<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=1">'],
    ['javascript:window.hacked=1', 'a scheme'],
    ['evil://reversed', 'if (admin⟨U+202E⟩ ⟨U+2066⟩) {'],
  ]) {
    await page.locator('#reader-uri').fill(uri);
    await page.locator('#reader-uri').press('Enter');
    await page.waitForFunction((text) => document.querySelector('#reader-contents').textContent.includes(text), text);
  }
  await page.reload();
  await says(page.locator('#reader-contents'), 'if (admin');

  // In the fragment, which anybody can write into a link.
  const links = [
    '#resources?q=<img src=x onerror=window.hacked=1>',
    '#events?read=javascript:window.hacked=1',
    '#overview?provider=<b>',
    '#<script>',
    '#%',
    '#constructor?__proto__=1&read=',
  ];
  for (const link of links) {
    await page.evaluate((link) => (location.hash = link), link);
    await page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));
    ensure((await page.locator('main section:visible').count()) > 0, `nothing is left of the page at ${link}`);
  }

  // Among the events: what a client calls itself.
  await page.evaluate(() => (location.hash = '#events'));
  await page.locator('#events').waitFor();
  const listening = new AbortController();
  const name = '<img src=x onerror="window.hacked=1">\u202e';
  const listen = call('subscriptions/listen', {
    notifications: { resourceSubscriptions: ['evil://html'] },
    _meta: { 'io.modelcontextprotocol/clientInfo': { name, version: '<b>1</b>' } },
  });
  const answered = await listen;
  ensure(answered.status === 200, `${answered.status}`);
  await says(page.locator('#events-list li'), 'opened a stream: <img src=x onerror="window.hacked=1">⟨U+202E⟩ <b>1</b>');
  await answered.body.cancel();
  listening.abort();

  const left = await page.evaluate(() => ({
    hacked: 'hacked' in window,
    scripts: document.scripts.length,
    images: document.querySelectorAll('img:not([src^="blob:"]), iframe, object, embed').length,
    handlers: [...document.querySelectorAll('*')].filter((element) => element.getAttributeNames().some((name) => name.startsWith('on')))
      .length,
    links: [...document.querySelectorAll('[href], [src]')].filter(
      (element) => !/^(#|blob:|data:image|\/page\/)/.test(element.getAttribute('href') ?? element.getAttribute('src')),
    ).length,
  }));
  ensure(JSON.stringify(left) === JSON.stringify({ hacked: false, scripts: 1, images: 0, handlers: 0, links: 0 }), left);
  calm(complaints);

  // What is no URI is refused, and the page stays connected.
  await page.evaluate(() => (location.hash = '#events?read=no uri'));
  await says(page.locator('#reader-state'), 'invalid-uri');
  await says(page.locator('#reader-facts'), 'Not watched');
  await isLive(page);

  await policy(page);
  await elsewhere(browser);
  await ask('done');
});

/** As if text had become markup after all. */
async function policy(page) {
  const blocked = await page.evaluate(async () => {
    const violated = [];
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => violated.push(effectiveDirective));
    const heard = (directive) =>
      new Promise((resolve) => {
        const look = () => violated.some((one) => one.startsWith(directive)) && resolve();
        document.addEventListener('securitypolicyviolation', look);
        look();
      });
    const refused = (work) => {
      try {
        work();
        return false;
      } catch {
        return true;
      }
    };
    // Made as a parser would, past Trusted Types.
    const script = document.createElementNS('http://www.w3.org/1999/xhtml', 'script');
    script.append(document.createTextNode('window.injected = 1'));
    document.body.append(script);
    const image = document.createElement('img');
    image.src = 'http://127.0.0.1:1/pixel';
    document.body.append(image);
    const styled = document.createElement('style');
    styled.append('body { display: none }');
    document.body.append(styled);
    const frame = document.createElement('iframe');
    frame.src = '/status';
    document.body.append(frame);
    const fetched = await fetch('http://127.0.0.1:1/').then(
      () => 'an answer',
      () => 'refused',
    );
    await Promise.all(['img-src', 'style-src', 'frame-src', 'connect-src'].map(heard));
    return {
      injected: 'injected' in window,
      fetched,
      markup: refused(() => (document.body.innerHTML += '<b>')),
      text: refused(() => Function('return 1')()),
      hidden: getComputedStyle(document.body).display === 'none',
    };
  });
  ensure(
    JSON.stringify(blocked) === JSON.stringify({ injected: false, fetched: 'refused', markup: true, text: true, hidden: false }),
    blocked,
  );
}

/** A page of another origin gets nothing, by whatever way, and neither does one under another name of this address. */
async function elsewhere(browser) {
  const evil = createServer((_, answer) =>
    answer.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>evil</title>'),
  );
  await new Promise((listening) => evil.listen(0, '127.0.0.1', listening));
  const { port } = evil.address();
  const page = await (await browser.newContext()).newPage();
  await page.goto(`http://127.0.0.1:${port}/`);
  for (const path of ['/', '/page/page.js', '/status', '/events', '/resources', '/read?uri=evil://html']) {
    const got = await page.evaluate(async (url) => {
      const loads = (name, address) =>
        new Promise((resolve) => {
          const element = document.createElement(name);
          element.onload = () => resolve('loaded');
          element.onerror = () => resolve('refused');
          element.src = address;
          document.body.append(element);
        });
      const fetches = (mode) =>
        fetch(url, { mode }).then(
          (answer) => (answer.type === 'opaque' ? 'opaque' : `read ${answer.status}`),
          () => 'refused',
        );
      return {
        cors: await fetches('cors'),
        script: await loads('script', url),
        image: await loads('img', url),
        blind: await fetches('no-cors'),
      };
    }, `http://${ADMIN}${path}`);
    ensure(got.cors === 'refused' && got.script === 'refused' && got.image === 'refused', { path, ...got });
    ensure(got.blind !== 'read 200', { path, ...got });
  }
  const stream = await page.evaluate(
    (url) =>
      new Promise((resolve) => {
        const events = new EventSource(url);
        events.onopen = () => resolve('open');
        events.onerror = () => resolve('refused');
      }),
    `http://${ADMIN}/events`,
  );
  ensure(stream === 'refused', stream);
  // Framed, there is nothing of it either: what is in the frame is an error page of the browser or of the host.
  await page.evaluate(
    (url) =>
      new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.onload = resolve;
        frame.src = url;
        document.body.append(frame);
      }),
    URL_OF_PAGE,
  );
  const framed = page.frames().filter((frame) => frame !== page.mainFrame());
  for (const frame of framed) ensure((await frame.locator('#headline').count()) === 0, 'it is framed');
  // A link leads here.
  await page.evaluate((url) => (location.href = url), URL_OF_PAGE);
  await isLive(page);
  evil.close();

  // A name of somebody else's that leads to this machine.
  const port_ = new URL(URL_OF_PAGE).port;
  const rebound = await browser.newContext();
  const victim = await rebound.newPage();
  const answer = await victim.goto(`http://evil.localhost:${port_}/`).catch(() => null);
  ensure(answer === null || answer.status() === 403, `by another name: ${answer?.status()}`);
  // At the main address there is no page.
  const main = await rebound.request.get(`http://${MAIN}/`);
  ensure(main.status() === 404, `the main address: ${main.status()}`);
}
