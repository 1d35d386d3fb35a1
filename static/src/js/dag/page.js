// The editor of a DAG: its graph, the settings of what is chosen in it, and its YAML, which is the truth. What is done in
// the graph and in the settings patches the YAML; a change of the YAML shows in both. So there is one history to undo.
import { DefinitionPage, binaries, schemaOf } from "../editor/page.js";
import { lineOf } from "../editor/document.js";
import { valueAt, take } from "../editor/values.js";
import { makeGraph } from "../graph/graph.js";
import { Adding } from "./adding.js";
import { Choosing } from "./choosing.js";
import { connect, disconnect, duplicate, needsEdits, remove } from "./edits.js";
import { model, taskOf } from "./model.js";
import { Panel } from "./panel.js";
import { starts } from "./starts.js";

const typing = 150; // milliseconds of rest after which what is typed shows in the graph

export async function startPage(form) {
  const schema = await schemaOf();
  if (form.isConnected) new DagPage(form, schema);
}

class DagPage extends DefinitionPage {
  constructor(form, schema) {
    super(form);
    const part = (name) => form.querySelector(`[data-dagform-${name}]`);
    this.parts = Object.fromEntries(["graph", "canvas", "broken", "start", "said", "whole", "task", "several", "count", "names"].map((name) => [name, part(name)]));
    this.controls = [...this.parts.whole.querySelectorAll("[data-path]")];
    this.tasks = [];
    this.edges = [];
    this.parts.graph.hidden = false;
    this.startEditor(schema, (path) => (path[0] === "tasks" && path[2] === "needs" ? this.tasks.map(({ name }) => name).filter((name) => name !== path[1]) : undefined));
    this.form.dataset.shows = "graph"; // the graph is measured when it is made
    this.graph = makeGraph(this.parts.canvas, {
      label: "Tasks", editable: true,
      onSelect: () => this.chosen(),
      onOpen: (name) => this.open(name),
      onConnect: (from, to) => this.connect(from, to),
      onRefused: (words) => this.say(`Refused: ${words}`),
      onFollow: (name, side) => this.adding.open(side === "out" ? { needs: [name] } : { before: name }),
      onRemove: (what) => this.remove(what),
      onKey: (event, name) => this.key(event, name),
    });
    this.panel = new Panel(this, this.parts.task);
    this.adding = new Adding(this, document.querySelector("[data-dagform-add]"));
    this.choosing = new Choosing(this, document.querySelector("[data-dagform-needs]"));
    for (const control of this.controls) control.addEventListener("input", () => this.typed(control));
    this.startActions();
    this.startTemplates();
    this.start("graph");
  }

  changed(by) {
    this.area.value = this.editor.text();
    this.area.dispatchEvent(new Event("input", { bubbles: true })); // htmx asks for the check
    clearTimeout(this.resting);
    if (by === "typed") this.resting = setTimeout(() => this.showAll(), typing);
    else this.showAll();
    this.showState();
  }

  showAll() {
    const { values, problem, line } = this.editor.read();
    this.graph.dim(values === null);
    for (const place of [this.parts.broken, this.unread]) place.hidden = values !== null;
    if (values === null) {
      const where = line > 0 ? `Line ${line}: ` : "";
      this.parts.broken.textContent = `The graph is that of the YAML when it could last be read. ${where}${problem}`;
      this.unread.textContent = `The settings wait until the YAML can be read. ${where}${problem}`;
    } else {
      this.values = values;
      Object.assign(this, model(values));
      this.graph.update({ tasks: this.tasks, edges: this.edges });
    }
    for (const card of this.fields.querySelectorAll(".card")) card.inert = values === null;
    this.showTemplates();
    this.showChosen();
    this.showPast();
  }

  // What is chosen.

  chosen() {
    this.showChosen();
    const [name, another] = this.graph.selected().tasks;
    if (name === undefined || another !== undefined) return;
    clearTimeout(this.revealing);
    this.revealing = setTimeout(() => {
      const line = lineOf(this.editor.text(), ["tasks", name]);
      if (line > 0) this.editor.reveal(line);
    });
  }

  task(name) {
    return this.tasks.find((task) => task.name === name);
  }

  showChosen() {
    const { tasks, edges } = this.graph.selected();
    const one = tasks.length === 1 ? this.task(tasks[0]) : undefined;
    this.parts.whole.hidden = tasks.length > 0;
    this.parts.task.hidden = one === undefined;
    this.parts.several.hidden = tasks.length < 2;
    this.panel.show(one);
    if (tasks.length === 0 && this.values) this.showWhole();
    this.parts.count.textContent = `${tasks.length} tasks`;
    this.parts.names.textContent = tasks.slice(0, 40).join(", ") + (tasks.length > 40 ? "…" : "");
    this.enable("remove", tasks.length + edges.length > 0);
    this.enable("duplicate", tasks.length > 0);
    this.enable("needs", one !== undefined);
    const label = this.form.querySelector('[data-jobform-switch] [value="form"]');
    label.textContent = one ? `Settings: ${one.name}` : "Settings";
    this.tellProblems();
  }

  showWhole() {
    for (const control of this.controls) this.showOne(control, valueAt(this.values, control.dataset.path.split(".")));
    for (const fold of this.form.querySelectorAll("[data-jobform-fold]")) {
      fold.querySelector("[data-jobform-set]").hidden = !fold.dataset.jobformFold.split(" ").some((key) => this.values[key] !== undefined);
    }
  }

