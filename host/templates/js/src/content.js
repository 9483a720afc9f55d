// What this provider has to say. There is no WebAssembly in this file: `npm test` tests it on your own machine.

/** What `{{scheme}}://sentence` holds. Change it and save while `wharf dev` runs: whoever is subscribed reads the new one. */
export const SENTENCE = 'The tide is coming in.';

/** What `{{scheme}}://greeting/{name}` holds. */
export function greeting(name) {
  return `Hello, ${name}!`;
}

/** What `{{scheme}}://seconds` holds: for how long somebody has been subscribed to it. */
export class Seconds {
  #passed = 0;

  /** One more has passed. */
  tick() {
    this.#passed += 1;
  }

  text() {
    return this.#passed === 1 ? '1 second' : `${this.#passed} seconds`;
  }
}
