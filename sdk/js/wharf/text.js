// UTF-8 on both engines: SpiderMonkey has TextEncoder and TextDecoder, QuickJS has neither.

/** The text without half a surrogate pair: each becomes U+FFFD, as TextEncoder does it. */
export const wellFormed = (text) => (text.isWellFormed() ? text : text.toWellFormed());

/** Code units that fit into one call. */
const CHUNK = 8192;
const NOT_ASCII = /[^\x00-\x7f]/;

/** Text as UTF-8 bytes. */
export const encode = typeof TextEncoder === 'undefined' ? encodeByHand : (text) => new TextEncoder().encode(text);

/** UTF-8 bytes as text. What is no UTF-8 becomes U+FFFD. */
export const decode = typeof TextDecoder === 'undefined' ? decodeByHand : (bytes) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);

// Of each step below the engine has code of its own, ten times faster than a loop in JavaScript.

export function encodeByHand(text) {
  const latin = unescape(encodeURIComponent(wellFormed(text)));
  return Uint8Array.fromBase64 ? Uint8Array.fromBase64(btoa(latin)) : Uint8Array.from(latin, (char) => char.charCodeAt(0));
}

export function decodeByHand(bytes) {
  const latin = latinOf(bytes);
  if (!NOT_ASCII.test(latin)) return latin;
  try {
    return decodeURIComponent(escape(latin));
  } catch {
    return decodeWithReplacements(bytes);
  }
}

function latinOf(bytes) {
  if (bytes.toBase64) return atob(bytes.toBase64());
  const parts = [];
  for (let at = 0; at < bytes.length; at += CHUNK) parts.push(String.fromCharCode.apply(null, bytes.subarray(at, at + CHUNK)));
  return parts.join('');
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
