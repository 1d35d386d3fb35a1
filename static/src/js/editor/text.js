// The text of a definition with its history, for as long as nobody looks at the YAML. The editor of it is large, comes when
// the YAML is first seen, and takes over the history; until then this answers as the editor does, see yaml.js.
import { apply, patchAll, read } from "./document.js";
import * as words from "./schema.js";

const stretch = 500; // milliseconds from one change to the next that are one step to take back

// changesFor returns the changes of a text that make edits of it, see document.js; new keys go where the schema has them.
export function changesFor(schema, text, edits) {
  const kind = words.kindOf(text);
  return patchAll(text, edits, (path) => words.keys(schema, kind, path).map((key) => key.name));
}

export class Text {
  // onChange(text, by) is called after each change, as the editor does.
  constructor(text, schema, onChange) {
    Object.assign(this, { schema, onChange, steps: [text], at: 0, last: -stretch, later: null });
  }

  text() {
    return this.steps[this.at];
  }

  read() {
    return read(this.text());
  }

  past() {
    return { undo: this.at, redo: this.steps.length - 1 - this.at };
  }

  // Each step differs from the one before: the editor keeps no others.
  setText(fresh, by = "set") {
    if (fresh === this.text()) return;
    const now = performance.now();
    const goesOn = by !== "set" && now - this.last < stretch;
    if (!goesOn) this.at++;
    const back = fresh === this.steps[this.at - 1]; // what was typed is taken away again
    this.steps.splice(this.at, Infinity, ...(back ? [] : [fresh]));
    if (back) this.at--;
    this.last = back || by === "set" ? -stretch : now;
    this.onChange(fresh, by);
  }

  patch(path, value) {
    return this.write([{ path, value }], "patched");
  }

  patchAll(edits) {
    return this.write(edits, "set");
  }

  write(edits, by) {
    const changes = changesFor(this.schema, this.text(), edits);
    if (changes?.length > 0) this.setText(apply(this.text(), changes), by);
    return changes !== null;
  }

  undo() {
    this.turn(-1);
  }

  redo() {
    this.turn(1);
  }

  turn(by) {
    if (this.steps[this.at + by] === undefined) return;
    this.at += by;
    this.last = -stretch;
    this.onChange(this.text(), "patched");
  }

  // What only an editor can do, it does when it has come.
  setProblems(problems) {
    this.problems = problems;
  }

  reveal(...place) {
    this.later = (editor) => editor.reveal(...place);
  }

  goTo(...place) {
    this.later = (editor) => editor.goTo(...place);
  }

  focus() {}
}
