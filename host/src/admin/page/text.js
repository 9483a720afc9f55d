// Foreign text and numbers, as people read them.
//
// Whatever comes from providers and clients goes through `harmless` or `plain`, and is bounded: characters that would reorder or hide what
// stands around them (Unicode's bidirectional and other format characters, controls) are shown as what they are.

const NAME_LIMIT = 300;

// Not among them: ZWNJ, ZWJ and variation selectors, which many scripts and most emoji need. After Latin letters they only hide something.
const ODD =
  /(?![\t\n\u200c\u200d\ufe00-\ufe0f])[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]|\p{Surrogate}|(?<=[ -~])[\u200c\u200d]/gu;
const BREAKS = /[\t\n]/g;

function named(character) {
  return `\u27e8U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}\u27e9`;
}

/** Text of several lines. */
export function plain(text) {
  return text.replace(ODD, named);
}

/** A text on one line, of at most so many characters. */
export function harmless(text, limit = NAME_LIMIT) {
  const said = String(text ?? '');
  const cut = said.length > limit ? `${said.slice(0, limit).replace(/[\ud800-\udbff]$/, '')}\u2026` : said;
  return plain(cut).replace(BREAKS, named);
}

const counts = new Intl.NumberFormat('en');

export function count(number) {
  return counts.format(number);
}

/** `1 provider`, `2 providers`. */
export function number(of, one, more = `${one}s`) {
  return `${count(of)} ${of === 1 ? one : more}`;
}

export function bytes(number) {
  if (number === null || number === undefined) return '\u2013';
  let [value, unit] = [number, 'B'];
  for (const next of ['KiB', 'MiB', 'GiB', 'TiB']) {
    if (value < 1024) break;
    [value, unit] = [value / 1024, next];
  }
  return `${unit === 'B' || value >= 100 ? Math.round(value) : value.toFixed(1)} ${unit}`;
}

/** Microseconds. */
export function took(us) {
  if (us < 1000) return `${Math.round(us)} \u00b5s`;
  if (us < 1_000_000) return `${us < 10_000 ? (us / 1000).toFixed(1) : Math.round(us / 1000)} ms`;
  return `${(us / 1_000_000).toFixed(1)} s`;
}

/** Milliseconds, as long as people wait. */
export function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [minutes, hours, days] = [60, 3600, 86400].map((unit) => Math.floor(seconds / unit));
  if (days > 1) return `${days} days`;
  if (hours > 0) return `${hours} h ${minutes % 60} min`;
  if (minutes > 0) return `${minutes} min ${seconds % 60} s`;
  return `${seconds} s`;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** The time of day here, with the day if it was another. */
export function moment(at) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return harmless(at, 40);
  const today = date.toDateString() === new Date().toDateString();
  return today ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`;
}
