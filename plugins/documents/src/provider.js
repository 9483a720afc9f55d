// `documents`: the JSON documents of granted folders, values inside them, and their outlines.

import * as fileWatch from 'wharf:provider/file-watch@0.1.0';
import * as random from 'wasi:random/random@0.2.0';
import * as stderr from 'wasi:cli/stderr@0.2.0';
import { documents, isDocument, parse, source } from './folder.js';
import { NoValue, outline, pointersFrom, valueAt } from './json.js';
import { decode, Invalid, json, Provider, text } from './wharf/wharf.js';
import { grantedFolders } from './wharf/files.js';

const JSON_TYPE = 'application/json';
const provider = new Provider({ fileWatch, random, stderr });

const names = (typed) => documents().map(({ path }) => path).filter((path) => path.startsWith(typed));

/** What is subscribed: of each URI the document, and what a read answered when it last changed. */
const subscribed = new Map();

provider.template('documents://file/{+path}')
  .title('A JSON document')
  .describe('A whole document, as it is on the disk. For a large one read its outline first, and then the value you need.')
  .mimeType(JSON_TYPE)
  .list(() => {
    watch();
    return documents().map(({ path, size, modified }) => ({ variables: { path }, title: path, size, annotations: { lastModified: modified } }));
  })
  .complete('path', names)
  .subscribable(...watched(({ path }) => decode(source(path))))
  .read(({ variables: { path } }) => text(source(path)));

provider.template('documents://value/{+path}{?at}')
  .title('A value in a JSON document')
  .describe('The value at a JSON pointer (RFC 6901), such as documents://value/docs/a.json?at=/servers/0/name; without `at` the whole document.')
  .mimeType(JSON_TYPE)
  .complete('path', names)
  .complete('at', (typed, { path }) => (path === undefined ? [] : pointersFrom(parse(path), typed)))
  .subscribable(...watched(value))
  .read(({ variables }) => json(value(variables)));

provider.template('documents://outline/{+path}')
  .title('The outline of a JSON document')
  .describe('Its keys and types, and the lengths of its arrays: what there is to ask for, in few words.')
  .mimeType('text/plain')
  .complete('path', names)
  .subscribable(...watched(({ path }) => outline(parse(path))))
  .read(({ variables: { path } }) => outline(parse(path)));

function value({ path, at = '' }) {
  const document = parse(path);
  try {
    return valueAt(document, at);
  } catch (error) {
    if (error instanceof NoValue) throw new Invalid(error.message);
    throw error;
  }
}

/** Keeps what the URI holds, so that only a change of that is told: not each change of the document. */
function watched(content) {
  const now = (variables) => {
    try {
      return JSON.stringify(content(variables));
    } catch (error) {
      // A document that is not there yet, or that somebody is just writing: it becomes another by becoming right.
      return `${error.tag}: ${error.message}`;
    }
  };
  return [
    ({ uri, variables }) => {
      watch();
      subscribed.set(uri, { path: `/${variables.path}`, now: () => now(variables), held: now(variables) });
    },
    ({ uri }) => subscribed.delete(uri),
  ];
}

let watching = false;

function watch() {
  if (watching) return;
  for (const folder of grantedFolders()) provider.watch(folder, folder, changed, { recursive: true });
  watching = true;
}

function changed(changes) {
  const reaches = ({ path, change }, document) => path === document || (change === 'rescan' && document.startsWith(path)) || document.startsWith(`${path}/`);
  const updated = [];
  for (const [uri, one] of subscribed) {
    if (!changes.some((change) => reaches(change, one.path))) continue;
    const content = one.now();
    if (content !== one.held) updated.push(uri);
    one.held = content;
  }
  if (updated.length > 0) provider.updated(updated);
  // What is no document may be a folder of them.
  if (changes.some(({ path, change }) => change !== 'modified' && (isDocument(path) || !/\.[^/]*$/.test(path)))) provider.listChanged();
}

export const { resources, subscriptions, completions, timerHandler, fileHandler } = provider;
