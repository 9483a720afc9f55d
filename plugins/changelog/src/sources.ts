// Where changelogs come from: files of granted folders, URLs, and GitHub's releases. Each is a line of wharf.toml, `sources.NAME = "WHERE"`.
//
// Invariant: nothing waits. A remote changelog is asked for by a poll, and until the first answer it is `unavailable`.

import { type FetchResponse, Failed, NotFound, type Provider, Unavailable } from './wharf/wharf.js';
import { readText, stat } from './wharf/files.js';
import { parse, parseReleases, type Version } from './changelog.ts';

/** Longer ones are refused: nobody's changelog, and slow to parse. */
const MAX_BYTES = 4 << 20;
/** Between two looks at a remote one, unless the setting `every-minutes` says otherwise: without a token GitHub allows 60 requests an hour. */
const MINUTES = 15;
const SETTING = 'sources.';
const GITHUB = /^github:([\w.-]+\/[\w.-]+)$/;

interface Source {
  where: string;
  versions?: Version[];
  /** Why there are none. */
  problem?: Error;
  /** Of a file: what it was when it was parsed. */
  seen?: string;
}

export class Sources {
  readonly #provider: Provider;
  readonly #changed: (name: string) => void;
  #sources: Map<string, Source> | undefined;

  /** `changed` hears the name of each source that is another than it was. */
  constructor(provider: Provider, changed: (name: string) => void) {
    this.#provider = provider;
    this.#changed = changed;
  }

  /** The names of all. The first call begins to watch and poll. */
  names(): string[] {
    return [...this.#all().keys()];
  }

  /** The versions of one, as they are now. */
  versions(name: string): Version[] {
    const source = this.#all().get(name);
    if (!source) throw new NotFound();
    if (source.where.startsWith('/')) this.#look(source);
    if (source.problem) throw source.problem;
    if (!source.versions) throw new Unavailable(`${source.where} is just being fetched`);
    return source.versions;
  }

  /** Settings and imports are there from the first call on only, so this is not done when the module is evaluated. */
  #all(): Map<string, Source> {
    if (this.#sources) return this.#sources;
    const written = Object.entries(this.#provider.settings()).filter(([key]) => key.startsWith(SETTING));
    this.#sources = new Map(written.map(([key, where]) => [key.slice(SETTING.length), { where }]));
    for (const [name, source] of this.#sources) {
      try {
        this.#begin(name, source);
      } catch (error) {
        source.problem = error as Error;
      }
    }
    return this.#sources;
  }

  #begin(name: string, source: Source): void {
    if (source.where.startsWith('/')) {
      this.#provider.watch(name, source.where, () => this.#changed(name));
      return;
    }
    const repository = GITHUB.exec(source.where)?.[1];
    const request = repository === undefined
      ? { url: source.where }
      : { url: `https://api.github.com/repos/${repository}/releases?per_page=100`, headers: { accept: 'application/vnd.github+json', ...this.#token() } };
    const minutes = Number(this.#provider.setting('every-minutes') ?? MINUTES);
    if (!(minutes > 0)) throw new Failed('the setting every-minutes is a number above 0');
    this.#provider.poll(name, request, minutes * 60_000, (response) => {
      this.#take(source, response, repository !== undefined);
      this.#changed(name);
    });
  }

  #token(): Record<string, string> {
    const token = this.#provider.setting('github-token');
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  // What was good stays: a server that is away for a while does not take the changelog away.
  #take(source: Source, response: FetchResponse, isGitHub: boolean): void {
    try {
      if (!response.ok) throw new Unavailable(`${source.where}: ${response.error ?? `HTTP ${response.status}`}`);
      check(response.body.length, source.where);
      source.versions = isGitHub ? parseReleases(response.json()) : parse(response.text());
      source.problem = undefined;
    } catch (error) {
      console.error(String(error));
      if (!source.versions) source.problem = error as Error;
    }
  }

  #look(source: Source): void {
    const found = stat(source.where);
    const seen = found && `${found.size} ${found.modified}`;
    if (seen !== undefined && seen === source.seen) return;
    source.versions = undefined;
    source.problem = undefined;
    source.seen = undefined;
    if (!found) throw new Unavailable(`${source.where} is not there`);
    check(found.size, source.where);
    source.versions = parse(readText(source.where));
    source.seen = seen;
  }
}

function check(bytes: number, where: string): void {
  if (bytes > MAX_BYTES) throw new Failed(`${where} has ${bytes} bytes; changelogs of at most ${MAX_BYTES} are read`);
}
