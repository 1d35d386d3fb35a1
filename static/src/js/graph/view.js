// The graph of a DAG to look at, and of a wave while it goes on; beside it the times of the wave. Both draw what the page
// says as JSON, which refreshes with the page.
import { openPanel } from "../panel.js";
import { byLevel, closed, folded } from "./fold.js";
import { drawn } from "./drawn.js";
import { element } from "./element.js";
import { Gantt } from "./gantt.js";
import { makeGraph } from "./graph.js";

const foldsBy = { tasks: 1500, edges: 4000 }; // of more, levels are folded at first
const worst = ["bad", "warn", "busy", "good", "idle"]; // tones, that of a fold is the first that is in it

const read = () => {
  const data = document.getElementById("graph-data");
  return data ? { text: data.textContent, ...JSON.parse(data.textContent) } : null;
};

class View {
  constructor(box, data) {
    this.key = `tidewheel-folds-${data.key}`;
    this.take(data);
    this.folds = this.kept() ?? { levels: this.tasks.length > foldsBy.tasks || this.edges.length > foldsBy.edges, open: [], groups: [] };
    this.bar = element("div", "graph-folds", { role: "group", "aria-label": "Folds" });
    this.levels = this.button("Fold levels", () => this.fold({ levels: !this.folds.levels, open: [] }));
    this.choice = this.button("", () => this.group());
    this.opens = this.button("Open all", () => this.fold({ levels: false, open: [], groups: [] }));
    this.graph = makeGraph(box, {
      label: "Graph of the tasks", links: true, ...this.shown(),
      onOpen: (name) => this.open(name), onSelect: () => this.tell(),
      onKey: (event) => this.pressed(event),
    });
    this.graph.root.append(this.bar);
    this.tell();
  }

  button(words, act) {
    const button = element("button", "small", { type: "button" }, words);
    button.addEventListener("click", act);
    this.bar.append(button);
    return button;
  }

  kept() {
    try {
      return JSON.parse(sessionStorage.getItem(this.key));
    } catch {
      return null;
    }
  }

  take(data) {
    this.data = data;
    this.edges = data.tasks.flatMap((task) => (task.needs ?? []).map((need) => ({ from: data.tasks[need].name, to: task.name })));
    this.tasks = data.tasks.map((task) => this.task(task));
  }

  // task is what the graph says of a task: of a wave how it stands, else what it runs and when.
  task(task) {
    const told = drawn({ ...task, needs: task.needs ?? [] }, this.data.schedule);
    const href = this.data.path + encodeURIComponent(task.name);
    if (!task.state) return { ...told, href };
    const look = this.data.looks[task.state];
    const state = [look.word, task.took].filter(Boolean).join(" · ");
    const items = task.items && { succeeded: 0, failed: 0, running: 0, other: 0, ...task.items };
    const ended = items && items.succeeded + items.failed + items.other;
    return {
      ...told, href, critical: task.critical, look: { ...look, pending: task.state === "waiting" || task.state === "ready" },
      detail: items ? `${task.took ? `${task.took} · ` : ""}${ended} of ${items.total} items${items.failed ? `, ${items.failed} failed` : ""}` : state,
      words: [look.word, task.took, items && `${ended} of ${items.total} items ended${items.failed ? `, ${items.failed} failed` : ""}`, task.reason, task.critical && "on the critical path"].filter(Boolean).join(", "),
      notes: [], shares: items && items.total > 0 ? parts([["good", items.succeeded], ["bad", items.failed], ["idle", items.other], ["busy", items.running]], items.total) : undefined,
    };
  }

  update(data) {
    this.take(data);
    this.graph.update(this.shown());
    this.tell();
  }

  // shown is the graph with the folds that are closed.
  shown() {
    const groups = this.folds.groups.map((tasks, i) => ({ key: `fold:group-${i}`, title: `${tasks[0]} + ${tasks.length - 1} more`, tasks: tasks.filter((name) => this.tasks.some((task) => task.name === name)) }));
    const taken = new Set(groups.flatMap(({ tasks }) => tasks));
    const levels = this.folds.levels ? byLevel(this.tasks, this.edges) : [];
    const open = new Set(this.folds.open);
    const folds = [...groups.filter(({ tasks }) => tasks.length > 1), ...levels.filter(({ key }) => !open.has(key)).map((fold) => ({ ...fold, tasks: fold.tasks.filter((name) => !taken.has(name)) })).filter(({ tasks }) => tasks.length > 0)];
    this.there = folds;
    if (folds.length === 0) return { tasks: this.tasks, edges: this.edges };
    return folded({ tasks: this.tasks, edges: this.edges }, folds, (inside) => this.stand(inside));
  }

