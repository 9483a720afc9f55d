// The connection to the host: its stream of events, and what is asked beside it.
//
// The stream is read with fetch: other than an EventSource it says why it was refused, and that comments still come. Whatever ends it, it
// is opened again, at growing intervals. While another resource is being watched, the old stream goes on until the new one has begun.

/** The host says something at least every 15 s. */
const SILENCE_MS = 40_000;
const PAUSES_MS = [250, 500, 1000, 2000, 3000];
const ASK_MS = 60_000;
/** Characters of one event. The longest there are, of `notice`, have some thousand. */
const EVENT_LIMIT = 4_000_000;

/** The JSON at a path. */
export async function ask(path) {
  const response = await fetch(path, { signal: AbortSignal.timeout(ASK_MS), cache: 'no-store' });
  const json = response.headers.get('content-type')?.startsWith('application/json');
  if (!json) throw new Error(`the host answers ${response.status}: ${(await response.text()).slice(0, 300)}`);
  return response.json();
}

export class Live {
  /** `on` has `event(kind, data)`, `up(hello, watched)`, `down(why)` and `unwatched(why)`. */
  constructor(on) {
    this.on = on;
    this.watched = null;
    this.refused = null;
    this.current = null;
    this.newest = null;
    this.failures = 0;
    this.timer = null;
    const hurry = () => {
      if (!this.current && this.timer) this.open();
    };
    addEventListener('online', hurry);
    document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && hurry());
  }

  /** From now on this resource is watched, or none. */
  watch(uri) {
    if (uri === this.watched) return;
    this.watched = uri;
    if (this.newest) this.open();
  }

  open() {
    clearTimeout(this.timer);
    this.timer = null;
    if (this.newest !== this.current) this.newest?.abort.abort();
    const stream = { abort: new AbortController(), watched: this.watched === this.refused ? null : this.watched, started: false };
    this.newest = stream;
    this.read(stream).then(
      () => this.ended(stream, 'the host ended the stream'),
      (error) => this.ended(stream, error.name === 'AbortError' ? 'the host is silent' : 'the host does not answer', error),
    );
  }

  ended(stream, why, error) {
    stream.abort.abort();
    if (this.current === stream) this.current = null;
    if (stream !== this.newest || this.timer) return;
    if (error?.refused && stream.watched !== null && !stream.started) {
      // The rest of the page needs no watched resource.
      this.refused = stream.watched;
      this.on.unwatched(error.message);
      this.open();
      return;
    }
    if (!this.current) this.on.down(error?.status ? error.message : why);
    this.refused = null;
    this.timer = setTimeout(() => this.open(), PAUSES_MS[Math.min(this.failures, PAUSES_MS.length - 1)]);
    this.failures += 1;
  }

  async read(stream) {
    const { signal } = stream.abort;
    let silence = null;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => stream.abort.abort(), SILENCE_MS);
    };
    heard();
    try {
      const query = stream.watched === null ? '' : `?watch=${encodeURIComponent(stream.watched)}`;
      const response = await fetch(`/events${query}`, { signal, cache: 'no-store' });
      if (!response.ok) {
        const error = new Error((await response.text()).trim().slice(0, 300) || `the host answers ${response.status}`);
        throw Object.assign(error, { status: response.status, refused: response.status === 400 || response.status === 503 });
      }
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let unread = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        heard();
        const events = (unread + value).split('\n\n');
        unread = events.pop();
        if (unread.length > EVENT_LIMIT) throw new Error('an event without an end');
        for (const event of events) this.take(stream, event);
      }
    } finally {
      clearTimeout(silence);
    }
  }

  take(stream, text) {
    const field = (name) =>
      text
        .split('\n')
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2);
    const [kind, data] = [field('event'), field('data')];
    if (!kind || !data) return;
    const said = JSON.parse(data);
    if (kind === 'hello') {
      if (stream !== this.newest) return;
      const old = this.current;
      this.current = stream;
      stream.started = true;
      this.failures = 0;
      if (old && old !== stream) old.abort.abort();
      this.on.up(said, stream.watched);
    } else if (stream === this.current) {
      this.on.event(kind, said);
    }
  }
}
