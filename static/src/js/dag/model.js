// The graph in the values of a definition, as far as they make one: what is not written as it should be is left out
// here, and reported by the server's check.
import { drawn } from "../graph/drawn.js";

// model returns {tasks, edges}. A task is what drawn makes of it, and {values, needs, root, binary}.
export function model(values) {
  const given = values?.tasks;
  const entries = given && typeof given === "object" && !Array.isArray(given) ? Object.entries(given) : [];
  const names = new Set(entries.map(([name]) => name));
  const schedule = texts(values?.schedule);
  const fallback = text(values?.defaults?.binary);
  const tasks = entries.map(([name, written]) => {
    const own = written && typeof written === "object" && !Array.isArray(written) ? written : {};
    const needs = (Array.isArray(own.needs) ? own.needs : []).map(String);
    const binary = text(own.binary) || fallback;
    const shown = drawn({ name, binary, needs, schedule: texts(own.schedule), trigger: text(own.trigger), for_each: text(own.for_each), when: text(own.when) }, schedule);
    return { ...shown, values: own, needs, root: needs.length === 0, binary };
  });
  const edges = tasks.flatMap(({ name, needs }) => [...new Set(needs)].filter((need) => names.has(need) && need !== name).map((from) => ({ from, to: name })));
  return { tasks, edges };
}

const text = (value) => (value === undefined || value === null || typeof value === "object" ? "" : String(value));
const texts = (value) => (Array.isArray(value) ? value : [value]).map(text).filter((one) => one !== "");

// taskOf returns the name of the task that a problem's path is about, "" if it is about none. Names have no dots.
export const taskOf = (path) => path.match(/^tasks\.([\w-]+)/)?.[1] ?? "";
