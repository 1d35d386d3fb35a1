// Draws edges from the handles of a task, with the mouse or a finger, and a box around several tasks. Where an edge may
// not end is seen and said while it is drawn.
import { size } from "./layout.js";
import { element, svg } from "./element.js";

const edge = 24; // pixels at the border of the view in which drawing pans
const pace = 10;

export class Linking {
  constructor(graph) {
    this.graph = graph;
    graph.view.addEventListener("pointerdown", (event) => this.down(event));
    graph.view.addEventListener("pointermove", (event) => this.move(event));
    graph.view.addEventListener("pointerup", (event) => this.up(event));
    graph.view.addEventListener("pointercancel", () => this.end());
    graph.root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !(this.drawing || this.box)) return;
      event.stopPropagation();
      this.end();
    });
  }

  down(event) {
    if (event.button !== 0 || !event.isPrimary) return;
    const handle = event.target.closest(".graph-handle");
    if (handle) this.begin(event, handle.closest(".graph-task").task, handle.dataset.side);
    else if (event.shiftKey && !event.target.closest(".graph-task")) this.beginBox(event);
  }

  begin(event, name, side) {
    event.preventDefault();
    event.stopPropagation();
    const { graph } = this;
    graph.view.setPointerCapture(event.pointerId);
    this.drawing = { name, side, target: null, words: "", pointer: event };
    this.line = svg("path", { class: "graph-drawn" });
    graph.lines.append(this.line);
    this.tip = element("p", "graph-tip", { "aria-hidden": "true" });
    graph.root.append(this.tip);
    graph.root.classList.add("drawing");
    // All at once: what a task may not be joined with is itself, what it is joined with, and what leads to it.
    const back = this.reached(name, side === "out" ? graph.needs : graph.dependants);
    const there = new Set((side === "out" ? graph.dependants : graph.needs).get(name) ?? []);
    for (const [other, node] of graph.elements) node.classList.toggle("cannot", other === name || back.has(other) || there.has(other));
    this.draw(event);
    this.pan();
  }

  reached(name, next) {
    const found = new Set([name]);
    for (const at of found) for (const other of next.get(at) ?? []) found.add(other);
    return found;
  }

  move(event) {
    if (this.box) this.drawBox(event);
    if (this.drawing) this.draw(event);
  }

  draw(event) {
    const { graph, drawing } = this;
    drawing.pointer = event;
    const at = graph.point(event);
    const place = graph.laid.places.get(drawing.name);
    const start = [drawing.side === "out" ? place.x + size.width : place.x, place.y + size.height / 2];
    const [from, to] = drawing.side === "out" ? [start, at] : [at, start];
    const reach = Math.max(40, Math.abs(to[0] - from[0]) / 2);
    this.line.setAttribute("d", `M${from}C${from[0] + reach} ${from[1]} ${to[0] - reach} ${to[1]} ${to}`);
    const target = this.under(at);
    if (target !== drawing.target) {
      graph.elements.get(drawing.target)?.classList.remove("target", "refused");
      drawing.target = target;
      drawing.words = target === null || target === drawing.name ? "" : graph.refusal(...this.ends(target));
      graph.elements.get(target)?.classList.add(drawing.words === "" ? "target" : "refused");
      if (target === drawing.name) graph.elements.get(target).classList.remove("target");
      if (drawing.words !== "") graph.say(`Refused: ${drawing.words}`);
    }
    this.line.classList.toggle("refused", drawing.words !== "");
    this.tip.textContent = this.says();
    this.tip.classList.toggle("refused", drawing.words !== "");
    const box = graph.root.getBoundingClientRect();
    this.tip.style.transform = `translate(${Math.min(event.clientX - box.left + 14, box.width - this.tip.offsetWidth - 8)}px, ${event.clientY - box.top + 18}px)`;
  }

  says() {
    const { name, side, target, words } = this.drawing;
    if (words !== "") return words;
    if (target === name) return side === "out" ? "Draw to the task that comes after it" : "Draw to the task that it needs";
    if (target !== null) return side === "out" ? `${target} needs ${name}` : `${name} needs ${target}`;
    return side === "out" ? "Let go here for a new task after it" : "Let go here for a new task before it";
  }

  ends(target) {
    const { name, side } = this.drawing;
    return side === "out" ? [name, target] : [target, name];
  }

  under([x, y]) {
    const slack = 10;
    for (const [name, place] of this.graph.laid.places) {
      if (x > place.x - slack && x < place.x + size.width + slack && y > place.y - slack && y < place.y + size.height + slack) return name;
    }
    return null;
  }

  // pan follows a drawing hand that comes to the border of the view.
  pan() {
    if (!this.drawing) return;
    const { graph, drawing } = this;
    const { pointer } = drawing;
    const box = graph.view.getBoundingClientRect();
    const push = (at, low, high) => (at < low + edge ? pace : at > high - edge ? -pace : 0);
    // Only towards where there is more of the graph, and never away from a task that the hand is on.
    const { x: left, y: top, k } = graph.transform;
    const more = (by, low, high, room) => (by > 0 ? low < 0 : high > room) ? by : 0;
    const dx = more(push(pointer.clientX, box.left, box.right), left, left + graph.laid.width * k, box.width);
    const dy = more(push(pointer.clientY, box.top, box.bottom), top, top + graph.laid.height * k, box.height);
    if (drawing.target === null && (dx !== 0 || dy !== 0)) {
      graph.panBy(dx, dy);
      this.draw(pointer);
    }
    requestAnimationFrame(() => this.pan());
  }

  up(event) {
    const { graph, drawing } = this;
    if (this.box) this.endBox();
    if (!drawing) return;
    this.draw(event);
    const { name, side, target, words } = drawing;
    const ends = target === null ? null : this.ends(target);
    this.end();
    if (target === name) return;
    if (target === null) graph.options.onFollow?.(name, side);
    else if (words === "") graph.options.onConnect?.(...ends);
    else graph.options.onRefused?.(words);
  }

  end() {
    this.line?.remove();
    this.tip?.remove();
    this.frame?.remove();
    for (const node of this.graph.elements.values()) node.classList.remove("cannot", "target", "refused");
    this.graph.root.classList.remove("drawing");
    this.drawing = null;
    this.box = null;
  }

  // A box drawn with Shift chooses what it touches.

  beginBox(event) {
    event.preventDefault();
    this.graph.view.setPointerCapture(event.pointerId);
    this.box = { from: [event.clientX, event.clientY], stage: this.graph.point(event), before: [...this.graph.chosen] };
    this.frame = element("div", "graph-box");
    this.graph.root.append(this.frame);
    this.drawBox(event);
  }

  drawBox(event) {
    const bounds = this.graph.root.getBoundingClientRect();
    const [x, y] = this.box.from;
    this.frame.style.transform = `translate(${Math.min(x, event.clientX) - bounds.left}px, ${Math.min(y, event.clientY) - bounds.top}px)`;
    this.frame.style.width = `${Math.abs(event.clientX - x)}px`;
    this.frame.style.height = `${Math.abs(event.clientY - y)}px`;
    this.box.to = this.graph.point(event);
  }

  endBox() {
    const { graph, box } = this;
    const low = [0, 1].map((i) => Math.min(box.stage[i], box.to[i]));
    const high = [0, 1].map((i) => Math.max(box.stage[i], box.to[i]));
    const touched = [...graph.laid.places].filter(([, { x, y }]) => x + size.width > low[0] && x < high[0] && y + size.height > low[1] && y < high[1]);
    this.end();
    graph.select([...new Set([...box.before, ...touched.map(([name]) => name)])]);
  }
}
