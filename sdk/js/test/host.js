// Stands in for the host in tests: the imports of the contract lead to `fake.js`, the files of WASI to `fake-files.js`.
import { register } from 'node:module';

const fake = (name) => JSON.stringify(new URL(name, import.meta.url).href);
const hooks = `const FAKES = { 'wharf:': ${fake('./fake.js')}, 'wasi:': ${fake('./fake-files.js')} };
export async function resolve(name, context, next) {
  const url = FAKES[name.slice(0, name.indexOf(':') + 1)];
  return url ? { url, shortCircuit: true } : next(name, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
