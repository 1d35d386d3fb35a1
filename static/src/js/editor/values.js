// The ways between a value of a definition and the control that shows it. Each kind has show(control, value), which
// reports whether the control can hold the value, and take(control), which returns undefined for a key to leave out.

import { instant as typed, wall } from "../zone.js";

const seconds = { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };

// duration reads Go's form, "1h30m", as seconds; NaN for anything else.
export function duration(text) {
  if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return Number.NaN;
  let sum = 0;
  for (const [, number, , unit] of text.matchAll(/(\d+(\.\d+)?)(ns|us|µs|ms|s|m|h)/g)) sum += Number(number) * seconds[unit];
  return sum;
}

// amount is a duration in the largest unit that divides it.
export function amount(text) {
  const whole = duration(text);
  const unit = ["h", "m", "s"].find((name) => Number.isInteger(whole / seconds[name])) ?? "s";
  return { number: whole / seconds[unit], unit };
}

// localInstant is an RFC 3339 instant as a datetime-local control wants it, in the zone of the page; "" if it is none.
export function localInstant(text) {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? "" : wall(at);
}

const instant = (local) => typed(local).at.toISOString().replace(/\.\d+Z$/, "Z");

const scalar = (value) => value === undefined || value === null || typeof value !== "object";
const lines = (text) => text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
const text = (value) => (value === undefined || value === null ? "" : String(value));

function showText(control, value) {
  const words = text(value);
  if (control.value === words) return true;
  control.value = words;
  return control.value === words || (control.type === "number" && Number(control.value) === value);
}

const boxes = (box) => [...box.querySelectorAll("input")];

// offer adds a choice to a box of choices.
function offer(box, word) {
  const label = Object.assign(document.createElement("label"), { className: "choice" });
  const input = Object.assign(document.createElement("input"), { type: "checkbox", value: word });
  label.append(input, ` ${word} ${box.dataset.unknown ?? ""}`);
  box.append(label);
}

const kinds = {
  text: {
    show(control, value) {
      if (control.nodeName === "SELECT") {
        // A value that was left out and one that is written although it is the default are shown alike.
        control.value = text(value);
        if (control.selectedIndex < 0) control.selectedIndex = 0;
        return scalar(value);
      }
      return scalar(value) && showText(control, value);
    },
    take: (control) => (control.value === "" ? undefined : control.value),
  },
  number: {
    show: (control, value) => scalar(value) && showText(control, value),
    take: (control) => (control.value === "" || !Number.isFinite(Number(control.value)) ? undefined : Number(control.value)),
  },
  numbers: {
    show: (control, value) => (value === undefined || Array.isArray(value)) && showText(control, (value ?? []).join(", ")),
    take(control) {
      const found = control.value.split(/[\s,]+/).filter((word) => word !== "");
      return found.length === 0 ? undefined : found.map((word) => (/^\d+$/.test(word) ? Number(word) : word));
    },
  },
  lines: {
    show(control, value) {
      if (value !== undefined && (!Array.isArray(value) || !value.every((item) => scalar(item) && !text(item).includes("\n") && text(item).trim() === text(item) && text(item) !== ""))) return false;
      return showText(control, (value ?? []).map(text).join("\n"));
    },
    take(control) {
      const found = lines(control.value);
      return found.length === 0 ? undefined : found;
    },
  },
  schedule: {
    show: (control, value) => kinds.lines.show(control, typeof value === "string" ? [value] : value),
    take(control) {
      const found = lines(control.value);
      return found.length > 1 ? found : found[0];
    },
  },
  pairs: {
    show(control, value) {
      const entries = value === undefined || value === null ? [] : Object.entries(value);
      if (entries.length === 0 ? value !== undefined && value !== null && scalar(value) : Array.isArray(value) || scalar(value)) return false;
      if (!entries.every(([, item]) => scalar(item) && !text(item).includes("\n") && text(item).trim() === text(item))) return false;
      return showText(control, entries.map(([key, item]) => `${key}=${text(item)}`).join("\n"));
    },
    take(control) {
      const found = lines(control.value).map((line) => line.split(/=(.*)/s));
      return found.length === 0 ? undefined : Object.fromEntries(found.map(([key, value]) => [key.trim(), value ?? ""]));
    },
  },
  // A list of words out of those that the box offers. A word that it does not offer is offered from then on, marked.
  choices: {
    show(box, value) {
      if (value !== undefined && (!Array.isArray(value) || !value.every((item) => typeof item === "string"))) return false;
      for (const word of value ?? []) if (!boxes(box).some((one) => one.value === word)) offer(box, word);
      for (const one of boxes(box)) one.checked = (value ?? []).includes(one.value);
      return true;
    },
    take(box) {
      const found = boxes(box).filter((one) => one.checked).map((one) => one.value);
      return found.length === 0 ? undefined : found;
    },
  },
  duration: {
    show(box, value) {
      const [number, unit] = [box.querySelector("input"), box.querySelector("select")];
      if (value === undefined) {
        number.value = "";
        return true;
      }
      if (typeof value !== "string" || Number.isNaN(duration(value))) return false;
      const { number: n, unit: u } = amount(value);
      if (number.value !== "" && Number(number.value) * seconds[unit.value] === duration(value)) return true;
      number.value = n;
      unit.value = u;
      return true;
    },
    take(box) {
      const [number, unit] = [box.querySelector("input"), box.querySelector("select")];
      return number.value === "" ? undefined : `${Number(number.value)}${unit.value}`;
    },
  },
  instant: {
    show: (control, value) => scalar(value) && showText(control, value === undefined ? "" : localInstant(value)),
    take: (control) => (control.value === "" ? undefined : instant(control.value)),
  },
  json: {
    show: (control, value) => showText(control, value === undefined ? "" : JSON.stringify(value, null, 1).replace(/\n\s*/g, " ")),
    take(control) {
      if (control.value.trim() === "") return undefined;
      return JSON.parse(control.value);
    },
  },
};

export const show = (control, value) => kinds[control.dataset.kind ?? "text"].show(control, value);
export const take = (control) => kinds[control.dataset.kind ?? "text"].take(control);

// valueAt is the value at a path; undefined where there is none.
export const valueAt = (values, path) => path.reduce((inside, key) => inside?.[key], values) ?? undefined;
