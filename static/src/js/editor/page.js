// What the pages of jobs and of DAGs have in common: the YAML, which is the truth, in its editor; the server's check of
// it, which htmx fetches into #check while one types; what is not saved yet; and one side at a time on narrow screens.
// A page of its own kind extends it: showAll() shows the values, fieldOf(path) finds the field of a problem.
import { dropDraft, pageOf } from "../draftstore.js";
import { Draft } from "./draft.js";
import { Saving } from "./saving.js";
import * as words from "./schema.js";
import { show } from "./values.js";
import { Text } from "./text.js";

export const schemaOf = () => fetch("/schema.json").then((answer) => answer.json()).catch(() => ({}));

export const binaries = () => [...document.querySelectorAll("#jobform-binaries option")].map((option) => option.value);

const zones = () => Intl.supportedValuesOf("timeZone");

export class DefinitionPage {
  constructor(form) {
    this.form = form;
    this.area = form.querySelector("[data-definition]");
    this.fields = form.querySelector("[data-jobform-fields]");
    this.state = form.querySelector("[data-jobform-state]");
    this.unread = form.querySelector("[data-jobform-unread]");
    this.saved = "unsaved" in form.dataset ? null : this.area.value; // null: nothing of this was ever saved
    this.leaving = false;
  }

  // start is called once all is made; side is what a narrow screen shows first.
  start(side) {
    this.startSwitch(side);
    this.startLeaving();
    this.saving = new Saving(this);
    this.startProblems();
    document.getElementById("jobform-zones").append(...["UTC", ...zones()].map((zone) => new Option(undefined, zone)));
    this.fields.hidden = false;
    for (const words of document.querySelectorAll("[data-jobform-keys]")) words.hidden = false;
    this.showAll();
    this.openFolds();
    this.showProblems();
    this.showState();
    this.draft = new Draft(this);
    this.form.dataset.ready = "";
  }

  // startEditor puts the editor in the place of the text field when that is first seen; suggest(path) returns further values for a place.
  startEditor(schema, suggest) {
    this.editor = new Text(this.area.value, schema, (text, by) => this.changed(by));
    const typed = () => this.area.value === this.editor.text() || this.editor.setText(this.area.value, "typed");
    this.area.addEventListener("input", typed);
    const seen = new IntersectionObserver((entries) => {
      if (!entries.at(-1).isIntersecting) return;
      seen.disconnect();
      import("./yaml.js").then(({ makeYamlEditor }) => {
        this.area.removeEventListener("input", typed);
        this.showEditor(makeYamlEditor, schema, suggest);
      }).catch((error) => console.warn("the editor could not be loaded; use the text field instead", error));
    });
    seen.observe(this.area);
  }

  showEditor(make, schema, suggest) {
    const text = this.editor;
    const [focused, place] = [document.activeElement === this.area, this.area.selectionEnd];
    const pane = this.form.querySelector("[data-jobform-editor]");
    pane.hidden = false;
    this.area.hidden = true;
    this.editor = make(pane, {
      label: "Definition, YAML", from: text, schema,
      suggest: (path) => ({ binary: binaries, timezone: zones })[path.at(-1)]?.() ?? suggest?.(path),
      onChange: (_, by) => this.changed(by),
    });
    this.editor.setProblems(text.problems ?? []);
    text.later?.(this.editor);
    if (focused) {
      const lines = words.linesTo(text.text(), place);
      this.editor.goTo(lines.length, lines.at(-1).length + 1);
    }
    this.form.querySelector('label[for="definition"]').addEventListener("click", (event) => {
      event.preventDefault();
      this.editor.focus();
    });
  }

  changed() {
    this.area.value = this.editor.text();
    this.area.dispatchEvent(new Event("input", { bubbles: true })); // htmx asks for the check
    this.showAll();
    this.showState();
  }

  patch(path, value) {
    this.editor.patch(path, value);
  }

  // showOne shows a value in its control, as far as that can hold it.
  showOne(control, value) {
    if (control.contains(document.activeElement)) return; // what the user types stays as it is typed
    const fits = show(control, value);
    for (const part of control.matches("input, select, textarea") ? [control] : control.querySelectorAll("input, select")) part.disabled = !fits;
    const hint = control.closest("[data-field]")?.querySelector(".hint");
    if (!hint) return;
    hint.dataset.words ??= hint.textContent;
    hint.textContent = fits ? hint.dataset.words : "The value is more than this field can show: edit it in the YAML.";
  }

