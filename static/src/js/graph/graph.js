// A graph of tasks that lays itself out, to look at and to edit: pan, zoom, select, and draw edges with the mouse, by
// touch and by keyboard. Tasks are elements of the page, so that they are read aloud, have the focus and the page's
// colours; edges are SVG below them. It changes nothing by itself: it tells what is asked for, and shows what it is given.
//
//   const graph = makeGraph(parent, { label, tasks, edges, editable, onSelect, onOpen, onConnect, … });
//   graph.update({ tasks, edges })          what there is now; where nothing moves, nothing moves
//   graph.setProblems(map)                  task → how many; shown as a badge
//   graph.select(names), graph.focus(name), graph.fit({ first }), graph.zoom(factor), graph.dim(on)
//   graph.selected(), graph.toSVG(), graph.destroy()
//
// A task is {name, detail, notes: [{icon, words}], rule: {label, words}}, an edge {from, to}. A task with an href is a
// link, and one that stands for others, {fold, title}, a button: such a graph is to look at. In a wave a task has a look,
// {word, tone, shape, turning}, took, items, critical, and shares: [{tone, share}] of a bar. Of the calls back, each may be left out:
// onSelect({tasks, edges}), onOpen(name), onConnect(from, to), onFollow(name, "out" | "in") for an edge that was dropped
// where no task is, onRemove({tasks, edges}), onKey(event, name) for keys that the graph does not know.
import { select as selection } from "d3-selection";
import { zoom as zooming, zoomIdentity } from "d3-zoom";
import { curve, layout, size } from "./layout.js";
import { neighbours, refusal } from "./structure.js";
import { Linking } from "./linking.js";
import { Minimap } from "./minimap.js";
import { Steps } from "./steps.js";
import { element, icon, svg } from "./element.js";
import { picture } from "./picture.js";
import { shares } from "./shares.js";

const closest = { least: 0.04, most: 2 };
const levels = { near: 0.52, middle: 0.26 }; // zoom from which texts, and names alone, can be read
const legible = 0.42; // zoom from which a first look shows all
const comfortable = 0.75; // zoom of a first look that cannot
const everything = 250; // tasks up to which all are kept in the page; of more, those in view
const mapped = 40; // tasks above which there is a map of the whole
const slack = 4; // pixels that a click may move
const aside = 56; // pixels at the right that the buttons stand on
// zoomStep is how far one event of the wheel zooms, as a power of two. A pinch comes as many small events with Ctrl; a notch of a
// mouse's wheel is one large event, which would zoom four-fold.
const zoomStep = (event) => {
  const step = -event.deltaY * (event.deltaMode === 1 ? 0.05 : event.deltaMode ? 1 : 0.002) * (event.ctrlKey ? 10 : 1);
  return Math.max(-0.4, Math.min(0.4, step));
};
const beside = 400; // pixels around the view in which tasks are kept

export const makeGraph = (parent, options) => new Graph(parent, options);

class Graph {
  constructor(parent, options) {
    this.options = options;
    this.tasks = new Map();
    this.elements = new Map();
    this.problems = new Map();
    this.chosen = new Set();
    this.chosenEdge = null;
    this.active = null; // the task that Tab leads to
    this.transform = zoomIdentity;
    this.build(parent);
    this.startZoom();
    this.startPointer();
    new Steps(this);
    if (options.editable) new Linking(this);
    this.update({ tasks: options.tasks ?? [], edges: options.edges ?? [] });
    this.watch = new ResizeObserver(() => this.resized());
    this.watch.observe(this.view);
  }

