// What the host calls for suggestions. An entry of asconfig.json, for a world that exports `completions`.

import { give, putStrings, takePairs, takeString } from "./abi";
import { Variables, provider } from "./wharf";

const COMPLETION_RESULT = 24;
/** The host passes on the first 100. */
const MOST = 100;

export function onComplete(
  templateAt: usize, templateLength: usize, argumentAt: usize, argumentLength: usize, valueAt: usize, valueLength: usize,
  pairsAt: usize, pairs: usize,
): usize {
  const template = takeString(templateAt, templateLength);
  const argument = takeString(argumentAt, argumentLength);
  const value = takeString(valueAt, valueLength);
  const known = new Variables(takePairs(pairsAt, pairs));
  let values = new Array<string>();
  for (let i = 0; i < provider.templates.length; i++) {
    const offer = provider.templates[i];
    const at = offer.completed.indexOf(argument);
    if (offer.uri == template && at >= 0) values = offer.onComplete[at](value, known);
  }
  const to = give(COMPLETION_RESULT);
  putStrings(values.slice(0, MOST), to + 4);
  store<u8>(to, 1, 12);
  store<u32>(to, values.length, 16);
  store<u8>(to, 1, 20);
  store<u8>(to, values.length > MOST ? 1 : 0, 21);
  return to;
}
