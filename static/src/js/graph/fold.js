// Several tasks as one: those of a level, or those that the reader has chosen, never by their names. A fold can be opened.
import { layers, neighbours } from "./structure.js";

const many = 4; // tasks of a level from which they are one

// byLevel are folds of the levels that have several tasks: [{key, title, tasks}].
export function byLevel(tasks, edges) {
  const { layer } = layers(tasks.map(({ name }) => name), edges);
  const levels = [];
  for (const { name } of tasks) (levels[layer.get(name)] ??= []).push(name);
  return levels.map((names, i) => ({ key: `fold:level-${i}`, title: `Level ${i + 1}`, tasks: names })).filter(({ tasks: names }) => names.length >= many);
}

// closed are names with all that lies on the way from one of them to another, so that a fold is on no way to itself.
export function closed(names, edges) {
  const reach = (next) => {
    const found = new Set(names);
    for (const at of found) for (const other of next.get(at) ?? []) found.add(other);
    return found;
  };
  const after = reach(neighbours(edges, "from", "to"));
  const before = reach(neighbours(edges, "to", "from"));
  return [...after].filter((name) => before.has(name));
}

// folded is the graph {tasks, edges} with folds in it. stand(tasks) says how those of a fold stand.
export function folded({ tasks, edges }, folds, stand) {
  const of = new Map(folds.flatMap((fold) => fold.tasks.map((name) => [name, fold])));
  const known = new Map(tasks.map((task) => [task.name, task]));
  const made = new Map();
  for (const task of tasks) {
    const fold = of.get(task.name);
    if (!fold) made.set(task.name, task);
    else if (!made.has(fold.key)) {
      const inside = fold.tasks.map((name) => known.get(name)).filter(Boolean);
      made.set(fold.key, { name: fold.key, fold: true, title: fold.title, detail: `${inside.length} tasks`, notes: [], ...stand(inside) });
    }
  }
  const seen = new Set();
  const joined = [];
  for (const { from, to } of edges) {
    const edge = { from: of.get(from)?.key ?? from, to: of.get(to)?.key ?? to };
    const key = `${edge.from}\n${edge.to}`;
    if (edge.from === edge.to || seen.has(key)) continue;
    seen.add(key);
    joined.push(edge);
  }
  return { tasks: [...made.values()], edges: joined };
}
