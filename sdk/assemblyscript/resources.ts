// What the host calls to list and read. It is one of the entries of asconfig.json; `exports.mjs` gives the exports their names in the
// contract.

import { give, putBytes, putNumber, putString, putStrings, putText, release, takeString } from "./abi";
import { find, lastSegment, listAll, putProblem } from "./dispatch";
import { Content, Answer, Icon, Offer, Problem, provider } from "./wharf";
export { cabi_realloc } from "./abi";

// Sizes of the contract's records in bytes, as the canonical ABI lays them out.
const RESOURCE_INFO = 160;
const TEMPLATE_INFO = 136;
const ICON = 36;
const CONTENTS = 48;
const PAGE_RESULT = 36;
const LIST_RESULT = 16;
const READING_RESULT = 40;

export function onList(hasCursor: i32, cursorAt: usize, cursorLength: usize): usize {
  const cursor = hasCursor ? takeString(cursorAt, cursorLength) : "";
  const all = listAll();
  const start = hasCursor ? <i32>parseInt(cursor) : 0;
  const to = give(PAGE_RESULT);
  if (hasCursor && (start <= 0 || start >= all.length || start.toString() != cursor)) {
    return putProblem(Problem.invalid("no such cursor: list from the first page"), to);
  }
  const end = min(start + provider.pageSize, all.length);
  const list = give((end - start) * RESOURCE_INFO);
  for (let i = start; i < end; i++) {
    const one = all[i];
    const info = list + (i - start) * RESOURCE_INFO;
    putString(one.uri, info);
    putNumber(one.fields.theSize, info + 56);
    putFields(one.fields, one.uri, info, 72, 88, 144);
  }
  store<usize>(to, list, 4);
  store<usize>(to, end - start, 8);
  if (end < all.length) putText(end.toString(), to + 12);
  store<u8>(to, 1, 24);
  if (provider.listFor) store<u32>(to, provider.listFor, 32);
  else store<u8>(to, 1, 28);
  return to;
}

export function onTemplates(): usize {
  const templates = provider.templates;
  const to = give(LIST_RESULT);
  const list = give(templates.length * TEMPLATE_INFO);
  for (let i = 0; i < templates.length; i++) {
    const info = list + i * TEMPLATE_INFO;
    putString(templates[i].uri, info);
    putFields(templates[i], templates[i].uri, info, 52, 64, 120);
  }
  store<usize>(to, list, 4);
  store<usize>(to, templates.length, 8);
  return to;
}

/** What both infos have; after the first four the two differ in where it is. */
function putFields(fields: Offer, uri: string, to: usize, icons: usize, annotations: usize, meta: usize): void {
  putString(fields.theName.length ? fields.theName : lastSegment(uri), to + 8);
  putText(fields.theTitle, to + 16);
  putText(fields.theDescription, to + 28);
  putText(fields.theMimeType, to + 40);
  if (fields.icons.length) {
    const list = give(fields.icons.length * ICON);
    for (let i = 0; i < fields.icons.length; i++) putIcon(fields.icons[i], list + i * ICON);
    store<u8>(to + icons, 1);
    store<usize>(to + icons, list, 4);
    store<usize>(to + icons, fields.icons.length, 8);
  }
  if (fields.isAnnotated) {
    const record = to + annotations + 8;
    store<u8>(to + annotations, 1);
    if (fields.audience.length) {
      const roles = give(fields.audience.length);
      for (let i = 0; i < fields.audience.length; i++) store<u8>(roles + i, fields.audience[i] == "user" ? 0 : 1);
      store<u8>(record, 1);
      store<usize>(record, roles, 4);
      store<usize>(record, fields.audience.length, 8);
    }
    putNumber(fields.priority, record + 16);
    putNumber(fields.lastModified, record + 32);
  }
  putText(fields.theMeta, to + meta);
}

function putIcon(icon: Icon, to: usize): void {
  putString(icon.src, to);
  putText(icon.mimeType, to + 8);
  if (icon.sizes.length) {
    store<u8>(to, 1, 20);
    putStrings(icon.sizes, to + 24);
  }
  if (icon.theme.length) {
    store<u8>(to, 1, 32);
    store<u8>(to, icon.theme == "light" ? 0 : 1, 33);
  }
}

export function onRead(
  uriAt: usize, uriLength: usize, matched: i32, templateAt: usize, templateLength: usize, pairsAt: usize, pairs: usize,
  hasVersion: i32, versionAt: usize, versionLength: usize,
): usize {
  const found = find(uriAt, uriLength, matched, templateAt, templateLength, pairsAt, pairs);
  if (hasVersion) found.request.ifNoneMatch = takeString(versionAt, versionLength);
  let answer = Answer.notFound();
  const offer = found.offer;
  if (offer !== null) {
    const on = offer.onRead;
    if (on !== null) answer = on(found.request);
  }
  const to = give(READING_RESULT);
  const problem = answer.problem;
  if (problem !== null) return putProblem(problem, to);
  if (answer.isNotModified) return to;
  store<u8>(to, 1, 4);
  const list = give(answer.contents.length * CONTENTS);
  for (let i = 0; i < answer.contents.length; i++) putContent(answer.contents[i], list + i * CONTENTS);
  store<usize>(to, list, 8);
  store<usize>(to, answer.contents.length, 12);
  putText(answer.theVersion, to + 16);
  if (!isNaN(answer.reuse)) {
    store<u8>(to, 1, 28);
    if (answer.reuse < 0) store<u8>(to, 1, 32);
    else store<u32>(to, <u32>answer.reuse, 36);
  }
  return to;
}

function putContent(content: Content, to: usize): void {
  putText(content.uri, to);
  putText(content.mimeType, to + 12);
  const bytes = content.bytes;
  if (bytes !== null) {
    store<u8>(to, 2, 24);
    putBytes(bytes, to + 28);
  } else {
    // As its bytes, `utf8`: what is made of a string here is that already.
    store<u8>(to, 1, 24);
    putString(content.text, to + 28);
  }
  putText(content.meta, to + 36);
}

/** After each export that answers, once the host has taken the answer over. */
export function onReturned(answer: usize): void {
  release();
}
