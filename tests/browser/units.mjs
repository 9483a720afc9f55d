// What the modules of the page do by themselves, in the browser that they are for.

import { ask, calm, ensure, isLive, open, withBrowser } from './harness.mjs';

await withBrowser(async (browser) => {
  const { page, complaints } = await open(browser);
  await isLive(page);

  const left = await page.evaluate(async () => {
    const { harmless, plain } = await import('/page/text.js');
    // All that is invisible or that reorders, but for what scripts and emoji need.
    const odd = /[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Surrogate}\p{Zl}\p{Zp}]/u;
    const needed = /[\u200c\u200d\ufe00-\ufe0f]/u;
    const left = [];
    for (let code = 0; code <= 0x10ffff; code++) {
      const character = String.fromCodePoint(code);
      if (!odd.test(character) || needed.test(character)) continue;
      const named = `\u27e8U+${code.toString(16).toUpperCase().padStart(4, '0')}\u27e9`;
      if (harmless(`a${character}b`) !== `a${named}b`) left.push(named);
      if (plain(`a${character}b`) !== `a${'\t\n'.includes(character) ? character : named}b`) left.push(`plain ${named}`);
    }
    return left;
  });
  ensure(left.length === 0, `not named: ${left.slice(0, 20)}`);

  const texts = await page.evaluate(async () => {
    const { harmless } = await import('/page/text.js');
    return [
      'paypal\u200d.com',
      '\u0646\u0627\u0645\u0647\u200c\u0627\u06cc',
      '\ud83d\udc68\u200d\ud83d\udcbb\u2764\ufe0f',
      '\ud83d',
      'x'.repeat(400),
      `${'x'.repeat(299)}\ud83d\ude00`,
    ].map((text) => harmless(text));
  });
  const expected = [
    'paypal\u27e8U+200D\u27e9.com',
    '\u0646\u0627\u0645\u0647\u200c\u0627\u06cc',
    '\ud83d\udc68\u200d\ud83d\udcbb\u2764\ufe0f',
    '\u27e8U+D83D\u27e9',
    `${'x'.repeat(300)}\u2026`,
    `${'x'.repeat(299)}\u2026`,
  ];
  ensure(JSON.stringify(texts) === JSON.stringify(expected), texts);

  const wrong = await page.evaluate(async () => {
    const { indented } = await import('/page/contents.js');
    const cases = [
      ['{}', '{}'],
      ['[ ]', '[]'],
      [
        '{"a":[1,2,{"b":null}],"c":"x,y:{}[]\\"\\\\"}',
        '{\n  "a": [\n    1,\n    2,\n    {\n      "b": null\n    }\n  ],\n  "c": "x,y:{}[]\\"\\\\"\n}',
      ],
      ['[1.0e400,-0,12345678901234567890.10]', '[\n  1.0e400,\n  -0,\n  12345678901234567890.10\n]'],
      ['{"a":1,"a":2}', '{\n  "a": 1,\n  "a": 2\n}'],
      [' "\\u0041" ', '"\\u0041"'],
    ];
    const wrong = cases.filter(([json, text]) => indented(json) !== text).map(([json]) => [json, indented(json)]);
    // As JSON.stringify does it, for whatever that can make.
    const value = (depth) => {
      const pick = Math.floor(Math.random() * (depth > 4 ? 4 : 6));
      const many = (make) => Array.from({ length: Math.floor(Math.random() * 4) }, make);
      const text = () => String.fromCharCode(...many(() => Math.floor(Math.random() * 128))) + '"\\\n'.slice(Math.random() * 4);
      if (pick === 0) return Math.random() * 1e6;
      if (pick === 1) return text();
      if (pick === 2) return null;
      if (pick === 3) return Math.random() < 0.5;
      if (pick === 4) return many(() => value(depth + 1));
      return Object.fromEntries(many(() => [text(), value(depth + 1)]));
    };
    for (let turn = 0; turn < 2000; turn++) {
      const made = value(0);
      if (indented(JSON.stringify(made)) !== JSON.stringify(made, null, 2)) wrong.push(made);
    }
    try {
      indented('{"a":}');
      wrong.push('no JSON');
    } catch {
      // So it is shown as the text that it is.
    }
    return wrong;
  });
  ensure(wrong.length === 0, wrong.slice(0, 3));

  const marks = await page.evaluate(async () => {
    const { changed } = await import('/page/contents.js');
    const of = (old, now) => {
      const { marks, gone } = changed(old.split(' '), now.split(' '));
      return `${[...marks].join()}/${gone}`;
    };
    return [
      of('a b c', 'a b c'),
      of('a b c', 'a x c'),
      of('a b', 'a b c d'),
      of('a b c', 'c'),
      of('a b', 'b a'),
      of('a a', 'a a a'),
      of('x', 'y z'),
    ];
  });
  ensure(marks.join(' ') === '/0 1/1 2,3/0 /2 /0 2/0 0,1/1', marks);
  calm(complaints);
  await ask('done');
});
