// The graph in the values of a definition, as far as they make one: what is not written as it should be is left out
// here, and reported by the server's check.

const triggers = {
  all_done: "when all have ended", one_success: "at the first success", one_failed: "at the first failure",
  none_failed: "if none failed", always: "always, even when cancelled",
};

// model returns {tasks, edges}. A task is {name, values, needs, root, binary, notes, problems}.
export function model(values) {
  const given = values?.tasks;
  const entries = given && typeof given === "object" && !Array.isArray(given) ? Object.entries(given) : [];
  const names = new Set(entries.map(([name]) => name));
  const schedule = texts(values?.schedule);
  const fallback = text(values?.defaults?.binary);
  const tasks = entries.map(([name, written]) => {
    const own = written && typeof written === "object" && !Array.isArray(written) ? written : {};
    const needs = (Array.isArray(own.needs) ? own.needs : []).map(String);
    const task = { name, values: own, needs, root: needs.length === 0, binary: text(own.binary) || fallback };
    return { ...task, notes: notes(task, schedule) };
  });
  const edges = tasks.flatMap(({ name, needs }) => [...new Set(needs)].filter((need) => names.has(need) && need !== name).map((from) => ({ from, to: name })));
  return { tasks, edges };
}

const text = (value) => (value === undefined || value === null || typeof value === "object" ? "" : String(value));
const texts = (value) => (Array.isArray(value) ? value : [value]).map(text).filter((one) => one !== "");

// notes say in a few words when a task starts, as far as that is not the usual.
function notes({ values, root }, schedule) {
  const found = [];
  if (root) {
    const own = texts(values.schedule);
    const shown = own.length > 0 ? own : schedule;
    found.push({ icon: "clock", words: shown.length > 0 ? shown.join(", ") : "manual" });
  }
  if (triggers[values.trigger]) found.push({ icon: "filter", words: triggers[values.trigger] });
  if (text(values.for_each)) found.push({ icon: "copy", words: `for each of ${text(values.for_each)}` });
  if (text(values.when)) found.push({ icon: "diff", words: `if ${text(values.when)}` });
  return found;
}

// taskOf returns the name of the task that a problem's path is about, "" if it is about none. Names have no dots.
export const taskOf = (path) => path.match(/^tasks\.([\w-]+)/)?.[1] ?? "";
