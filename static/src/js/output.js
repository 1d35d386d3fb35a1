// The output of a run: follows it from where the page's tail ends, and fetches earlier pieces when asked.
import { connected, disconnected, refresh } from "./live.js";

const keep = 1 << 19; // characters shown of a live output; the oldest go, and can be had again with "Show earlier"
const pause = 100; // milliseconds between two changes of the page: a layout of much text takes its time

// Makes text of bytes as web/ui's readable does: no control character and nothing that turns the direction of reading
// reaches the page.
export class Reader {
  #decoder = new TextDecoder("utf-8");
  #rest = "";

  read(bytes, more) {
    let text = this.#rest + this.#decoder.decode(bytes, { stream: more });
    this.#rest = "";
    if (more) {
      // An escape sequence or a line's end may go on in the next piece.
      const cut = text.search(/(?:\x1b(?:\[[0-?]*[ -/]*)?|\r)$/);
      if (cut >= 0 && text.length - cut < 64) {
        this.#rest = text.slice(cut);
        text = text.slice(0, cut);
      }
    }
    return text
      .replace(/\x1b\[[0-?]*[ -/]*[@-~]/g, "")
      .replace(/\r\n?/g, "\n")
      .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
      .replace(/[\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
  }
}

class Output {
  constructor(box) {
    this.box = box;
    this.pre = box.querySelector("[data-follow]");
    this.state = document.getElementById("output-state");
    this.offset = Number(box.dataset.offset);
    this.waiting = []; // pieces that are not on the page yet
    // What the server has put there is the first piece.
    this.shown = this.pre.textContent.length;
    if (this.pre.firstChild) this.pre.firstChild.start = Number(box.dataset.start);
    box.addEventListener("click", (event) => {
      const link = event.target.closest("[data-before]");
      if (!link) return;
      event.preventDefault();
      this.earlier(link);
    });
    this.bottom();
    if (!("complete" in box.dataset)) this.follow();
  }

  atBottom() {
    return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < 24;
  }

  bottom() {
    this.box.scrollTop = this.box.scrollHeight;
  }

  append(text, start) {
    if (text === "") return;
    const node = document.createTextNode(text);
    node.start = start;
    this.waiting.push(node);
    this.timer ??= setTimeout(() => this.flush(), pause);
  }

  // flush puts what has come since the last time on the page.
  flush() {
    this.timer = undefined;
    const stick = this.atBottom();
    document.getElementById("output-empty")?.remove();
    let much = this.waiting.reduce((sum, node) => sum + node.length, 0);
    let dropped = false;
    while (much > keep && this.waiting.length > 1) {
      much -= this.waiting.shift().length; // it would go at once
      dropped = true;
    }
    if (dropped) this.drop(this.pre.childNodes.length);
    this.pre.append(...this.waiting);
    this.waiting = [];
    this.shown += much;
    let old = 0;
    for (let left = this.shown; left > keep && old < this.pre.childNodes.length - 1; old++) left -= this.pre.childNodes[old].length;
    if (old > 0) this.drop(old);
    if (old > 0 || dropped) this.showWay();
    if (stick) this.bottom();
  }

  // drop takes the oldest pieces off the page, and before them what stands before the live part.
  drop(count) {
    for (const piece of this.box.querySelectorAll("pre:not([data-follow])")) piece.remove();
    for (let i = 0; i < count; i++) {
      this.shown -= this.pre.firstChild.length;
      this.pre.firstChild.remove();
    }
  }

  // showWay leads to what is before the first piece on the page.
  showWay() {
    const before = this.pre.firstChild.start;
    let link = this.box.querySelector("[data-before]");
    if (!link) {
      link = document.createElement("a");
      link.textContent = "Show earlier";
    }
    link.href = `${this.box.dataset.page}&before=${before}`;
    link.dataset.before = before;
    this.box.querySelector(".earlier").replaceChildren(link);
  }

  async earlier(link) {
    const response = await fetch(`${this.box.dataset.url}&before=${link.dataset.before}`).catch(() => null);
    if (response?.redirected) return location.reload();
    if (!response?.ok) {
      disconnected();
      return;
    }
    const height = this.box.scrollHeight;
    const top = this.box.scrollTop;
    link.closest(".earlier").outerHTML = await response.text();
    this.box.scrollTop = top + this.box.scrollHeight - height;
  }

  say(words) {
    if (this.state) this.state.textContent = words;
  }

  async follow() {
    const reader = new Reader();
    for (let wait = 500; ; wait = Math.min(wait * 2, 5000)) {
      try {
        const response = await fetch(`${this.box.dataset.url}&follow=1&offset=${this.offset}`, { cache: "no-store" });
        if (response.redirected) return location.reload(); // to the login page: the session has ended
        if (!response.ok) throw new Error(`status ${response.status}`);
        connected();
        this.say("live");
        const body = response.body.getReader();
        for (;;) {
          const { done, value } = await body.read();
          if (done) break;
          wait = 500;
          const start = this.offset;
          this.offset += value.byteLength;
          this.append(reader.read(value, true), start);
        }
        // Only an answer that began when the attempt had ended is whole for certain; any other is asked for the rest.
        if (response.headers.get("X-Log-Complete") === "true") {
          this.append(reader.read(new Uint8Array(), false), this.offset);
          this.say("complete");
          refresh();
          return;
        }
      } catch {
        this.say("connection lost, trying again");
        disconnected();
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

export function startOutput() {
  for (const box of document.querySelectorAll("[data-output]")) new Output(box);
}
