// The output of a run. The page holds a window of some thousand lines: it follows the end while the program prints,
// fetches lines where the reader scrolls, and leads to lines and to what a search finds. The server makes the rows, so
// what a program prints never reaches the page but as the text of a template.
import { connected, disconnected, refresh, sessionEnded } from "./live.js";
import { doneBefore } from "./flash.js";
import { seen, takeFollow } from "./streams.js";
import { format } from "./zone.js";

const most = 3000; // rows on the page; those far from the reader go, and are fetched again when needed
const briefly = 1000; // milliseconds of a look at the end where other windows hold all streams
const lineClock = () => format("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23" });
const near = 600; // pixels from an edge of the window at which more is fetched

// toLogin is for a request that was led to the login page: the session has ended, and a reload leads there and back.
function toLogin() {
  sessionEnded();
  location.reload();
  return null;
}

class Output {
  constructor(box) {
    this.box = box;
    this.part = box.closest("section");
    this.state = document.getElementById("output-state");
    this.size = document.getElementById("output-size");
    this.found = document.getElementById("output-found");
    this.wrap = this.part.querySelector("[data-wrap]");
    this.toEnd = this.part.querySelector("[data-end]");
    this.progress = this.part.querySelector("[data-progress]");
    this.times = this.part.querySelector("[data-times]");
    this.complete = "complete" in box.dataset;
    this.take(box.querySelector(".lines"));
    this.atEnd = !("past" in box.dataset); // the last row is the last line
    this.sticks = this.atEnd; // what comes is scrolled to
    this.unseen = 0;
    this.listen();
    if (!this.fromAddress()) {
      if (this.atEnd) this.bottom();
    }
    this.window();
    this.buttons();
    this.fill();
    if (this.atEnd && !this.complete) this.follow();
  }

  // fill fetches earlier lines while those that are shown do not fill the window: lines about progress are not.
  async fill() {
    for (let i = 0; i < 20 && this.atEnd && this.first() > 1 && this.box.scrollHeight <= this.box.clientHeight; i++) await this.extend("before");
  }

  // showProgress shows the lines that say how far the program is, or leaves them out.
  showProgress(on) {
    this.progress?.setAttribute("aria-pressed", String(on));
    this.box.classList.toggle("with-progress", on);
    if (this.sticks) this.bottom();
  }

  // showTimes shows when each line came, or leaves that out.
  showTimes(on) {
    localStorage.setItem("output-times", on ? "yes" : "no");
    this.times.setAttribute("aria-pressed", String(on));
    this.box.classList.toggle("with-times", on);
    this.tell();
    if (this.sticks) this.bottom();
  }

  // tell writes the times of lines in the zone of the page, where they are shown.
  tell(rows = this.rows) {
    if (!this.box.classList.contains("with-times")) return;
    for (const time of rows.querySelectorAll("[data-line-time]")) {
      time.textContent = lineClock().format(new Date(time.dateTime));
      time.title = time.dateTime;
    }
  }

  // take makes a stretch of lines from the server the window.
  take(lines) {
    this.lines = lines;
    this.rows = lines.querySelector(".rows");
    this.total = Number(lines.dataset.total);
    this.place = { offset: lines.dataset.offset, line: lines.dataset.line, mid: "mid" in lines.dataset };
  }

  first() {
    return Number(this.rows.firstElementChild?.id.slice(1) ?? 0);
  }

  last() {
    return Number(this.rows.lastElementChild?.id.slice(1) ?? 0);
  }

