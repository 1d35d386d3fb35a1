// The part of the form that says when a job runs: the kind of its schedule, and a builder for simple expressions.
import { build, parse } from "./cron.js";

const kinds = ["schedule", "every", "after", "at"];

function tomorrow() {
  const at = new Date(Date.now() + 86_400_000);
  at.setHours(3, 0, 0, 0);
  return at.toISOString().replace(/\.\d+Z$/, "Z");
}

export class Schedule {
  // patch(path, value) changes the definition.
  constructor(form, patch) {
    this.patch = patch;
    this.radios = [...form.querySelectorAll("[data-jobform-kind]")];
    this.parts = [...form.querySelectorAll("[data-jobform-when]")];
    this.preset = form.querySelector("[data-jobform-preset]");
    this.pieces = [...form.querySelectorAll("[data-jobform-part]")];
    this.controls = Object.fromEntries(["minutes", "minute", "time", "weekday", "monthday"].map((name) => [name, form.querySelector(`#jobform-${name}`)]));
    this.before = { schedule: "0 3 * * *", every: "15m", after: "10m", at: tomorrow() }; // what each kind had last
    for (const radio of this.radios) radio.addEventListener("change", () => this.turn(radio.value));
    this.preset.addEventListener("change", () => {
      this.unfold(this.preset.value);
      this.write();
    });
    for (const control of Object.values(this.controls)) control.addEventListener("input", () => this.write());
  }

  turn(kind) {
    for (const other of kinds) if (other !== kind) this.patch([other], undefined);
    if (kind !== "none") this.patch([kind], this.before[kind]);
    this.reveal(kind);
  }

  reveal(kind) {
    for (const part of this.parts) part.hidden = part.dataset.jobformWhen !== kind;
  }

  unfold(preset) {
    for (const piece of this.pieces) piece.hidden = !piece.dataset.jobformPart.split(" ").includes(preset);
  }

  write() {
    const choices = Object.fromEntries(Object.entries(this.controls).map(([name, control]) => [name, control.value]));
    const expression = build({ preset: this.preset.value, ...choices });
    if (expression !== "") this.patch(["schedule"], expression);
  }

  show(values) {
    const kind = kinds.find((name) => values[name] !== undefined && values[name] !== null) ?? "none";
    for (const radio of this.radios) radio.checked = radio.value === kind;
    this.reveal(kind);
    if (kind !== "none") this.before[kind] = values[kind];
    if (kind !== "schedule" || this.holdsFocus()) return;
    const { preset, ...choices } = parse(Array.isArray(values.schedule) ? undefined : values.schedule);
    this.preset.value = preset;
    this.unfold(preset);
    for (const [name, value] of Object.entries(choices)) this.controls[name].value = value;
  }

  holdsFocus() {
    return document.activeElement === this.preset || Object.values(this.controls).includes(document.activeElement);
  }
}
