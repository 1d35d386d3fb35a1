// The server's events, of which all windows of the browser share one stream: the page that holds the lock listens, and
// passes on what it hears. A page that is hidden or left lets go, and another one takes over.
import { canShare, take } from "./streams.js";

const address = "/api/v1/events";
const again = 15_000; // milliseconds until a stream that the server has refused is asked for again

export class Events {
  // handle.open(), handle.lost() and handle.changed() are called on every page that listens.
  constructor(handle) {
    this.handle = handle;
    this.open = false; // events come, to this page or to the one that listens for it
    this.channel = null;
  }

  get listening() {
    return this.stop !== undefined;
  }

  listen() {
    if (this.listening) return;
    const stop = new AbortController();
    this.stop = stop;
    if (!canShare()) {
      this.hear(stop.signal);
      return;
    }
    this.channel = new BroadcastChannel("tidewheel-events");
    this.channel.addEventListener("message", ({ data }) => this.heard(data));
    this.channel.postMessage("here"); // who listens says whether events come
    take("tidewheel-events", { signal: stop.signal }).then(
      (release) => {
        stop.signal.addEventListener("abort", release);
        if (stop.signal.aborted) release();
        else this.hear(stop.signal);
      },
      () => {}, // the page has let go before
    );
  }

  // letGo ends the stream, or the wait for it.
  letGo() {
    if (this.source?.readyState === EventSource.OPEN) this.channel?.postMessage("lost");
    this.source?.close();
    this.stop?.abort();
    this.channel?.close();
    Object.assign(this, { source: undefined, stop: undefined, channel: null, open: false });
  }

  // heard takes what another page passes on.
  heard(word) {
    if (word === "here") {
      if (this.source && this.open) this.channel.postMessage("open");
    } else this.tell(word);
  }

  tell(word) {
    if (word === "open") this.open = true;
    if (word === "lost") this.open = false;
    this.handle[word]?.();
  }

  // say tells this page and the others.
  say(word) {
    this.tell(word);
    this.channel?.postMessage(word);
  }

  hear(signal) {
    const source = new EventSource(address);
    this.source = source;
    source.addEventListener("open", () => this.say("open"));
    source.addEventListener("changed", () => this.say("changed"));
    source.addEventListener("error", () => {
      if (signal.aborted) return;
      this.say("lost"); // the parts ask by themselves until it is back
      if (source.readyState === EventSource.CLOSED) {
        setTimeout(() => {
          if (!signal.aborted) this.hear(signal);
        }, again);
      }
    });
  }
}
