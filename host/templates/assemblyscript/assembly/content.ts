// What this provider has to say. Nothing here knows of the host: `npm test` tests it by itself.

/** What `{{scheme}}://sentence` holds. Change it and save while `wharf dev` runs: whoever is subscribed reads the new one. */
export const SENTENCE = "The tide is coming in.";

/** What `{{scheme}}://greeting/{name}` holds. */
export function greeting(name: string): string {
  return "Hello, " + name + "!";
}

/** What `{{scheme}}://seconds` holds: for how long somebody has been subscribed to it. */
export function seconds(n: u32): string {
  return n == 1 ? "1 second" : n.toString() + " seconds";
}
