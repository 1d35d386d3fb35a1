// Asks for the program and the name of a new task.
import { Program } from "../editor/program.js";
import { add, freeName, needsEdits } from "./edits.js";

const wellFormed = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

export class Adding {
  constructor(page, dialog) {
    this.page = page;
    this.dialog = dialog;
    this.name = dialog.querySelector('[name="name"]');
    this.words = dialog.querySelector("[data-dagform-add-needs]");
    this.program = new Program(dialog, (reference) => this.chose(reference));
    this.name.addEventListener("input", () => {
      this.own = this.name.value !== "";
      this.tell("");
    });
    dialog.addEventListener("submit", (event) => this.submit(event));
    dialog.addEventListener("close", () => this.closed());
  }

  // open asks; needs are those of the new task, and before names the one that is to need it.
  open({ needs = [], before = "" } = {}) {
    Object.assign(this, { needs, before, own: false, reference: "" });
    this.dialog.returnValue = "";
    this.program.name.value = "";
    this.program.list("");
    this.name.value = freeName("task", this.taken());
    this.tell("");
    this.words.textContent = before ? `${before} will need it.` : needs.length > 0 ? `It will need ${needs.slice(0, 5).join(", ")}${needs.length > 5 ? ` and ${needs.length - 5} more` : ""}.` : "It will be a root.";
    this.dialog.showModal();
    this.program.name.focus();
  }

  taken() {
    return new Set(this.page.tasks.map(({ name }) => name.toLowerCase()));
  }

  chose(reference) {
    this.reference = reference ?? "";
    if (!this.own) this.name.value = freeName(/^[\w-]+/.exec(this.reference.startsWith("sha256:") ? "" : this.reference)?.[0] ?? "task", this.taken());
  }

  // faultOf says what is wrong with a name for a task, "" if nothing; own is the name that it has.
  faultOf(name, own = "") {
    if (!wellFormed.test(name)) return "A name has letters, digits, - and _, at most 128, and begins with a letter or a digit.";
    const other = this.page.tasks.find((task) => task.name !== own && task.name.toLowerCase() === name.toLowerCase());
    return other ? `There is a task ${other.name} already: take another name.` : "";
  }

  tell(words) {
    this.page.tell(this.name.closest("[data-field]"), words);
  }

  submit(event) {
    if (event.submitter?.value === "cancel") return;
    const fault = this.faultOf(this.name.value.trim());
    this.tell(fault);
    if (fault !== "") event.preventDefault();
  }

  closed() {
    const { page, needs, before } = this;
    if (this.dialog.returnValue !== "add") {
      page.graph.focus();
      return;
    }
    const name = this.name.value.trim();
    const task = page.task(before);
    const edits = add(name, { binary: this.reference, needs });
    if (task) edits.push(...needsEdits(task, [...task.needs, name]));
    page.edit(edits, { select: [name], words: `${name} added.` });
    page.graph.focus(name);
  }
}
