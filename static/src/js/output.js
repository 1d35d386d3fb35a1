// The output of a run: follows it from where the page's tail ends, and fetches earlier pieces when asked.
import { connected, disconnected, refresh } from "./live.js";

const keep = 4 << 20; // characters shown of a live output; the oldest go, and can be had again with "Show earlier"

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
    this.shown = 0;
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
    const stick = this.atBottom();
    document.getElementById("output-empty")?.remove();
    const node = document.createTextNode(text);
    node.start = start;
    this.pre.append(node);
    this.shown += text.length;
    while (this.shown > keep && this.pre.childNodes.length > 1) this.drop();
    if (stick) this.bottom();
  }

  // drop takes the oldest piece off the page. What stands before the live part goes first.
  drop() {
    const first = this.pre.firstChild;
    this.shown -= first.length;
    first.remove();
    for (const piece of this.box.querySelectorAll("pre:not([data-follow])")) piece.remove();
    const next = this.pre.firstChild.start;
    if (next === undefined) return;
    let link = this.box.querySelector("[data-before]");
    if (!link) {
      link = document.createElement("a");
      link.textContent = "Show earlier";
      this.box.querySelector(".earlier").append(link);
    }
    link.href = `${this.box.dataset.page}&before=${next}`;
    link.dataset.before = next;
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
