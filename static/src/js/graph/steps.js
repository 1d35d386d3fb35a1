// The graph by keyboard: arrows go along edges and between neighbours, Space chooses, Enter opens, Delete removes.
import { size } from "./layout.js";

export class Steps {
  constructor(graph) {
    this.graph = graph;
    graph.root.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const { graph } = this;
    if (!event.target.closest(".graph-task, .graph-view") || event.altKey) return;
    const node = event.target.closest(".graph-task");
    if (node) graph.active = node.task;
    const command = event.ctrlKey || event.metaKey;
    const keys = {
      ArrowLeft: () => this.go("left", event), ArrowRight: () => this.go("right", event), ArrowUp: () => this.go("up", event), ArrowDown: () => this.go("down", event),
      Home: () => this.to(graph.tasks.keys().next().value, event), End: () => this.to([...graph.tasks.keys()].at(-1), event),
      " ": () => graph.toggle(graph.active), Enter: () => graph.options.onOpen?.(graph.active), Escape: () => graph.select([]),
      Delete: () => graph.options.onRemove?.(this.removable()), Backspace: () => graph.options.onRemove?.(this.removable()),
      "+": () => graph.zoom(1.25), "=": () => graph.zoom(1.25), "-": () => graph.zoom(0.8), 0: () => graph.fit(),
    };
    const act = command && event.key.toLowerCase() === "a" ? () => graph.select([...graph.tasks.keys()]) : command && !event.key.startsWith("Arrow") ? undefined : keys[event.key];
    if (act === undefined) {
      graph.options.onKey?.(event, graph.active);
      return;
    }
    if (event.target.closest("button:not(.graph-task)")) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  removable() {
    const { tasks, edges } = this.graph.selected();
    return tasks.length === 0 && edges.length === 0 && this.graph.active !== null ? { tasks: [this.graph.active], edges: [] } : { tasks, edges };
  }

  go(direction, event) {
    this.to(this.next(direction), event);
  }

  // With Ctrl the focus moves alone, with Shift what it comes to is chosen too.
  to(name, { shiftKey, ctrlKey, metaKey }) {
    const { graph } = this;
    if (name === undefined || name === null) return;
    graph.whole = false;
    graph.activate(name);
    if (shiftKey) graph.select([...graph.chosen, name]);
    else if (!ctrlKey && !metaKey) graph.select([name]);
  }

  // next is the nearest task in a direction; left and right what is joined comes first.
  next(direction) {
    const { graph } = this;
    const here = graph.laid.places.get(graph.active);
    if (!here) return undefined;
    const level = direction === "left" || direction === "right";
    const sign = direction === "left" || direction === "up" ? -1 : 1;
    const joined = level ? ((direction === "left" ? graph.needs : graph.dependants).get(graph.active) ?? []) : [];
    const away = (name) => {
      const { x, y } = graph.laid.places.get(name);
      const along = ((level ? x - here.x : y - here.y) * sign) / (level ? size.width : size.height);
      const aside = Math.abs(level ? (y - here.y) / size.height : (x - here.x) / size.width);
      return along <= 0.05 && joined.length === 0 ? Infinity : Math.abs(along) + aside * (level ? 1 : 4);
    };
    let best;
    let least = Infinity;
    for (const name of joined.length > 0 ? joined : graph.tasks.keys()) {
      const distance = name === graph.active ? Infinity : away(name);
      if (distance < least) [best, least] = [name, distance];
    }
    return best;
  }
}
