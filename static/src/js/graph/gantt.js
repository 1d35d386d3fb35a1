// When the tasks of a wave waited and ran: a row each, of which only those in view are in the page. It is one stop of Tab;
// arrow keys go from row to row.
import { element, icon, svg } from "./element.js";

const height = 30; // pixels of a row
const spare = 8; // rows around the view
const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 1728e5];
const most = 6; // lines of time

export class Gantt {
  constructor(box, data) {
    this.box = box;
    this.elements = new Map();
    this.active = 0;
    this.head = element("div", "gantt-head", { "aria-hidden": "true" });
    this.scroller = element("div", "gantt-scroll");
    this.list = element("div", "gantt-rows", { role: "list", "aria-label": "Times of the tasks" });
    this.scroller.append(this.list);
    this.empty = element("p", "soft gantt-empty", {}, "Nothing has run yet: this chart shows when each task waits and runs.");
    this.key = element("ul", "key");
    for (const [name, words] of [["queued", "in the queue"], ["ran", "running, an attempt each"], ["path", "on the critical path"]]) {
      const item = element("li");
      const mark = svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" });
      mark.append(svg("rect", { class: `gantt-key-${name}`, x: 1, y: name === "queued" ? 5 : 3, width: 14, height: name === "queued" ? 6 : 10, rx: 2 }));
      item.append(mark, words);
      this.key.append(item);
    }
    box.append(this.empty, this.head, this.scroller, this.key);
    this.scroller.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.list.addEventListener("keydown", (event) => this.pressed(event));
    this.list.addEventListener("focusin", (event) => {
      const row = event.target.closest(".gantt-row");
      if (row) this.active = row.at;
    });
    new ResizeObserver(() => this.schedule()).observe(this.scroller);
    this.update(data);
  }

  update(data) {
    this.data = data;
    const begin = ({ bars }) => bars[0].from;
    const named = this.rows?.[this.active]?.name;
    this.rows = data.tasks.filter(({ bars }) => bars?.length > 0).sort((a, b) => begin(a) - begin(b));
    this.active = Math.max(0, this.rows.findIndex(({ name }) => name === named));
    this.span = Math.max(data.span ?? 0, 1);
    for (const part of [this.head, this.scroller, this.key]) part.hidden = this.rows.length === 0;
    this.empty.hidden = this.rows.length > 0;
    this.list.style.height = `${this.rows.length * height}px`;
    for (const node of this.elements.values()) node.remove();
    const held = this.list.contains(document.activeElement);
    this.elements.clear();
    this.scale();
    this.show();
    if (held) this.go(this.active);
  }

  // scale draws lines at round times.
  scale() {
    let step = steps.find((one) => this.span / one <= most) ?? steps.at(-1);
    while (this.span / step > most) step *= 2;
    this.ticks = [];
    for (let at = step; at < this.span; at += step) this.ticks.push(at / this.span);
    const plot = svg("svg", { class: "plot" });
    plot.append(...this.ticks.map((at, i) => {
      const text = svg("text", { x: percent(at), y: 16, "text-anchor": at > 0.93 ? "end" : "middle" });
      text.textContent = span(step * (i + 1));
      return text;
    }));
    this.head.replaceChildren(element("span", "", {}, `${this.rows.length} ${this.rows.length === 1 ? "task" : "tasks"}`), plot, element("span", "number", {}, span(this.span)));
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.show();
    });
  }

  show() {
    const from = Math.max(0, Math.floor(this.scroller.scrollTop / height) - spare);
    const to = Math.min(this.rows.length, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / height) + spare);
    for (const [at, node] of this.elements) {
      if (at >= from && at < to) continue;
      if (node.contains(document.activeElement)) continue;
      node.remove();
      this.elements.delete(at);
    }
    for (let at = from; at < to; at++) if (!this.elements.has(at)) this.make(at);
  }

  make(at) {
    const task = this.rows[at];
    const look = this.data.looks[task.state];
    const row = element("div", task.critical ? "gantt-row critical" : "gantt-row", { role: "listitem", "aria-setsize": String(this.rows.length), "aria-posinset": String(at + 1) });
    row.at = at;
    row.style.transform = `translateY(${at * height}px)`;
    const address = this.data.path + encodeURIComponent(task.name);
    const waited = task.bars[0].state ? 0 : task.bars[0].to - task.bars[0].from;
    const attempts = task.bars.filter(({ state }) => state).length;
    const words = [`${task.name}: ${look.word}`, task.took, waited > 1 && `${span(waited)} in the queue`, attempts > 1 && `${attempts} attempts`, task.critical && "on the critical path"].filter(Boolean).join(", ");
    const link = element("a", "", { href: address, "data-panel": address, "aria-label": words, title: words, tabindex: at === this.active ? "0" : "-1" });
    const mark = element("span", `status ${look.tone}`);
    mark.append(icon(look.shape, "shape"));
    const name = element("span", "gantt-name");
    name.append(mark, element("span", "", {}, task.name));
    const plot = svg("svg", { class: "plot", "aria-hidden": "true" });
    plot.append(...this.ticks.map((x) => svg("line", { class: "tick", x1: percent(x), x2: percent(x), y1: 0, y2: "100%" })));
    for (const bar of task.bars) {
      const place = { x: percent(bar.from / this.span), width: percent(Math.max((bar.to - bar.from) / this.span, 0.003)) };
      plot.append(bar.state
        ? svg("rect", { class: `ran ${this.data.looks[bar.state]?.tone ?? "idle"}`, ...place, y: 7, height: 16, rx: 3 })
        : svg("rect", { class: "queued", ...place, y: 12, height: 6, rx: 2 }));
    }
    link.append(name, plot, element("span", "number", {}, task.took ?? ""));
    row.append(link);
    this.elements.set(at, row);
    this.list.append(row);
    return row;
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / height) - 1);
    const to = { ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page, Home: 0, End: this.rows.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.go(Math.max(0, Math.min(this.rows.length - 1, to)));
  }

  go(at) {
    this.elements.get(this.active)?.firstElementChild.setAttribute("tabindex", "-1");
    this.active = at;
    const top = at * height;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + height > this.scroller.scrollTop + this.scroller.clientHeight) this.scroller.scrollTop = top + height - this.scroller.clientHeight;
    const row = this.elements.get(at) ?? this.make(at);
    row.firstElementChild.setAttribute("tabindex", "0");
    row.firstElementChild.focus({ preventScroll: true });
    this.show();
  }
}

const percent = (share) => `${(100 * Math.min(Math.max(share, 0), 1)).toFixed(2)}%`;

// span writes milliseconds as the server writes durations.
export function span(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const two = (n) => String(n).padStart(2, "0");
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`;
}
