// The settings of the task that is chosen.
import { Program } from "../editor/program.js";
import { take, valueAt } from "../editor/values.js";
import { rename } from "./edits.js";

const rest = 300; // milliseconds after which a schedule that is typed is looked into

export class Panel {
  constructor(page, root) {
    this.page = page;
    this.root = root;
    this.name = ""; // of the task that is shown
    const part = (name) => root.querySelector(`[data-dagform-${name}]`);
    this.parts = Object.fromEntries(["task-name", "rename", "chips", "root", "inner", "slots"].map((name) => [name, part(name)]));
    this.controls = [...root.querySelectorAll("[data-path]")];
    this.program = new Program(root, (reference) => this.patch(["binary"], reference));
    for (const control of this.controls) control.addEventListener("input", () => this.patch(this.path(control), take(control)));
    this.parts.rename.addEventListener("change", () => this.rename());
    this.parts.rename.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.rename();
    });
    this.parts.chips.addEventListener("click", (event) => this.cut(event.target.closest("button")));
  }

  path(control) {
    return control.dataset.path.split(".").slice(1);
  }

  patch(path, value) {
    if (this.name !== "") this.page.patch(["tasks", this.name, ...path], value);
  }

  focus() {
    this.parts.rename.focus();
    this.parts.rename.select();
  }

  show(task) {
    const another = this.name !== (task?.name ?? "");
    this.name = task?.name ?? "";
    if (!task) return;
    if (another && this.root.contains(document.activeElement) && document.activeElement !== this.parts.rename) document.activeElement.blur();
    this.parts["task-name"].textContent = task.name;
    if (another || document.activeElement !== this.parts.rename) this.parts.rename.value = task.name;
    if (another) this.page.tell(this.root.querySelector('[data-field="task.name"]'), "");
    for (const control of this.controls) this.page.showOne(control, valueAt(task.values, this.path(control)));
    const binary = task.values.binary;
    this.program.show(typeof binary === "string" ? binary : "");
    this.parts.root.hidden = !task.root;
    this.parts.inner.hidden = task.root;
    this.showNeeds(task);
    this.foresee(task);
  }

  showNeeds({ name, needs }) {
    const shown = needs.join("\n");
    if (this.shown === `${name}\n${shown}`) return;
    this.shown = `${name}\n${shown}`;
    this.parts.chips.replaceChildren(...needs.map((need) => {
      const item = document.createElement("li");
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: "×" });
      button.setAttribute("aria-label", `${name} no longer needs ${need}`);
      button.dataset.need = need;
      item.append(Object.assign(document.createElement("span"), { textContent: need }), button);
      return item;
    }));
    if (needs.length === 0) this.parts.chips.append(Object.assign(document.createElement("li"), { className: "none", textContent: "nothing: it is a root" }));
  }

  cut(button) {
    const task = this.page.task(this.name);
    if (!button || !task) return;
    this.page.need(task, task.needs.filter((need) => need !== button.dataset.need));
    (this.parts.chips.querySelector("button") ?? this.root.querySelector('[data-dagform-do="needs"]')).focus();
  }

  rename() {
    const name = this.parts.rename.value.trim();
    if (this.name === "" || name === this.name) return;
    const fault = this.page.adding.faultOf(name, this.name);
    this.page.tell(this.root.querySelector('[data-field="task.name"]'), fault);
    if (fault !== "") return;
    const old = this.name;
    this.name = name; // the field goes on to be that of the same task
    this.page.edit(rename(this.page.tasks, old, name), { select: [name], words: `${old} is ${name} now.` });
  }

  // foresee says when a root would start by its own schedule, or the DAG's.
  foresee({ root, values }) {
    const own = values.schedule ?? this.page.values.schedule;
    const asked = root && own ? JSON.stringify({ schedule: [own].flat().map(String), timezone: String(values.timezone ?? this.page.values.timezone ?? "UTC"), count: 3 }) : "";
    if (asked === this.asked) return;
    this.asked = asked;
    clearTimeout(this.waiting);
    if (asked === "") this.parts.slots.replaceChildren();
    else this.waiting = setTimeout(() => this.ask(asked), rest);
  }

  async ask(asked) {
    const answer = await fetch("/api/v1/schedule/preview", { method: "POST", headers: { "Content-Type": "application/json" }, body: asked }).catch(() => null);
    const found = answer?.ok ? await answer.json().catch(() => null) : null;
    if (asked !== this.asked) return;
    this.parts.slots.replaceChildren();
    if (!found?.items?.length) return; // what is wrong with it, the check says
    this.parts.slots.append(`${found.description ?? "Next"}: `);
    for (const [i, slot] of found.items.entries()) {
      const at = new Date(slot.slot);
      const time = Object.assign(document.createElement("time"), { dateTime: slot.slot, textContent: at.toLocaleString(undefined, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }) });
      time.title = slot.slot;
      this.parts.slots.append(i > 0 ? ", " : "", time);
    }
  }
}