  // stand says how the tasks of a fold stand: by the worst of them, and all as parts of a bar.
  stand(inside) {
    if (!inside[0]?.look) return { words: `${inside.length} tasks, folded` };
    const counts = new Map();
    for (const { look } of inside) counts.set(look.word, { look, n: (counts.get(look.word)?.n ?? 0) + 1 });
    const rank = ({ look }) => worst.indexOf(look.tone);
    const sorted = [...counts.values()].sort((a, b) => rank(a) - rank(b));
    return {
      look: sorted[0].look, critical: inside.some(({ critical }) => critical),
      shares: parts(sorted.toReversed().map(({ look, n }) => [look.pending ? "" : look.tone, n]), inside.length),
      words: `${inside.length} tasks, folded: ${sorted.map(({ look, n }) => `${n} ${look.word}`).join(", ")}`,
    };
  }

  fold(change) {
    Object.assign(this.folds, change);
    sessionStorage.setItem(this.key, JSON.stringify(this.folds));
    this.graph.update(this.shown());
    this.graph.fit({ first: true });
    this.tell();
    this.graph.say(this.there.length > 0 ? `${this.there.length} folds` : "All folds are open");
  }

  group() {
    const names = closed(this.graph.selected().tasks.filter((name) => !name.startsWith("fold:")), this.edges);
    const chosen = new Set(names);
    const groups = this.folds.groups.map((tasks) => tasks.filter((name) => !chosen.has(name))).filter((tasks) => tasks.length > 1);
    this.fold({ groups: [...groups, this.tasks.map(({ name }) => name).filter((name) => chosen.has(name))] });
  }

  open(name) {
    const fold = this.there.find(({ key }) => key === name);
    if (fold) {
      const held = this.graph.root.contains(document.activeElement);
      const at = Number(name.replace("fold:group-", ""));
      this.fold(name.startsWith("fold:group-") ? { groups: this.folds.groups.filter((_, i) => i !== at) } : { open: [...this.folds.open, name] });
      if (held) this.graph.focus(fold.tasks[0]);
      return;
    }
    const { href } = this.graph.tasks.get(name);
    if (!document.querySelector("[data-panels]")) {
      location.assign(href);
      return;
    }
    openPanel(href, () => this.graph.focus(name));
  }

  pressed(event) {
    if (event.key.toLowerCase() !== "f" || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (this.graph.selected().tasks.length > 1) this.group();
    else this.levels.click();
  }

  tell() {
    const chosen = this.graph.selected().tasks.filter((name) => !name.startsWith("fold:")).length;
    this.levels.hidden = byLevel(this.tasks, this.edges).length === 0;
    this.levels.textContent = "Fold levels";
    this.levels.setAttribute("aria-pressed", String(this.folds.levels));
    this.choice.hidden = chosen < 2;
    this.choice.textContent = `Fold ${chosen} tasks`;
    this.opens.hidden = this.there.length === 0;
  }
}

const parts = (counts, total) => counts.filter(([, n]) => n > 0).map(([tone, n]) => ({ tone, share: n / total }));

export function startGraphs() {
  let data = read();
  if (!data) return;
  const box = document.querySelector("[data-graph]");
  const times = document.querySelector("[data-gantt]");
  const view = box && new View(box, data);
  if (view) requestAnimationFrame(() => performance.mark("graph-drawn"));
  const gantt = times && new Gantt(times, data);
  document.addEventListener("htmx:afterSwap", () => {
    const fresh = read();
    if (!fresh || fresh.text === data.text) return;
    data = fresh;
    view?.update(data);
    gantt?.update(data);
  });
  // The task in the panel is marked in the graph.
  document.addEventListener("tidewheel:panel", ({ detail }) => {
    const name = detail && new URL(detail, location.href).searchParams.get("name");
    view?.graph.select(name ? [name] : []);
    if (name) requestAnimationFrame(() => requestAnimationFrame(() => view?.graph.reveal(name))); // the panel takes its room first
  });
}
