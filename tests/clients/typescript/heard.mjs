// What a client was told without asking: counted, and awaited.
const WAIT_MS = 15_000;

export class Heard {
  // How often the list was said to have changed.
  lists = 0;
  // What may mean that the server is gone: the connection or a stream ended.
  interruptions = [];
  #updates = new Map();
  #waiting = new Set();

  updates(uri) {
    return this.#updates.get(uri) ?? 0;
  }

  updated(uri) {
    this.#updates.set(uri, this.updates(uri) + 1);
    this.#look();
  }

  listChanged() {
    this.lists += 1;
    this.#look();
  }

  interrupted(what) {
    this.interruptions.push(String(what));
    this.#look();
  }

  // Waits until this holds.
  until(holds, what, ms = WAIT_MS) {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!holds()) return;
        clearTimeout(late);
        this.#waiting.delete(look);
        resolve();
      };
      const late = setTimeout(() => {
        this.#waiting.delete(look);
        reject(new Error(`${what} did not arrive within ${ms} ms`));
      }, ms);
      this.#waiting.add(look);
      look();
    });
  }

  #look() {
    for (const look of [...this.#waiting]) look();
  }
}