  typed(control) {
    try {
      this.patch(control.dataset.path.split("."), take(control));
    } catch {
      this.tell(control.closest("[data-field]"), "Not valid JSON: put text in quotes.");
    }
  }

  open(name) {
    this.graph.select([name]);
    this.turnTo("form");
    this.panel.focus();
  }

  // What is done.

  startActions() {
    this.actions = {
      add: () => this.adding.open({ needs: this.graph.selected().tasks }),
      needs: () => this.choosing.open(this.task(this.graph.selected().tasks[0])),
      duplicate: () => this.duplicate(),
      remove: () => this.remove(this.graph.selected()),
      undo: () => this.editor.undo(),
      redo: () => this.editor.redo(),
      picture: () => this.download(),
    };
    this.form.addEventListener("click", (event) => {
      const button = event.target.closest("[data-dagform-do]");
      if (button) this.actions[button.dataset.dagformDo]();
    });
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      const target = event.composedPath()[0];
      if (target instanceof Element && target.closest("input, textarea, select, [contenteditable]")) return; // these undo for themselves
      const key = event.key.toLowerCase();
      const act = key === "z" ? (event.shiftKey ? "redo" : "undo") : key === "y" ? "redo" : undefined;
      if (!act) return;
      event.preventDefault();
      this.actions[act]();
    });
  }

  key(event, name) {
    const command = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    const acts = command
      ? { d: () => this.duplicate() }
      : { n: () => name && this.choosing.open(this.task(name)), a: () => this.adding.open({ needs: name && this.graph.selected().tasks.includes(name) ? [name] : [] }) };
    if (!acts[key] || (command && event.shiftKey)) return;
    event.preventDefault();
    event.stopPropagation();
    acts[key]();
  }

  // edit changes the definition, chooses tasks in it and says what was done.
  edit(edits, { select, words } = {}) {
    if (!this.editor.patchAll(edits)) {
      this.say("The YAML cannot be read: fix it first.");
      return;
    }
    if (select) this.graph.select(select);
    if (words) this.say(words);
  }

  connect(from, to) {
    const task = this.task(to);
    const lost = task.needs.length === 0 && task.values.schedule !== undefined ? " Its own schedule is gone: only roots have one." : "";
    this.edit(connect(this.tasks, from, to), { words: `${to} needs ${from}.${lost}` });
  }

  need(task, needs) {
    this.edit(needsEdits(task, needs), { words: needs.length === 0 ? `${task.name} needs nothing: it is a root.` : `${task.name} needs ${needs.join(", ")}.` });
  }

  remove({ tasks, edges }) {
    if (tasks.length > 0) {
      const near = this.tasks.find(({ name, needs }) => !tasks.includes(name) && needs.some((need) => tasks.includes(need))) ?? this.tasks.find(({ name }) => !tasks.includes(name));
      const held = this.graph.root.contains(document.activeElement);
      this.edit(remove(this.tasks, tasks), { select: [], words: `${tasks.length === 1 ? tasks[0] : `${tasks.length} tasks`} removed. Ctrl Z brings it back.` });
      if (held && near) this.graph.focus(near.name);
    } else if (edges.length > 0) {
      this.edit(disconnect(this.tasks, edges), { words: `${edges[0].to} no longer needs ${edges[0].from}.` });
    }
  }

  duplicate() {
    const { tasks } = this.graph.selected();
    if (tasks.length === 0) return;
    const { edits, names } = duplicate(this.tasks, tasks);
    this.edit(edits, { select: names, words: `${names.join(", ")} made.` });
  }

  download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([this.graph.toSVG()], { type: "image/svg+xml" }));
    link.download = `${typeof this.values?.name === "string" && /^[\w-]+$/.test(this.values.name) ? this.values.name : "dag"}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  say(words) {
    this.parts.said.textContent = words;
  }

  enable(action, on) {
    for (const button of this.form.querySelectorAll(`.dagform-tools [data-dagform-do="${action}"]`)) button.disabled = !on;
  }

  showPast() {
    const { undo, redo } = this.editor.past();
    this.enable("undo", undo > 0);
    this.enable("redo", redo > 0);
  }

  // A new DAG begins with a template.

  startTemplates() {
    this.parts.start.addEventListener("click", (event) => {
      const button = event.target.closest("[data-dagform-start-with]");
      if (!button) return;
      const name = typeof this.values?.name === "string" ? this.values.name : "my-dag";
      this.editor.setText(starts[button.value](name, binaries()[0] ?? "hello"));
      this.graph.fit({ first: true });
      this.graph.focus();
    });
  }

  showTemplates() {
    this.parts.start.hidden = !((("new" in this.form.dataset) && !this.dirty) || (this.values && this.tasks.length === 0));
  }

  // Problems of the tasks.

  checked() {
    const counts = new Map();
    for (const { path } of this.problems) {
      const name = taskOf(path);
      if (name !== "") counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    this.graph.setProblems(counts);
  }

  fieldOf(path) {
    const name = taskOf(path);
    if (name === "") return super.fieldOf(path);
    if (name !== this.panel.name) return null;
    const rest = path.slice(`tasks.${name}`.length);
    return super.fieldOf(`task${rest === "" || rest.startsWith("[") ? ".name" : rest}`);
  }
}
