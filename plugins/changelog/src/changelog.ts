// A changelog, parsed: Keep a Changelog (keepachangelog.com) and what conventional-changelog, changesets and others write, or GitHub's
// releases. No WebAssembly in this file: `npm test` tests it on your own machine.

/** One version, and what is written of it. */
export interface Version {
  /** Without a leading `v`; `unreleased` for what is to come. */
  version: string;
  /** As it is written, usually `2026-11-30`. */
  date?: string;
  yanked: boolean;
  /** Markdown without the heading. */
  text: string;
  entries: Entries[];
}

/** What is written below one heading of a version. */
export interface Entries {
  /** Keep a Changelog's word where there is one: added, changed, deprecated, removed, fixed, security. Else the heading in small letters. */
  kind: string;
  heading: string;
  text: string;
}

export const UNRELEASED = 'unreleased';

/** What other tools call it. */
const KINDS: [RegExp, string][] = [
  [/^(added|features?|new( features?)?|minor changes)$/, 'added'],
  [/^(changed|changes|improvements?|enhancements?|performance( improvements)?|refactor(ing)?)$/, 'changed'],
  [/^deprecat(ed|ions?)$/, 'deprecated'],
  [/^(removed|removals?)$/, 'removed'],
  [/^(fixed|fixes|bug ?fix(es)?|bugs|patch changes)$/, 'fixed'],
  [/^security( fixes)?$/, 'security'],
  [/^(breaking( changes?)?|major changes)$/, 'breaking'],
];
const NUMBER = /^v?(\d+(?:\.\d+)+(?:[-+.][0-9A-Za-z.+-]+)?)$/;
/** Punctuation, symbols, emoji. (SpiderMonkey has no `\p{…}` here: it is built without Unicode's tables.) */
const NO_WORD = /[^0-9a-z\u00c0-\u1fff\u2c00-\ud7ff\s-]/g;
const FENCE = /^ {0,3}(```+|~~~+)/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const UNDERLINE = /^(=+|-{3,})\s*$/;
const REFERENCE = /^\[[^\]]+\]:\s*\S+/;

/** The versions of a changelog, in its order: newest first, as everybody writes them. */
export function parse(markdown: string): Version[] {
  const versions: Version[] = [];
  let level = 0;
  let lines: string[] | undefined;
  for (const { line, heading } of withHeadings(markdown)) {
    // The same depth as the version before, or higher; conventional-changelog writes patches one deeper than the others.
    const found = heading && heading.level <= Math.max(level, 2) + 1 ? versionOf(heading.text) : undefined;
    if (found) {
      if (lines) finish(versions.at(-1)!, lines);
      level = heading!.level;
      versions.push({ ...found, text: '', entries: [] });
      lines = [];
    } else if (heading && heading.level < level && lines) {
      // A chapter that is no version ends the one before it.
      finish(versions.at(-1)!, lines);
      lines = undefined;
    } else {
      lines?.push(line);
    }
  }
  if (lines) finish(versions.at(-1)!, lines);
  return versions;
}

/** GitHub's answer to `GET /repos/{owner}/{repo}/releases`. Drafts are left out. */
export function parseReleases(releases: unknown): Version[] {
  if (!Array.isArray(releases)) throw new Error('this is no list of releases');
  return releases.filter((release) => !release.draft).map((release) => {
    const version: Version = { version: plainVersion(String(release.tag_name)), date: release.published_at?.slice(0, 10), yanked: false, text: '', entries: [] };
    finish(version, String(release.body ?? '').split(/\r?\n/));
    return version;
  });
}

/** Which version is meant: by its name, with or without `v`, or `latest`. */
export function find(versions: Version[], name: string): Version | undefined {
  if (name === 'latest') return versions.find(({ version, yanked }) => version !== UNRELEASED && !yanked);
  const wanted = plainVersion(name).toLowerCase();
  return versions.find(({ version }) => version.toLowerCase() === wanted);
}

/** Those above a version. Nothing if it is not there. */
export function since(versions: Version[], name: string): Version[] | undefined {
  const version = find(versions, name);
  return version && versions.slice(0, versions.indexOf(version));
}

/** Versions as Markdown; with a kind only entries of that, and only versions that have any. */
export function render(versions: Version[], kind?: string): string {
  const parts: string[] = [];
  for (const { version, date, yanked, text, entries } of versions) {
    const heading = `## ${version === UNRELEASED ? 'Unreleased' : version}${date ? ` - ${date}` : ''}${yanked ? ' [YANKED]' : ''}`;
    const body = kind === undefined ? text : entries.filter((one) => one.kind === kind).map((one) => one.text).join('\n\n');
    if (body !== '' || kind === undefined) parts.push(body === '' ? heading : `${heading}\n\n${body}`);
  }
  return parts.length === 0 ? 'nothing\n' : `${parts.join('\n\n')}\n`;
}

