// A resource or a template, as an author describes it.

import { Answer, Problem, Request, Variables } from "./wharf";

/** A picture a client may show: an `https:` URL, or a `data:` URI in base64. */
export class Icon {
  constructor(
    public src: string,
    public mimeType: string = "",
    /** `48x48`, or `any` for a scalable one. */
    public sizes: string[] = [],
    /** "light" or "dark": the background it is drawn for. "": good on both. */
    public theme: string = "",
  ) {}
}

/** A resource, a template, or one that a template lists, being described: each method may be left out, and gives the same object back.
 * `read`, the one that a resource and a template need, is the last. */
export class Offer {
  theName: string = "";
  theTitle: string = "";
  theDescription: string = "";
  theMimeType: string = "";
  theMeta: string = "";
  theSize: f64 = NaN;
  icons: Icon[] = [];
  isAnnotated: bool = false;
  audience: string[] = [];
  priority: f64 = NaN;
  lastModified: f64 = NaN;
  isSubscribable: bool = false;
  onRead: ((request: Request) => Answer) | null = null;
  onSubscribe: ((request: Request) => Problem | null) | null = null;
  onUnsubscribe: ((request: Request) => void) | null = null;
  onList: (() => Offer[]) | null = null;
  completed: string[] = [];
  onComplete: ((value: string, known: Variables) => string[])[] = [];

  constructor(public uri: string, public variables: Variables = new Variables()) {}

  /** Short; what a client shows when there is no title. Left out: the last segment of the URI. */
  name(name: string): Offer { this.theName = name; return this; }
  /** For people. */
  title(title: string): Offer { this.theTitle = title; return this; }
  /** What it is, for the model to decide whether to read it. */
  describe(description: string): Offer { this.theDescription = description; return this; }
  /** The media type of what `read` gives. */
  mimeType(mimeType: string): Offer { this.theMimeType = mimeType; return this; }
  /** Bytes of the content. Not for templates. */
  size(size: f64): Offer { this.theSize = size; return this; }
  icon(icon: Icon): Offer { this.icons.push(icon); return this; }
  /** For whom ("user", "assistant"); from 0, optional, to 1, required; when it changed, in milliseconds since 1970. NaN: not said. */
  annotations(audience: string[], priority: f64 = NaN, lastModified: f64 = NaN): Offer {
    this.isAnnotated = true;
    this.audience = audience;
    this.priority = priority;
    this.lastModified = lastModified;
    return this;
  }
  /** A JSON object, as text, for MCP's `_meta`. */
  meta(json: string): Offer { this.theMeta = json; return this; }

  /** That changes are announced: by `updated`, or by nothing but a reload. `on` is called for the first that subscribes, `off` when nobody
   * is left. */
  subscribable(on: ((request: Request) => Problem | null) | null = null, off: ((request: Request) => void) | null = null): Offer {
    this.isSubscribable = true;
    this.onSubscribe = on;
    this.onUnsubscribe = off;
    return this;
  }
  /** Of a template: those of the family that are worth being listed one by one. */
  list(on: () => Offer[]): Offer { this.onList = on; return this; }
  /** Of a template: values for a variable that fit what is typed of it, best first, given the variables that are known already. */
  complete(variable: string, on: (value: string, known: Variables) => string[]): Offer {
    this.completed.push(variable);
    this.onComplete.push(on);
    return this;
  }
  /** What it holds; asked for at each read. */
  read(on: (request: Request) => Answer): void { this.onRead = on; }
}

/** One of those of a template that are worth being listed: its variables make its URI. What it leaves out, the template says. */
export function entry(variables: Variables): Offer {
  return new Offer("", variables);
}