  openFolds() {
    for (const fold of this.form.querySelectorAll("[data-jobform-fold]")) {
      if (!fold.querySelector("[data-jobform-set]").hidden) fold.open = true;
    }
  }

  startProblems() {
    document.addEventListener("htmx:afterSwap", (event) => {
      if (event.detail.target?.id === "check") this.showProblems();
    });
    this.form.addEventListener("click", (event) => {
      const link = event.target.closest("[data-line]");
      if (!link) return;
      this.turnTo("text");
      this.editor.goTo(Number(link.dataset.line), Number(link.dataset.column) || 1);
    });
  }

  showProblems() {
    const check = document.getElementById("check");
    const problems = [...check.querySelectorAll("[data-problem-path]")].map((item) => ({
      path: item.dataset.problemPath, line: Number(item.dataset.atLine), column: Number(item.dataset.atColumn),
      message: item.querySelector("[data-problem-words]").textContent,
    }));
    this.problems = problems;
    this.editor.setProblems(problems);
    this.tellProblems();
    this.checked(check);
  }

  // tellProblems says at each field what is wrong with it.
  tellProblems() {
    const problems = this.problems ?? [];
    for (const field of this.form.querySelectorAll("[data-field]")) {
      const about = problems.find((problem) => this.fieldOf(problem.path) === field);
      this.tell(field, about?.message ?? "");
      if (about) field.closest("details")?.setAttribute("open", "");
    }
  }

  // checked is called with the server's check.
  checked() {}

  // fieldOf finds the field that shows a path, or what holds it: "schedule[1]" is shown by schedule.
  fieldOf(path) {
    let at = path.replace(/\[\d+\].*$/, "");
    for (;;) {
      const field = this.form.querySelector(`[data-field="${CSS.escape(at)}"]`);
      if (field || !at.includes(".")) return field;
      at = at.replace(/\.[^.]*$/, "");
    }
  }

  tell(field, words) {
    if (!field) return;
    let place = field.querySelector(".problem");
    if (words === "" && !place) return;
    if (!place) {
      place = Object.assign(document.createElement("p"), { className: "problem" });
      field.querySelector(".hint").before(place);
      place.id = `${field.querySelector(".hint").id}-problem`;
    }
    place.textContent = words;
    place.hidden = words === "";
    for (const control of field.querySelectorAll("input, textarea, select")) {
      if (words === "") control.removeAttribute("aria-invalid");
      else control.setAttribute("aria-invalid", "true");
      control.setAttribute("aria-describedby", words === "" ? field.querySelector(".hint").id : `${place.id} ${field.querySelector(".hint").id}`);
    }
  }

  startSwitch(side) {
    const choice = this.form.querySelector("[data-jobform-switch]");
    choice.hidden = false;
    choice.addEventListener("click", (event) => {
      if (event.target.value) this.turnTo(event.target.value);
    });
    this.turnTo(side);
  }

  // turnTo chooses what a narrow screen shows; a wide one shows both.
  turnTo(side) {
    this.form.dataset.shows = side;
    for (const button of this.form.querySelectorAll("[data-jobform-switch] button")) button.setAttribute("aria-pressed", String(button.value === side));
  }

  get dirty() {
    return this.editor.text() !== this.saved;
  }

  showState() {
    this.say(this.dirty ? "Not saved yet." : "");
    this.draft?.changed();
  }

  say(words) {
    if (this.state.textContent !== words) this.state.textContent = words;
  }

  // kept is called with whether the browser has kept the draft.
  kept(well) {
    if (!well) this.say("Not saved yet, and this browser cannot keep a draft: save before you leave.");
    else if (this.state.textContent === "Not saved yet.") this.say("Not saved yet. A draft is kept in this browser.");
  }

  startLeaving() {
    this.form.addEventListener("click", (event) => {
      if (!event.target.closest("[data-jobform-drop]")) return;
      this.draft.drop();
      dropDraft(pageOf(event.target.closest("a"))); // the page that is opened instead
      this.leaving = true;
    });
    document.addEventListener("tidewheel:leave", () => {
      this.leaving = true; // the session has ended, and what is typed is kept
    });
    window.addEventListener("pageshow", () => {
      this.leaving = false; // back from where it was sent
    });
    window.addEventListener("beforeunload", (event) => {
      if (this.dirty && !this.leaving) event.preventDefault();
    });
    document.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "s") {
        event.preventDefault();
        this.form.requestSubmit(this.form.querySelector("[data-jobform-save]"));
      }
    });
    // Enter in a field goes no further: a definition is saved on purpose.
    this.fields.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.matches("input")) event.preventDefault();
    });
  }
}
