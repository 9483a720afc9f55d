// UTF-8 on both engines: SpiderMonkey has TextEncoder and TextDecoder, QuickJS has neither.

/** The text without half a surrogate pair: each becomes U+FFFD, as TextEncoder does it. */
export const wellFormed = (text) => (text.isWellFormed() ? text : text.toWellFormed());

/** Code units that fit into one call. */
const CHUNK = 8192;

/** Text as UTF-8 bytes. */
export const encode = typeof TextEncoder === 'undefined' ? encodeByHand : (text) => new TextEncoder().encode(text);

/** UTF-8 bytes as text. What is no UTF-8 becomes U+FFFD. */
export const decode = typeof TextDecoder === 'undefined' ? decodeByHand : (bytes) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);

export function encodeByHand(text) {
  const from = wellFormed(text);
  // No UTF-16 unit takes more than three bytes.
  const bytes = new Uint8Array(from.length * 3);
  let end = 0;
  for (let i = 0; i < from.length; i++) {
    let point = from.charCodeAt(i);
    if (point < 0x80) {
      bytes[end++] = point;
      continue;
    }
    if (point >= 0xd800 && point < 0xdc00) point = from.codePointAt(i++);
    if (point < 0x800) {
      bytes[end++] = 0xc0 | (point >> 6);
    } else {
      if (point < 0x10000) {
        bytes[end++] = 0xe0 | (point >> 12);
      } else {
        bytes[end++] = 0xf0 | (point >> 18);
        bytes[end++] = 0x80 | ((point >> 12) & 0x3f);
      }
      bytes[end++] = 0x80 | ((point >> 6) & 0x3f);
    }
    bytes[end++] = 0x80 | (point & 0x3f);
  }
  return bytes.slice(0, end);
}

export function decodeByHand(bytes) {
  let latin = '';
  for (let at = 0; at < bytes.length; at += CHUNK) latin += String.fromCharCode.apply(null, bytes.subarray(at, at + CHUNK));
  try {
    // Both are the engine's own code, many times faster than a loop in JavaScript.
    return decodeURIComponent(escape(latin));
  } catch {
    return decodeWithReplacements(bytes);
  }
}

// The ranges of the Unicode Standard's table 3-7, and its advice (section 3.9) to replace each maximal part of a sequence.
function decodeWithReplacements(bytes) {
  const parts = [];
  for (let i = 0; i < bytes.length; ) {
    const first = bytes[i++];
    const more = first < 0x80 ? 0 : first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : -1;
    let point = more <= 0 ? first : first & (0x3f >> more);
    let left = more;
    for (let low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80, high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf; left > 0; left--) {
      if (!(bytes[i] >= low && bytes[i] <= high)) break;
      point = (point << 6) | (bytes[i++] & 0x3f);
      [low, high] = [0x80, 0xbf];
    }
    parts.push(left === 0 ? String.fromCodePoint(point) : '\ufffd');
  }
  return parts.join('');
}
