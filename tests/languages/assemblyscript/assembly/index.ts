// The contract fixture in AssemblyScript: the same resources in every language, for one and the same test.

import { cancel, every } from "./wharf/timers";
import { Answer, Content, Icon, Problem, Request, log, now, provider, setting, updated } from "./wharf/wharf";

const PLAIN = "text/plain";
const COUNT = "contract://count";
const SETTING = "contract://setting";
const META = '{"contract/x":1}';
const PERIOD = 100;

let counted = 0;
let spins: u32 = 0;
let held: StaticArray<u8>[] = [];

function icon(): Icon {
  return new Icon("data:image/png;base64,AAAA", "image/png", ["48x48"], "dark");
}

// The first page has one resource, as the test wants more than one page.
provider.pageSize = 1;

provider.resource("contract://full")
  .title("Everything").describe("Every field that a list can carry.").mimeType(PLAIN).size(5)
  .icon(icon()).annotations(["user", "assistant"], 0.5, 1700000000000).meta(META)
  .subscribable()
  .read((request) => request.ifNoneMatch == "1" ? Answer.notModified() : Answer.text("hello").version("1").reuseFor(1000));
provider.resource("contract://utf8").mimeType(PLAIN).subscribable().read((request) => Answer.text("grüße, 世界"));
provider.resource("contract://blob").mimeType("application/octet-stream").subscribable().read((request) => {
  const all = new Uint8Array(256);
  for (let i = 0; i < 256; i++) all[i] = <u8>i;
  return Answer.bytes(all);
});
provider.resource("contract://two").mimeType(PLAIN).subscribable().read((request) => {
  const one = new Content();
  one.text = "one";
  const two = new Content("contract://two/part", "text/markdown");
  two.text = "two";
  two.meta = '{"contract/part":2}';
  return Answer.of([one, two]);
});
provider.resource(COUNT).mimeType(PLAIN)
  .subscribable((request) => every("count", PERIOD, tick), (request) => cancel("count"))
  .read((request) => Answer.text(counted.toString()));
provider.resource(SETTING).mimeType(PLAIN).subscribable().read((request) => {
  const greeting = setting("greeting");
  return Answer.text(greeting === null ? "none" : greeting);
});

provider.template("contract://echo/{word}{?from,to}")
  .name("echo").title("Echo").describe("What the URI says.").mimeType(PLAIN)
  .icon(icon()).annotations(["user", "assistant"], 0.5, 1700000000000).meta(META)
  .subscribable()
  .complete("word", (value, known) => {
    const words = ["alpha", "beta", "gamma"];
    const fit = new Array<string>();
    for (let i = 0; i < words.length; i++) if (words[i].startsWith(value)) fit.push(words[i]);
    return fit;
  })
  .complete("from", (value, known) => known.all("word"))
  .read((request) => Answer.text(`word=${or(request, "word")} from=${or(request, "from")} to=${or(request, "to")}`));
provider.template("contract://path/{+path}").name("path").subscribable().read((request) => Answer.text(request.get("path")));
provider.template("contract://error/{kind}").name("error")
  .subscribable((request) => asked(request.get("kind")))
  .read((request) => Answer.fail(asked(request.get("kind"))));
provider.template("contract://do/{what}").name("do").subscribable().read((request) => act(request.get("what")));

function tick(): void {
  counted++;
  updated([COUNT]);
}

function or(request: Request, name: string): string {
  return request.variables.has(name) ? request.get(name) : "-";
}

function asked(kind: string): Problem {
  const message = "as asked: " + kind;
  if (kind == "invalid") return Problem.invalid(message);
  if (kind == "denied") return Problem.denied(message);
  if (kind == "unavailable") return Problem.unavailable(message);
  if (kind == "failed") return Problem.failed(message);
  return Problem.notFound();
}

function act(what: string): Answer {
  if (what == "trap") {
    log("about to die");
    throw new Error("as asked");
  }
  if (what == "loop") {
    while (true) spins++;
  }
  if (what == "allocate") {
    while (true) {
      const more = new StaticArray<u8>(1 << 20);
      more.fill(1);
      held.push(more);
    }
  }
  if (what == "stderr") {
    log("a line from the guest");
    return Answer.text("done");
  }
  if (what == "random") return Answer.text((<u64>(Math.random() * 1e16)).toString().padStart(16, "0"));
  if (what == "now") return Answer.text((<u64>now()).toString());
  if (what == "announce") {
    updated([SETTING]);
    return Answer.text("done");
  }
  return Answer.notFound();
}
