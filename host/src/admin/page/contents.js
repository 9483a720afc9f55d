// Shows what a resource holds: text, JSON indented, images, and of other bytes the first ones.
//
// Invariants: nothing of it becomes markup, and no image is drawn but of a kind that has no scripts; what is made of it is bounded.

import { el } from './dom.js';
import { bytes, count, harmless, number, plain } from './text.js';

/** Characters and lines shown: more than anybody reads, and no more than a phone can lay out. */
const TEXT_LIMIT = 200_000;
const LINES_LIMIT = 5000;
/** Characters of JSON that are indented. */
const JSON_LIMIT = 1_000_000;
const DUMP_LIMIT = 2048;
const PARTS_LIMIT = 50;
/** SVG is not among them: it is shown as the text that it is. */
const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp']);

/** As people read it, and else as it is written: numbers keep their digits, keys their order, and what stands twice stands twice. */
export function indented(json) {
  JSON.parse(json);
  let [text, depth] = ['', 0];
  const line = () => `\n${'  '.repeat(depth)}`;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[{]\s*[\]}]|[[\]{},:]|[^\s"[\]{},:]+/g)) {
    if (token === '[' || token === '{') {
      depth += 1;
      text += token + line();
    } else if (token === ']' || token === '}') {
      depth -= 1;
      text += line() + token;
    } else if (token === ',') {
      text += token + line();
    } else if (token === ':') {
      text += ': ';
    } else {
      text += /^[[{]/.test(token) ? token[0] + token.at(-1) : token;
    }
  }
  return text;
}

function decoded(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

function dump(data) {
  const lines = [];
  for (let at = 0; at < Math.min(data.length, DUMP_LIMIT); at += 16) {
    const row = [...data.subarray(at, at + 16)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const letters = row.map((byte) => (byte > 0x1f && byte < 0x7f ? String.fromCharCode(byte) : '\u00b7')).join('');
    lines.push(`${at.toString(16).padStart(4, '0')}  ${hex.padEnd(47)}  ${letters}`);
  }
  return lines;
}

function asText(text, mimeType) {
  const isJson = /^(application|text)\/(.+\+)?json\b/i.test(mimeType ?? '') || (!mimeType && /^\s*[[{]/.test(text));
  if (isJson && text.length <= JSON_LIMIT) {
    try {
      return { kind: 'JSON', text: indented(text) };
    } catch {
      return { kind: /json/i.test(mimeType ?? '') ? 'text, though it is no JSON' : 'text', text };
    }
  }
  if (/^text\/markdown\b/i.test(mimeType ?? '')) return { kind: 'Markdown', text };
  return { kind: 'text', text };
}

/** The lines of it that are shown, and what is left out. */
function bounded(text) {
  const lines = plain(text.slice(0, TEXT_LIMIT)).split('\n');
  const left = [];
  if (text.length > TEXT_LIMIT) left.push(`the first ${count(TEXT_LIMIT)} of ${count(text.length)} characters`);
  if (lines.length > LINES_LIMIT) left.push(`the first ${count(LINES_LIMIT)} lines`);
  return { lines: lines.slice(0, LINES_LIMIT), left: left.join(', ') };
}

/** Which of the new lines are not among the old ones, but for those that begin and end both alike. */
export function changed(old, lines) {
  let [from, behind] = [0, 0];
  const most = Math.min(old.length, lines.length);
  while (from < most && old[from] === lines[from]) from += 1;
  while (behind < most - from && old[old.length - 1 - behind] === lines[lines.length - 1 - behind]) behind += 1;
  const known = new Map();
  for (const line of old.slice(from, old.length - behind)) known.set(line, (known.get(line) ?? 0) + 1);
  const marks = new Set();
  for (let at = from; at < lines.length - behind; at++) {
    const left = known.get(lines[at]) ?? 0;
    if (left > 0) known.set(lines[at], left - 1);
    else marks.add(at);
  }
  return { marks, gone: [...known.values()].reduce((sum, times) => sum + times, 0) };
}

/** What was shown last, so that the next one can mark what is new. */
export class Contents {
  constructor(element) {
    this.element = element;
    this.clear();
  }

  clear() {
    this.free?.();
    this.free = null;
    this.shown = [];
    this.element.replaceChildren();
  }

  /** Gives what is new in a few words; nothing at all if nothing is. */
  show(contents, title) {
    const old = this.shown;
    const holds = JSON.stringify(contents.slice(0, PARTS_LIMIT));
    if (old.length > 0 && holds === this.holds) return '';
    this.holds = holds;
    this.free?.();
    const urls = [];
    const parts = contents.slice(0, PARTS_LIMIT).map((content, index) => part(content, title, old[index], urls));
    this.free = () => urls.forEach((url) => URL.revokeObjectURL(url));
    this.shown = parts;
    const many = parts.length > 1;
    this.element.replaceChildren(
      ...parts.map((part, index) => {
        const uri = many ? el('h3', {}, `Part ${index + 1} `, el('code', {}, harmless(contents[index].uri ?? ''))) : null;
        return el(
          'section',
          { class: 'part', 'aria-label': many ? `Part ${index + 1}` : 'Contents' },
          uri,
          el('p', { class: 'kind' }, part.note),
          part.view,
        );
      }),
    );
    if (parts.length === 0) this.element.append(el('p', { class: 'none' }, 'It holds nothing.'));
    if (contents.length > PARTS_LIMIT)
      this.element.append(el('p', { class: 'none' }, `${number(contents.length - PARTS_LIMIT, 'more part')}, not shown`));
    const marks = parts.reduce((sum, part) => sum + part.marks, 0);
    const gone = parts.reduce((sum, part) => sum + part.gone, 0);
    if (old.length === 0) return 'new';
    if (marks + gone === 0) return 'changed';
    return [marks && `${number(marks, 'line')} new`, gone && `${number(gone, 'line')} gone`].filter(Boolean).join(', ');
  }
}

function part({ mimeType, text, blob }, title, old, urls) {
  if (typeof text === 'string') return lines(asText(text, mimeType), old);
  const data = decoded(blob ?? '');
  const type = (mimeType ?? '').split(';')[0].trim().toLowerCase();
  if (IMAGES.has(type)) {
    const url = URL.createObjectURL(new Blob([data], { type }));
    urls.push(url);
    const image = el('img', { src: url, alt: `${harmless(title)}, an image` });
    const note = el('span', {}, `${type.slice(6).toUpperCase()}, ${bytes(data.length)}`);
    image.addEventListener('load', () => note.append(`, ${image.naturalWidth} \u00d7 ${image.naturalHeight}`));
    image.addEventListener('error', () => image.replaceWith(el('p', { class: 'none' }, 'It cannot be drawn.')));
    return { note, view: el('div', { class: 'canvas' }, image), marks: 0, gone: 0 };
  }
  if (/^text\/|^image\/svg\+xml$|json$|xml$/.test(type)) {
    try {
      const utf8 = new TextDecoder('utf-8', { fatal: true }).decode(data);
      return lines(asText(utf8, mimeType), old);
    } catch {
      // It is shown as the bytes it is.
    }
  }
  const rest = data.length > DUMP_LIMIT ? `, the first ${bytes(DUMP_LIMIT)}` : '';
  const view = el('pre', { class: 'dump', tabindex: 0 }, dump(data).join('\n'));
  return { note: `bytes: ${bytes(data.length)}${rest}`, view, marks: 0, gone: 0 };
}

function lines({ kind, text }, old) {
  const { lines, left } = bounded(text);
  const { marks, gone } = old?.lines ? changed(old.lines, lines) : { marks: new Set(), gone: 0 };
  const view = el('pre', { class: 'text' });
  // Lines in a row that are alike are one element.
  let plainLines = [];
  const flush = () => {
    if (plainLines.length) view.append(plainLines.join('\n'), '\n');
    plainLines = [];
  };
  lines.forEach((line, at) => {
    if (!marks.has(at)) return plainLines.push(line);
    flush();
    return view.append(el('mark', {}, line || ' '), '\n');
  });
  flush();
  const size = number(text === '' ? 0 : lines.length, 'line');
  return { lines, note: `${kind}, ${left || size}`, view, marks: marks.size, gone };
}
