// Stands in for the host in tests: the imports of the contract lead to `fake.js`.
import { register } from 'node:module';

const fake = new URL('./fake.js', import.meta.url).href;
const hooks = `export async function resolve(name, context, next) {
  return name.startsWith('wharf:') ? { url: ${JSON.stringify(fake)}, shortCircuit: true } : next(name, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