  build(parent) {
    this.root = element("div", "graph");
    this.view = element("div", "graph-view");
    this.stage = element("div", "graph-stage");
    this.lines = svg("svg", { class: "graph-edges", "aria-hidden": "true", width: 1, height: 1 });
    this.arrow = `graph-arrow-${Math.random().toString(36).slice(2)}`;
    const defs = svg("defs", {});
    for (const kind of ["", "-joined", "-bad"]) {
      const marker = svg("marker", { id: this.arrow + kind, class: `graph-arrow${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto", markerUnits: "userSpaceOnUse" });
      marker.append(svg("path", { d: "M0 0L8 4L0 8z" }));
      defs.append(marker);
    }
    this.paths = svg("g", {});
    this.lines.append(defs, this.paths);
    const role = this.options.links ? { role: "group" } : { role: "listbox", "aria-multiselectable": "true" };
    this.list = element("div", "graph-tasks", { ...role, "aria-label": this.options.label ?? "Tasks" });
    this.stage.append(this.lines, this.list);
    this.view.append(this.stage);
    this.tools = element("div", "graph-tools", { role: "group", "aria-label": "View" });
    for (const [name, label, act] of [["plus", "Zoom in", () => this.zoom(1.4)], ["minus", "Zoom out", () => this.zoom(1 / 1.4)], ["fit", "Show all of it", () => this.fit()]]) {
      const button = element("button", "", { type: "button", "aria-label": label, title: label });
      button.append(icon(name));
      button.addEventListener("click", act);
      this.tools.append(button);
    }
    this.said = element("p", "visually-hidden", { "aria-live": "polite" });
    this.root.append(this.view, this.tools, this.said);
    this.map = new Minimap(this);
    parent.append(this.root);
  }

  say(words) {
    this.said.textContent = words;
  }

  // Pan and zoom.

  startZoom() {
    this.zoomer = zooming().scaleExtent([closest.least, closest.most]).clickDistance(slack).wheelDelta(zoomStep)
      .filter((event) => {
        if (event.target.closest?.(".graph-handle, .graph-tools, .graph-cut")) return false;
        if (event.type === "wheel") return event.ctrlKey || event.metaKey || this.root.contains(document.activeElement);
        return !event.button && !event.ctrlKey && !event.shiftKey && !event.metaKey;
      })
      .on("start", (event) => {
        this.root.classList.toggle("panning", event.sourceEvent?.type === "mousedown");
        this.grasped = event.transform;
      })
      .on("end", () => {
        this.root.classList.remove("panning", "moving");
        this.schedule();
      })
      .on("zoom", ({ transform, sourceEvent }) => {
        this.transform = transform;
        // While it is moved by hand it is a layer of its own, which is not painted anew; to be zoomed it is.
        const { grasped } = this;
        const away = Math.abs(transform.x - grasped.x) + Math.abs(transform.y - grasped.y);
        if (/^(mouse|touch)move$/.test(sourceEvent?.type) && transform.k === grasped.k && away > slack) this.root.classList.add("moving");
        else if (transform.k !== grasped.k) this.root.classList.remove("moving");
        this.schedule();
      });
    selection(this.view).call(this.zoomer).on("dblclick.zoom", null);
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.show();
    });
  }

  zoom(factor) {
    selection(this.view).call(this.zoomer.scaleBy, factor);
  }

  // fit shows all of the graph, at its own size if there is room. Where all of it would be too small to read, a first look
  // shows its width instead, or begins with the roots.
  fit({ first = false } = {}) {
    // The map stands at the left of a wide view, and what folds above a narrow one.
    const left = this.tasks.size > mapped && this.view.clientWidth > 900 ? 190 : 0;
    const top = this.options.links && left === 0 ? 36 : 0;
    const width = this.view.clientWidth - aside - left;
    const height = this.view.clientHeight - top;
    let to = zoomIdentity;
    if (width > 0 && this.tasks.size > 0) {
      let k = Math.max(closest.least, Math.min(1, width / this.laid.width, height / this.laid.height));
      const readable = !first || k >= legible || this.tasks.size > everything;
      if (!readable) k = Math.max(comfortable, Math.min(1, width / this.laid.width));
      const x = left + (width - this.laid.width * k) / 2;
      to = zoomIdentity.translate(readable ? x : Math.max(0, x), top + (height - this.laid.height * k) / 2).scale(k);
    }
    selection(this.view).call(this.zoomer.transform, to);
    this.whole = true;
  }

  resized() {
    if (this.view.clientWidth !== this.shownWidth && (!this.shownWidth || this.whole)) this.fit({ first: !this.shownWidth });
    this.shownWidth = this.view.clientWidth;
    this.schedule();
  }

  // point is where on the stage an event is.
  point(event) {
    const box = this.view.getBoundingClientRect();
    return this.transform.invert([event.clientX - box.left, event.clientY - box.top]);
  }

  // reveal pans until a task is in view.
  reveal(name) {
    const place = this.laid.places.get(name);
    if (!place) return;
    const { x, y, k } = this.transform;
    const edge = 24;
    const over = (low, high, room) => (low < edge ? edge - low : high > room - edge ? Math.max(room - edge - high, edge - low) : 0);
    const left = place.x * k + x;
    const top = place.y * k + y;
    const dx = over(left, left + size.width * k, this.view.clientWidth);
    const dy = over(top, top + size.height * k, this.view.clientHeight);
    if (dx !== 0 || dy !== 0) this.panBy(dx, dy);
  }

  // panBy moves the graph by pixels of the view.
  panBy(dx, dy) {
    selection(this.view).call(this.zoomer.translateBy, dx / this.transform.k, dy / this.transform.k);
  }

  // What there is.

  update({ tasks, edges }) {
    const before = this.shape;
    const grown = tasks.length !== this.tasks.size;
    this.tasks = new Map(tasks.map((task) => [task.name, task]));
    this.edges = edges;
    this.needs = neighbours(edges, "to", "from");
    this.dependants = neighbours(edges, "from", "to");
    this.shape = JSON.stringify([tasks.map(({ name }) => name), edges.map(({ from, to }) => [from, to])]);
    for (const name of this.chosen) if (!this.tasks.has(name)) this.chosen.delete(name);
    if (!this.tasks.has(this.active)) this.active = null;
    if (this.shape !== before) {
      this.laid = layout([...this.tasks.keys()], edges);
      this.root.classList.toggle("large", this.tasks.size > everything);
      this.root.classList.toggle("has-map", this.tasks.size > mapped);
      this.drawEdges();
      const outgrown = this.whole && grown;
      if (this.chosenEdge && !this.paths.contains(this.chosenEdge.hit)) this.chooseEdge(null);
      if (outgrown || before === undefined) this.fit({ first: before === undefined });
    }
    for (const [name, node] of this.elements) if (!this.tasks.has(name)) this.drop(name, node);
    for (const [name, node] of this.elements) this.fill(node, this.tasks.get(name));
    this.list.hidden = this.tasks.size === 0;
    this.active ??= this.tasks.keys().next().value ?? null;
    this.map.draw();
    this.markEdges();
    this.culled = null;
    this.show();
  }

  setProblems(problems) {
    this.problems = problems;
    for (const [name, node] of this.elements) this.fill(node, this.tasks.get(name));
  }

  dim(on) {
    this.root.classList.toggle("dimmed", on);
  }

  drawEdges() {
    this.paths.replaceChildren();
    this.drawn = new Map();
    const fingers = this.options.editable && this.edges.length <= 800;
    for (const edge of this.edges) {
      const d = curve(this.laid.routes.get(edge));
      const bad = this.laid.closing.has(edge);
      const line = svg("path", { class: bad ? "graph-edge bad" : "graph-edge", d, "marker-end": `url(#${this.arrow}${bad ? "-bad" : ""})` });
      const hit = fingers ? svg("path", { class: "graph-hit", d }) : line;
      this.paths.append(...new Set([line, hit]));
      this.drawn.set(hit, { edge, line, hit, bad });
    }
    this.markEdges();
  }

  markEdges() {
    for (const { edge, line, bad } of this.drawn.values()) {
      const chosen = this.chosenEdge?.edge.from === edge.from && this.chosenEdge?.edge.to === edge.to;
      const joined = chosen || this.chosen.has(edge.from) || this.chosen.has(edge.to);
      line.classList.toggle("joined", joined);
      line.classList.toggle("chosen", chosen);
      line.classList.toggle("critical", Boolean(this.tasks.get(edge.from)?.critical && this.tasks.get(edge.to)?.critical));
      line.setAttribute("marker-end", `url(#${this.arrow}${bad ? "-bad" : joined ? "-joined" : ""})`);
    }
  }

  // show puts into the page what is in view, as fine as it can be seen.
  show() {
    const { x, y, k } = this.transform;
    this.stage.style.transform = `translate(${x}px, ${y}px) scale(${k})`;
    if (this.scaled !== k) {
      this.scaled = k; // every edge and border follows it
      this.root.style.setProperty("--scale", String(k));
    }
    const level = k >= levels.near ? "near" : k >= levels.middle ? "middle" : "far";
    if (this.root.dataset.level !== level) this.root.dataset.level = level;
    const all = this.tasks.size <= everything;
    const left = (-x - beside) / k;
    const top = (-y - beside) / k;
    const right = (this.view.clientWidth - x + beside) / k;
    const bottom = (this.view.clientHeight - y + beside) / k;
    const moving = this.root.classList.contains("moving");
    this.map.frame();
    this.placeCut();
    if (moving && this.culled && Math.abs(x - this.culled.x) < beside / 2 && Math.abs(y - this.culled.y) < beside / 2) return; // all that is in view is there
    this.culled = { x, y };
    let before = null;
    for (const [name, task] of this.tasks) {
      const place = this.laid.places.get(name);
      const seen = all || name === this.active || (place.x + size.width > left && place.x < right && place.y + size.height > top && place.y < bottom);
      let node = this.elements.get(name);
      if (!seen) {
        if (node && !moving) this.drop(name, node); // what is moved may come back
        continue;
      }
      if (!node) {
        node = this.make(task);
        if (all && before) before.after(node); // read aloud in the order of the definition
        else if (all) this.list.prepend(node);
        else this.list.append(node);
      }
      if (level !== "far" && !node.filled) this.fill(node, task);
      if (node.at !== place) this.place(node, place);
      before = node;
    }
  }

  // place puts a task where it is drawn. A transform of each of a thousand would be a thousand for the browser to go through at
  // every frame; few of them move to their new place when the graph changes, which takes a transform.
  place(node, place) {
    node.at = place;
    const large = this.tasks.size > everything;
    node.style.transform = large ? "" : `translate(${place.x}px, ${place.y}px)`;
    node.style.left = large ? `${place.x}px` : "";
    node.style.top = large ? `${place.y}px` : "";
  }

  drop(name, node) {
    node.remove();
    this.elements.delete(name);
  }

  make(task) {
    const kind = task.fold ? ["button", { type: "button" }] : task.href ? ["a", { href: task.href, draggable: "false" }] : ["div", { role: "option" }];
    const node = element(kind[0], "graph-task", { ...kind[1], tabindex: task.name === this.active ? "0" : "-1" });
    node.task = task.name;
    this.elements.set(task.name, node);
    this.label(node, task);
    this.mark(node);
    return node;
  }

  mark(node) {
    const chosen = this.chosen.has(node.task);
    if (!this.options.links) node.setAttribute("aria-selected", String(chosen));
    else if (chosen) node.setAttribute("aria-current", "true");
    else node.removeAttribute("aria-current");
  }

  label(node, task) {
    const problems = this.problems.get(task.name) ?? 0;
    const needs = this.needs.get(task.name) ?? [];
    const words = [
      task.title ?? task.name, task.words, task.detail && !task.look && !task.fold && `runs ${task.detail}`,
      task.fold ? "open it" : needs.length === 0 ? "root" : `needs ${needs.length > 6 ? `${needs.length} tasks` : needs.join(", ")}`,
      task.rule && `starts ${task.rule.words}`, ...(task.look ? [] : (task.notes ?? []).map((note) => note.words)), problems > 0 && `${problems} ${problems === 1 ? "problem" : "problems"}`,
    ];
    node.setAttribute("aria-label", words.filter(Boolean).join(", "));
    const tone = task.look?.tone ?? "";
    if (node.tone !== tone) {
      if (node.tone) node.classList.remove("in-wave", node.tone);
      if (tone) node.classList.add("in-wave", tone);
      node.tone = tone;
    }
    for (const [kind, on] of [["root", needs.length === 0 && !task.fold], ["wrong", problems > 0], ["fold", Boolean(task.fold)], ["critical", Boolean(task.critical)], ["idle-task", task.look?.pending ?? false]]) {
      node.classList.toggle(kind, on);
    }
  }

  // fill writes what a task says of itself; it is left for later while it could not be read.
  fill(node, task) {
    this.label(node, task);
    if (this.root.dataset.level === "far" && !node.filled) return;
    const problems = this.problems.get(task.name) ?? 0;
    const content = JSON.stringify([task.title, task.detail, task.notes, task.rule, task.look, task.took, task.items, task.shares, problems]);
    if (node.filled === content) return;
    node.filled = content;
    node.replaceChildren();
    const name = element("span", "graph-name");
    if (task.look) {
      const mark = icon(task.look.shape, "shape");
      if (task.look.turning) mark.classList.add("turning");
      name.append(mark);
    }
    name.append(element("span", "", { title: task.title ?? task.name }, task.title ?? task.name));
    node.append(name);
    node.append(element("span", "graph-detail", {}, task.detail || "no program"));
    const note = task.notes?.[0];
    if (task.shares) node.append(shares(task.shares));
    else if (note) {
      const line = element("span", "graph-note", { title: task.notes.map(({ words }) => words).join("\n") });
      line.append(icon(note.icon), element("span", "", {}, task.notes.map(({ words }) => words).join(" · ")));
      node.append(line);
    }
    if (task.rule) node.append(element("span", "graph-rule", { title: `Starts ${task.rule.words}`, "aria-hidden": "true" }, task.rule.label));
    if (problems > 0) node.append(element("span", "graph-badge", { title: `${problems} ${problems === 1 ? "problem" : "problems"}` }, String(problems)));
    if (this.options.editable) for (const side of ["in", "out"]) node.append(element("span", `graph-handle ${side}`, { "data-side": side }));
  }

  // Selection.

  startPointer() {
    this.list.addEventListener("click", (event) => {
      const node = event.target.closest(".graph-task");
      if (!node) return;
      if (this.options.links && (event.ctrlKey || event.metaKey)) return; // a link, to another window
      event.preventDefault();
      this.activate(node.task, { reveal: false });
      if (event.shiftKey || event.ctrlKey || event.metaKey) this.toggle(node.task);
      else if (this.options.links) this.options.onOpen?.(node.task);
      else this.select([node.task]);
    });
    this.list.addEventListener("dblclick", (event) => {
      const node = event.target.closest(".graph-task");
      if (node && !this.options.links) this.options.onOpen?.(node.task);
    });
    this.paths.addEventListener("click", (event) => {
      const drawn = this.drawn.get(event.target);
      if (drawn && this.options.editable) this.chooseEdge(drawn);
    });
    this.view.addEventListener("click", (event) => {
      if (event.target === this.view || event.target === this.stage || event.target === this.lines) this.select([]);
    });
    this.view.addEventListener("pointerdown", () => {
      this.whole = false;
    });
    this.view.addEventListener("wheel", () => {
      this.whole = false;
    }, { passive: true });
  }

  toggle(name) {
    const names = new Set(this.chosen);
    if (!names.delete(name)) names.add(name);
    this.select([...names]);
  }

  select(names, { quiet = false } = {}) {
    this.chosen = new Set(names.filter((name) => this.tasks.has(name)));
    this.chosenEdge = null;
    this.marked(quiet);
  }

  chooseEdge(drawn) {
    this.chosenEdge = drawn;
    if (drawn) this.chosen.clear();
    this.marked(false);
    if (drawn) this.say(`Edge from ${drawn.edge.from} to ${drawn.edge.to}. Delete removes it.`);
  }

  marked(quiet) {
    for (const node of this.elements.values()) this.mark(node);
    this.markEdges();
    this.placeCut();
    if (!quiet) this.options.onSelect?.(this.selected());
  }

  selected() {
    return { tasks: [...this.chosen], edges: this.chosenEdge ? [this.chosenEdge.edge] : [] };
  }

  // placeCut puts a button that removes the chosen edge at its middle.
  placeCut() {
    if (!this.chosenEdge) {
      this.cut?.remove();
      return;
    }
    if (!this.cut) {
      this.cut = element("button", "graph-cut", { type: "button" });
      this.cut.append(icon("close"));
      this.cut.addEventListener("click", () => this.options.onRemove?.(this.selected()));
    }
    const { edge, line } = this.chosenEdge;
    this.cut.setAttribute("aria-label", `Remove the edge from ${edge.from} to ${edge.to}`);
    const { x, y } = line.getPointAtLength(line.getTotalLength() / 2);
    const [left, top] = this.transform.apply([x, y]);
    this.cut.style.transform = `translate(${left}px, ${top}px) translate(-50%, -50%)`;
    if (!this.cut.isConnected) this.view.append(this.cut);
  }

  // activate makes a task the one that Tab leads to.
  activate(name, { reveal = true } = {}) {
    if (!this.tasks.has(name)) return;
    this.elements.get(this.active)?.setAttribute("tabindex", "-1");
    this.active = name;
    if (reveal) this.reveal(name);
    this.show();
    const node = this.elements.get(name);
    node.setAttribute("tabindex", "0");
    node.focus({ preventScroll: true });
  }

  focus(name = this.active) {
    this.activate(name);
  }

  refusal(from, to) {
    return refusal(this.edges, from, to);
  }

  toSVG() {
    return picture(this);
  }

  destroy() {
    this.map.destroy();
    this.watch.disconnect();
    cancelAnimationFrame(this.frame);
    this.root.remove();
  }
}
