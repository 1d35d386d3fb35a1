// The page on which a job is written: the form and the YAML beside it, of which the YAML is the truth. A change in the
// form patches the YAML; a change of the YAML shows in the form. The server's check is shown where it belongs.
import { DefinitionPage, schemaOf } from "./page.js";
import { Program } from "./program.js";
import { Schedule } from "./schedule.js";
import { take, valueAt } from "./values.js";

export async function startForm(form) {
  const schema = await schemaOf();
  if (form.isConnected) new JobForm(form, schema);
}

class JobForm extends DefinitionPage {
  constructor(form, schema) {
    super(form);
    this.controls = [...form.querySelectorAll("[data-path]")];
    this.startEditor(schema);
    this.program = new Program(form, (reference) => this.patch(["binary"], reference));
    this.schedule = new Schedule(form, (path, value) => this.patch(path, value));
    for (const control of this.controls) control.addEventListener("input", () => this.typed(control));
    this.start("form");
  }

  typed(control) {
    try {
      this.patch(control.dataset.path.split("."), take(control));
    } catch {
      this.tell(control.closest("[data-field]"), "Not valid JSON: put text in quotes.");
    }
  }

  showAll() {
    const { values, problem } = this.editor.read();
    this.unread.hidden = values !== null;
    this.unread.textContent = values === null ? `The form waits until the YAML can be read. ${problem}` : "";
    for (const card of this.fields.querySelectorAll(":scope > .card")) card.inert = values === null;
    if (values === null) return;
    for (const control of this.controls) this.showOne(control, valueAt(values, control.dataset.path.split(".")));
    const binary = values.binary;
    this.program.show(typeof binary === "string" ? binary : "");
    this.schedule.show(values);
    for (const fold of this.form.querySelectorAll("[data-jobform-fold]")) {
      fold.querySelector("[data-jobform-set]").hidden = !fold.dataset.jobformFold.split(" ").some((key) => values[key] !== undefined);
    }
  }

  // checked says beside the schedule what the server reads in it.
  checked(check) {
    const words = this.form.querySelector("[data-jobform-words]");
    words.replaceChildren();
    const read = check.querySelector("[data-words]");
    if (this.problems.length > 0 || !read) return;
    words.append(read.textContent);
    const next = check.querySelector('time[data-form="relative"]');
    if (next) words.append("; next ", next.cloneNode(true));
  }
}
