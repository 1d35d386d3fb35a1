// Asks what a task needs: a list of the others, for those who draw no edges. What comes after the task cannot be chosen.
import { pathBetween } from "../graph/structure.js";

const most = 200; // tasks that are listed at once; a search finds the others

export class Choosing {
  constructor(page, dialog) {
    this.page = page;
    this.dialog = dialog;
    const part = (name) => dialog.querySelector(`[data-dagform-${name}]`);
    this.of = part("needs-of");
    this.filter = part("needs-filter");
    this.options = part("options");
    this.words = part("needs-words");
    this.filter.addEventListener("input", () => this.list());
    this.options.addEventListener("change", ({ target }) => {
      if (target.checked) this.needs.add(target.value);
      else this.needs.delete(target.value);
      this.tell();
    });
    dialog.addEventListener("close", () => {
      const task = this.page.task(this.name);
      if (this.dialog.returnValue === "save" && task) this.page.need(task, [...this.needs]);
      if (this.back === this.page.graph.root) this.page.graph.focus(this.name);
    });
    this.filter.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.options.querySelector("input:not(:disabled)")?.click();
    });
  }

  open(task) {
    if (!task) return;
    this.name = task.name;
    this.needs = new Set(task.needs);
    this.back = this.page.graph.root.contains(document.activeElement) ? this.page.graph.root : null;
    this.of.textContent = task.name;
    this.filter.value = "";
    this.dialog.returnValue = "";
    this.list();
    this.dialog.showModal();
  }

  list() {
    const sought = this.filter.value.trim().toLowerCase();
    const { tasks, edges } = this.page;
    const after = new Set([this.name]);
    for (const at of after) for (const { from, to } of edges) if (from === at) after.add(to);
    const found = tasks.filter(({ name }) => name !== this.name && name.toLowerCase().includes(sought))
      .sort((a, b) => Number(this.needs.has(b.name)) - Number(this.needs.has(a.name)) || Number(after.has(a.name)) - Number(after.has(b.name)));
    this.options.replaceChildren(...found.slice(0, most).map(({ name }) => this.option(name, after.has(name))));
    this.more = found.length - most;
    if (found.length === 0) this.options.append(Object.assign(document.createElement("li"), { className: "soft", textContent: tasks.length < 2 ? "There is no other task yet." : "No task has this in its name." }));
    this.tell();
  }

  option(name, after) {
    const item = document.createElement("li");
    const label = Object.assign(document.createElement("label"), { className: "choice" });
    const box = Object.assign(document.createElement("input"), { type: "checkbox", value: name, checked: this.needs.has(name), disabled: after && !this.needs.has(name) });
    label.append(box, Object.assign(document.createElement("span"), { textContent: name }));
    if (box.disabled) label.append(Object.assign(document.createElement("small"), { className: "soft", textContent: `would close a cycle: ${this.cycle(name)}` }));
    item.append(label);
    return item;
  }

  cycle(name) {
    const path = pathBetween(this.page.edges, this.name, name);
    return path.length > 6 ? `it comes ${path.length - 1} steps after ${this.name}` : [name, ...path].join(" → ");
  }

  tell() {
    const more = this.more > 0 ? ` ${this.more} more are not listed: search for them.` : "";
    this.words.textContent = (this.needs.size === 0 ? "None chosen: it is a root." : `${this.needs.size} chosen.`) + more;
  }
}
