// A map of the whole graph in a corner of a large one: where the view is, and a way to move it.
import { size } from "./layout.js";
import { element } from "./element.js";

const room = { width: 180, height: 120 };

export class Minimap {
  constructor(graph) {
    this.graph = graph;
    this.root = element("div", "graph-map", { "aria-hidden": "true" });
    this.canvas = element("canvas", "");
    this.window = element("div", "graph-map-view");
    this.root.append(this.canvas, this.window);
    graph.root.append(this.root);
    this.root.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.root.setPointerCapture(event.pointerId);
      this.go(event);
    });
    this.root.addEventListener("pointermove", (event) => {
      if (this.root.hasPointerCapture(event.pointerId)) this.go(event);
    });
    // The colours of the other theme are others.
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.draw();
    this.theme.addEventListener("change", this.repaint);
  }

  get shown() {
    return this.graph.root.classList.contains("has-map");
  }

  draw() {
    const { graph } = this;
    if (!this.shown || !graph.laid?.width) return;
    this.scale = Math.min(room.width / graph.laid.width, room.height / graph.laid.height);
    this.root.dataset.mapTasks = graph.tasks.size;
    const width = Math.max(24, Math.ceil(graph.laid.width * this.scale));
    const height = Math.max(12, Math.ceil(graph.laid.height * this.scale));
    const ratio = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
    this.root.style.width = `${width}px`;
    this.root.style.height = `${height}px`;
    const brush = this.canvas.getContext("2d");
    brush.scale(ratio, ratio);
    const style = getComputedStyle(this.root);
    const colours = new Map();
    const colour = (name) => {
      if (!colours.has(name)) {
        this.root.style.color = `var(--${name})`;
        colours.set(name, style.color);
        this.root.style.color = "";
      }
      return colours.get(name);
    };
    const plain = new Set(["idle", ""]);
    for (const [name, { x, y }] of graph.laid.places) {
      const tone = graph.tasks.get(name)?.look?.tone ?? "";
      brush.fillStyle = colour(tone === "good" ? "water" : plain.has(tone) ? "edge" : tone);
      brush.fillRect(x * this.scale, y * this.scale, Math.max(1.5, size.width * this.scale), Math.max(1.5, size.height * this.scale));
    }
  }

  // frame shows which part of the graph is in view.
  frame() {
    if (!this.shown || !this.scale) return;
    const { x, y, k } = this.graph.transform;
    const { clientWidth, clientHeight } = this.graph.view;
    const part = this.scale / k;
    this.window.style.width = `${clientWidth * part}px`;
    this.window.style.height = `${clientHeight * part}px`;
    this.window.style.transform = `translate(${-x * part}px, ${-y * part}px)`;
  }

  go(event) {
    const { graph } = this;
    const box = this.root.getBoundingClientRect();
    const { x, y, k } = graph.transform;
    const at = [(event.clientX - box.left) / this.scale, (event.clientY - box.top) / this.scale];
    graph.whole = false;
    graph.panBy(graph.view.clientWidth / 2 - (at[0] * k + x), graph.view.clientHeight / 2 - (at[1] * k + y));
  }

  destroy() {
    this.theme.removeEventListener("change", this.repaint);
  }
}