export function kindsOf(versions: Version[]): string[] {
  return [...new Set(versions.flatMap(({ entries }) => entries.map(({ kind }) => kind)))];
}

/** Lines, and which of them are headings; those in code are none. A heading of two lines (`1.0.0` and `-----`) comes as one. */
function* withHeadings(markdown: string): Generator<{ line: string; heading?: { level: number; text: string } }> {
  const lines = markdown.split(/\r?\n/);
  let fence: string | undefined;
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    const mark = FENCE.exec(line)?.[1];
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined;
      yield { line };
      continue;
    }
    fence = mark;
    const atx = HEADING.exec(line);
    const underline = UNDERLINE.exec(lines[i + 1] ?? '');
    if (atx) {
      yield { line, heading: { level: atx[1]!.length, text: atx[2]! } };
    } else if (underline && versionOf(line.trim())) {
      yield { line, heading: { level: underline[1]!.startsWith('=') ? 1 : 2, text: line.trim() } };
      i++;
    } else {
      yield { line };
    }
  }
}

/** What a heading says, if it names a version: `[1.2.0] - 2026-11-30 [YANKED]`, `[1.2.0](https://…) (2026-11-30)`, `v1.2.0`, `Unreleased`. */
function versionOf(heading: string): Pick<Version, 'version' | 'date' | 'yanked'> | undefined {
  const plain = heading.replace(/\]\([^)]*\)/g, ']').replace(/[[\]()*_`]/g, ' ').trim();
  // A package's name before it, as lerna and changesets write: `@scope/name@1.2.0`, `name 1.2.0`, `Version 1.2.0`.
  const words = plain.split(/[\s,]+/).flatMap((word) => word.split(/(?<=.)@/)).filter((word) => !/^[-–—:]+$/.test(word));
  const date = /\b\d{4}-\d{2}-\d{2}\b/.exec(plain)?.[0];
  if (/^unreleased$/i.test(words[0] ?? '')) return { version: UNRELEASED, date: undefined, yanked: false };
  const at = words.slice(0, 2).findIndex((word) => NUMBER.test(word.replace(/:$/, '')) && !/^\d{4}-\d{2}-\d{2}$/.test(word));
  if (at < 0) return undefined;
  return { version: plainVersion(words[at]!.replace(/:$/, '')), date, yanked: words.some((word) => /^yanked$/i.test(word)) };
}

function plainVersion(name: string): string {
  return NUMBER.exec(name)?.[1] ?? name;
}

function finish(version: Version, lines: string[]): void {
  const kept = lines.filter((line) => !REFERENCE.test(line));
  version.text = trimmed(kept);
  let entries: { heading: string; lines: string[] } | undefined;
  const close = () => {
    if (!entries) return;
    const text = trimmed(entries.lines);
    if (text !== '') version.entries.push({ kind: kindOf(entries.heading), heading: entries.heading, text });
  };
  for (const { line, heading } of withHeadings(kept.join('\n'))) {
    if (heading) {
      close();
      entries = { heading: heading.text, lines: [] };
    } else {
      entries?.lines.push(line);
    }
  }
  close();
}

function kindOf(heading: string): string {
  const words = heading.toLowerCase().replace(NO_WORD, '').trim().replace(/\s+/g, ' ');
  return KINDS.find(([pattern]) => pattern.test(words))?.[1] ?? words.replaceAll(' ', '-');
}

function trimmed(lines: string[]): string {
  return lines.join('\n').trim();
}