  listen() {
    this.box.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.part.addEventListener("click", (event) => this.clicked(event));
    this.part.querySelector("form.find")?.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = event.target.elements.namedItem("find").value;
      if (text === "") this.closeSearch();
      else this.search(`find=${encodeURIComponent(text)}`);
    });
    this.part.querySelector("form.line-form")?.addEventListener("submit", (event) => {
      event.preventDefault();
      const line = Number(event.target.elements.namedItem("line").value);
      if (line > 0) this.jump(Math.min(line, Math.max(this.total, 1)));
    });
    if (this.wrap) {
      this.wrap.hidden = false;
      this.setWrap(localStorage.getItem("output-wrap") !== "no");
    }
    if (this.times) {
      this.showTimes(localStorage.getItem("output-times") === "yes");
      document.addEventListener("tidewheel:zone", () => this.tell());
    }
    window.addEventListener("hashchange", () => this.fromAddress());
    this.box.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (event.target !== this.box || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "End") {
      event.preventDefault();
      this.end();
    } else if (event.key === "Home") {
      event.preventDefault();
      this.jump(1, false);
    } else if (event.key === "ArrowUp" || event.key === "PageUp") this.letGo();
  }

  clicked(event) {
    if (event.target.closest("[data-wrap]")) return this.setWrap(this.wrap.getAttribute("aria-pressed") !== "true");
    if (event.target.closest("[data-times]")) return this.showTimes(this.times.getAttribute("aria-pressed") !== "true");
    if (event.target.closest("[data-end]")) return this.end();
    if (event.target.closest("[data-progress]")) return this.showProgress(this.progress.getAttribute("aria-pressed") !== "true");
    const link = event.target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.button !== 0) return;
    const act = (what) => {
      event.preventDefault();
      what();
    };
    if (link.dataset.toLine) act(() => this.jump(Number(link.dataset.toLine)));
    else if ("n" in link.dataset) act(() => this.choose(Number(link.dataset.n), event.shiftKey));
    else if ("findOn" in link.dataset) act(() => this.search(new URL(link.href).search.slice(1)));
    else if ("findOff" in link.dataset) act(() => this.closeSearch());
    else if (new URL(link.href).searchParams.has("errors")) act(() => this.search("errors=1"));
    else if (link.closest("[data-edge]")) {
      const line = Number(new URL(link.href).searchParams.get("line"));
      act(() => (line > 0 ? this.jump(line, false) : this.end()));
    }
  }

  setWrap(on) {
    localStorage.setItem("output-wrap", on ? "yes" : "no");
    this.wrap.setAttribute("aria-pressed", String(on));
    this.box.classList.toggle("unwrapped", !on);
    if (this.sticks) this.bottom();
  }

  atBottom() {
    return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < 24;
  }

  bottom() {
    this.box.scrollTop = this.box.scrollHeight;
  }

  window() {
    if (this.times?.hidden && this.rows.querySelector("[data-line-time]")) this.times.hidden = false;
    if (this.progress?.hidden && this.rows.querySelector(".progress-line")) this.progress.hidden = false;
    if (this.rows.childElementCount > 0) this.box.toggleAttribute("data-windowed", this.total > 400);
  }

  // buttons says what the button at the end does, and how much has come that the reader has not seen.
  buttons() {
    if (!this.toEnd) return;
    const follows = this.atEnd && this.sticks;
    this.toEnd.hidden = this.complete && follows;
    if (!this.complete) this.toEnd.setAttribute("aria-pressed", String(follows));
    else this.toEnd.removeAttribute("aria-pressed");
    let words = this.complete ? "To the end" : follows ? "Following" : "Follow";
    if (!follows && this.unseen > 0) words += `, ${this.unseen} new`;
    if (this.toEnd.textContent.trim() !== words) this.toEnd.textContent = words;
  }

  letGo() {
    this.sticks = false;
    this.buttons();
  }

  scrolled() {
    const bottom = this.atBottom();
    const up = this.box.scrollTop < (this.before ?? 0) - 2;
    this.before = this.box.scrollTop;
    if (this.atEnd && bottom && !this.sticks && !up) {
      this.sticks = true;
      this.unseen = 0;
      this.buttons();
    } else if (this.sticks && up && !bottom) this.letGo();
    if (this.box.scrollTop < near && this.first() > 1) this.extend("before");
    else if (!this.atEnd && this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < near) this.extend("behind");
  }

  async get(query) {
    const response = await fetch(`${this.box.dataset.url}&${query}`, { cache: "no-store" }).catch(() => null);
    if (response?.redirected) return toLogin();
    if (!response?.ok) {
      disconnected();
      return null;
    }
    connected();
    const holder = document.createElement("template");
    holder.innerHTML = await response.text();
    this.tell(holder.content);
    return holder.content.firstElementChild;
  }

  // extend fetches lines at an edge of the window; the reader's line stays where it is.
  async extend(edge) {
    if (this.extending) return;
    this.extending = true;
    const generation = this.generation;
    const from = edge === "before" ? Math.max(1, this.first() - 400) : this.last() + 1;
    const lines = await this.get(`lines=${from}`);
    this.extending = false;
    if (!lines || generation !== this.generation) return;
    const fresh = [...lines.querySelector(".rows").children];
    this.total = Math.max(this.total, Number(lines.dataset.total));
    const anchor = edge === "before" ? this.rows.firstElementChild : this.rows.lastElementChild;
    const top = anchor?.offsetTop ?? 0;
    if (edge === "before") {
      const first = this.first();
      const older = fresh.filter((row) => Number(row.id.slice(1)) < first);
      // Long lines may not all have come: a gap would be a lie, so the window begins anew there.
      if (older.length > 0 && Number(older.at(-1).id.slice(1)) !== first - 1) return this.show(lines, from);
      this.rows.prepend(...older);
      this.trim("behind");
    } else {
      const last = this.last();
      this.rows.append(...fresh.filter((row) => Number(row.id.slice(1)) > last));
      this.trim("before");
      if (this.last() >= Number(lines.dataset.total)) {
        this.atEnd = true;
        this.place = { offset: lines.dataset.offset, line: lines.dataset.line, mid: "mid" in lines.dataset };
        if (!this.complete && !this.following) this.follow();
      }
    }
    if (anchor?.isConnected) this.box.scrollTop += anchor.offsetTop - top;
    this.before = this.box.scrollTop;
    this.edges();
    this.mark();
    this.buttons();
  }

  // trim takes rows off the edge that is far from the reader.
  trim(edge) {
    let many = this.rows.childElementCount - most;
    if (many <= 0) return;
    if (edge === "behind") {
      this.stop();
      this.atEnd = false;
      this.sticks = false;
    }
    while (many-- > 0) (edge === "behind" ? this.rows.lastElementChild : this.rows.firstElementChild).remove();
  }

  // edges leads a reader without a wheel on.
  edges() {
    for (const [edge, more] of [
      ["before", this.first() > 1],
      ["behind", !this.atEnd],
    ]) {
      const place = this.lines.querySelector(`[data-edge="${edge}"]`);
      if (!more) place.replaceChildren();
      else if (!place.querySelector("a")) place.innerHTML = edge === "before"
        ? `<a href="${this.box.dataset.page}&line=1#L1">The first</a>`
        : `<a href="${this.box.dataset.page}#output">The last</a>`;
    }
  }

  // show makes lines from the server the window, and a line of them the reader's.
  show(lines, line) {
    this.stop();
    this.generation = (this.generation ?? 0) + 1;
    document.getElementById("output-empty")?.remove();
    this.lines.replaceWith(lines);
    this.take(lines);
    this.atEnd = this.last() >= this.total;
    this.sticks = false;
    this.window();
    const row = document.getElementById(`L${line}`);
    if (row?.classList.contains("progress-line")) this.showProgress(true);
    if (row) this.box.scrollTop = row.offsetTop - this.rows.offsetTop - (line > 1 ? this.box.clientHeight / 4 : 0);
    this.before = this.box.scrollTop;
    if (this.atEnd && !this.complete) this.follow();
    this.buttons();
  }

  // jump goes to a line and marks it.
  async jump(line, marks = true) {
    this.sticks = false;
    if (document.getElementById(`L${line}`)?.classList.contains("progress-line")) this.showProgress(true);
    if (document.getElementById(`L${line}`) === null || (!marks && line === 1 && this.first() > 1)) {
      const lines = await this.get(`lines=${Math.max(1, line - 150)}`);
      if (!lines) return;
      this.show(lines, line);
    } else {
      this.box.scrollTop = document.getElementById(`L${line}`).offsetTop - this.rows.offsetTop - this.box.clientHeight / 4;
    }
    if (marks) this.choose(line, false);
    this.buttons();
    this.box.focus({ preventScroll: true });
  }

  // end shows the last lines and follows what comes.
  async end() {
    this.unseen = 0;
    if (!this.atEnd) {
      const lines = await this.get("lines=end");
      if (!lines) return;
      this.show(lines, 0);
    }
    this.sticks = true;
    this.bottom();
    this.before = this.box.scrollTop;
    if (!this.complete && !this.following) this.follow();
    this.buttons();
  }

  // search looks part by part until something is found or there is no more, unless the reader closes it.
  async search(query) {
    const mine = (this.searching = {});
    for (let next = query; next; ) {
      const found = await this.get(next);
      if (!found || this.searching !== mine) return;
      this.found.replaceChildren(found);
      const first = found.querySelector("[data-to-line]");
      if (first) {
        await this.jump(Number(first.dataset.toLine));
        first.focus({ preventScroll: true });
        return;
      }
      const further = found.querySelector("[data-find-on]");
      next = further ? new URL(further.href).search.slice(1) : "";
    }
  }

  closeSearch() {
    this.searching = undefined;
    this.found.replaceChildren();
  }

  // choose marks a line, or all from the chosen one to it, and puts them into the address.
  choose(line, extends_) {
    if (extends_ && this.chosen) {
      const ends = [this.chosen[0], this.chosen[1], line];
      this.chosen = [Math.min(...ends), Math.max(...ends)];
    } else this.chosen = [line, line];
    const [from, to] = this.chosen;
    const hash = from === to ? `#L${from}` : `#L${from}-L${to}`;
    // Beside another page its address stays that page's.
    if (!this.box.closest(".task-panel")) history.replaceState(null, "", `${this.box.dataset.page}&line=${from}${hash}`);
    this.mark();
  }

  mark() {
    for (const row of this.rows.querySelectorAll(".marked")) row.classList.remove("marked");
    if (!this.chosen) return;
    const to = Math.min(this.chosen[1], this.last());
    for (let n = Math.max(this.chosen[0], this.first()); n <= to; n++) document.getElementById(`L${n}`)?.classList.add("marked");
  }

  // fromAddress goes to the lines that the address names; false if it names none.
  fromAddress() {
    const named = /^#L(\d+)(?:-L(\d+))?$/.exec(location.hash);
    if (!named) return false;
    const from = Number(named[1]);
    const to = Number(named[2] ?? from);
    this.jump(from, false).then(() => {
      this.chosen = [Math.min(from, to), Math.max(from, to)];
      this.mark();
    });
    return true;
  }

  say(words) {
    if (this.state && this.state.textContent.trim() !== words) this.state.textContent = words;
  }

  // stop ends the following: the window has left the end.
  stop() {
    this.following?.abort();
    this.following = undefined;
    if (!this.complete) this.say("so far");
  }

  async follow() {
    this.stop();
    const control = new AbortController();
    this.following = control;
    for (let wait = 500; this.following === control; wait = Math.min(wait * 2, 5000)) {
      await seen(control.signal); // a page that is hidden holds no connection
      const release = await takeFollow();
      const request = new AbortController();
      const cut = () => request.abort();
      control.signal.addEventListener("abort", cut);
      document.addEventListener("visibilitychange", cut);
      const brief = release ? undefined : setTimeout(cut, briefly);
      try {
        if (this.following !== control) return;
        const { offset, line, mid } = this.place;
        const response = await fetch(`${this.box.dataset.url}&follow=1&offset=${offset}&line=${line}${mid ? "&mid=1" : ""}`, {
          cache: "no-store",
          signal: request.signal,
        });
        if (response.redirected) return toLogin();
        if (!response.ok) throw new Error(`status ${response.status}`);
        connected();
        this.say("live");
        const body = response.body.pipeThrough(new TextDecoderStream()).getReader();
        let rest = "";
        for (;;) {
          const { done, value } = await body.read();
          if (done) break;
          wait = 500;
          const messages = (rest + value).split("\n");
          rest = messages.pop();
          for (const message of messages) this.add(JSON.parse(message));
        }
        // Only an answer that began when the attempt had ended is whole for certain; any other is asked for the rest.
        if (response.headers.get("X-Log-Complete") === "true") {
          this.complete = true;
          this.following = undefined;
          this.flush();
          this.say("complete");
          this.buttons();
          refresh();
          return;
        }
      } catch {
        if (this.following !== control) return;
        if (!request.signal.aborted) {
          this.say("connection lost, trying again");
          disconnected();
        } else if (document.hidden) wait = 500; // it goes on as soon as it is seen
      } finally {
        release?.();
        clearTimeout(brief);
        document.removeEventListener("visibilitychange", cut);
        control.signal.removeEventListener("abort", cut);
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  // add takes a message of the server. Rows are put on the page once a frame.
  add(message) {
    this.place = { offset: message.offset, line: message.line, mid: Boolean(message.mid) };
    if (message.skipped) this.waiting = [];
    (this.waiting ??= []).push(message);
    if (this.frame === undefined) this.frame = setTimeout(() => this.flush(), 50);
  }

  flush() {
    clearTimeout(this.frame);
    this.frame = undefined;
    const messages = this.waiting ?? [];
    this.waiting = [];
    if (messages.length === 0 || !this.atEnd) return;
    document.getElementById("output-empty")?.remove();
    const before = this.last();
    for (const message of messages) {
      if (message.skipped) this.rows.replaceChildren();
      const holder = document.createElement("template");
      holder.innerHTML = message.html ?? "";
      this.tell(holder.content);
      const first = holder.content.firstElementChild;
      const there = first && document.getElementById(first.id);
      if (there) there.replaceWith(first);
      this.rows.append(...holder.content.children);
    }
    const { total, size } = messages.at(-1);
    this.total = total;
    if (this.size) this.size.textContent = `· ${total.toLocaleString("en").replaceAll(",", "\u202f")} ${total === 1 ? "line" : "lines"}, ${size}`;
    if (this.sticks) {
      const many = this.rows.childElementCount - most;
      for (let i = 0; i < many; i++) this.rows.firstElementChild.remove();
    } else this.unseen += Math.max(0, this.last() - before);
    this.window();
    this.edges();
    this.mark();
    if (this.sticks) this.bottom();
    this.before = this.box.scrollTop;
    this.buttons();
  }
}

// Who has asked for another attempt is led to its output once it has begun, unless they have turned to a line of this one.
function awaitRetry() {
  if (doneBefore !== "retried") return;
  document.addEventListener("htmx:afterSwap", () => {
    const newer = document.querySelector("a[data-newer]");
    if (newer) location.replace(newer.href);
  });
}

export const openOutput = (box) => new Output(box);

export function startOutput() {
  for (const box of document.querySelectorAll("[data-output]")) new Output(box);
  awaitRetry();
}
