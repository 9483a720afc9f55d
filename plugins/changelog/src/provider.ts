// `changelog`: what changed in the versions of the things you use, from files, URLs and GitHub's releases.

import * as fetch from 'wharf:provider/fetch@0.1.0';
import * as fileWatch from 'wharf:provider/file-watch@0.1.0';
import { find, kindsOf, render, since, UNRELEASED, type Version } from './changelog.ts';
import { Sources } from './sources.ts';
import { Invalid, NotFound, Provider, type Request } from './wharf/wharf.js';

const MARKDOWN = 'text/markdown';
const LATEST = 'latest';
/** Versions named in an error. */
const NAMED = 5;

const provider = new Provider({ fetch, fileWatch });

/** What is subscribed: of each URI the source, and what a read answered when it last changed. */
const subscribed = new Map<string, { name: string; now: () => string; held: string }>();

const sources = new Sources(provider, (name) => {
  const updated: string[] = [];
  for (const [uri, one] of subscribed) {
    if (one.name !== name) continue;
    const content = one.now();
    if (content !== one.held) updated.push(uri);
    one.held = content;
  }
  if (updated.length > 0) provider.updated(updated);
  provider.listChanged();
});

const names = (typed: string) => sources.names().filter((name) => name.startsWith(typed));
const versionNames = (name: string | undefined) => (name === undefined ? [] : sources.versions(name).map(({ version }) => version));
const kinds = (name: string | undefined) => (name === undefined ? [] : kindsOf(sources.versions(name)));

provider.template('changelog://{name}/{version}')
  .title('What changed in a version')
  .describe('One version of a changelog. The version may be `latest` or `unreleased`.')
  .mimeType(MARKDOWN)
  .list(() => sources.names().flatMap((name) => {
    const versions = present(name);
    const listed = [{ variables: { name, version: LATEST }, name: `${name} ${LATEST}`, title: `${name}: latest version` }];
    if (versions.some(({ version }) => version === UNRELEASED)) {
      listed.push({ variables: { name, version: UNRELEASED }, name: `${name} ${UNRELEASED}`, title: `${name}: not released yet` });
    }
    return listed;
  }))
  .complete('name', names)
  .complete('version', (typed, { name }) => [LATEST, ...versionNames(name)].filter((version) => version.startsWith(typed)))
  .subscribable(...watched(one))
  .read(({ variables }) => one(variables));

provider.template('changelog://{name}/{version}/{kind}')
  .title('What was added, fixed, removed … in a version')
  .describe('The entries of one kind: added, changed, deprecated, removed, fixed, security, or another heading in small letters.')
  .mimeType(MARKDOWN)
  .complete('name', names)
  .complete('version', (typed, { name }) => [LATEST, ...versionNames(name)].filter((version) => version.startsWith(typed)))
  .complete('kind', (typed, { name }) => kinds(name).filter((kind) => kind.startsWith(typed)))
  .subscribable(...watched(one))
  .read(({ variables }) => one(variables));

provider.template('changelog://{name}{?since,kind}')
  .title('What changed since a version')
  .describe('All versions after `since`, newest first; without it the whole changelog. With `kind` only entries of that kind.')
  .mimeType(MARKDOWN)
  .complete('name', names)
  .complete('since', (typed, { name }) => versionNames(name).filter((version) => version.startsWith(typed)))
  .complete('kind', (typed, { name }) => kinds(name).filter((kind) => kind.startsWith(typed)))
  .subscribable(...watched(several))
  .read(({ variables }) => several(variables));

function one({ name, version, kind }: { name: string; version: string; kind?: string }): string {
  const found = find(sources.versions(name), version);
  if (!found) throw new NotFound();
  return render([found], kind);
}

function several({ name, since: after, kind }: { name: string; since?: string; kind?: string }): string {
  const versions = sources.versions(name);
  const wanted = after === undefined ? versions : since(versions, after);
  if (wanted) return render(wanted, kind);
  const known = versions.slice(0, NAMED).map(({ version }) => version).join(', ');
  throw new Invalid(`${name} has no version ${after}; the newest are ${known || 'none at all'}`);
}

/** The versions, if they can be had now: a list does not fail because one source does. */
function present(name: string): Version[] {
  try {
    return sources.versions(name);
  } catch {
    return [];
  }
}

/** Keeps what the URI holds, so that only a change of that is told: not each change of the changelog. */
function watched<V extends { name: string }>(content: (variables: V) => string) {
  const now = (variables: V) => {
    try {
      return content(variables);
    } catch (error) {
      // A version that is not there yet.
      return String(error);
    }
  };
  return [
    ({ uri, variables }: Request<V>) => {
      subscribed.set(uri, { name: variables.name, now: () => now(variables), held: now(variables) });
    },
    ({ uri }: Request<V>) => {
      subscribed.delete(uri);
    },
  ] as const;
}

export const { resources, subscriptions, completions, timerHandler, fileHandler, fetchHandler } = provider;
