// {{name}}, a Wharf provider: what it offers. What the resources hold is in content.ts.

import { SENTENCE, greeting, seconds } from "./content";
import { cancel, every } from "./wharf/timers";
import { Answer, provider, updated } from "./wharf/wharf";

const PLAIN = "text/plain";
const TICKER = "{{scheme}}://seconds";
const SECOND = 1000; // milliseconds

// Calls come one at a time, all to this one instance, which lives until the next reload: what one call leaves here is there in the next.
// (A handler sees globals and its arguments, and no other variables: AssemblyScript has no closures.)
let counted: u32 = 0;

// It changes only when the source does: the host tells of that by itself.
provider.resource("{{scheme}}://sentence")
  .title("A sentence")
  .mimeType(PLAIN)
  .subscribable()
  .read((request) => Answer.text(SENTENCE));

// No call may wait, so time comes from the host: it calls `tick`.
provider.resource(TICKER)
  .title("How long somebody has been subscribed")
  .mimeType(PLAIN)
  .subscribable((request) => every(TICKER, SECOND, tick), (request) => cancel(TICKER))
  .read((request) => Answer.text(seconds(counted)));

provider.template("{{scheme}}://greeting/{name}")
  .title("A greeting for anybody")
  .mimeType(PLAIN)
  .subscribable()
  .read((request) => Answer.text(greeting(request.get("name"))));

// First change what is read, then say so.
function tick(): void {
  counted++;
  updated([TICKER]);
}
